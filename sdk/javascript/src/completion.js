/** Suggestions for the arguments of prompts and resource templates. */
import { parseArguments } from './arguments.js';
import { ToolContext } from './context.js';
import { tellAuthor } from './core/mistake.js';
import { serve } from './core/services.js';
import { handlerOf } from './tool.js';

const handlers = new Map();

/** The most that a host may be offered at once. */
const VALUES_MAX = 100;

function key(refType, refName, argumentName) {
  return JSON.stringify([refType, refName, argumentName]);
}

/**
 * Suggests values for an argument. `refType` is `ref/prompt` or `ref/resource`, `refName` the
 * prompt's name or the URI template. The handler gets what was typed, and a context whose
 * `arguments` are those that are settled; it returns a list, or `{ values, total, hasMore }`.
 */
export function completion(refType, refName, argumentName, handler) {
  handlerOf(handler, `the completion of "${argumentName}" of "${refName}"`);
  handlers.set(key(refType, refName, argumentName), handler);
}

export function getCompletionHandler(refType, refName, argumentName) {
  return handlers.get(key(refType, refName, argumentName));
}

/** Removes all. For tests. */
export function clearCompletionRegistry() {
  handlers.clear();
}

serve('completion_request', {
  answer: 'completion_response',
  async work(request) {
    const { body } = request;
    const handler = getCompletionHandler(body.ref_type, body.ref_name, body.argument_name);
    if (!handler) return {};
    const context = ToolContext.of(request);
    context.arguments = parseArguments(body.context_arguments_json);
    const result = (await handler(body.argument_value, context)) ?? [];
    const { values, total, hasMore } = Array.isArray(result) ? { values: result } : result;
    const list = [values ?? []].flat().map(String);
    return {
      values: list.slice(0, VALUES_MAX),
      total: Math.min(Math.trunc(Number(total ?? list.length)) || 0, 2 ** 31 - 1),
      has_more: Boolean(hasMore) || list.length > VALUES_MAX,
    };
  },
  failed(error, request) {
    tellAuthor(`the completion of "${request?.body.argument_name}"`, error, request);
    return {};
  },
});
