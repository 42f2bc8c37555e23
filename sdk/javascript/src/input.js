/** Questions that need no handler to wait: it answers with them and is called again. */
import { Buffer } from 'node:buffer';

import { toJson } from './content.js';
import { ToolError } from './errors.js';
import {
  elicitationToWire,
  elicitedFromWire,
  rootsFromWire,
  sampledFromWire,
  samplingToWire,
} from './questions.js';

/**
 * What a tool, a prompt or a resource answers when it needs to know something first: questions,
 * each under a key, and what it wants to remember. It is called again, with the same arguments
 * and with the answers in `ctx.input`, perhaps in another process.
 */
export class InputRequired {
  #questions = new Map();

  #state;

  /** Asks the user. */
  elicit(key, question, schema) {
    return this.#add(key, 'elicit', elicitationToWire(question, schema).body);
  }

  /** Asks the host's model. */
  sample(key, question) {
    return this.#add(key, 'sampling', samplingToWire(question));
  }

  /** Asks for the host's roots. */
  roots(key) {
    return this.#add(key, 'roots', {});
  }

  /** Any JSON to remember. The host carries it: it can read it, but not change it. */
  state(value) {
    this.#state = value;
    return this;
  }

  #add(key, kind, body) {
    const name = String(key);
    this.#questions.delete(name);
    this.#questions.set(name, { key: name, kind, body });
    return this;
  }

  toWire() {
    const state = this.#state === undefined ? Buffer.alloc(0) : Buffer.from(toJson(this.#state, 'the state'));
    if (this.#questions.size === 0 && state.length === 0) {
      throw new ToolError('the handler asks for input, but has no question', { code: 'INVALID' });
    }
    return { questions: [...this.#questions.values()], state };
  }
}

/** What came back. Some answers may be missing: ask again for what is needed. */
export class Input {
  #given;

  constructor(given) {
    this.#given = given;
  }

  /** Whether this is the first call, before any question. */
  get isFirst() {
    return !this.#given;
  }

  /** What was to be remembered. */
  get state() {
    const bytes = this.#given?.state;
    if (!bytes?.length) return undefined;
    try {
      return JSON.parse(bytes.toString());
    } catch {
      return bytes;
    }
  }

  #answer(key, kind) {
    const answer = this.#given?.answers.find((one) => one.key === key && one.kind !== '');
    if (answer && answer.kind !== kind) {
      throw new ToolError(`the answer to "${key}" is of another kind than the question`, { code: 'INVALID' });
    }
    return answer?.body;
  }

  /** What the user answered under this key; undefined if nothing yet. A schema checks it. */
  async elicited(key, schema) {
    const answer = this.#answer(key, 'elicit');
    if (!answer) return undefined;
    const validate = schema === undefined ? undefined : elicitationToWire('', schema).validate;
    return elicitedFromWire(answer, validate);
  }

  /** What the host's model answered under this key; undefined if nothing yet. */
  sampled(key) {
    const answer = this.#answer(key, 'sampling');
    return answer && sampledFromWire(answer);
  }

  /** The host's roots as asked for under this key; undefined if not there yet. */
  roots(key) {
    const answer = this.#answer(key, 'roots');
    return answer && rootsFromWire(answer);
  }
}
