/** What a tool process offers: concepts define it, the peer tells the bridge. */
import { callSite, mistake } from './mistake.js';

const listeners = new Set();

/**
 * Calls back with the noun of a kind of definitions when these have changed, once per turn of the
 * event loop at most.
 */
export function onListChanged(listener) {
  listeners.add(listener);
}

const planned = new Set();

function changed(noun) {
  if (planned.has(noun) || listeners.size === 0) return;
  planned.add(noun);
  queueMicrotask(() => {
    planned.delete(noun);
    listeners.forEach((listener) => listener(noun));
  });
}

/** Definitions of one kind under unique names, in the order of their definition. */
export class Registry {
  #noun;

  #entries = new Map();

  constructor(noun) {
    this.#noun = noun;
  }

  /** Adds a definition. Two under one name are a mistake. */
  add(name, definition) {
    const where = callSite();
    if (typeof name !== 'string' || name === '') mistake(`a ${this.#noun} needs a name`, where);
    const other = this.#entries.get(name);
    if (other) {
      mistake(`the ${this.#noun} "${name}" is defined twice, the first time in ${other.where}`, where);
    }
    this.#entries.set(name, { definition, where, isHidden: Boolean(definition.hidden) });
    changed(this.#noun);
    return definition;
  }

  get(name) {
    return this.#entries.get(name)?.definition;
  }

  all() {
    return Array.from(this.#entries.values(), (entry) => entry.definition);
  }

  /** Those that hosts see in the list. */
  shown() {
    return [...this.#entries.values()]
      .filter(({ isHidden }) => !isHidden)
      .map(({ definition }) => definition);
  }

  /** Shows what was hidden; names that nothing has are skipped. */
  show(names) {
    this.#setHidden(names, false);
  }

  /** Takes them out of the list; who knows their names can still use them. */
  hide(names) {
    this.#setHidden(names, true);
  }

  isShown(name) {
    return this.#entries.get(name)?.isHidden === false;
  }

  #setHidden(names, isHidden) {
    const found = [names].flat().map((name) => this.#entries.get(name));
    const others = found.filter((entry) => entry && entry.isHidden !== isHidden);
    others.forEach((entry) => {
      entry.isHidden = isHidden;
    });
    if (others.length > 0) changed(this.#noun);
  }

  /** How many there are. */
  get size() {
    return this.#entries.size;
  }

  /** Removes all, or those of which `isUnwanted` holds. */
  clear(isUnwanted = () => true) {
    for (const [name, { definition }] of this.#entries) {
      if (isUnwanted(definition)) this.#entries.delete(name);
    }
    changed(this.#noun);
  }
}

/** Which entries of a registry hosts see in its list. */
export function listing(registry) {
  return {
    show: (names) => registry.show(names),
    hide: (names) => registry.hide(names),
    isShown: (name) => registry.isShown(name),
  };
}

export const resources = new Registry('resource');
export const prompts = new Registry('prompt');
