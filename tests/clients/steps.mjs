// What both hosts in TypeScript share: the script, what was heard beside it, and what a host answers
// when it is asked.

/** What came without being asked for. */
export class Events {
  logs = [];
  #kinds = new Map();

  add(kind, what = null) {
    const { waiting, come } = this.#kind(kind);
    if (waiting.length > 0) waiting.shift()(what);
    else come.push(what);
  }

  next(kind) {
    const { waiting, come } = this.#kind(kind);
    if (come.length > 0) return Promise.resolve(come.shift());
    return new Promise((resolve, reject) => {
      waiting.push(resolve);
      setTimeout(() => reject(new Error(`nothing was heard of ${kind}`)), 20_000).unref();
    });
  }

  rest(kind) {
    return this.#kind(kind).come.splice(0);
  }

  #kind(kind) {
    if (!this.#kinds.has(kind)) this.#kinds.set(kind, { waiting: [], come: [] });
    return this.#kinds.get(kind);
  }
}

/** What a host answers; the hosts in other languages do the same. */
export const answers = {
  sampled: (params) => ({
    role: 'assistant',
    model: 'a-model',
    stopReason: 'endTurn',
    content: { type: 'text', text: `you said ${params.messages[0].content.text}` },
  }),
  elicited: ({ message }) =>
    message.includes('decline')
      ? { action: 'decline' }
      : { action: 'accept', content: { name: 'Ada', copies: 2 } },
  roots: () => ({ roots: [{ uri: 'file:///home/ada', name: 'home' }, { uri: 'file:///srv' }] }),
};

const say = (line) => console.log(JSON.stringify(line));

/** Carries out the script; `own` are the steps that differ between the clients. */
export async function run(client, events, revision, own) {
  const steps = {
    list: async () => ({
      tools: (await client.listTools()).tools.map((tool) => tool.name),
      resources: (await client.listResources()).resources.map((resource) => resource.uri),
      templates: (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate),
      prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
    }),
    call: async (step) => {
      const progress = [];
      const onprogress = (update) => progress.push([update.progress, update.total, update.message]);
      const result = await own.call(named(step), step.progress ? { onprogress } : {});
      return progress.length > 0 ? { ...result, progress } : result;
    },
    cancel: async (step) => {
      const { signal, abort } = controller();
      const ended = own.call(named(step), { signal, onprogress: () => abort('enough') });
      return ended.then(
        () => ({ cancelled: '' }),
        (error) => ({ cancelled: String(error) }),
      );
    },
    read: (step) => client.readResource({ uri: step.uri }),
    prompt: (step) => client.getPrompt({ name: step.name, arguments: step.arguments }),
    complete: async (step) => {
      const ref = { type: 'ref/prompt', name: step.prompt };
      const result = await client.complete({ ref, argument: { name: step.argument, value: step.value } });
      return { values: result.completion.values };
    },
    level: (step) => client.setLoggingLevel(step.level),
    heard: async (step) => ({ heard: await events.next(step.kind) }),
    logs: async () => ({ logs: events.logs }),
    errors: async () => ({ errors: events.rest('errors') }),
    ...own.steps,
  };
  say({ server: client.getServerVersion()?.name ?? null, revision });
  for (const step of JSON.parse(process.env.SCRIPT ?? '[]')) {
    try {
      say(await steps[step.do](step));
    } catch (error) {
      if (typeof error.code !== 'number') throw error;
      say({ error: { code: error.code, message: error.message } });
    }
  }
}

const named = (step) => ({ name: step.tool, arguments: step.arguments });

function controller() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}
