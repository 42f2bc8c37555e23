// The smallest tool process in Go: the wire by hand, with no SDK, for messages below 128 bytes.
// Its one tool says its version and its parent.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
)

func field(number byte, data string) string {
	return string([]byte{number<<3 | 2, byte(len(data))}) + data
}

// The content of a field, and whether it is there.
func find(message string, number byte) (string, bool) {
	for len(message) > 1 {
		end := 2 + int(message[1])
		if message[0]>>3 == number {
			return message[2:end], true
		}
		message = message[end:]
	}
	return "", false
}

func main() {
	bridge, err := net.Dial("unix", os.Getenv("PROTOMCP_SOCKET"))
	if err != nil {
		panic(err)
	}
	var length uint32
	for binary.Read(bridge, binary.BigEndian, &length) == nil {
		bytes := make([]byte, length)
		if _, err := io.ReadFull(bridge, bytes); err != nil {
			panic(err)
		}
		asked := string(bytes)
		id, _ := find(asked, 14)
		var answers []string
		if _, lists := find(asked, 2); lists {
			tool := field(1, "where") + field(3, `{"type":"object"}`)
			answers = []string{field(5, field(1, tool)) + field(14, id), field(4, "\x08\x01")}
		} else if _, calls := find(asked, 3); calls {
			said := fmt.Sprintf("%s %d", version, os.Getppid())
			answers = []string{field(6, field(2, said)) + field(14, id)}
		}
		for _, answer := range answers {
			binary.Write(bridge, binary.BigEndian, uint32(len(answer)))
			io.WriteString(bridge, answer)
		}
	}
}
