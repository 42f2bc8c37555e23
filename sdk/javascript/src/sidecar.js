/**
 * Processes that run beside the tools: a database, a browser. They are started when they are
 * needed, started again when they have ended, and stopped with this process.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';

import { say } from './core/environment.js';
import { mistake } from './core/mistake.js';
import { Registry } from './core/registry.js';

const sidecars = new Registry('sidecar');

/** By name: `process`, or `adopted` (the id of one that another life has started). */
const running = new Map();

/** By name: a promise that it has been started. */
const starting = new Map();

/** From the polite signal to the other one, in milliseconds. */
const KILL_AFTER = 2000;

/**
 * Declares one. `healthCheck` is a URL that answers 200 when it is ready, which is waited for
 * `healthTimeout` seconds; `startOn` is `first_tool_call` or `server_start`.
 */
export function sidecar(options) {
  const { name, command, healthCheck = '', startOn = 'first_tool_call', healthTimeout = 30 } = options ?? {};
  const owner = `the sidecar "${name}"`;
  if (!Array.isArray(command) || command.length === 0) mistake(`${owner}: its command is no list of words`);
  if (startOn !== 'first_tool_call' && startOn !== 'server_start') {
    mistake(`${owner}: startOn is "${startOn}", not "first_tool_call" or "server_start"`);
  }
  if (sidecars.size === 0) process.once('exit', stopAllSidecars);
  sidecars.add(name, { name, command: command.map(String), healthCheck, startOn, healthTimeout });
}

export function getRegisteredSidecars() {
  return sidecars.all();
}

export function clearSidecarRegistry() {
  sidecars.clear();
}

/** Who runs: the sidecar's process and ours, a line each. */
function pidFile(name) {
  return join(homedir(), '.protomcp', 'sidecars', `${name.replaceAll('/', '_')}.pid`);
}

function pidsOf(name) {
  try {
    const [pid, owner] = readFileSync(pidFile(name), 'utf8').split('\n').map(Number);
    return { pid, owner };
  } catch {
    return {};
  }
}

function writePids(name, pid) {
  try {
    mkdirSync(dirname(pidFile(name)), { recursive: true });
    writeFileSync(pidFile(name), `${pid}\n${process.pid}\n`);
  } catch (error) {
    say(`${pidFile(name)} can't be written: ${error.message}`);
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function runs(name) {
  const known = running.get(name);
  if (known?.process) return known.process.exitCode === null && known.process.signalCode === null;
  return known ? isAlive(known.adopted) : false;
}

async function isHealthy(url) {
  const { get } = await import(url.startsWith('https:') ? 'node:https' : 'node:http');
  return new Promise((resolve) => {
    const request = get(url, { timeout: 5000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
    request.on('timeout', () => {
      request.destroy();
      resolve(false);
    });
  });
}

async function launch({ name, command, healthCheck, healthTimeout }) {
  const { pid } = pidsOf(name);
  // One that an earlier life of this process has started, or that runs for both while one takes over.
  if (pid && healthCheck && isAlive(pid) && (await isHealthy(healthCheck))) {
    running.set(name, { adopted: pid });
    writePids(name, pid);
    return;
  }
  const { spawn } = await import('node:child_process');
  const child = spawn(command[0], command.slice(1), {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const failed = new Promise((resolve) => {
    child.on('error', (error) => {
      say(`the sidecar "${name}" can't be started: ${error.message}`);
      resolve(true);
    });
  });
  child.unref();
  if (child.pid === undefined) {
    await failed;
    return;
  }
  running.set(name, { process: child });
  writePids(name, child.pid);
  if (!healthCheck) return;
  const deadline = Date.now() + healthTimeout * 1000;
  for (let pause = 50; Date.now() < deadline; pause = Math.min(2 * pause, 1000)) {
    if (await isHealthy(healthCheck)) return;
    if (!runs(name)) break;
    await new Promise((resolve) => {
      setTimeout(resolve, pause);
    });
  }
  say(`the sidecar "${name}" does not answer at ${healthCheck}`);
}

function ensure(one) {
  if (runs(one.name)) return undefined;
  let start = starting.get(one.name);
  if (!start) {
    start = launch(one).finally(() => starting.delete(one.name));
    starting.set(one.name, start);
  }
  return start;
}

/** Starts those of a moment: `server_start` or `first_tool_call`. */
export async function startSidecars(moment) {
  await Promise.all(
    sidecars
      .all()
      .filter((one) => one.startOn === moment)
      .map(ensure),
  );
}

/** Before a call: all run, or a promise that they do. */
export function ensureSidecars() {
  if (sidecars.size === 0) return undefined;
  const needed = sidecars.all().map(ensure).filter(Boolean);
  return needed.length > 0 ? Promise.all(needed) : undefined;
}

/** Stops those that are ours: with SIGTERM, and, unless this process ends with that, SIGKILL. */
export function stopAllSidecars() {
  for (const [name, { process: child, adopted }] of running) {
    const pid = child?.pid ?? adopted;
    const { owner } = pidsOf(name);
    // A later life may have taken over.
    if ((owner === undefined || owner === process.pid) && runs(name)) {
      const signal = (word) => {
        try {
          process.kill(-pid, word);
        } catch {
          // It has ended.
        }
      };
      signal('SIGTERM');
      setTimeout(() => signal('SIGKILL'), KILL_AFTER).unref?.();
      rmSync(pidFile(name), { force: true });
    }
  }
  running.clear();
}
