# The smallest tool process: the wire by hand, with no SDK. Its tools are NAMES; each says its
# version, its folder, its parent and the variables A and PATH.
import os
import socket
import struct

VERSION = "one"
NAMES = ["where"]


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(data):
    def number():
        nonlocal at
        shift = value = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    at = 0
    found = {}
    while at < len(data):
        tag = number()
        length = number()
        if tag & 7 == 2:
            found[tag >> 3] = data[at : at + length]
            at += length
    return found


def read(count):
    data = b""
    while len(data) < count:
        more = bridge.recv(count - len(data))
        if not more:
            raise SystemExit
        data += more
    return data


def send(envelope):
    bridge.sendall(struct.pack(">I", len(envelope)) + envelope)


if __name__ == "__main__":
    bridge = socket.socket(socket.AF_UNIX)
    bridge.connect(os.environ["PROTOMCP_SOCKET"])
    while True:
        asked = fields(read(struct.unpack(">I", read(4))[0]))
        request = field(14, asked.get(14, b""))
        if 2 in asked:
            schema = '{"type":"object"}'
            tools = b"".join(field(1, field(1, name) + field(3, schema)) for name in NAMES)
            send(field(5, tools) + request)
            send(field(4, b"\x08\x01"))
        elif 3 in asked:
            said = [VERSION, os.getcwd(), os.getppid(), os.environ.get("A"), os.environ["PATH"]]
            send(field(6, field(2, " ".join(map(str, said)))) + request)
        for list, answer in [(31, 32), (33, 34), (40, 41)]:
            if list in asked:
                send(field(answer, b"") + request)
