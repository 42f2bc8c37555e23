/**
 * Tools, resources and prompts for AI applications, in a file that `pmcp` runs.
 *
 * A file imports what it needs, defines its tools and is done: the process connects to the bridge
 * that started it by itself.
 */

// Schemas

/** A JSON value. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** A JSON Schema object. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** A schema of a library that follows Standard Schema: zod (3.24 and 4), valibot, arktype, … */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: number;
    readonly vendor: string;
    readonly validate: (value: any) => any;
  };
}

/** A schema of zod 3 before it followed Standard Schema. */
export interface OldZodSchema {
  readonly _output: any;
  readonly _def: any;
}

export type LibrarySchema = StandardSchema | OldZodSchema;

/** A schema, a shape of schemas (`{ city: z.string() }`), or plain JSON Schema. */
export type Schema = LibrarySchema | { readonly [name: string]: LibrarySchema } | JsonSchema;

/** What comes out of a schema: what a handler gets. */
export type OutputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer Output }
    ? Output
    : any
  : S extends { readonly _output: infer Output }
    ? Output
    : S extends { readonly [name: string]: LibrarySchema }
      ? { [Name in keyof S]: OutputOf<S[Name]> }
      : any;

/** A value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>;

// Content and results

/** Facts for hosts that any block may have. */
export interface BlockExtra {
  annotations?: { audience?: ('user' | 'assistant')[]; priority?: number; lastModified?: string };
  _meta?: { [name: string]: unknown };
}

export interface TextBlock extends BlockExtra {
  type: 'text';
  text: string;
}
export interface ImageBlock extends BlockExtra {
  type: 'image';
  data: string | Uint8Array;
  mimeType: string;
}
export interface AudioBlock extends BlockExtra {
  type: 'audio';
  data: string | Uint8Array;
  mimeType: string;
}
export interface ResourceLinkBlock extends BlockExtra {
  type: 'resource_link';
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}
export interface ResourceBlock extends BlockExtra {
  type: 'resource';
  resource: { uri: string; text?: string; blob?: string | Uint8Array; mimeType?: string };
}
export type ContentBlock = TextBlock | ImageBlock | AudioBlock | ResourceLinkBlock | ResourceBlock;

/** Bytes, or base64 of them. */
export type Bytes = Uint8Array | ArrayBuffer | string;

/** A text block. */
export function text(words: unknown, extra?: BlockExtra): TextBlock;
/** A picture: its bytes and its media type. */
export function image(data: Bytes, mimeType: string, extra?: BlockExtra): ImageBlock;
/** A sound: its bytes and its media type. */
export function audio(data: Bytes, mimeType: string, extra?: BlockExtra): AudioBlock;
/** A pointer to a resource. */
export function resourceLink(
  uri: string,
  name?: string,
  extra?: BlockExtra &
    Partial<Pick<ResourceLinkBlock, 'title' | 'description' | 'mimeType' | 'size'>> & { icons?: Json },
): ResourceLinkBlock;
/** A resource itself. */
export function embeddedResource(
  resource: { uri: string; text?: string; blob?: Bytes; mimeType?: string },
  extra?: BlockExtra,
): ResourceBlock;

export interface ToolResultOptions {
  /** The text that the host gets. */
  result?: string;
  isError?: boolean;
  /** Tools to enable once this result is there. */
  enableTools?: string[];
  disableTools?: string[];
  /** Of an error: a code for programs, such as NOT_FOUND. */
  errorCode?: string;
  /** Of an error: what went wrong. */
  message?: string;
  /** Of an error: what the caller could do about it. */
  suggestion?: string;
  /** Of an error: whether the same call may succeed later. */
  retryable?: boolean;
  /** Blocks that come after the text. */
  content?: ContentBlock | ContentBlock[];
  /** Any JSON, which should fit the tool's output schema. Hosts that don't know it get it as text. */
  structuredContent?: unknown;
  /** The `_meta` object of the result. */
  meta?: { [name: string]: unknown };
}

/** A result that says more than a plain value can. */
export class ToolResult {
  constructor(options?: ToolResultOptions);
  result: string;
  isError: boolean;
  enableTools?: string[];
  disableTools?: string[];
  errorCode?: string;
  message?: string;
  suggestion?: string;
  retryable: boolean;
  content?: ContentBlock | ContentBlock[];
  structuredContent?: unknown;
  meta?: { [name: string]: unknown };
}

