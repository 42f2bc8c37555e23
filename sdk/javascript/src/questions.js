/** Questions to the host, its model and its user: how they are put and how answers are read. */
import { asBlock, toJson } from './content.js';
import { ToolError } from './errors.js';
import { understand } from './schema/index.js';

function unanswered({ error, error_code: code }, otherwise) {
  if (!error && !code) return;
  throw new ToolError(error || 'the host could not be asked', { code: code || otherwise });
}

function json(value, what) {
  return value === undefined ? '' : toJson(value, what);
}

/** A question for the host's model: a text, or messages and more. */
export function samplingToWire(question) {
  const given = typeof question === 'string' ? { messages: question } : (question ?? {});
  const { messages = [], systemPrompt, maxTokens, modelPreferences, ...extra } = given;
  const list = [messages].flat().map((message) => {
    if (typeof message === 'string') return { role: 'user', content: asBlock(message) };
    const { role = 'user', content } = message;
    return { role, content: Array.isArray(content) ? content.map(asBlock) : asBlock(content) };
  });
  return {
    messages_json: toJson(list, 'the messages'),
    system_prompt: String(systemPrompt ?? ''),
    max_tokens: Math.min(Math.max(Math.trunc(Number(maxTokens ?? 0)) || 0, 0), 2 ** 31 - 1),
    model_preferences_json: json(modelPreferences, 'the model preferences'),
    extra_json: Object.keys(extra).length > 0 ? toJson(extra, 'the question') : '',
  };
}

/** What the model answered: `text` is that of all text blocks. */
export function sampledFromWire(answer) {
  unanswered(answer, 'SAMPLING_FAILED');
  let content;
  try {
    content = JSON.parse(answer.content_json || 'null');
  } catch {
    content = answer.content_json;
  }
  const blocks = [content ?? []].flat();
  const text = blocks.map((block) => (typeof block === 'string' ? block : (block?.text ?? ''))).join('');
  return { role: answer.role, content, text, model: answer.model, stopReason: answer.stop_reason };
}

/**
 * A question for the user. A text alone is answered by yes or no; a `schema` makes it a form, a
 * `url` a page to visit. Returns the message and what checks the answer.
 */
export function elicitationToWire(question, given) {
  const { message, schema, url } =
    typeof question === 'string' ? { message: question, schema: given } : question;
  const body = { message: String(message ?? ''), mode: url ? 'url' : 'form', url: String(url ?? '') };
  if (url) return { body };
  const form = understand(schema, 'the schema of a question');
  const shown = form.json.properties ? form.json : { ...form.json, properties: {} };
  return { body: { ...body, requested_schema_json: toJson(shown, 'the schema') }, validate: form.validate };
}

/** What the user answered. */
export async function elicitedFromWire(answer, validate) {
  unanswered(answer, 'ELICITATION_FAILED');
  const { action } = answer;
  if (!['accept', 'decline', 'cancel'].includes(action)) {
    throw new ToolError(`an answer can't have the action "${action}"`, { code: 'INVALID' });
  }
  const accepted = action === 'accept';
  let content;
  if (accepted && answer.content_json) {
    try {
      content = JSON.parse(answer.content_json);
    } catch {
      throw new ToolError('what was filled in is not JSON', { code: 'INVALID' });
    }
    const checked = await validate?.(content);
    if (checked?.problem)
      throw new ToolError(`what was filled in does not fit: ${checked.problem}`, { code: 'INVALID' });
    content = checked?.value ?? content;
  }
  return { action, accepted, content };
}

/** The places that the host works on. */
export function rootsFromWire(answer) {
  unanswered(answer, 'ROOTS_FAILED');
  return answer.roots.map(({ uri, name }) => ({ uri, name }));
}
