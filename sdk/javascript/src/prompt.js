/** Prompts: messages that a user asks for by name. */
import { parseArguments } from './arguments.js';
import { asBlock, isBlock, text, toJson } from './content.js';
import { ToolContext } from './context.js';
import { say } from './core/environment.js';
import { mistake, tellAuthor } from './core/mistake.js';
import { prompts } from './core/registry.js';
import { serve } from './core/services.js';
import { errorToWire, ToolError } from './errors.js';
import { InputRequired } from './input.js';
import { handlerOf } from './tool.js';

/** Defines a prompt; its handler gets the arguments and a context, and returns messages. */
export function prompt(options) {
  const { handler, description = '', hidden = false, title, icons, meta } = options ?? {};
  const inferred = typeof handler === 'function' && handler.name !== 'handler' && handler.name;
  const name = options?.name || inferred || `prompt_${prompts.size}`;
  const owner = `the prompt "${name}"`;
  const args = options?.arguments ?? [];
  if (!Array.isArray(args) || args.some((one) => typeof one?.name !== 'string')) {
    mistake(`${owner}: its arguments are no list of { name, description, required }`);
  }
  handlerOf(handler, owner);
  return prompts.add(name, { name, description, arguments: args, handler, hidden, title, icons, meta });
}

export function getRegisteredPrompts() {
  return prompts.all();
}

/** Removes all prompts. For tests. */
export function clearPromptRegistry() {
  prompts.clear();
}

function messageToWire(message) {
  if (message === undefined || message === null) return [];
  if (typeof message !== 'object' || isBlock(message)) return [messageToWire({ content: message })].flat();
  const { role = 'user', content } = message;
  // One message has one block: several become several messages.
  return [content].flat().map((block) => ({
    role: String(role),
    content_json: toJson(
      typeof block === 'object' && block !== null ? asBlock(block) : text(block ?? ''),
      'the prompt',
    ),
  }));
}

serve('get_prompt_request', {
  answer: 'get_prompt_response',
  async work(request) {
    const definition = prompts.get(request.body.name);
    if (!definition) throw ToolError.notFound(`there is no prompt "${request.body.name}"`);
    const args = parseArguments(request.body.arguments_json);
    const result = await definition.handler(args, ToolContext.of(request));
    if (result instanceof InputRequired) return ['input_required', result.toWire()];
    if (result instanceof Error) throw result;
    const isWhole = Array.isArray(result?.messages);
    const messages = isWhole ? result.messages : [result].flat();
    return {
      description: String((isWhole && result.description) || definition.description),
      messages: messages.flatMap(messageToWire),
    };
  },
  failed(error, request) {
    tellAuthor(`the prompt "${request?.body.name}"`, error, request);
    return { error: errorToWire(error) };
  },
});

serve('list_prompts_request', {
  answer: 'prompt_list_response',
  work: () => ({
    prompts: prompts.shown().map((it) => ({
      name: it.name,
      description: String(it.description),
      arguments: it.arguments.map((argument) => ({
        name: argument.name,
        description: String(argument.description ?? ''),
        required: Boolean(argument.required),
        title: String(argument.title ?? ''),
      })),
      title: String(it.title ?? ''),
      icons_json: it.icons === undefined ? '' : toJson(it.icons, 'icons'),
      meta_json: it.meta === undefined ? '' : toJson(it.meta, 'metadata'),
    })),
  }),
  failed(error) {
    say(`the list of prompts can't be made: ${error.message}`);
    return {};
  },
});
