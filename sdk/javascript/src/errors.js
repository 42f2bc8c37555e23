/** What can go wrong in a handler. */

/**
 * Why a handler could not do what it was asked to: told to the model in readable text and to
 * programs in `_meta`. Other errors become one with the code INTERNAL.
 */
export class ToolError extends Error {
  name = 'ToolError';

  /** Not 0: the host gets a JSON-RPC error of this code in place of a result. */
  rpcCode = 0;

  constructor(message, { code = '', suggestion = '', retryable = false, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.suggestion = suggestion;
    this.retryable = retryable;
  }

  /** NOT_FOUND: what was asked for does not exist. */
  static notFound(message, options) {
    return new ToolError(message, { code: 'NOT_FOUND', ...options });
  }

  /** INVALID_ARGUMENTS: the arguments are missing, ill-typed or out of range. */
  static invalidArguments(message, options) {
    return new ToolError(message, { code: 'INVALID_ARGUMENTS', ...options });
  }

  /** INTERNAL: something broke that the caller is not to blame for. */
  static internal(message, options) {
    return new ToolError(message, { code: 'INTERNAL', ...options });
  }

  /** CANCELLED: the host no longer wants the answer. */
  static cancelled() {
    return new ToolError('the call was cancelled', { code: 'CANCELLED' });
  }

  /**
   * PROTOCOL_ERROR: the request makes no sense as such. The host gets a JSON-RPC error of this
   * code, so the model does not read it.
   */
  static protocol(rpcCode, message) {
    const error = new ToolError(message, { code: 'PROTOCOL_ERROR' });
    error.rpcCode = rpcCode;
    return error;
  }
}

/** Whatever was thrown, as a ToolError. */
export function asToolError(thrown) {
  if (thrown instanceof ToolError) return thrown;
  let message = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  if (message === '') message = 'the handler failed';
  return ToolError.internal(message, { cause: thrown });
}

/** As the wire has it. */
export function errorToWire(error) {
  return {
    error_code: String(error.code ?? ''),
    message: error.message,
    suggestion: String(error.suggestion ?? ''),
    retryable: Boolean(error.retryable),
    rpc_code: error.rpcCode | 0,
  };
}

/** Code and message, then the suggestion and whether to try again, each on a line of its own. */
export function readable(error) {
  const lines = [error.code ? `${error.code}: ${error.message}` : error.message];
  if (error.suggestion) lines.push(`Suggestion: ${error.suggestion}`);
  if (error.retryable) lines.push('(retryable)');
  return lines.join('\n');
}
