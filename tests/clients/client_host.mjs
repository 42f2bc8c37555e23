// The official TypeScript client of both eras (client 2.x) as a host, in the mode that MODE names (its
// own choice without): the same as sdk_host.mjs with the other client.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { Events, answers, run } from './steps.mjs';

const [command, ...args] = process.argv.slice(2);
const mode = process.env.MODE;
const events = new Events();
const client = new Client(
  { name: 'client_host.mjs', version: '1' },
  {
    capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } },
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

await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
const revision = client.getNegotiatedProtocolVersion();
const isModern = client.getProtocolEra() === 'modern';
if (!isModern) await client.ping();
let stream;

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
  },
});
await stream?.close();
await client.close();
