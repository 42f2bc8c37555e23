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
