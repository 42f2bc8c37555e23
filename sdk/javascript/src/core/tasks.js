/**
 * Calls that became tasks of this process: how each stands, and what it answered. A result is kept
 * until it is asked for.
 */
import { ToolError } from '../errors.js';

/** Tasks that may run at once. */
const RUNNING_MAX = 64;

/** Results that are kept for a bridge that has not asked for them yet, and their characters. */
const KEPT_MAX = 256;
const KEPT_SIZE_MAX = 64 * 1024 * 1024;

/** The longest status message, in characters. */
const MESSAGE_MAX = 512;

export class Tasks {
  /** By id: request, status, who waits for the result, and the result once it is there. */
  #tasks = new Map();

  #running = 0;

  #last = 0;

  /** Names a task. */
  begin(request) {
    if (this.#running >= RUNNING_MAX) {
      const text = `${RUNNING_MAX} tasks run already, which is the most`;
      throw new ToolError(text, { code: 'TOO_MANY_TASKS', retryable: true });
    }
    this.#running += 1;
    this.#last += 1;
    const id = `task-${this.#last}`;
    const status = { task_id: id, state: 'running', progress: 0, total: 0, message: '' };
    this.#tasks.set(id, { request, status, waiting: [], result: undefined });
    return id;
  }

  /** Notes how far a running task is; undefined if it is none. */
  note(id, change) {
    const task = this.#tasks.get(id);
    if (!task || task.result) return undefined;
    const message = change.message ? shortened(change.message) : task.status.message;
    task.status = { ...task.status, ...change, message };
    return task.status;
  }

  /** Ends a task. Returns its last status and the ids of the requests that wait for its result. */
  end(id, result) {
    const task = this.#tasks.get(id);
    this.#running -= 1;
    // A task that was done in spite of its cancellation is done.
    let state = 'completed';
    if (result.is_error) state = task.request.isCancelled ? 'cancelled' : 'failed';
    const message = result.error?.message ? shortened(result.error.message) : task.status.message;
    const status = { ...task.status, state, message };
    this.#tasks.delete(id);
    if (task.waiting.length === 0) {
      this.#tasks.set(id, { ...task, status, result });
      this.#forgetOldest();
    }
    return { status, waiting: task.waiting };
  }

  #forgetOldest() {
    const kept = [...this.#tasks].filter(([, task]) => task.result);
    const size = ({ result }) =>
      (result.result_json ?? '').length + (result.structured_content_json ?? '').length;
    let total = kept.reduce((sum, [, task]) => sum + size(task), 0);
    while (kept.length > KEPT_MAX || (kept.length > 1 && total > KEPT_SIZE_MAX)) {
      const [id, task] = kept.shift();
      total -= size(task);
      this.#tasks.delete(id);
    }
  }

  /** How a task stands. One that is not known has failed: its result can't be had any more. */
  status(id) {
    return this.#tasks.get(id)?.status ?? { task_id: id, state: 'failed', message: unknown(id) };
  }

  /** The result of a task, which is forgotten with that; undefined while it runs. */
  fetch(id, requestId) {
    const task = this.#tasks.get(id);
    if (!task) throw ToolError.notFound(unknown(id));
    if (task.result) this.#tasks.delete(id);
    else task.waiting.push(requestId);
    return task.result;
  }

  /** The request that a running task is. */
  requestOf(id) {
    const task = this.#tasks.get(id);
    return task?.result ? undefined : task?.request;
  }

  /** The requests of all running tasks. */
  requests() {
    return [...this.#tasks.values()].filter((task) => !task.result).map((task) => task.request);
  }
}

function unknown(id) {
  return `there is no task "${id}", or its result was fetched or dropped already`;
}

function shortened(text) {
  return text.length > MESSAGE_MAX ? `${text.slice(0, MESSAGE_MAX)}…` : text;
}
