/** One request of the bridge, while a handler works on it. */
import { ToolError } from '../errors.js';

export class Request {
  /** Goes back in the answer. */
  id;

  /** The message, by its name in the envelope. */
  kind;

  body;

  /** The host's trace context: a JSON object, or empty. */
  traceJson;

  /** The host no longer wants the answer. */
  isCancelled = false;

  /** The task that this call has become. */
  taskId = '';

  /** A handler looked at the process's state, and may have changed it. */
  usesState = false;

  /** An answer was sent; a later one is dropped. */
  isAnswered = false;

  peer;

  #controller;

  /** Made when somebody adds to it. */
  #ifCancelled;

  constructor(peer, envelope) {
    this.peer = peer;
    this.id = envelope.request_id;
    this.kind = envelope.kind;
    this.body = envelope.body;
    this.traceJson = envelope.trace_json;
  }

  /** Made when somebody looks: most handlers don't. */
  get signal() {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.isCancelled) this.#controller.abort(ToolError.cancelled());
    }
    return this.#controller.signal;
  }

  /** Calls back if the request is cancelled, at once if it is. Returns what takes that back. */
  ifCancelled(callback) {
    if (this.isCancelled) {
      callback();
      return () => {};
    }
    this.#ifCancelled ??= new Set();
    this.#ifCancelled.add(callback);
    return () => this.#ifCancelled?.delete(callback);
  }

  cancel() {
    if (this.isCancelled) return;
    this.isCancelled = true;
    this.#controller?.abort(ToolError.cancelled());
    const callbacks = this.#ifCancelled;
    this.#ifCancelled = undefined;
    callbacks?.forEach((callback) => callback());
  }
}
