/** What a handler can do beside answering: report, ask, and look at its request. */
import { ask, tell } from './core/link.js';
import { listing, prompts, resources } from './core/registry.js';
import { ToolError } from './errors.js';
import { Input } from './input.js';
import { ServerLogger } from './log.js';
import { toolManager } from './manager.js';
import {
  elicitationToWire,
  elicitedFromWire,
  rootsFromWire,
  sampledFromWire,
  samplingToWire,
} from './questions.js';
import { currentState, saveState } from './state.js';

/** Progress goes over the wire in whole numbers. */
const FRACTIONS = 1000;

const idle = new AbortController();

/** Tells the hosts that subscribed to this resource that its content changed. */
export function resourceChanged(uri) {
  tell('resource_changed', { uri: String(uri) });
}

/** One request, seen from its handler. */
export class ToolContext {
  #request;

  #progressToken;

  #send;

  #scale = 1;

  #onProgress;

  #log;

  /** The variables of a resource template. */
  variables = {};

  /**
   * Handlers get theirs. In a test of yours: a progress token, and a function that gets
   * `{ progress: { progressToken, progress, total, message } }`.
   */
  constructor(progressToken = '', send = undefined) {
    if (typeof send === 'function') {
      this.#send = (progress) => send({ progress });
    }
    this.#progressToken = progressToken;
  }

  /** The context of a request. `onProgress` hears of every report. */
  static of(request, onProgress) {
    const context = new ToolContext(request.body.progress_token ?? '');
    context.#request = request;
    context.#onProgress = onProgress;
    return context;
  }

  /** The bridge's id of this request. */
  get requestId() {
    return this.#request?.id ?? '';
  }

  /** Names the host's wish for progress; empty if it has none. */
  get progressToken() {
    return this.#progressToken;
  }

  /** The host's trace context (W3C): traceparent, tracestate, baggage, as far as it sent them. */
  get trace() {
    try {
      return JSON.parse(this.#request?.traceJson || '{}');
    } catch {
      return {};
    }
  }

  /** Aborted when the host no longer wants the answer, or the bridge is gone. */
  get signal() {
    return this.#request?.signal ?? idle.signal;
  }

  isCancelled() {
    return this.#request?.isCancelled ?? false;
  }

  /** Throws once the host no longer wants the answer. */
  checkCancelled() {
    if (this.isCancelled()) throw ToolError.cancelled();
  }

  /**
   * Tells the host how far the call has come. Nothing happens if the host did not ask for that;
   * a task remembers it in any case.
   */
  reportProgress(progress, total, message) {
    this.#onProgress?.(progress, total, message);
    const report = { progressToken: this.#progressToken, progress };
    if (total !== undefined) report.total = total;
    if (message !== undefined) report.message = message;
    if (this.#send) {
      if (this.#progressToken) this.#send(report);
      return;
    }
    // One fraction, and the whole call counts in fractions: progress must not go back.
    if (!Number.isInteger(progress) || !Number.isInteger(total ?? 0)) this.#scale = FRACTIONS;
    const whole = (number) => Math.round(Number(number ?? 0) * this.#scale);
    const change = { progress: whole(progress), total: whole(total), message: String(message ?? '') };
    if (!Number.isSafeInteger(change.progress) || !Number.isSafeInteger(change.total)) return;
    if (this.taskId) this.#request.peer.noteTask(this.#request, change);
    if (this.#progressToken) tell('progress', { progress_token: this.#progressToken, ...change });
  }

  /** As `reportProgress`. */
  progress(progress, total, message) {
    this.reportProgress(progress, total, message);
  }

  /** The log of the host whose call this is. */
  get log() {
    this.#log ??= ServerLogger.ofCall(this.requestId);
    return this.#log;
  }

  /** As `toolManager`. */
  get tools() {
    return toolManager;
  }

  /** Which prompts hosts see in their list. */
  get prompts() {
    return listing(prompts);
  }

  /** The same of resources, by URI. */
  get resources() {
    return listing(resources);
  }

  /** Has the host's model answer a text, or `{ messages, systemPrompt, maxTokens, … }`. */
  async sample(question) {
    return sampledFromWire(await this.#ask('sampling_request', samplingToWire(question)));
  }

  /** Asks the user: a text with or without a schema, or `{ message, schema }`, `{ message, url }`. */
  async elicit(question, schema) {
    const { body, validate } = elicitationToWire(question, schema);
    return elicitedFromWire(await this.#ask('elicit_request', body), validate);
  }

  /** The folders and other places that the host works on. */
  async roots() {
    return rootsFromWire(await this.#ask('list_roots_request', {}));
  }

  #ask(kind, body) {
    return ask(kind, { ...body, call_request_id: this.requestId }, this.#request);
  }

  /** What came back of an InputRequired. */
  get input() {
    return new Input(this.#request?.body.input);
  }

  /** An object that outlives the process: saved after a handler that looked at it. */
  get state() {
    if (this.#request) this.#request.usesState = true;
    return currentState();
  }

  saveState(bytes) {
    saveState(bytes);
  }

  resourceChanged(uri) {
    resourceChanged(uri);
  }

  /**
   * Makes this call a task: the host may do something else, while the handler goes on. What it
   * returns in the end is the task's result. Returns the task's id.
   */
  startTask() {
    if (!this.#request) throw new ToolError('there is no call', { code: 'INVALID' });
    return this.#request.peer.startTask(this.#request);
  }

  /** The id of the task that this call has become. */
  get taskId() {
    return this.#request?.taskId || undefined;
  }

  /** Says what the task is doing, to whoever looks at it. */
  taskStatus(message) {
    if (this.taskId) this.#request.peer.noteTask(this.#request, { message: String(message) }, { tell: true });
  }
}
