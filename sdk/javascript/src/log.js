/** Log lines for the host. */
import { currentRequest, trackRequests } from './core/current.js';
import { tell } from './core/link.js';

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/**
 * Sends lines to the host's log, one method for each level of RFC 5424. `data` is any JSON; beside
 * an object the message stands as its `message`.
 */
export class ServerLogger {
  #send;

  #name;

  /** The id of the call that it logs for; if not given, of the call that is at work. */
  #callId;

  /** `send` is for tests: it gets `{ log: { level, logger, dataJson } }` in place of the host. */
  constructor(send, name = '', { isOurs = false } = {}) {
    this.#send = typeof send === 'function' ? send : undefined;
    this.#name = String(typeof send === 'string' ? send : name);
    if (!isOurs) trackRequests();
  }

  /** The logger of one call. */
  static ofCall(id) {
    const logger = new ServerLogger(undefined, '', { isOurs: true });
    logger.#callId = id;
    return logger;
  }

  /** One line of any level. */
  log(level, message, data) {
    const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
    let said = message;
    if (isObject) said = { message, ...data };
    else if (data !== undefined) said = { message, data };
    let dataJson;
    try {
      dataJson = JSON.stringify(said) ?? 'null';
    } catch {
      dataJson = JSON.stringify(String(message));
    }
    const line = { level: String(level), logger: this.#name };
    if (this.#send) {
      this.#send({ log: { ...line, dataJson } });
      return;
    }
    if (this.#callId === undefined) trackRequests();
    const callId = this.#callId ?? currentRequest()?.id ?? '';
    tell('log', { ...line, data_json: dataJson, call_request_id: callId });
  }
}

for (const level of LEVELS) {
  Object.defineProperty(ServerLogger.prototype, level, {
    value(message, data) {
      this.log(level, message, data);
    },
  });
}

/** The process's own logger, without a name. */
export const log = new ServerLogger(undefined, '', { isOurs: true });
