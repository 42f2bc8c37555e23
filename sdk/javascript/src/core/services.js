/** Who answers which request of the bridge; concepts add themselves. */

const services = new Map();

/**
 * Answers requests of a kind. `answer` is the kind of the answer. `work(request)` returns its body
 * (or `[kind, body]` for another kind), or a promise of that. `failed(error, request)` makes the
 * body that says why there is none, from a ToolError.
 */
export function serve(kind, service) {
  services.set(kind, service);
}

export function serviceOf(kind) {
  return services.get(kind);
}

/** What others want to do at certain moments. */
export const hooks = {
  /** A handler is done; its answer is sent next. */
  beforeAnswer() {},
  /** What the process before this one saved. */
  restore() {},
  /** The handshake begins; may return a promise. */
  beforeHandshake() {},
};
