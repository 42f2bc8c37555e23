/** The bytes of the wire: the vectors that the generated code has made, and what is no message. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { decode, encode, encodeFrame, WireError } from '../src/wire/codec.js';
import { FrameReader } from '../src/wire/frames.js';
import { messages } from '../src/wire/schema.js';

const vectors = readFileSync(new URL('../../vectors.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

const hex = (bytes) => Buffer.from(bytes).toString('hex');
const unhex = (text) => Buffer.from(text, 'hex');
const isWide = (field) => field.type === 'I' || field.type === 'U';

/** A message as the codec has it, from the JSON of a vector. */
function fromVector(message, json) {
  const value = {};
  for (const field of message.fields) {
    const given = json[field.name];
    if (given !== undefined) {
      const one = (it) => {
        if (field.body) return fromVector(field.body, it);
        if (field.type === 'b') return unhex(it);
        if (!isWide(field)) return it;
        return Number.isSafeInteger(Number(it)) ? Number(it) : BigInt(it);
      };
      if (field.oneof) Object.assign(value, { kind: field.name, body: one(given) });
      else value[field.name] = field.repeated ? given.map(one) : one(given);
    }
  }
  return value;
}

/** The other way round. */
function toVector(message, value) {
  const json = {};
  for (const field of message.fields) {
    const one = (it) => {
      if (field.body) return toVector(field.body, it);
      if (field.type === 'b') return hex(it);
      return isWide(field) ? String(it) : it;
    };
    if (field.oneof) {
      if (value.kind === field.name) json[field.name] = one(value.body);
    } else if (field.repeated) {
      if (value[field.name].length > 0) json[field.name] = value[field.name].map(one);
    } else if (field.body ? value[field.name] : value[field.name]?.length !== 0 && value[field.name]) {
      json[field.name] = one(value[field.name]);
    }
  }
  return json;
}

test('every vector is read, and those that encoders write are written', () => {
  for (const { message: name, hex: bytes, json, only, error } of vectors) {
    const message = messages.get(name);
    assert.ok(message, name);
    if (error) assert.throws(() => decode(name, unhex(bytes)), WireError, `${name} ${bytes}`);
    else {
      assert.deepEqual(toVector(message, decode(name, unhex(bytes))), json, `${name} ${bytes}`);
      if (!only) assert.equal(hex(encode(name, fromVector(message, json))), bytes, name);
    }
  }
  const seen = new Set(vectors.map((vector) => vector.message));
  assert.deepEqual(
    [...messages.keys()].filter((name) => !seen.has(name)),
    [],
  );
});

test('a message that is cut anywhere is refused or is another message, never a crash', () => {
  for (const { message: name, hex: bytes } of vectors) {
    const whole = unhex(bytes);
    for (let end = 0; end < Math.min(whole.length, 400); end += 1) {
      try {
        decode(name, whole.subarray(0, end));
      } catch (error) {
        assert.ok(error instanceof WireError, `${name}: ${error.stack}`);
      }
    }
  }
});

test('bytes by chance are refused or are a message', () => {
  let seed = 1;
  const random = (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  for (let turn = 0; turn < 20_000; turn += 1) {
    const { message: name, hex: bytes } = vectors[random(vectors.length)];
    const mutated = unhex(bytes).subarray(0, 200);
    for (let change = random(4); change >= 0 && mutated.length > 0; change -= 1) {
      mutated[random(mutated.length)] = random(256);
    }
    try {
      decode(name, mutated);
    } catch (error) {
      assert.ok(error instanceof WireError, `${name} ${hex(mutated)}: ${error.stack}`);
    }
  }
});

test('a length that nothing has is refused before anything is made of it', () => {
  const huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0x07];
  assert.throws(() => decode('SaveState', Buffer.from(huge)), /longer than its message/);
  assert.throws(() => decode('ToolListResponse', Buffer.from(huge)), /longer than its message/);
});

test('groups in groups end somewhere', () => {
  assert.throws(() => decode('RootDef', Buffer.alloc(100_000, 0x1b)), /nest too deep/);
});

test('whole numbers beyond 2^53 keep their value', () => {
  const read = (value) =>
    decode('ProgressNotification', encode('ProgressNotification', { progress: value })).progress;
  for (const value of [
    0,
    1,
    -1,
    2 ** 31,
    -(2 ** 31),
    2 ** 53 - 1,
    1 - 2 ** 53,
    2n ** 53n,
    -(2n ** 63n),
    2n ** 63n - 1n,
  ]) {
    assert.equal(read(value), value);
  }
  assert.equal(decode('RawHeader', encode('RawHeader', { size: 2n ** 64n - 1n })).size, 2n ** 64n - 1n);
});

test('large messages are written whole, and the scratch area is small again', () => {
  const large = 'é'.repeat(1_000_000);
  const bytes = encode('CancelRequest', { request_id: large });
  assert.equal(decode('CancelRequest', bytes).request_id, large);
  const list = { tool_names: Array.from({ length: 50_000 }, (_, index) => `tool ${index}`) };
  assert.deepEqual(
    [...decode('ActiveToolsResponse', encode('ActiveToolsResponse', list)).tool_names],
    list.tool_names,
  );
  assert.equal(hex(encode('CancelRequest', { request_id: 'a' })), '0a0161');
});

test('what was read does not change with the buffer that it came in', () => {
  const bytes = encode('SaveState', { state: Buffer.from([1, 2, 3]) });
  const { state } = decode('SaveState', bytes);
  bytes.fill(0);
  assert.deepEqual([...state], [1, 2, 3]);
});

function framesOf(bytes, cut) {
  const reader = new FrameReader();
  const found = [];
  for (let begin = 0; begin < bytes.length; begin += cut) {
    reader.push(bytes.subarray(begin, begin + cut), (from, start, end) =>
      found.push(hex(from.subarray(start, end))),
    );
  }
  return found;
}

test('frames come out alike however their bytes come in', () => {
  const envelopes = ['1', '22', 'x'.repeat(300)].map((id) => ({
    kind: 'list_tools',
    body: {},
    request_id: id,
  }));
  const bytes = Buffer.concat(envelopes.map(encodeFrame));
  const expected = envelopes.map((envelope) => hex(encode('Envelope', envelope)));
  for (let cut = 1; cut <= bytes.length; cut += 1)
    assert.deepEqual(framesOf(bytes, cut), expected, `cut ${cut}`);
});

test('an empty frame is a frame, and a length beyond all is none', () => {
  assert.deepEqual(framesOf(Buffer.from([0, 0, 0, 0, 0, 0, 0, 0]), 3), ['', '']);
  assert.throws(() => framesOf(Buffer.from([0xff, 0xff, 0xff, 0xff]), 4), WireError);
  // One that is large is waited for, and nothing is set aside for it.
  assert.deepEqual(framesOf(Buffer.from([0x7f, 0xff, 0xff, 0xff, 1, 2]), 2), []);
});