export interface ToolErrorOptions {
  /** For programs, such as RATE_LIMITED. */
  code?: string;
  /** What the caller could do about it. */
  suggestion?: string;
  /** Whether the same call may succeed later. */
  retryable?: boolean;
  cause?: unknown;
}

/** Throw it in a handler: the model reads code, message and suggestion. */
export class ToolError extends Error {
  constructor(message: string, options?: ToolErrorOptions);
  code: string;
  suggestion: string;
  retryable: boolean;
  /** Not 0: the host gets a JSON-RPC error of this code. */
  rpcCode: number;
  /** NOT_FOUND: what was asked for does not exist. */
  static notFound(message: string, options?: ToolErrorOptions): ToolError;
  /** INVALID_ARGUMENTS: they are missing, ill-typed or out of range. */
  static invalidArguments(message: string, options?: ToolErrorOptions): ToolError;
  /** INTERNAL: something broke that the caller is not to blame for. */
  static internal(message: string, options?: ToolErrorOptions): ToolError;
  /** CANCELLED: the host no longer wants the answer. */
  static cancelled(): ToolError;
  /** The request makes no sense as such: a JSON-RPC error of this code in place of a result. */
  static protocol(rpcCode: number, message: string): ToolError;
}

/** A definition that can't be offered. Under `pmcp` it is one line, and the end of the process. */
export class DefinitionError extends Error {}

// Context

/** A question for the host's model; other members go along as they are (temperature, tools, …). */
export interface SamplingOptions {
  messages: string | SamplingMessage | (string | SamplingMessage)[];
  systemPrompt?: string;
  maxTokens?: number;
  modelPreferences?: {
    hints?: { name?: string }[];
    costPriority?: number;
    speedPriority?: number;
    intelligencePriority?: number;
  };
  [field: string]: unknown;
}
export interface SamplingMessage {
  role?: 'user' | 'assistant';
  content: string | ContentBlock | (string | ContentBlock)[];
}
export interface Sampled {
  role: string;
  /** The text of all text blocks. */
  text: string;
  /** One block, or a list of them. */
  content: any;
  model: string;
  stopReason: string;
}

/** A question for the user: a form with a flat schema, a page to visit, or a plain yes or no. */
export type Elicitation<S = undefined> = string | { message: string; schema?: S; url?: string };
export interface Elicited<T = any> {
  action: 'accept' | 'decline' | 'cancel';
  accepted: boolean;
  /** What was filled in, if the user accepted a form. */
  content: T | undefined;
}

export interface Root {
  /** Usually a `file:` URI. */
  uri: string;
  name: string;
}

/** Trace context of the host (W3C). */
export interface Trace {
  traceparent?: string;
  tracestate?: string;
  baggage?: string;
}

/** What came back of an InputRequired. */
export interface Input {
  /** Whether this is the first call, before any question. */
  readonly isFirst: boolean;
  /** What was to be remembered. */
  readonly state: any;
  /** What the user answered under this key; undefined if nothing yet. */
  elicited<S = undefined>(key: string, schema?: S): Promise<Elicited<OutputOf<S>> | undefined>;
  /** What the host's model answered under this key; undefined if nothing yet. */
  sampled(key: string): Sampled | undefined;
  /** The host's roots as asked for under this key; undefined if not there yet. */
  roots(key: string): Root[] | undefined;
}

/**
 * What a tool, a prompt or a resource returns when it needs to know something first. It is called
 * again with the answers in `ctx.input`, perhaps in another process.
 */
export class InputRequired {
  elicit<S = undefined>(key: string, question: Elicitation<S>, schema?: S): this;
  sample(key: string, question: string | SamplingOptions): this;
  roots(key: string): this;
  /** Any JSON to remember. The host carries it: it can read it, but not change it. */
  state(value: unknown): this;
}

/** A list that hosts see. What is hidden is not in it; who knows its name can still use it. */
export interface Listing {
  show(names: string | string[]): void;
  hide(names: string | string[]): void;
  isShown(name: string): boolean;
}

/** One request, seen from its handler. */
export class ToolContext {
  /** Handlers get theirs. In a test of yours: a progress token, and what gets the progress. */
  constructor(progressToken?: string, send?: (message: any) => void);

