// The official TypeScript client connects to the command given, uses what it finds there, and
// prints what it saw as one JSON object.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

const [command, ...args] = process.argv.slice(2);
const seen = { errors: [], logs: [], listChanged: 0 };

const client = new Client(
  { name: 'host.mjs', version: '1' },
  { capabilities: { sampling: {}, roots: { listChanged: true } } },
);
client.onerror = (error) => seen.errors.push(String(error));
client.setRequestHandler(CreateMessageRequestSchema, async (request) => ({
  role: 'assistant',
  model: 'a-model',
  stopReason: 'endTurn',
  content: { type: 'text', text: `you said ${request.params.messages[0].content.text}` },
}));
client.setNotificationHandler(LoggingMessageNotificationSchema, (message) => {
  seen.logs.push([message.params.level, message.params.data]);
});
client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
  seen.listChanged += 1;
});

await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
seen.server = client.getServerVersion();
seen.capabilities = client.getServerCapabilities();
await client.ping();
seen.tools = (await client.listTools()).tools;
seen.resources = (await client.listResources()).resources.map((resource) => resource.uri);
seen.templates = (await client.listResourceTemplates()).resourceTemplates.map(
  (template) => template.uriTemplate,
);
seen.prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
await client.setLoggingLevel('debug');

const script = JSON.parse(process.env.SCRIPT ?? '[]');
seen.answers = [];
for (const step of script) {
  const progress = [];
  const options = step.progress ? { onprogress: (update) => progress.push(update) } : undefined;
  try {
    const result = await {
      call: () => client.callTool(step.params, undefined, options),
      read: () => client.readResource(step.params),
      prompt: () => client.getPrompt(step.params),
      complete: () => client.complete(step.params),
      subscribe: () => client.subscribeResource(step.params),
      tools: () => client.listTools(),
    }[step.do]();
    seen.answers.push({ result, progress });
  } catch (error) {
    seen.answers.push({ error: { code: error.code ?? 0, message: String(error.message) } });
  }
}
await client.close();
console.log(JSON.stringify(seen));
