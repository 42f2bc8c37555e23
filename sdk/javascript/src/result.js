/** What a tool answers. */
import { asBlock, isBlock, text, toJson } from './content.js';
import { asToolError, errorToWire, readable, ToolError } from './errors.js';
import { InputRequired } from './input.js';

/** A result that says more than a plain value can. */
export class ToolResult {
  constructor(options = {}) {
    this.result = options.result ?? '';
    this.isError = options.isError ?? false;
    this.enableTools = options.enableTools;
    this.disableTools = options.disableTools;
    this.errorCode = options.errorCode;
    this.message = options.message;
    this.suggestion = options.suggestion;
    this.retryable = options.retryable ?? false;
    // Beyond the names of the reference.
    this.content = options.content;
    this.structuredContent = options.structuredContent;
    this.meta = options.meta;
  }
}

function fromToolResult(result) {
  const error = new ToolError(String(result.message ?? ''), {
    code: result.errorCode ?? '',
    suggestion: result.suggestion,
    retryable: result.retryable,
  });
  const tells = error.message || error.code || error.suggestion || error.retryable;
  const blocks = [result.content ?? []].flat().map(asBlock);
  let structured = result.structuredContent;
  if (typeof result.result === 'object' && result.result !== null) structured ??= result.result;
  else if (
    String(result.result) !== '' ||
    (blocks.length === 0 && structured === undefined && !result.isError)
  ) {
    blocks.unshift(text(result.result));
  }
  return {
    is_error: Boolean(result.isError),
    result_json: toJson(blocks, 'the content'),
    structured_content_json: structured === undefined ? '' : toJson(structured, 'the structured content'),
    enable_tools: (result.enableTools ?? []).map(String),
    disable_tools: (result.disableTools ?? []).map(String),
    meta_json: result.meta === undefined ? '' : toJson(result.meta, 'the metadata'),
    error: result.isError && tells ? errorToWire(error) : null,
  };
}

function blocks(list) {
  return { result_json: toJson(list.map(asBlock), 'the result') };
}

/**
 * What a handler returned, as a CallToolResponse; a list of kind and body if it is none.
 * `outputType` is the type that the tool's output schema names, if it has one: a value of that
 * type is structured content.
 */
export function resultToWire(value, outputType) {
  if (value instanceof ToolResult) return fromToolResult(value);
  if (value instanceof InputRequired) return ['input_required', value.toWire()];
  if (value instanceof Error) throw value;
  switch (typeof value) {
    case 'undefined':
      return { result_json: '[]' };
    case 'string':
      return blocks([text(value)]);
    case 'number':
    case 'boolean':
    case 'bigint':
      return outputType ? { structured_content_json: toJson(value, 'the result') } : blocks([text(value)]);
    case 'object':
      break;
    default:
      throw ToolError.internal(`the handler returned a ${typeof value}, which is no result`);
  }
  if (value === null) return { result_json: '[]' };
  if (isBlock(value)) return blocks([value]);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    throw ToolError.internal(
      'the handler returned bytes: say what they are with image(bytes, mimeType) or audio(…)',
    );
  }
  if (Array.isArray(value)) {
    if (value.length > 0 && value.every(isBlock)) return blocks(value);
    const json = toJson(value, 'the result');
    return outputType === 'array' ? { structured_content_json: json } : blocks([text(json)]);
  }
  // A result as the Model Context Protocol has it.
  if (Array.isArray(value.content) && value.content.every(isBlock)) {
    return fromToolResult(new ToolResult({ ...value, meta: value.meta ?? value._meta }));
  }
  return { structured_content_json: toJson(value, 'the result') };
}

/** A failed call. What the model reads of a plain error is its message alone. */
export function failedCall(thrown) {
  const error = asToolError(thrown);
  const isPlain = error.code === 'INTERNAL' && !error.suggestion && !error.retryable;
  return {
    is_error: true,
    result_json: JSON.stringify([text(isPlain ? error.message : readable(error))]),
    error: errorToWire(error),
  };
}