  readonly requestId: string;
  /** Empty if the host does not want progress. */
  readonly progressToken: string;
  readonly trace: Trace;
  /** Aborted when the host no longer wants the answer, or the bridge is gone. */
  readonly signal: AbortSignal;
  isCancelled(): boolean;
  /** Throws once the host no longer wants the answer. */
  checkCancelled(): void;

  /** Tells the host how far the call has come, if it wants to know. */
  reportProgress(progress: number, total?: number, message?: string): void;
  /** As `reportProgress`. */
  progress(progress: number, total?: number, message?: string): void;

  /** The host's log. */
  readonly log: ServerLogger;
  /** As `toolManager`. */
  readonly tools: typeof toolManager;

  /** Which prompts hosts see in their list. */
  readonly prompts: Listing;
  /** Which resources hosts see in their list, by URI. */
  readonly resources: Listing;

  /** Has the host's model answer. Rejects with a ToolError that says why there is no answer. */
  sample(question: string | SamplingOptions): Promise<Sampled>;
  /** Asks the user. Rejects with a ToolError that says why there is no answer. */
  elicit<S = undefined>(question: Elicitation<S>, schema?: S): Promise<Elicited<OutputOf<S>>>;
  /** The folders and other places that the host works on. */
  roots(): Promise<Root[]>;
  /** What came back of an InputRequired. */
  readonly input: Input;

  /** An object of the whole process that outlives it: reloads and crashes. Its members are JSON. */
  readonly state: { [name: string]: any };
  /** Saves the state now, or bytes of your own in its place. */
  saveState(bytes?: Uint8Array | string): void;
  /** Tells the hosts that subscribed to this resource that its content changed. */
  resourceChanged(uri: string): void;

  /** Makes this call a task: the host may do something else, while the handler goes on. */
  startTask(): string;
  /** The id of the task that this call has become. */
  readonly taskId: string | undefined;
  /** Says what the task is doing. */
  taskStatus(message: string): void;

  /** Of a resource template: its variables, percent-decoded. */
  variables: { [name: string]: string };
}

export type LogLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';

/** Sends lines to the host's log. `data` is any JSON. */
export class ServerLogger {
  /** `send` is for tests; a text alone is the logger's name. */
  constructor(send?: ((message: any) => void) | string, name?: string);
  log(level: LogLevel, message: string, data?: unknown): void;
  debug(message: string, data?: unknown): void;
  info(message: string, data?: unknown): void;
  notice(message: string, data?: unknown): void;
  warning(message: string, data?: unknown): void;
  error(message: string, data?: unknown): void;
  critical(message: string, data?: unknown): void;
  alert(message: string, data?: unknown): void;
  emergency(message: string, data?: unknown): void;
}

/** A logger without a name. */
export const log: ServerLogger;

// Tools

