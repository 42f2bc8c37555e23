/** Sinks that hear of every call of a tool and can't disturb it. */

const sinks = [];

/**
 * Adds a sink. It gets events: `toolName`, `action`, `phase` (start, success, error or progress)
 * and `args`; then `result` or `error` with `durationMs`; or `progress`, `total` and `message`.
 */
export function telemetrySink(handler) {
  sinks.push(handler);
}

/** Gives an event to all sinks; what they throw is nobody's trouble. */
export function emitTelemetry(event) {
  for (const sink of sinks) {
    try {
      Promise.resolve(sink(event)).catch(() => {});
    } catch {
      // A sink can't affect the call.
    }
  }
}

export function hasSinks() {
  return sinks.length > 0;
}

export function clearTelemetrySinks() {
  sinks.length = 0;
}
