// What stands around handlers: `pmcp dev middleware-and-telemetry.js`.
import {
  localMiddleware,
  middleware,
  serverContext,
  telemetrySink,
  tool,
  ToolError,
  ToolResult,
} from 'protomcp';

// The bridge runs this before and after every call; it sees JSON.
middleware('no_secrets', 10, (phase, toolName, argumentsJson, resultJson) => {
  if (phase === 'before' && argumentsJson.includes('password')) {
    return { reject: true, rejectReason: 'Never send passwords to a tool.' };
  }
  return phase === 'after' ? { resultJson: resultJson.replaceAll('hunter2', '*****') } : {};
});

// This runs in here, around the handler; the lowest priority is the outermost.
localMiddleware(10, async (ctx, toolName, args, next) => {
  try {
    return await next(ctx, args);
  } catch (error) {
    if (error instanceof RangeError)
      throw ToolError.invalidArguments(error.message, { suggestion: 'ask for less' });
    throw error;
  }
});
localMiddleware(20, async (ctx, toolName, args, next) => {
  const begin = performance.now();
  const result = await next(ctx, args);
  ctx.log.debug(`${toolName} took ${(performance.now() - begin).toFixed(1)} ms`);
  return result;
});

// Sinks hear of every call and can't disturb it.
const calls = {};
telemetrySink(({ toolName, phase }) => {
  calls[`${toolName} ${phase}`] = (calls[`${toolName} ${phase}`] ?? 0) + 1;
});

// Every handler gets this argument, and no host sees it.
serverContext('user', () => process.env.USER ?? 'nobody', { expose: false });

tool({
  name: 'repeat',
  description: 'Say something several times',
  args: {
    type: 'object',
    properties: { word: { type: 'string' }, times: { type: 'integer', default: 2 } },
    required: ['word'],
  },
  handler: ({ word, times }) => Array(times).fill(word).join(' '),
});
tool({
  name: 'whoami',
  description: 'Whose tools these are',
  handler: ({ user }) => new ToolResult({ result: user }),
});
tool({ name: 'statistics', description: 'How often what was called', handler: () => ({ calls }) });
