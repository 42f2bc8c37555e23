// The official TypeScript client of the handshake era (SDK 1.x) as a host: connects to the command
// given, carries out the steps of SCRIPT and prints what came of each, one line of JSON a step. The
// first line says with whom it speaks.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { Events, answers, run } from './steps.mjs';

const [command, ...args] = process.argv.slice(2);
const events = new Events();
const client = new Client(
  { name: 'sdk_host.mjs', version: '1' },
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
);
client.onerror = (error) => events.add('errors', String(error));
client.setRequestHandler(CreateMessageRequestSchema, (request) => answers.sampled(request.params));
client.setRequestHandler(ElicitRequestSchema, (request) => answers.elicited(request.params));
client.setRequestHandler(ListRootsRequestSchema, () => answers.roots());
client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
  events.logs.push([params.level, params.data]);
});
client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.add('tools'));
client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
  events.add('updated', params.uri);
});

const transport = command.startsWith('http://')
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
let revision;
const { setProtocolVersion } = transport;
transport.setProtocolVersion = (version) => {
  revision = version;
  setProtocolVersion?.call(transport, version);
};
await client.connect(transport);
await client.ping();

await run(client, events, revision, {
  call: (params, options) => client.callTool(params, CallToolResultSchema, options),
  steps: {
    watch: ({ uri }) => client.subscribeResource({ uri }),
    task: async (step) => {
      const params = { name: step.tool, arguments: step.arguments };
      const statuses = [];
      const stream = client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: {} });
      for await (const message of stream) {
        if (message.type === 'taskCreated' || message.type === 'taskStatus') {
          if (step.cancel) return cancelTask(message.task.taskId);
          statuses.push(message.task.status);
        }
        if (message.type === 'result') return { statuses, ...message.result };
        if (message.type === 'error') throw message.error;
      }
      throw new Error('the stream of the task ended without a result');
    },
  },
});
await client.close();

async function cancelTask(taskId) {
  const task = await client.experimental.tasks.cancelTask(taskId);
  return { status: task.status };
}
