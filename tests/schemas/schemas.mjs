// The schemas of all revisions, and which definition is whose.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

export const MODERN = '2026-07-28';
export const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', MODERN];

/** The extension of the newest revision; its package brings validators of its own. */
const TASKS = 'tasks';

/** What a definition is called where a revision's own rule of names does not tell. */
const RESULTS = { 'tasks/result': 'CallToolResult' };

/** What the bridge has no reason to say, in any revision or in one. */
const NEVER = new Set([
  // It asks its host for nothing but what a tool wants.
  'PingRequest',
  'GetTaskRequest',
  'GetTaskPayloadRequest',
  'CancelTaskRequest',
  'ListTasksRequest',
  // `tasks/result` has the result of its call.
  'GetTaskPayloadResult',
  // It hears nothing of what happens on a page that a tool sent the user to.
  'ElicitationCompleteNotification',
  // A stream is ended by its result; no request has an empty one.
  `${MODERN} CancelledNotification`,
  `${MODERN} EmptyResult`,
]);

export class Schemas {
  /** Everything that the environment holds. */
  static async load(environment) {
    const require = createRequire(resolve(environment, 'package.json'));
    const schemas = new Schemas();
    for (const revision of REVISIONS) {
      const text = readFileSync(join(environment, 'revisions', `${revision}.json`), 'utf8');
      schemas.revisions.set(revision, new Revision(require, JSON.parse(text)));
    }
    // The package's entry is for `import` alone, so its folder is looked up by hand.
    const entry = resolve(environment, 'node_modules/@modelcontextprotocol/ext-tasks/dist/core/v2/index.js');
    schemas.tasks = await import(pathToFileURL(entry));
    return schemas;
  }

  revisions = new Map();

  /** What is wrong with a value: nothing, if the list is empty. */
  judge(revision, definition, value) {
    if (revision !== TASKS) return this.revisions.get(revision).judge(definition, value);
    const result = this.tasks[`${definition}V2Schema`].safeParse(value);
    return result.success ? [] : result.error.issues.map((issue) => `/${issue.path.join('/')} ${issue.message}`);
  }

  /** Revision and definition of the result of a request. */
  ofResult(revision, method, params, result) {
    if (revision === MODERN) {
      if (method.startsWith('tasks/')) return [TASKS, `${this.tasksName(method)}Result`];
      if (result?.resultType === 'task' && method === 'tools/call') return [TASKS, 'CreateTaskResult'];
      const may = ['tools/call', 'prompts/get', 'resources/read'].includes(method);
      if (result?.resultType === 'input_required' && may) return [MODERN, 'InputRequiredResult'];
    }
    if (revision === '2025-11-25' && method === 'tools/call' && params?.task) return [revision, 'CreateTaskResult'];
    return [revision, RESULTS[method] ?? this.revisions.get(revision).results.get(method)];
  }

  /** Revision and definition of a request or a notification. */
  ofMethod(revision, method) {
    if (revision === MODERN && method === 'notifications/tasks') return [TASKS, 'TaskStatusNotification'];
    return [revision, this.revisions.get(revision).methods.get(method)];
  }

  /** Revision and definition of an error. */
  ofError(revision, code) {
    return [revision, this.revisions.get(revision).errors.get(code) ?? this.revisions.get(revision).error];
  }

  /** `revision definition` of all that servers say, but for what the bridge never does. */
  expected() {
    const tasks = ['CreateTaskResult', 'GetTaskResult', 'UpdateTaskResult', 'CancelTaskResult'];
    const all = [...tasks, 'TaskStatusNotification'].map((name) => `${TASKS} ${name}`);
    for (const [revision, { said }] of this.revisions) {
      all.push(...said.filter((name) => !NEVER.has(name)).map((name) => `${revision} ${name}`));
    }
    return all.filter((key) => !NEVER.has(key));
  }

  tasksName(method) {
    return { 'tasks/get': 'GetTask', 'tasks/update': 'UpdateTask', 'tasks/cancel': 'CancelTask' }[method];
  }
}

/** One revision's definitions, compiled when they are first needed. */
class Revision {
  constructor(require, schema) {
    const isNew = '$defs' in schema;
    const Ajv = require(isNew ? 'ajv/dist/2020' : 'ajv').default;
    this.ajv = new Ajv({ strict: false, allErrors: true });
    require('ajv-formats').default(this.ajv);
    this.ajv.addSchema(schema, 'schema');
    this.root = `schema#/${isNew ? '$defs' : 'definitions'}/`;
    this.definitions = schema.$defs ?? schema.definitions;
    this.error = this.has('JSONRPCErrorResponse') ?? 'JSONRPCError';
    this.response = this.has('JSONRPCResultResponse') ?? 'JSONRPCResponse';
    for (const [name, definition] of Object.entries(this.definitions)) {
      const method = definition.properties?.method?.const;
      if (method) this.methods.set(method, name);
      if (method && name.endsWith('Request')) {
        this.results.set(method, this.has(name.replace(/Request$/, 'Result')) ?? 'EmptyResult');
      }
      for (const part of definition.properties?.error?.allOf ?? []) {
        const code = part.properties?.code?.const;
        if (code) this.errors.set(code, name);
      }
    }
    const unions = ['ServerResult', 'ServerNotification', 'ServerRequest'];
    const members = unions.flatMap((name) => this.definitions[name]?.anyOf ?? []);
    const names = members.map((member) => member.$ref.split('/').pop());
    this.said = names.map((name) => (name === 'Result' ? 'EmptyResult' : name));
  }

  methods = new Map();
  results = new Map();
  errors = new Map();
  validators = new Map();

  has(name) {
    return name in this.definitions ? name : undefined;
  }

  judge(definition, value) {
    let validator = this.validators.get(definition);
    if (!validator) {
      validator = this.ajv.compile({ $ref: this.root + definition });
      this.validators.set(definition, validator);
    }
    if (validator(value)) return [];
    return validator.errors.map((error) => `${error.instancePath} ${error.message}`);
  }
}
