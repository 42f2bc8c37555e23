/**
 * What one life of the process leaves to the next: an object that is saved whenever a handler has
 * changed it, or bytes of the author's own.
 */
import { Buffer } from 'node:buffer';

import { say } from './core/environment.js';
import { tell } from './core/link.js';
import { hooks } from './core/services.js';
import { ToolError } from './errors.js';

/** What a process may leave to the one after it, in bytes. */
const STATE_MAX = 1024 * 1024;

let state = {};
let saved = '{}';
/** The author's own way, instead of the object. */
let restore;

/** The state: change its members as you like. Values are JSON. */
export function currentState() {
  return state;
}

function send(bytes) {
  if (bytes.length > STATE_MAX) {
    const text = `the state takes ${bytes.length} bytes, and the limit is ${STATE_MAX}`;
    throw new ToolError(text, { code: 'STATE_TOO_LARGE' });
  }
  tell('save_state', { state: bytes });
}

/**
 * Leaves something to the next process: bytes or a text for `onRestore` there; without an
 * argument, the state as it is now. At most 1 MiB.
 */
export function saveState(bytes) {
  if (bytes !== undefined) {
    send(Buffer.from(bytes));
    return;
  }
  const json = JSON.stringify(state);
  if (json === saved) return;
  send(Buffer.from(json));
  saved = json;
}

/** Takes over what the process before this one saved last, as bytes, before the first request. */
export function onRestore(handler) {
  restore = handler;
}

hooks.beforeAnswer = (request) => {
  if (!request.usesState) return;
  try {
    saveState();
  } catch (error) {
    say(`the state can't be saved: ${error.message}`);
  }
};

hooks.restore = (bytes) => {
  try {
    if (restore) {
      restore(bytes);
      return;
    }
    const json = bytes.toString();
    const found = JSON.parse(json);
    if (typeof found !== 'object' || found === null || Array.isArray(found))
      throw new Error('it is no object');
    state = found;
    saved = json;
  } catch (error) {
    say(`what the process before this one saved can't be used: ${error.message}`);
  }
};
