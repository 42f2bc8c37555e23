/** A bridge for tests: the other end of a peer, in the same process. */
import assert from 'node:assert/strict';

import { settings } from '../src/configure.js';
import { connectTo } from '../src/core/link.js';
import { Peer } from '../src/core/peer.js';
import { onListChanged } from '../src/core/registry.js';
import * as protomcp from '../src/index.js';
import { middlewareToWire } from '../src/middleware.js';
import { toolsToWire } from '../src/tool.js';
import { decode } from '../src/wire/codec.js';

/** What nobody says within this many milliseconds is not said any more. */
const PATIENCE = 20_000;

let latest;
onListChanged((noun) => latest?.listChanged(noun));

/** Forgets all definitions. */
export function forget() {
  for (const [name, value] of Object.entries(protomcp)) {
    if (/^clear/.test(name)) value();
  }
  protomcp.resetDiscoveryConfig();
  connectTo(undefined);
  latest = undefined;
}

export class Bridge {
  /** Envelopes that the peer has sent and nobody has taken. */
  sent = [];

  /** Those who wait for an envelope: what they want, and how to give it to them. */
  #waiting = [];

  #lastId = 0;

  /** Answers questions of the peer: by kind, a function from the body to [kind, body]. */
  answers = {};

  constructor() {
    const offer = {
      tools: toolsToWire,
      hidden: protomcp.getHiddenToolNames,
      middleware: middlewareToWire,
      concurrency: () => settings.concurrency,
    };
    this.peer = new Peer(offer, (frame) => this.#take(frame));
    connectTo(this.peer);
    latest = this.peer;
    this.peer.open();
  }

  #take(frame) {
    assert.equal(frame.readUInt32BE(0), frame.length - 4);
    const envelope = decode('Envelope', frame, 4);
    const answer = this.answers[envelope.kind];
    if (answer) {
      const [kind, body] = answer(envelope.body, envelope);
      queueMicrotask(() => this.say(kind, body, envelope.request_id));
    }
    const at = this.#waiting.findIndex(({ wanted }) => wanted(envelope));
    if (at >= 0) this.#waiting.splice(at, 1)[0].resolve(envelope);
    else this.sent.push(envelope);
    return true;
  }

  /** Says something to the peer. */
  say(kind, body = {}, id = '', traceJson = '') {
    this.peer.receive({ kind, body, request_id: id, namespace: '', trace_json: traceJson });
  }

  /** The next envelope that fits. */
  next(wanted) {
    const at = this.sent.findIndex(wanted);
    if (at >= 0) return Promise.resolve(this.sent.splice(at, 1)[0]);
    return new Promise((resolve, reject) => {
      const kinds = () => this.sent.map(({ kind }) => kind).join(', ') || 'nothing';
      const timer = setTimeout(
        () => reject(new Error(`waited in vain for ${wanted}; ${kinds()} came`)),
        PATIENCE,
      );
      const found = (envelope) => {
        clearTimeout(timer);
        resolve(envelope);
      };
      this.#waiting.push({ wanted, resolve: found });
    });
  }

  kind(kind) {
    return this.next((envelope) => envelope.kind === kind);
  }

  /** Sends a request; its id. */
  begin(kind, body, traceJson = '') {
    this.#lastId += 1;
    const id = String(this.#lastId);
    this.say(kind, body, id, traceJson);
    return id;
  }

  answer(id) {
    return this.next((envelope) => envelope.request_id === id);
  }

  ask(kind, body, traceJson = '') {
    return this.answer(this.begin(kind, body, traceJson));
  }

  beginCall(name, args = {}, more = {}) {
    return this.begin('call_tool', {
      name,
      arguments_json: JSON.stringify(args),
      progress_token: '',
      input: null,
      ...more,
    });
  }

  /** Calls a tool: the body of its result, with `content` as values. */
  async call(name, args, more) {
    const envelope = await this.answer(this.beginCall(name, args, more));
    assert.equal(envelope.kind, 'call_result');
    const { body } = envelope;
    body.content = JSON.parse(body.result_json || '[]');
    body.text = body.content.map((block) => block.text).join('|');
    return body;
  }

  /** The handshake, to its end: the names of the tools. */
  async handshake() {
    const { body } = await this.ask('list_tools', {});
    for (;;) {
      const { kind } = await this.next(
        ({ kind: one }) => one === 'register_middleware' || one === 'reload_response',
      );
      if (kind === 'reload_response') break;
      this.say('register_middleware_response', { success: true });
    }
    return body;
  }
}
