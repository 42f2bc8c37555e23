/** Functions that the bridge runs before and after every call of this process's tools. */
import { mistake } from './core/mistake.js';
import { Registry } from './core/registry.js';
import { serve } from './core/services.js';
import { handlerOf } from './tool.js';

const registered = new Registry('middleware');

/**
 * Adds one: `handler(phase, toolName, argumentsJson, resultJson, isError)` with the phase `before`
 * or `after`. It may return `{ argumentsJson }`, `{ resultJson }` or `{ reject, rejectReason }`.
 * The lowest priority is the outermost.
 */
export function middleware(name, priority, handler) {
  const owner = `the middleware "${name}"`;
  handlerOf(handler, owner);
  if (!Number.isInteger(priority) || Math.abs(priority) >= 2 ** 31)
    mistake(`${owner}: its priority is no whole number`);
  registered.add(name, { name, priority, handler });
}

export function getRegisteredMiddleware() {
  return registered.all();
}

export function clearMiddlewareRegistry() {
  registered.clear();
}

export function middlewareToWire() {
  return registered.all().map(({ name, priority }) => ({ name, priority }));
}

/** The names of fields may be spelled as in Python, too. */
function field(answer, camel, snake) {
  const value = answer?.[camel] ?? answer?.[snake] ?? '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

serve('middleware_intercept', {
  answer: 'middleware_intercept_response',
  async work({ body }) {
    const found = registered.get(body.middleware_name);
    // What was there to stop calls must not let them through by its absence.
    if (!found) throw new Error(`there is no middleware "${body.middleware_name}"`);
    const { phase, tool_name: toolName, arguments_json: args, result_json: result, is_error: isError } = body;
    const answer = await found.handler(phase, toolName, args, result, isError);
    return {
      arguments_json: field(answer, 'argumentsJson', 'arguments_json'),
      result_json: field(answer, 'resultJson', 'result_json'),
      reject: Boolean(answer?.reject),
      reject_reason: field(answer, 'rejectReason', 'reject_reason'),
    };
  },
  failed: (error) => ({ reject: true, reject_reason: error.message }),
});
