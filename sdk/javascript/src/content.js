/** The blocks that results and prompts are made of. */
import { Buffer } from 'node:buffer';

import { ToolError } from './errors.js';

/** The members without which a block is none, by its type. */
const BLOCKS = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri'],
  resource: ['resource'],
};

/** Bytes as base64; a text is taken for base64 already. */
function base64(data) {
  if (typeof data === 'string') return data;
  if (data instanceof ArrayBuffer) return Buffer.from(data).toString('base64');
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
}

/** A text. `extra` may have `annotations` and `_meta`, as in all blocks. */
export function text(words, extra) {
  return { type: 'text', text: String(words), ...extra };
}

/** A picture: its bytes (or base64) and its media type. */
export function image(data, mimeType, extra) {
  return { type: 'image', data: base64(data), mimeType, ...extra };
}

/** A sound: its bytes (or base64) and its media type. */
export function audio(data, mimeType, extra) {
  return { type: 'audio', data: base64(data), mimeType, ...extra };
}

/** A pointer to a resource. `extra` may have title, description, mimeType, size and icons, too. */
export function resourceLink(uri, name = uri, extra = undefined) {
  return { type: 'resource_link', uri, name, ...extra };
}

/** A resource itself: `{ uri, text }` or `{ uri, blob }` with bytes or base64, and a `mimeType`. */
export function embeddedResource({ blob, ...content }, extra) {
  const resource = blob === undefined ? content : { ...content, blob: base64(blob) };
  return { type: 'resource', resource, ...extra };
}

/** Whether a value is a content block. */
export function isBlock(value) {
  const members = typeof value?.type === 'string' && Object.hasOwn(BLOCKS, value.type) && BLOCKS[value.type];
  return Boolean(members) && members.every((member) => value[member] !== undefined);
}

/** A block from a text, a block, or one whose bytes are not base64 yet. */
export function asBlock(value) {
  if (!isBlock(value)) return text(value);
  if (value.data !== undefined && typeof value.data !== 'string')
    return { ...value, data: base64(value.data) };
  const blob = value.resource?.blob;
  if (blob === undefined || typeof blob === 'string') return value;
  return { ...value, resource: { ...value.resource, blob: base64(blob) } };
}

/** A value as JSON. `what` names it when it can't be written. */
export function toJson(value, what) {
  let json;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    try {
      // Whole numbers beyond 2^53 have no better form that every reader takes.
      json = JSON.stringify(value, (_, it) => (typeof it === 'bigint' ? String(it) : it));
    } catch {
      throw ToolError.internal(`${what} can't be written as JSON: ${error.message.split('\n')[0]}`, {
        cause: error,
      });
    }
  }
  if (json === undefined)
    throw ToolError.internal(`${what} can't be written as JSON: it is of the type ${typeof value}`);
  return json;
}
