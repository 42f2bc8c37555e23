/**
 * The protocol of a tool process without its connection: envelopes come in, frames go out.
 *
 * Requests run at once up to the announced concurrency; one that comes beyond that waits. A
 * request that is cancelled is answered in any case, so that the bridge need not wonder.
 */
import { Buffer } from 'node:buffer';

import { asToolError, errorToWire, ToolError } from '../errors.js';
import { encodeFrame } from '../wire/codec.js';
import { within } from './current.js';
import { messageMax, say, streamMin } from './environment.js';
import { Request } from './request.js';
import { hooks, serviceOf } from './services.js';
import { Tasks } from './tasks.js';

/** What a cancelled handler gets to end by itself before it is answered for, in milliseconds. */
const CANCEL_GRACE = 200;

/** Bytes of one piece of a large result. */
const CHUNK = 256 * 1024;

/** What answers which question; the others are about tools, and answered by those that are active. */
const ANSWERS = {
  sampling_request: 'sampling_response',
  list_roots_request: 'list_roots_response',
  elicit_request: 'elicit_response',
};

/** Who makes which list; those of tools are part of the handshake. */
const LISTS = {
  resource: 'list_resources_request',
  'resource template': 'list_resource_templates_request',
  prompt: 'list_prompts_request',
};

const nothing = () => {};

export class Peer {
  /** Tells what is offered: tools, hidden, middleware, concurrency. */
  #offer;

  /** Sends bytes; returns false if the reader is slow. */
  #write;

  /** A promise that the reader has caught up. */
  #drained;

  /** Envelopes that came before the definitions were complete. */
  #held = [];

  #running = new Set();

  #waiting = [];

  #tasks = new Tasks();

  /** Questions of ours: how to settle them, by request id. */
  #asked = new Map();

  #lastAsk = 0;

  /** Middleware that is still to be registered; undefined before and after the handshake. */
  #registering;

  #isReady = false;

  #isClosed = false;

  /** Names of hidden tools that the bridge was told to hide. */
  #hidden = new Set();

  #whenIdle = nothing;

  constructor(offer, write, drained = () => undefined) {
    this.#offer = offer;
    this.#write = write;
    this.#drained = drained;
  }

  /** The definitions are complete: what came so far is dealt with. */
  open() {
    const held = this.#held ?? [];
    this.#held = undefined;
    held.forEach((envelope) => this.receive(envelope));
  }

  /** Takes one envelope of the bridge. What makes no sense here is skipped. */
  receive(envelope) {
    if (this.#held) {
      this.#held.push(envelope);
      return;
    }
    const { kind, body, request_id: id } = envelope;
    const service = serviceOf(kind);
    if (service) {
      const request = new Request(this, envelope);
      if (this.#running.size < this.#offer.concurrency()) this.#begin(request, service);
      else this.#waiting.push(request);
      return;
    }
    switch (kind) {
      case 'list_tools':
        this.#listTools(id);
        break;
      case 'register_middleware_response':
        this.#registered(body);
        break;
      case 'reload': {
        const error = 'modules that are loaded stay loaded; a new process shows the changed code';
        this.send('reload_response', { success: false, error }, id);
        break;
      }
      case 'cancel':
        this.#cancel(body.request_id);
        break;
      case 'restore_state':
        hooks.restore(body.state);
        break;
      case 'task_status':
        this.send('task_status_response', this.#tasks.status(body.task_id), id);
        break;
      case 'task_result':
        this.#taskResult(body.task_id, id);
        break;
      case 'task_cancel': {
        const request = this.#tasks.requestOf(body.task_id);
        if (request) this.#cancelRequest(request);
        this.send('task_status_response', this.#tasks.status(body.task_id), id);
        break;
      }
      case 'active_tools':
      case 'sampling_response':
      case 'list_roots_response':
      case 'elicit_response':
        this.#asked.get(id)?.answer(kind, body);
        break;
      default:
    }
  }

  // The handshake.

  #listTools(id) {
    this.#sendTools(id);
    this.#registering = this.#offer.middleware();
    this.#register();
  }

  #sendTools(id) {
    const tools = this.#offer.tools();
    this.send('tool_list', { tools, max_concurrent_calls: this.#offer.concurrency() }, id);
  }

  #register() {
    const next = this.#registering.shift();
    if (next) this.send('register_middleware', next);
    else this.#complete('');
  }

  #registered({ success }) {
    if (!this.#registering) return;
    if (success) this.#register();
    // To serve on without it could let through what it was there to stop.
    else this.#complete('the bridge refused a middleware');
  }

  #complete(error) {
    this.#registering = undefined;
    this.#isReady = true;
    this.send('reload_response', { success: error === '', error });
    this.#hide();
  }

  #hide() {
    const fresh = this.#offer.hidden().filter((name) => !this.#hidden.has(name));
    fresh.forEach((name) => this.#hidden.add(name));
    if (fresh.length > 0) this.send('disable_tools', { tool_names: fresh });
  }

  /** Tells the bridge of a list (its noun) to which something was added, or from which removed. */
  listChanged(noun) {
    if (!this.#isReady || this.#isClosed) return;
    if (noun === 'tool') {
      this.#hide();
      this.#sendTools('');
      return;
    }
    const service = serviceOf(LISTS[noun]);
    if (service) this.send(service.answer, service.work());
  }

  // Requests.

  #begin(request, service) {
    this.#running.add(request);
    if (request.isCancelled) {
      this.#failed(request, service, ToolError.cancelled());
      return;
    }
    let answer;
    try {
      answer = within(request, () => service.work(request));
    } catch (error) {
      this.#failed(request, service, error);
      return;
    }
    if (typeof answer?.then !== 'function') {
      this.#finish(request, service, answer);
      return;
    }
    answer.then(
      (body) => this.#finish(request, service, body),
      (error) => this.#failed(request, service, error),
    );
  }

  #failed(request, service, error) {
    this.#finish(request, service, service.failed(asToolError(error), request));
  }

