// One conversation between a host and the bridge: who asked what, in which revision, and which
// definition a message of the bridge must meet therefore.
import { MODERN, REVISIONS } from './schemas.mjs';

const META = 'io.modelcontextprotocol/';
const TOP_LEVEL = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);

/** Codes that the newest revision forbids. */
const isForbidden = (code) => code === -32002 || code === -32042 || (code <= -32023 && code >= -32099);

export class Conversation {
  /** `note` hears of each message what it was. */
  constructor(schemas, note) {
    this.schemas = schemas;
    this.note = note;
  }

  /** Requests of the host without an answer, by their id's spelling; an id may be in use twice. */
  open = new Map();
  /** Ids of what was no proper request. */
  odd = new Set();
  /** Tokens for progress, by their spelling: revision and the last number. */
  tokens = new Map();
  /** What `initialize` settled. */
  revision = undefined;
  /** Whether a line of the host is unknown. */
  isIncomplete = false;

  leftOut(direction) {
    if (direction === '>') this.isIncomplete = true;
  }

  /** What is wrong with a line. */
  line(direction, text) {
    let message;
    try {
      // A byte order mark is no part of a message.
      message = JSON.parse(text.replace(/^\ufeff/, ''));
    } catch (error) {
      return direction === '>' ? [] : [`not JSON: ${error.message}`];
    }
    if (direction === '>') {
      for (const part of Array.isArray(message) ? message : [message]) this.host(part);
      return [];
    }
    if (!Array.isArray(message)) return this.program(message);
    if (this.revision !== '2025-03-26') return ['a batch outside of the revision that has them'];
    return message.flatMap((part) => this.program(part));
  }

  host(message) {
    if (message === null || typeof message !== 'object') return;
    const { id, method, params } = message;
    const key = JSON.stringify(id);
    if (typeof method !== 'string' || id === undefined || id === null) {
      if (id !== undefined) this.odd.add(key);
      return;
    }
    const claimed = params?._meta?.[`${META}protocolVersion`];
    const request = { method, params, isModern: claimed !== undefined && method !== 'initialize' };
    this.open.set(key, [...(this.open.get(key) ?? []), request]);
    const token = params?._meta?.progressToken;
    if (token !== undefined) this.tokens.set(JSON.stringify(token), { request, last: -Infinity });
  }

  /** The revision that an answer to this request is of. */
  revisionOf(request) {
    if (request.isModern) return MODERN;
    return this.revision ?? '2025-11-25';
  }

  /** What is wrong with a message of the bridge. */
  program(message) {
    if (message === null || typeof message !== 'object') return ['no object'];
    const extra = Object.keys(message).filter((name) => !TOP_LEVEL.has(name));
    if (extra.length > 0) return [`members that no message has: ${extra}`];
    if (message.method !== undefined) {
      return message.id === undefined ? this.notification(message) : this.request(message);
    }
    return message.error === undefined ? this.result(message) : this.error(message);
  }

  notification(message) {
    const { method, params } = message;
    if (method === 'notifications/progress') {
      const token = this.tokens.get(JSON.stringify(params?.progressToken));
      if (!token && this.isIncomplete) return [];
      if (!token) return ['progress for a token that nobody gave'];
      const faults = params.progress > token.last ? [] : [`progress goes from ${token.last} to ${params.progress}`];
      token.last = params.progress;
      return [...faults, ...this.known(this.revisionOf(token.request), method, message)];
    }
    const isOfStream = params?._meta?.[`${META}subscriptionId`] !== undefined;
    // Logs of both eras look alike.
    const isModern = isOfStream || (method === 'notifications/message' && this.revision === undefined);
    if (isModern) return this.known(MODERN, method, message);
    if (this.revision === undefined) return ['unasked for, and nobody shook hands'];
    return this.known(this.revision, method, message);
  }

  request(message) {
    if (this.revision === undefined) return ['a question to a host that shook no hands'];
    return this.known(this.revision, message.method, message);
  }

  /** What is wrong with a request or a notification. */
  known(revision, method, message) {
    const [owner, definition] = this.schemas.ofMethod(revision, method);
    if (!definition) return [`${revision} has no ${method}`];
    const kind = message.id === undefined ? 'JSONRPCNotification' : 'JSONRPCRequest';
    return [...this.judge(revision, kind, message), ...this.judge(owner, definition, message, true)];
  }

  /** Takes the request that this is the answer to. */
  asked(id, isRefusal) {
    const key = JSON.stringify(id);
    const requests = this.open.get(key);
    if (!requests?.length) return undefined;
    // Of two with the same id the later is refused.
    return isRefusal ? requests.pop() : requests.shift();
  }

  result(message) {
    const { id, result } = message;
    const request = this.asked(id, false);
    if (!request) return this.isIncomplete ? [] : ['an answer to no request'];
    if (request.method === 'initialize') {
      if (!REVISIONS.slice(0, -1).includes(result?.protocolVersion)) {
        return [`a handshake for ${result?.protocolVersion}`];
      }
      this.revision = result.protocolVersion;
    }
    const revision = this.revisionOf(request);
    const [owner, definition] = this.schemas.ofResult(revision, request.method, request.params, result);
    if (!definition) return [`a result of ${request.method}, which ${revision} does not have`];
    const faults = this.judge(revision, this.schemas.revisions.get(revision).response, message);
    faults.push(...this.judge(owner, definition, result, true));
    if (definition === 'EmptyResult' && revision !== MODERN && JSON.stringify(result) !== '{}') {
      faults.push('an empty result that is not empty');
    }
    if (owner === 'tasks' && result.status === 'completed' && result.result) {
      faults.push(...this.judge(MODERN, 'CallToolResult', result.result));
    }
    return faults;
  }

  error(message) {
    const { id, error } = message;
    const request = id === undefined ? undefined : this.asked(id, error?.code === -32600);
    if (id !== undefined && !request && !this.odd.has(JSON.stringify(id)) && !this.isIncomplete) {
      return ['an error for no request'];
    }
    // Without an id it is as the newest revisions have it; the older ones say nothing of it.
    const revision = request ? this.revisionOf(request) : id === undefined ? MODERN : (this.revision ?? MODERN);
    const faults = [];
    if (request?.isModern && isForbidden(error?.code)) faults.push(`the code ${error.code} in the newest revision`);
    const [owner, definition] = this.schemas.ofError(revision, error?.code);
    return [...faults, ...this.judge(owner, definition, message, true)];
  }

  judge(revision, definition, value, isWhole = false) {
    if (isWhole) this.note(revision, definition);
    const faults = this.schemas.judge(revision, definition, value);
    return faults.length === 0 ? [] : [`${revision} ${definition}: ${faults.slice(0, 6).join('; ')}`];
  }
}