export interface Hints {
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

export interface Presentation extends Hints {
  /** A name for people. */
  title?: string;
  /** The annotations object; the hints beside it count more. */
  annotations?: { [name: string]: unknown };
  icons?: { src: string; mimeType?: string; sizes?: string[]; theme?: string }[];
  /** The `_meta` object. */
  meta?: { [name: string]: unknown };
}

/** What a handler may return: a ToolResult, a text or number, content, or an object that becomes structured content. */
export type HandlerResult = unknown;

export interface ToolOptions<S = undefined> extends Presentation {
  /** The name of the handler if not given. */
  name?: string;
  description?: string;
  args?: S;
  /** JSON Schema to show in place of what is made from `args`. */
  inputSchema?: JsonSchema;
  /** A schema of the structured result. */
  output?: Schema;
  /** It may take long: a host that knows tasks gets one instead of waiting. */
  taskSupport?: boolean;
  /** It takes so long that a host that knows no tasks must not call it. */
  taskRequired?: boolean;
  /** Not offered until it is enabled. */
  hidden?: boolean;
  handler(args: OutputOf<S>, ctx: ToolContext): Awaitable<HandlerResult>;
}

export interface ToolDef<A = any> {
  name: string;
  description: string;
  inputSchemaJson: string;
  outputSchemaJson: string;
  title: string;
  destructiveHint: boolean;
  idempotentHint: boolean;
  readOnlyHint: boolean;
  openWorldHint: boolean;
  taskSupport: boolean;
  hidden: boolean;
  handler: (args: A, ctx?: any) => any;
}

/** Defines a tool. */
export function tool<const S = undefined>(options: ToolOptions<S>): ToolDef<OutputOf<S>>;
/** All tools, those of groups and workflows included. */
export function getRegisteredTools(): ToolDef[];
export function getHiddenToolNames(): string[];
/** For tests: forgets what `tool()` defined. */
export function clearRegistry(): void;

/** Which tools hosts see. Each change answers with the names of the tools that are active then. */
export const toolManager: {
  enable(toolNames: string[]): Promise<string[]>;
  disable(toolNames: string[]): Promise<string[]>;
  /** Only these are active from now on; an empty list returns to the open mode. */
  setAllowed(toolNames: string[]): Promise<string[]>;
  /** All but these are active from now on; an empty list returns to the open mode. */
  setBlocked(toolNames: string[]): Promise<string[]>;
  getActiveTools(): Promise<string[]>;
  /** The mode first (`allow` or `block`), then `enable`, then `disable`. */
  batch(options: BatchOptions): Promise<string[]>;
};
export interface BatchOptions {
  enable?: string[];
  disable?: string[];
  allow?: string[];
  block?: string[];
}

// Groups

export interface CrossRule {
  /** True where the rule is broken. */
  condition: (args: any) => boolean;
  message: string;
}
export interface HintDef {
  /** True where the advice applies. */
  condition: (args: any) => boolean;
  message: string;
}
export interface Rules {
  /** Fields that must be there and not empty. */
  requires?: string[];
  /** Values that fields may have. */
  enumFields?: { [field: string]: any[] };
  crossRules?: CrossRule[];
}
export interface ActionOptions<S = any> extends Rules, Presentation {
  description?: string;
  args?: S;
  inputSchema?: JsonSchema;
  /** Advice that is appended to the result. */
  hints?: { [name: string]: HintDef };
  /** With the strategy `separate`: as of a tool. */
  output?: Schema;
  taskSupport?: boolean;
  taskRequired?: boolean;
  hidden?: boolean;
  handler(args: OutputOf<S>, ctx: ToolContext): Awaitable<HandlerResult>;
}
export interface GroupOptions<A = any> extends Presentation {
  name: string;
  description?: string;
  actions: { [Name in keyof A]: ActionOptions<A[Name]> };
  /** One tool with an `action` (union, if not given), or one tool for each action. */
  strategy?: 'union' | 'separate';
  /** With the strategy `union`: as of a tool. */
  output?: Schema;
  taskSupport?: boolean;
  taskRequired?: boolean;
  hidden?: boolean;
}
export interface GroupDef {
  name: string;
  description: string;
  actions: { [name: string]: ActionOptions };
  strategy: 'union' | 'separate';
}
/** Defines several actions under one name. */
export function toolGroup<A>(options: GroupOptions<A>): GroupDef;
/** Types one action of a group. */
export function action<S = undefined>(options: ActionOptions<S>): ActionOptions<S>;
export function getRegisteredGroups(): GroupDef[];
/** For tests. */
export function clearGroupRegistry(): void;

// Workflows

/** What a step answers: a text, and which of its declared next steps may come. */
export class StepResult {
  constructor(result?: string | { result?: string; next?: string[] }, next?: string[]);
  result: string;
  next?: string[];
}
export interface StepHistoryEntry {
  step: string;
  result: StepResult;
}
export interface Visibility {
  /** Patterns (`*`, `?`, `[…]`) of other tools that stay visible. */
  allowDuring?: string[];
  /** Patterns of other tools that do not. */
  blockDuring?: string[];
}
export interface StepOptions<S = any> extends Rules, Visibility, Presentation {
  description?: string;
  args?: S;
  inputSchema?: JsonSchema;
  handler(args: OutputOf<S>, ctx: ToolContext): Awaitable<StepResult | HandlerResult>;
  /** The entry: exactly one step is. */
  initial?: boolean;
  /** Steps that may come next. */
  next?: string[];
  /** An exit; it has no next step. */
  terminal?: boolean;
  /** The workflow can't be cancelled while this step is due. */
  noCancel?: boolean;
  /** Where to go on after an error: a part of its message, name or code, and a step. */
  onError?: { [part: string]: string };
}
export interface WorkflowOptions<T = any> extends Visibility {
  name: string;
  description?: string;
  steps: { [Name in keyof T]: StepOptions<T[Name]> };
  /** Its text is the result of the cancel tool. */
  onCancel?: (currentStep: string, history: StepHistoryEntry[]) => Awaitable<string | void>;
  onComplete?: (history: StepHistoryEntry[]) => Awaitable<void>;
}
export interface WorkflowDef extends Visibility {
  name: string;
  description: string;
  steps: (StepOptions & { name: string })[];
}
/** Defines a process of several steps, of which hosts see only what may come next. */
export function workflow<T>(options: WorkflowOptions<T>): void;
/** Types one step of a workflow. */
export function step<S = undefined>(options: StepOptions<S>): StepOptions<S>;
export function getRegisteredWorkflows(): WorkflowDef[];
/** For tests. */
export function clearWorkflowRegistry(): void;

// Resources, prompts, completions

export interface ResourceContent {
  /** The one that was asked for if not given. */
  uri?: string;
  text?: string;
  /** Bytes, or base64 of them. */
  blob?: Bytes;
  mimeType?: string;
  meta?: { [name: string]: unknown };
}
/** What reading yields: a text, bytes, an object, or several. */
export type ResourceResult =
  ResourceContent | string | Uint8Array | (ResourceContent | string | Uint8Array)[] | InputRequired | object;
export interface ResourceExtra {
  /** Not in the list until it is shown. */
  hidden?: boolean;
  name?: string;
  description?: string;
  mimeType?: string;
  title?: string;
  annotations?: { [name: string]: unknown };
  icons?: { src: string; mimeType?: string; sizes?: string[]; theme?: string }[];
  meta?: { [name: string]: unknown };
}
export interface ResourceOptions extends ResourceExtra {
  uri: string;
  /** In bytes, if known. */
  size?: number;
  handler: (uri: string, ctx: ToolContext) => Awaitable<ResourceResult>;
}
export interface ResourceTemplateOptions extends ResourceExtra {
  /** RFC 6570, level 1, or with `{+name}`. */
  uriTemplate: string;
  handler: (uri: string, ctx: ToolContext) => Awaitable<ResourceResult>;
}
export interface ResourceDef extends ResourceOptions {
  name: string;
  description: string;
}
export interface ResourceTemplateDef extends ResourceTemplateOptions {
  name: string;
  description: string;
}
/** Defines a resource with a fixed URI. */
export function resource(options: ResourceOptions): ResourceDef;
/** Defines a family of resources; a ToolError.notFound() says that there is none of this URI. */
export function resourceTemplate(options: ResourceTemplateOptions): ResourceTemplateDef;
/** Tells the hosts that subscribed to this resource that its content changed. */
export function resourceChanged(uri: string): void;
export function getRegisteredResources(): ResourceDef[];
export function getRegisteredResourceTemplates(): ResourceTemplateDef[];
/** For tests. */
export function clearResourceRegistry(): void;

export interface PromptArg {
  name: string;
  description?: string;
  required?: boolean;
  title?: string;
}
export interface PromptMessage {
  role: 'user' | 'assistant';
  content: string | ContentBlock | (string | ContentBlock)[];
}
export type PromptResult =
  | string
  | ContentBlock
  | PromptMessage
  | (string | ContentBlock | PromptMessage)[]
  | { description?: string; messages: (string | ContentBlock | PromptMessage)[] }
  | InputRequired;
export interface PromptOptions {
  /** The name of the handler if not given. */
  name?: string;
  description?: string;
  arguments?: PromptArg[];
  /** Not in the list until it is shown. */
  hidden?: boolean;
  title?: string;
  icons?: { src: string; mimeType?: string; sizes?: string[]; theme?: string }[];
  meta?: { [name: string]: unknown };
  handler: (args: Record<string, string>, ctx: ToolContext) => Awaitable<PromptResult>;
}
export interface PromptDef extends PromptOptions {
  name: string;
  description: string;
  arguments: PromptArg[];
}
/** Defines a prompt. */
export function prompt(options: PromptOptions): PromptDef;
export function getRegisteredPrompts(): PromptDef[];
/** For tests. */
export function clearPromptRegistry(): void;

export interface CompletionResult {
  values: string[];
  total?: number;
  hasMore?: boolean;
}
export type CompletionHandler = (
  value: string,
  ctx: ToolContext & { arguments: Record<string, string> },
) => Awaitable<CompletionResult | string[]>;
/** Suggests values for an argument of a prompt (`ref/prompt`) or of a resource template (`ref/resource`). */
export function completion(
  refType: 'ref/prompt' | 'ref/resource',
  refName: string,
  argumentName: string,
  handler: CompletionHandler,
): void;
export function getCompletionHandler(
  refType: string,
  refName: string,
  argumentName: string,
): CompletionHandler | undefined;
/** For tests. */
export function clearCompletionRegistry(): void;

// Around the handlers

export interface MiddlewareAnswer {
  argumentsJson?: string;
  resultJson?: string;
  reject?: boolean;
  rejectReason?: string;
}
export type MiddlewareHandler = (
  phase: 'before' | 'after',
  toolName: string,
  argumentsJson: string,
  resultJson: string,
  isError: boolean,
) => Awaitable<MiddlewareAnswer | Record<string, any> | void>;
/** Has the bridge run a function before and after every call. The lowest priority is the outermost. */
export function middleware(name: string, priority: number, handler: MiddlewareHandler): void;
export function getRegisteredMiddleware(): { name: string; priority: number; handler: MiddlewareHandler }[];
/** For tests. */
export function clearMiddlewareRegistry(): void;

export type LocalMiddlewareHandler = (
  ctx: ToolContext,
  toolName: string,
  args: any,
  next: (ctx: ToolContext, args: any) => any,
) => any;
/** A layer around every handler of this process. The lowest priority is the outermost. */
export function localMiddleware(priority: number, handler: LocalMiddlewareHandler): void;
export function buildMiddlewareChain(
  toolName: string,
  handler: (args: any, ctx?: any) => any,
): (ctx: any, args: any) => any;
/** For tests. */
export function clearLocalMiddleware(): void;

/** Gives every handler an argument; with `expose: false` it does not show in schemas. */
export function serverContext(
  paramName: string,
  resolver: (args: Record<string, any>) => any,
  options?: { expose?: boolean },
): void;
export function resolveContexts(args: Record<string, any>): Promise<Record<string, any>>;
/** For tests. */
export function clearContextRegistry(): void;

export interface ToolCallEvent {
  toolName: string;
  /** Of a group or a workflow: which action or step. */
  action: string;
  phase: 'start' | 'success' | 'error' | 'progress' | (string & {});
  args: Record<string, any>;
  result?: string;
  error?: Error;
  durationMs?: number;
  progress?: number;
  total?: number;
  message?: string;
}
/** Hears of every call of a tool; what it throws is ignored. */
export function telemetrySink(handler: (event: ToolCallEvent) => unknown): void;
export function emitTelemetry(event: ToolCallEvent): void;
/** For tests. */
export function clearTelemetrySinks(): void;

export interface SidecarOptions {
  name: string;
  /** A program and its arguments. */
  command: string[];
  /** A URL that answers 200 when it is ready. */
  healthCheck?: string;
  /** `first_tool_call` if not given. */
  startOn?: 'server_start' | 'first_tool_call';
  /** In seconds; 30 if not given. */
  healthTimeout?: number;
}
/** A process that runs beside the tools. */
export function sidecar(options: SidecarOptions): void;
export function startSidecars(moment: string): Promise<void>;
export function stopAllSidecars(): void;
/** For tests. */
export function clearSidecarRegistry(): void;

// The process

export interface Settings {
  /** How many requests are worked on at once: 32 if not given. With 1, one after the other. */
  concurrency?: number;
  /** A folder of files that define tools; names that begin with `_` are left out. */
  handlersDir?: string;
  /** discoverHandlers() forgets what it found before. */
  hotReload?: boolean;
}
/** Settings of the whole process. */
export function configure(settings: Settings): void;
export { configure as configureDiscovery };
export function discoverHandlers(): Promise<void>;
export function getDiscoveryConfig(): { handlersDir?: string; hotReload?: boolean };
export function resetDiscoveryConfig(): void;

/** Saves the state now (see ToolContext.state), or bytes of your own in its place. At most 1 MiB. */
export function saveState(bytes?: Uint8Array | string): void;
/** Takes over the bytes that the process before this one saved, before the first request. */
export function onRestore(handler: (bytes: Uint8Array) => void): void;
/** Which life of the tool process this is: 1 for the first since the bridge was started. */
export const generation: number;

/**
 * Begins to serve at once. Not needed: a file serves when it has been evaluated. The promise comes
 * true when the bridge is gone.
 */
export function run(): Promise<void>;
