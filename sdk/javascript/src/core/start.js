/**
 * The life of a tool process: it connects as soon as this package is imported, and is there for
 * the bridge once the file that was started has been evaluated to its end. No call is needed for
 * that; `run()` says it earlier.
 */
import { realpathSync } from 'node:fs';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';

import { decode, WireError } from '../wire/codec.js';
import { FrameReader } from '../wire/frames.js';
import { say, socketPath } from './environment.js';
import { connectTo } from './link.js';
import { Peer } from './peer.js';
import { onListChanged } from './registry.js';
import { hooks } from './services.js';

/** How long the started file may take before what it has defined so far is offered. */
const EVALUATION_MAX = 10_000;

/** What cancelled handlers get to end by themselves when the bridge is gone. */
const END_GRACE = 250;

const BY_HAND =
  'this is a tool process, it speaks only with pmcp: run it with `pmcp dev FILE` (PROTOMCP_SOCKET is not set)';

const MARK = Symbol.for('protomcp.loaded');

/** The author has read BY_HAND. */
let isTold = false;

/** Set when there is a bridge: `open` begins to serve, `ended` comes true when the bridge is gone. */
let life;

/** The URL under which the running module loader knows the started file, if that is certain. */
function mainModule() {
  if (globalThis.Deno?.mainModule) return globalThis.Deno.mainModule;
  if (globalThis.Bun?.main) return globalThis.Bun.main;
  // A CommonJS file is evaluated at once; and a loader may have its own URLs.
  const hasLoader = /--(?:import|loader|experimental-loader|require)\b|^-r/;
  const options = [...process.execArgv, process.env.NODE_OPTIONS ?? ''];
  if (process.mainModule || !process.argv[1] || options.some((option) => hasLoader.test(option))) return '';
  try {
    return pathToFileURL(realpathSync(process.argv[1])).href;
  } catch {
    return '';
  }
}

/** A promise that the started file has been evaluated. It is not evaluated twice for that. */
function evaluated() {
  const main = mainModule();
  const turn = new Promise((resolve) => {
    setImmediate(resolve);
  });
  if (!main) return turn;
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, EVALUATION_MAX);
  });
  // If it fails, that ends the process.
  const done = turn.then(() => import(main)).catch(() => {});
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}

/** Whether a test of the author's looks at the tools. */
function isTest() {
  const { env } = process;
  return Boolean(env.NODE_TEST_CONTEXT || env.VITEST || env.JEST_WORKER_ID || env.NODE_ENV === 'test');
}

async function connect(offer) {
  const { connect: open } = await import('node:net');
  const socket = open(socketPath);
  const reader = new FrameReader();
  let drained = Promise.resolve();
  const write = (bytes) => {
    const isRead = socket.write(bytes);
    if (!isRead) {
      drained = new Promise((resolve) => {
        socket.once('drain', resolve);
        socket.once('close', resolve);
      });
    }
    return isRead;
  };
  const peer = new Peer(offer, write, () => drained);
  const each = (bytes, begin, end) => {
    let envelope;
    try {
      envelope = decode('Envelope', bytes, begin, end);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      say(`a message of the bridge can't be read and is skipped: ${error.message}`);
      return;
    }
    peer.receive(envelope);
  };
  socket.on('data', (chunk) => {
    try {
      reader.push(chunk, each);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      say(`the bridge sent something that is not a message: ${error.message}`);
      process.exit(1);
    }
  });
  const ended = new Promise((resolve) => {
    socket.on('error', (error) => {
      if (socket.connecting || error.syscall === 'connect') {
        say(`the bridge's socket ${socketPath} can't be reached: ${error.message}`);
        process.exit(1);
      }
    });
    socket.on('close', resolve);
  }).then(() => {
    const grace = new Promise((resolve) => {
      setTimeout(resolve, END_GRACE).unref?.();
    });
    return Promise.race([peer.close(), grace]);
  });
  connectTo(peer);
  onListChanged((noun) => peer.listChanged(noun));
  return { peer, ended };
}

/**
 * Connects to the bridge, if there is one. `offer` tells what there is to offer: functions
 * `tools`, `hidden`, `middleware` and `concurrency`.
 */
export function start(offer) {
  if (globalThis[MARK]) {
    const places = `${globalThis[MARK]} and ${import.meta.url}`;
    say(`protomcp was loaded from two places, ${places}: only the first offers its tools`);
    return;
  }
  globalThis[MARK] = import.meta.url;
  if (!isMainThread) return;
  if (!socketPath) {
    process.once('exit', () => {
      if (!isTold && !isTest() && offer.tools().length > 0) say(BY_HAND);
    });
    return;
  }
  const connected = connect(offer);
  let isOpen = false;
  const open = async () => {
    if (isOpen) return;
    isOpen = true;
    await hooks.beforeHandshake();
    (await connected).peer.open();
  };
  const ended = connected.then((connection) => connection.ended);
  life = { open, ended, isAwaited: false };
  ended.then(() => {
    if (!life.isAwaited) process.exit();
  });
  evaluated().then(open);
}

/**
 * Begins to serve at once: all tools are defined. The promise comes true when the bridge is gone.
 */
export function run() {
  if (!life) {
    say(BY_HAND);
    isTold = true;
    process.exit(1);
  }
  life.isAwaited = true;
  life.open();
  return life.ended;
}