  #finish(request, service, answer) {
    if (request.isAnswered || this.#isClosed) {
      this.#leave(request);
      return;
    }
    request.isAnswered = true;
    hooks.beforeAnswer(request);
    const [kind, body] = Array.isArray(answer) ? answer : [service.answer, answer];
    if (request.taskId) {
      this.#endTask(request, service, kind, body);
      this.#leave(request);
      return;
    }
    const sending = this.#deliver(request.id, kind, body, service);
    if (sending) sending.finally(() => this.#leave(request));
    else this.#leave(request);
  }

  #leave(request) {
    this.#running.delete(request);
    if (this.#running.size === 0) this.#whenIdle();
    if (this.#waiting.length === 0 || this.#running.size >= this.#offer.concurrency()) return;
    const next = this.#waiting.shift();
    this.#begin(next, serviceOf(next.kind));
  }

  #cancel(id) {
    if (id === '') return;
    const isIt = (request) => request.id === id;
    const found = [...this.#running, ...this.#waiting, ...this.#tasks.requests()].filter(isIt);
    found.forEach((request) => this.#cancelRequest(request));
  }

  #cancelRequest(request) {
    request.cancel();
    const service = serviceOf(request.kind);
    const timer = setTimeout(() => {
      if (!request.isAnswered) this.#failed(request, service, ToolError.cancelled());
    }, CANCEL_GRACE);
    timer.unref?.();
  }

  // Answers.

  /** Sends an answer, in pieces if it is large. Returns a promise if that takes time. */
  #deliver(id, kind, body, service) {
    try {
      const field = kind === 'call_result' ? onlyPayload(body) : undefined;
      if (field && body[field].length > streamMin) {
        const bytes = Buffer.from(body[field]);
        if (bytes.length > messageMax) throw tooLarge(bytes.length);
        return this.#stream(id, field, bytes);
      }
      const frame = encodeFrame({ kind, body, request_id: id });
      if (frame.length - 4 > messageMax) throw tooLarge(frame.length - 4);
      this.#write(frame);
    } catch (error) {
      this.send(service.answer, service.failed(asToolError(error)), id);
    }
    return undefined;
  }

