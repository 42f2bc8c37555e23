/** A tool file as a process of its own, with a bridge of this process at its other end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { decode, encodeFrame } from '../src/wire/codec.js';
import { FrameReader } from '../src/wire/frames.js';

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));
/** What nobody says within this many milliseconds is not said any more. */
const PATIENCE = 30_000;

/** Questions about the tool list; that of these tests never changes. */
const LIST_QUESTIONS = [
  'get_active_tools',
  'set_allowed',
  'set_blocked',
  'enable_tools',
  'disable_tools',
  'batch',
];

const folders = [];
const children = new Set();

process.on('exit', () => {
  children.forEach((child) => child.kill('SIGKILL'));
  folders.forEach((folder) => rmSync(folder, { recursive: true, force: true }));
});

/** A folder with these files, in which `protomcp` and these libraries can be imported. */
function folderOf(files, libraries) {
  const folder = mkdtempSync(join(tmpdir(), 'protomcp-'));
  folders.push(folder);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules', 'protomcp'));
  for (const name of libraries)
    symlinkSync(join(PACKAGE, 'node_modules', name), join(folder, 'node_modules', name));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** Starts `server.mjs` of these files with a bridge at its other end. */
export async function start(
  files,
  { env = {}, listens = true, main = 'server.mjs', libraries = [], interpreter = [process.execPath] } = {},
) {
  const folder = folderOf(typeof files === 'string' ? { [main]: files } : files, libraries);
  const socketPath = join(folder, 'socket');
  const server = createServer();
  if (listens) {
    server.listen(socketPath);
    await once(server, 'listening');
  }
  const child = spawn(interpreter[0], [...interpreter.slice(1), main], {
    cwd: folder,
    env: { ...process.env, NODE_TEST_CONTEXT: '', HOME: folder, PROTOMCP_SOCKET: socketPath, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  const tool = {
    folder,
    child,
    output: '',
    ended: once(child, 'exit').then(([code, signal]) => code ?? signal),
  };
  child.stdout.on('data', (data) => {
    tool.output += data;
  });
  child.stderr.on('data', (data) => {
    tool.output += data;
  });
  tool.ended.then(() => server.close());
  const received = [];
  let wake = () => {};
  server.once('connection', (socket) => {
    tool.socket = socket;
    const reader = new FrameReader();
    socket.on('data', (data) =>
      reader.push(data, (bytes, begin, end) => {
        const envelope = decode('Envelope', bytes, begin, end);
        const isListQuestion = LIST_QUESTIONS.includes(envelope.kind) && envelope.request_id;
        if (envelope.kind === 'register_middleware')
          tool.say('register_middleware_response', { success: true });
        else if (isListQuestion) tool.say('active_tools', { tool_names: ['all'] }, envelope.request_id);
        else received.push(envelope);
        wake();
      }),
    );
    socket.on('error', () => {});
    wake();
  });
  tool.next = async (wanted) => {
    for (;;) {
      const at = received.findIndex(wanted);
      if (at >= 0) return received.splice(at, 1)[0];
      await new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`waited in vain for ${wanted}: ${tool.output}`)),
          PATIENCE,
        );
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
        tool.ended.then((code) => {
          clearTimeout(timer);
          reject(new Error(`it ended with ${code}: ${tool.output}`));
        });
      });
    }
  };
  tool.connected = async () => {
    while (!tool.socket)
      await new Promise((resolve) => {
        wake = resolve;
      });
  };
  tool.say = (kind, body = {}, id = '') => tool.socket.write(encodeFrame({ kind, body, request_id: id }));
  tool.ask = (kind, body, id) => {
    tool.say(kind, body, id);
    return tool.next((envelope) => envelope.request_id === id);
  };
  tool.names = async () => {
    await tool.connected();
    const { body } = await tool.ask('list_tools', {}, 'list');
    await tool.next(({ kind }) => kind === 'reload_response');
    return body.tools.map(({ name }) => name);
  };
  tool.call = async (name, args = {}) => {
    const { body } = await tool.ask(
      'call_tool',
      { name, arguments_json: JSON.stringify(args) },
      `call ${name}`,
    );
    return JSON.parse(body.result_json)[0].text;
  };
  return tool;
}

/** Ends a tool process as the bridge does. */
export async function end(tool) {
  tool.socket.end();
  return tool.ended;
}
