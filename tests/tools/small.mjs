// The smallest tool process in Node: the wire by hand, with no SDK, for messages below 128 bytes.
// Its one tool says its version and its parent.
import net from "node:net";

const version = "one";

const field = (number, ...parts) => {
  const data = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const tag = number << 3 | 2;
  const key = tag < 128 ? [tag] : [tag & 127 | 128, tag >> 7];
  return Buffer.concat([Buffer.from([...key, data.length]), data]);
};

// The content of each field.
const fields = (message) => {
  const found = {};
  for (let at = 0; at < message.length; ) {
    let tag = message[at++];
    if (tag > 127) tag += (message[at++] - 1) << 7;
    const end = at + 1 + message[at];
    found[tag >> 3] = message.subarray(at + 1, end);
    at = end;
  }
  return found;
};

const bridge = net.connect(process.env.PROTOMCP_SOCKET);

const send = (...parts) => {
  const message = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(message.length);
  bridge.write(Buffer.concat([length, message]));
};

let waiting = Buffer.alloc(0);
bridge.on("data", (bytes) => {
  waiting = Buffer.concat([waiting, bytes]);
  while (waiting.length >= 4 && waiting.length >= 4 + waiting.readUInt32BE()) {
    const end = 4 + waiting.readUInt32BE();
    const asked = fields(waiting.subarray(4, end));
    const request = field(14, asked[14] ?? "");
    waiting = waiting.subarray(end);
    if (2 in asked) {
      send(field(5, field(1, field(1, "where"), field(3, '{"type":"object"}'))), request);
      send(field(4, [8, 1]));
    } else if (3 in asked) {
      send(field(6, field(2, `${version} ${process.ppid}`)), request);
    }
    for (const [list, answer] of [[31, 32], [33, 34], [40, 41]]) {
      if (list in asked) send(field(answer, ""), request);
    }
  }
});
