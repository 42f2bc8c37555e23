// Several actions under one name: `pmcp dev groups.js`.
import { toolGroup } from 'protomcp';

const text = { type: 'string' };
const object = (properties, required) => ({ type: 'object', properties, required });
const shelves = { fiction: ['Švejk'], science: [] };

// One tool, `library`, with an `action` in its arguments.
toolGroup({
  name: 'library',
  description: 'A small library.',
  actions: {
    list: {
      description: 'The books of a shelf',
      args: object({ shelf: text }, []),
      requires: ['shelf'],
      enumFields: { shelf: Object.keys(shelves) },
      handler: ({ shelf }) => ({ shelf, books: shelves[shelf] }),
    },
    add: {
      description: 'Add a book',
      args: object({ shelf: text, title: text }, ['shelf', 'title']),
      enumFields: { shelf: Object.keys(shelves) },
      hints: {
        long: { condition: ({ title }) => title.length > 40, message: 'Long titles are cut on labels.' },
      },
      handler: ({ shelf, title }) => `${shelves[shelf].push(title)} books are on the shelf.`,
    },
  },
});

// Two tools, `room.reserve` and `room.free`.
const reserved = new Map();
toolGroup({
  name: 'room',
  strategy: 'separate',
  actions: {
    reserve: {
      description: 'Reserve the reading room',
      args: object({ from: { type: 'integer' }, to: { type: 'integer' }, name: text }, [
        'from',
        'to',
        'name',
      ]),
      crossRules: [{ condition: ({ from, to }) => from >= to, message: 'It has to begin before it ends.' }],
      handler({ from, to, name }) {
        for (let hour = from; hour < to; hour += 1) reserved.set(hour, name);
        return `Reserved for ${name}.`;
      },
    },
    free: {
      description: 'Which hours are free',
      readOnlyHint: true,
      handler: () => ({
        hours: Array.from({ length: 10 }, (_, index) => index + 8).filter((hour) => !reserved.has(hour)),
      }),
    },
  },
});
