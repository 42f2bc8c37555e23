// The official TypeScript client of both eras (client 2.x) as a host, in the mode that MODE names (its
// own choice without): the same as sdk_host.mjs with the other client.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createApplicationInputHandler, createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';

import { Events, answers, run } from './steps.mjs';

const [command, ...args] = process.argv.slice(2);
const mode = process.env.MODE;
const events = new Events();
const info = { name: 'client_host.mjs', version: '1' };
const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
const client = new Client(
  info,
  {
    capabilities,
    ...(mode ? { versionNegotiation: { mode: mode === 'auto' ? 'auto' : { pin: mode } } } : {}),
  },
);
client.onerror = (error) => events.add('errors', String(error));
client.setRequestHandler('sampling/createMessage', (request) => answers.sampled(request.params));
client.setRequestHandler('elicitation/create', (request) => answers.elicited(request.params));
client.setRequestHandler('roots/list', () => answers.roots());
client.setNotificationHandler('notifications/message', ({ params }) => {
  events.logs.push([params.level, params.data]);
});
client.setNotificationHandler('notifications/tools/list_changed', () => events.add('tools'));
client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
  events.add('updated', params.uri);
});

const transport = command.startsWith('http://')
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' });
await client.connect(transport);
const revision = client.getNegotiatedProtocolVersion();
const isModern = client.getProtocolEra() === 'modern';
if (!isModern) await client.ping();
let stream;
let session;

await run(client, events, revision, {
  call: (params, options) => {
    const level = isModern ? { _meta: { 'io.modelcontextprotocol/logLevel': 'warning' } } : {};
    return client.callTool({ ...params, ...level }, options);
  },
  steps: {
    watch: async ({ uri }) => {
      if (!isModern) return client.subscribeResource({ uri });
      stream = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
      return {};
    },
    task: async (step) => {
      session ??= tasks();
      const execution = await session.callTool(step.tool, step.arguments ?? {}, { task: { preference: 'prefer' } });
      const statuses = [];
      if (step.cancel) await execution.cancel();
      const { outcome } = await execution.settle({
        onEvent: (event) => {
          if (event.type === 'task') statuses.push(event.task.status);
        },
      });
      if (outcome.status === 'completed') return { ...outcome.result, kind: execution.kind, statuses };
      return { status: outcome.status, error: outcome.error };
    },
  },
});
await session?.close();
await stream?.close();
await client.close();

/** The official package's way to call tools as tasks. */
function tasks() {
  const options = {
    endpointId: 'the bridge',
    onInputRequest: createApplicationInputHandler({
      elicitation: (request) => answers.elicited(request.params),
      sampling: (request) => answers.sampled(request.params),
      roots: () => answers.roots(),
    }),
    onError: (error) => events.add('errors', String(error)),
  };
  if (!isModern) return createTaskSessionFromClient(client, options);
  const v2RequestFraming = { protocolVersion: revision, clientInfo: info, clientCapabilities: capabilities };
  return createTaskSessionFromClient(client, { ...options, rawDispatch: dispatcher(), v2RequestFraming });
}

/** Requests beside the client, on its transport: it does not know the shapes of tasks. */
function dispatcher() {
  const open = new Map();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const settle = open.get(message.id);
    if (!settle) return onmessage(message, extra);
    open.delete(message.id);
    settle(message.error ? { kind: 'error', error: message.error } : { kind: 'result', result: message.result });
  };
  return (request) =>
    new Promise((resolve, reject) => {
      const id = `raw-${open.size}-${Math.random()}`;
      open.set(id, resolve);
      transport.send({ ...request, jsonrpc: '2.0', id }).catch(reject);
    });
}
