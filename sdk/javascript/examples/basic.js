// The first tool file: `pmcp dev basic.js`.
import { tool } from 'protomcp';

tool({
  name: 'add',
  description: 'Add two numbers',
  args: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  handler: ({ a, b }) => a + b,
});

// Without a schema a tool takes whatever comes.
tool({
  name: 'greet',
  description: 'Greet somebody',
  handler: ({ name = 'World' }) => `Hello, ${name}!`,
});
