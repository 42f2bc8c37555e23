/** Mistakes of a tool's author: one line that says where and what. */
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { say, socketPath } from './environment.js';

/** A definition that can't be offered. Under the bridge it ends the process instead. */
export class DefinitionError extends Error {
  name = 'DefinitionError';
}

// The folder of the sources, or the one file that they were put together to.
const OURS = fileURLToPath(import.meta.url).replace(/core\/mistake\.js$/, '');
const FRAME = /(?:\(|at |@)(?:file:\/\/)?(\/[^()]+?)(?:\?[^():]*)?:(\d+)(?::\d+)?\)?$/;

/** Where the author's code called us, as `file:line`; empty if that can't be said. */
export function callSite() {
  for (const line of new Error().stack.split('\n')) {
    const [, file, number] = FRAME.exec(line) ?? [];
    if (file && !file.startsWith(OURS)) {
      const folder = `${process.cwd()}/`;
      const path = decodeURI(file);
      return `${path.startsWith(folder) ? path.slice(folder.length) : path}:${number}`;
    }
  }
  return '';
}

/** Throws what says so; under the bridge, says so and ends the process. */
export function mistake(text, where = callSite()) {
  const line = where ? `${where}: ${text}` : text;
  if (!socketPath) throw new DefinitionError(line);
  say(line);
  process.exit(1);
}

/**
 * Tells the author where an unexpected error of a handler came from; those who asked hear its
 * message alone. Says nothing of errors that a handler has meant.
 */
export function tellAuthor(what, error, request) {
  if (error.code !== 'INTERNAL' || request?.isCancelled) return;
  say(`${what} failed: ${error.cause === undefined ? error.message : stackOf(error.cause)}`);
}

/** The stack of an error without the frames between the author's code and the event loop. */
export function stackOf(error) {
  const lines = String(error?.stack ?? error).split('\n');
  return lines
    .filter((line) => !line.includes(OURS) && !/^\s+at .*\((?:node|native|ext):/.test(line))
    .join('\n');
}
