/**
 * Protobuf for the messages of schema.js, and the frames around them: four bytes of length
 * (big-endian), then an Envelope.
 *
 * Messages are plain objects with the fields' proto names. What is not given when writing counts
 * as the default; when reading, all fields are there. 64-bit integers are numbers where those are
 * exact, else bigints.
 */
import { Buffer } from 'node:buffer';

import { messages, NONE } from './schema.js';

/** Why bytes are not a message. */
export class WireError extends Error {}

/** A scratch area of this size is kept; larger frames get memory of their own. */
const SCRATCH = 64 * 1024;

/**
 * Unknown groups may nest this deep, as other implementations have it. (Known messages nest four
 * deep and can't contain themselves.)
 */
const GROUPS_MAX = 100;

// Writing goes from the end to the beginning: when a message's length is due, it is known.
let out = Buffer.allocUnsafeSlow(SCRATCH);
let at = out.length;

function reserve(count) {
  if (count <= at) return;
  const used = out.length - at;
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * out.length, used + count + 1024));
  out.copy(larger, larger.length - used, at);
  at = larger.length - used;
  out = larger;
}

/** A whole number from 0 to 2^53. */
function writeVarint(value) {
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size += 1;
  reserve(size);
  at -= size;
  let rest = value;
  let position = at;
  for (; rest >= 128; rest = Math.floor(rest / 128)) {
    out[position] = (rest % 128) + 128;
    position += 1;
  }
  out[position] = rest;
}

/** Anything of 64 bits, as two's complement. */
function writeInt64(value) {
  if (Number.isSafeInteger(value) && value >= 0) return writeVarint(value);
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(typeof value === 'number' ? Math.trunc(value) : value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) + 128);
  bytes.push(Number(rest));
  reserve(bytes.length);
  at -= bytes.length;
  out.set(bytes, at);
}

function writeBytes(bytes) {
  reserve(bytes.length);
  at -= bytes.length;
  out.set(bytes, at);
  writeVarint(bytes.length);
}

function writeString(text) {
  const size = Buffer.byteLength(text);
  reserve(size);
  at -= size;
  out.write(text, at, size);
  writeVarint(size);
}

/** One value with its tag; values of oneofs and lists are written even if they are defaults. */
function writeValue(field, value) {
  if (field.body) {
    const end = out.length - at;
    writeMessage(field.body, value);
    writeVarint(out.length - at - end);
  } else {
    switch (field.type) {
      case 's':
        writeString(value);
        break;
      case 'b':
        writeBytes(value);
        break;
      case 'f':
        writeVarint(1);
        break;
      default:
        writeInt64(value);
    }
  }
  writeVarint(field.tag);
}

function writeMessage(message, value) {
  const { fields } = message;
  for (let index = fields.length - 1; index >= 0; index -= 1) {
    const field = fields[index];
    if (field.oneof) {
      if (value.kind === field.name) writeValue(field, value.body);
    } else {
      const given = value[field.name];
      if (field.repeated) {
        if (given) for (let entry = given.length - 1; entry >= 0; entry -= 1) writeValue(field, given[entry]);
      } else if (field.body ? given : field.type === 'b' ? given?.length : given) {
        writeValue(field, given);
      }
    }
  }
}

function taken() {
  const length = out.length - at;
  let bytes;
  if (out.length > SCRATCH) {
    bytes = out.subarray(at);
    out = Buffer.allocUnsafeSlow(SCRATCH);
  } else {
    bytes = Buffer.allocUnsafe(length);
    out.copy(bytes, 0, at);
  }
  at = out.length;
  return bytes;
}

/** The bytes of a message of this name. */
export function encode(name, value) {
  at = out.length;
  writeMessage(messages.get(name), value);
  return taken();
}

const ENVELOPE = messages.get('Envelope');

/** An Envelope as a frame. */
export function encodeFrame(envelope) {
  at = out.length;
  writeMessage(ENVELOPE, envelope);
  const length = out.length - at;
  reserve(4);
  at -= 4;
  out.writeUInt32BE(length, at);
  return taken();
}

// What is read, where, and up to where: one message after the other, so that one of each will do.
let from;
let pos = 0;
// The upper half of the last varint.
let high = 0;