  async #stream(id, field, bytes) {
    const head = { field_name: field, total_size: bytes.length, chunk_size: CHUNK };
    this.send('stream_header', head, id);
    for (let begin = 0; begin < bytes.length && !this.#isClosed; begin += CHUNK) {
      const data = bytes.subarray(begin, begin + CHUNK);
      const final = begin + CHUNK >= bytes.length;
      // Others' answers get past while the reader is busy.
      if (!this.send('stream_chunk', { data, final }, id) && !final) await this.#drained();
    }
  }

  /** Sends a message, as long as there is somebody to read it; one that is too large is dropped. */
  send(kind, body, id = '') {
    if (this.#isClosed) return true;
    const frame = encodeFrame({ kind, body, request_id: id });
    if (frame.length - 4 > messageMax) {
      say(`a message (${kind}) of ${frame.length - 4} bytes is more than the bridge takes and was dropped`);
      return true;
    }
    return this.#write(frame);
  }

  // Tasks.

  /** Makes a running call a task: the bridge gets an id in place of the result. */
  startTask(request) {
    if (request.taskId) return request.taskId;
    if (request.kind !== 'call_tool' || !this.#running.has(request)) {
      throw new ToolError('only the running call of a tool can become a task', { code: 'INVALID' });
    }
    if (request.isCancelled) throw ToolError.cancelled();
    request.taskId = this.#tasks.begin(request);
    this.send('create_task', { task_id: request.taskId }, request.id);
    this.#leave(request);
    return request.taskId;
  }

  /** Notes how far a task is; with `tell`, the bridge hears of it at once. */
  noteTask(request, change, { tell = false } = {}) {
    const status = this.#tasks.note(request.taskId, change);
    if (status && tell) this.send('task_status_response', status);
  }

  #endTask(request, service, kind, body) {
    let result = body;
    if (kind !== 'call_result') {
      const text = "a task can't answer with questions; it can ask them while it runs";
      result = service.failed(new ToolError(text, { code: 'INVALID' }), request);
    }
    const { status, waiting } = this.#tasks.end(request.taskId, result);
    this.send('task_status_response', status);
    waiting.forEach((id) => this.#deliver(id, service.answer, result, service));
  }

  #taskResult(taskId, id) {
    const service = serviceOf('call_tool');
    try {
      const result = this.#tasks.fetch(taskId, id);
      if (result) this.#deliver(id, service.answer, result, service);
    } catch (error) {
      this.send(service.answer, { is_error: true, error: errorToWire(error) }, id);
    }
  }

  // Questions.

  /** Asks the bridge on behalf of a request (or of nobody); a promise of the answer's body. */
  ask(kind, body, request) {
    if (this.#isClosed) return Promise.reject(gone());
    if (request?.isCancelled) return Promise.reject(ToolError.cancelled());
    this.#lastAsk += 1;
    const id = `t${this.#lastAsk}`;
    const frame = encodeFrame({ kind, body, request_id: id });
    if (frame.length - 4 > messageMax) {
      const text = `the question takes ${frame.length - 4} bytes, the bridge accepts ${messageMax} (see --max-message)`;
      return Promise.reject(new ToolError(text, { code: 'TOO_LARGE' }));
    }
    return new Promise((resolve, reject) => {
      const forget = request?.ifCancelled(() => {
        this.#asked.delete(id);
        reject(ToolError.cancelled());
      });
      this.#asked.set(id, {
        answer: (answerKind, answer) => {
          this.#asked.delete(id);
          forget?.();
          if (answerKind === (ANSWERS[kind] ?? 'active_tools')) resolve(answer);
          else reject(ToolError.internal('the bridge answered with a message of another kind'));
        },
        gone: () => reject(gone()),
      });
      this.#write(frame);
    });
  }

  // The end.

  /** The bridge is gone. A promise that handlers have ended, which need not come true. */
  close() {
    this.#isClosed = true;
    this.#waiting.length = 0;
    [...this.#running, ...this.#tasks.requests()].forEach((request) => request.cancel());
    this.#asked.forEach((asked) => asked.gone());
    this.#asked.clear();
    return new Promise((resolve) => {
      if (this.#running.size === 0) resolve();
      else this.#whenIdle = resolve;
    });
  }
}

/** The one field that the result has, if it has no other. */
function onlyPayload(body) {
  if (body.is_error || body.error || body.meta_json) return undefined;
  if (body.enable_tools?.length || body.disable_tools?.length) return undefined;
  const { result_json: result, structured_content_json: structured } = body;
  if (result && structured) return undefined;
  return structured ? 'structured_content_json' : result && 'result_json';
}

function tooLarge(size) {
  const text = `the result takes ${size} bytes, the bridge accepts ${messageMax} (see --max-message)`;
  return new ToolError(text, { code: 'RESULT_TOO_LARGE', suggestion: 'ask for less at once' });
}

function gone() {
  return new ToolError('the bridge closed the connection', { code: 'BRIDGE_GONE' });
}
