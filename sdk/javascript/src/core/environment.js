/** What the bridge says to a process that it starts. */
import process from 'node:process';

const { env } = process;

function size(text, otherwise) {
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0 ? value : otherwise;
}

/** Where the bridge listens; empty in a program that was started by hand. */
export const socketPath = env.PROTOMCP_SOCKET ?? '';

// The tools' own children are not tool processes, whatever they import.
delete env.PROTOMCP_SOCKET;

/** The largest message that the bridge takes, in bytes. No known bridge takes less. */
export const messageMax = size(env.PROTOMCP_MAX_MESSAGE, 10 * 1024 * 1024);

/** Larger results go in pieces, so that smaller answers get past them. In bytes. */
export const streamMin = size(env.PROTOMCP_CHUNK_THRESHOLD, 1024 * 1024);

/**
 * Which life of the tool process this is: 1 for the first since the bridge was started, one more
 * with every restart or reload, 0 in a program that was started by hand.
 */
export const generation = size(env.PROTOMCP_GENERATION, 0);

/** A line for the author, which the bridge shows. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}