/** The lower 32 bits of a varint; the upper ones are in `high`. */
function readVarint(end) {
  high = 0;
  let low = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    if (pos >= end) throw new WireError('it ends within a number');
    const byte = from[pos];
    pos += 1;
    const bits = byte & 127;
    if (shift < 28) low |= bits << shift;
    else if (shift === 28) {
      low |= bits << 28;
      high = bits >>> 4;
    } else if (shift < 63) high |= bits << (shift - 32);
    else {
      if (byte > 1) throw new WireError('a number has more than 64 bits');
      high |= bits << 31;
    }
    if (byte < 128) return low >>> 0;
  }
  throw new WireError('a number has more than 64 bits');
}

function readLength(end) {
  const length = readVarint(end);
  if (high !== 0 || length > end - pos) throw new WireError('a field is longer than its message');
  return length;
}

/** A number if that is exact, else a bigint. */
function whole(low, signed) {
  const upper = signed ? high | 0 : high >>> 0;
  const value = upper * 2 ** 32 + low;
  return Number.isSafeInteger(value) ? value : (BigInt(upper) << 32n) + BigInt(low);
}

function readScalar(type, end) {
  if (type === 's' || type === 'b') {
    const length = readLength(end);
    const begin = pos;
    pos += length;
    // Bytes are copied: what they are a part of is the buffer of the connection.
    return type === 's' ? from.toString('utf8', begin, pos) : Buffer.from(from.subarray(begin, pos));
  }
  const low = readVarint(end);
  switch (type) {
    case 'f':
      return low !== 0 || high !== 0;
    case 'i':
      return low | 0;
    case 'u':
      return low;
    default:
      return whole(low, type === 'I');
  }
}

function skip(number, wireType, end, depth) {
  switch (wireType) {
    case 0:
      readVarint(end);
      break;
    case 1:
      pos += 8;
      break;
    case 2: {
      const length = readLength(end);
      pos += length;
      break;
    }
    case 3:
      if (depth >= GROUPS_MAX) throw new WireError('groups nest too deep');
      for (;;) {
        const tag = readVarint(end);
        if ((tag & 7) === 4) {
          if (tag >>> 3 !== number) throw new WireError('a group ends that has not begun');
          break;
        }
        skip(tag >>> 3, tag & 7, end, depth + 1);
      }
      break;
    case 5:
      pos += 4;
      break;
    default:
      throw new WireError(`there is no wire type ${wireType}`);
  }
  if (pos > end) throw new WireError('a field is longer than its message');
}

function readMessage(message, value, end) {
  while (pos < end) {
    const tag = readVarint(end);
    const number = tag >>> 3;
    if (high !== 0 || number === 0) throw new WireError('a field has a number that none can have');
    const field = message.byNumber.get(number);
    if (field === undefined) {
      skip(number, tag & 7, end, 0);
      continue;
    }
    if ((tag & 7) !== field.wireType) {
      throw new WireError(`the field ${message.name}.${field.name} has the wire type ${tag & 7}`);
    }
    const { name, body } = field;
    if (body === undefined) {
      const read = readScalar(field.type, end);
      if (!field.repeated) value[name] = read;
      else if (value[name] === NONE) value[name] = [read];
      else value[name].push(read);
      continue;
    }
    const length = readLength(end);
    // A message that comes twice is one message, unless it is one of a list.
    let known = null;
    if (field.oneof) known = value.kind === name ? value.body : null;
    else if (!field.repeated) known = value[name];
    const read = readMessage(body, known ?? { ...body.defaults }, pos + length);
    if (field.oneof) {
      value.kind = name;
      value.body = read;
    } else if (!field.repeated) value[name] = read;
    else if (value[name] === NONE) value[name] = [read];
    else value[name].push(read);
  }
  return value;
}

/**
 * The message of this name that the bytes from `begin` to `end` of a Buffer are.
 *
 * Throws a WireError if they are none.
 */
export function decode(name, bytes, begin = 0, end = bytes.length) {
  const message = messages.get(name);
  from = bytes;
  pos = begin;
  try {
    return readMessage(message, { ...message.defaults }, end);
  } finally {
    from = undefined;
  }
}
