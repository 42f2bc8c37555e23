//! Every bound that a peer can meet, with its reason. Times are [`Duration`]s, sizes are bytes.

use std::time::Duration;

mod json_schema;

pub use json_schema::*;

/// A message of this size or more goes to a worker thread; below it the hop would cost more than
/// the work (a hop takes 10 to 30 µs, JSON and copies run at some GB/s).
pub const LARGE_MIN: usize = 256 * 1024;

/// Default for `--max-message`: the longest line of a host, the largest frame, raw payload and
/// inflated payload of a tool process. Hosts' own limits lie between 4 and 16 MiB.
pub const MESSAGE_MAX: usize = 64 * 1024 * 1024;

/// The least that `--max-message` may be: an `initialize` must fit.
pub const FLAG_MESSAGE_MIN: usize = 1024;

/// The most that `--max-message` may be: lengths beyond it no longer fit the signed 32 bits that
/// protobuf libraries count in.
pub const FLAG_MESSAGE_MAX: usize = 2047 * 1024 * 1024;

/// The longest time that a flag may name: a year, far below what a clock can be advanced by.
pub const FLAG_TIME_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// Raw bytes that are refused are read and dropped up to here, so that the tool process can go
/// on; one that announces more is ended.
pub const RAW_DISCARD_MAX: u64 = 1024 * 1024 * 1024;

/// A block of memory of this size or more is a mapping of its own, which goes back to the system
/// when it is freed. Fresh pages cost as much as the work on them, so smaller ones may be kept for
/// the next message: up to what a line of 10 MiB, the most that hosts send, is read into.
pub const MAPPED_MIN: usize = 17 * 1024 * 1024;

/// What the pipes to and from a host shall hold: a system's usual most. With the usual 64 KiB a
/// message of 10 MiB takes 160 turns of both sides.
pub const PIPE_SIZE: i32 = 1024 * 1024;

/// First size of a connection's read buffer, and what it shrinks back to.
pub const READ_BUFFER: usize = 64 * 1024;

/// What is read from or written to a pipe at once that cannot be made non-blocking: what `poll(2)`
/// promises to take without blocking (`PIPE_BUF`).
pub const PIPE_PIECE: usize = 4096;

/// What is read at once of what a tool process prints.
pub const PRINTED_BUFFER: usize = 8 * 1024;

/// What one source may deliver in one turn of the loop before the others have theirs.
pub const READ_BUDGET: usize = 1024 * 1024;

/// Bytes waiting for a slow host above which the tool process is no longer read.
pub const HOST_QUEUE_HIGH: usize = 4 * 1024 * 1024;

/// Bytes waiting for a slow tool process above which the host is no longer read.
pub const TOOL_QUEUE_HIGH: usize = 4 * 1024 * 1024;

/// Requests that may wait for the tool process before the host is no longer read.
pub const WAITING_REQUESTS_MAX: usize = 1024;

/// A host is read on while it owes an answer to the tool process, although too much waits. Beyond
/// this many times the bounds its calls are refused.
pub const WAITING_REFUSED_FACTOR: usize = 2;

/// Bytes of requests that may wait for the tool process before the host is no longer read.
pub const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Transfers that a tool process may have open at once.
pub const TRANSFERS_MAX: usize = 64;

/// What the open transfers of a tool process may hold together (one alone may reach the largest
/// message): otherwise each could hold that much.
pub const TRANSFERS_BYTES_MAX: usize = 256 * 1024 * 1024;

/// A chunked transfer gets this much room (or a sixteenth of what it claims) before it has shown
/// anything.
pub const TRANSFER_FIRST_STEP: usize = 64 * 1024;

/// A transfer under a longer id is refused and not remembered: such an id is not one of ours.
pub const TRANSFER_ID_MAX: usize = 256;

/// A large body is first given this much room (or a sixteenth of what it claims); only when that
/// has arrived does it get the whole.
pub const FRAME_FIRST_STEP: usize = 1024 * 1024;

/// Decoders of zstd should support windows of up to this size (RFC 8878, section 3.1.1.1.2), even
/// if no message may be that long.
pub const ZSTD_WINDOW_MIN: usize = 8 * 1024 * 1024;

/// Fields of one message of a tool process, entries of lists included. In memory an entry takes
/// some hundred bytes even if it is empty.
pub const ENTRIES_MAX: usize = 65_536;

/// Bytes of a list of prompts, whose entries have entries of their own.
pub const PROMPT_LIST_MAX: usize = 4 * 1024 * 1024;

/// Questions (sampling, roots, elicitation) that one call may have open at once: each is one that a
/// person may have to answer.
pub const QUESTIONS_MAX: usize = 64;

/// Bytes of all open questions: they are kept until they are answered, to be asked again.
pub const QUESTION_BYTES_MAX: usize = 16 * 1024 * 1024;

/// After the first question of a call: what else it asks within this goes in the same answer. Each
/// answer costs the host a round, and some give up after ten.
pub const QUESTIONS_GATHER: Duration = Duration::from_millis(5);

/// How often one call may be answered with questions by a tool that does not wait; clients give up
/// after eight to ten rounds.
pub const INPUT_ROUNDS_MAX: u32 = 16;

/// Answers of calls that ended while their host was away.
pub const LEFT_MAX: usize = 64;

/// Bytes of these; the one that came last is kept however large it is.
pub const LEFT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a key for `--state-key-env`: as long as what it makes.
pub const STATE_KEY_MIN: usize = 32;

/// Default for `--tasks-max`: tasks that run or whose results are kept.
pub const TASKS_MAX: usize = 256;

/// Bytes of all kept results of tasks; the one that came last is kept however large it is.
pub const TASKS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How long a task is kept from its creation on, if its host does not say.
pub const TASK_TTL: Duration = Duration::from_secs(3600);

/// The longest that a host may have it kept.
pub const TASK_TTL_MAX: Duration = Duration::from_secs(24 * 3600);

/// How often a task is to be looked at: by hosts, and by us where the tool process runs it.
pub const TASK_POLL: Duration = Duration::from_secs(1);

/// Keys of questions that a task remembers, because none may come twice; later ones get keys of
/// ours.
pub const TASK_KEYS_MAX: usize = 1024;

/// Subscriptions to resources that one session may hold.
pub const SUBSCRIPTIONS_MAX: usize = 4096;

/// Bytes of all URIs that one session subscribes to.
pub const SUBSCRIPTION_BYTES_MAX: usize = 1024 * 1024;

/// Names of tools that are kept as enabled or disabled although the process has no such tools.
pub const UNKNOWN_NAMES_MAX: usize = 1024;

/// Streams of `subscriptions/listen` that one connection may hold open.
pub const LISTENS_MAX: usize = 64;

/// Middleware that one tool process may register.
pub const MIDDLEWARE_MAX: usize = 64;

/// What `maxTokens` of a sampling request is when the tool does not say; it must be there, and it
/// is the host's money.
pub const SAMPLING_TOKENS: i32 = 1000;

/// Characters of a peer's text that are quoted in an error.
pub const SHOWN_MAX: usize = 200;

/// Requests in one JSON-RPC batch.
pub const BATCH_MAX: usize = 1024;

/// Deepest nesting of JSON that reaches a host: many parsers give up at 128 levels, and a
/// message adds a few of its own.
pub const JSON_DEPTH_MAX: usize = 100;

/// Bytes of the head of an HTTP request: twice what widespread servers take, for tokens of tens of
/// scopes and arguments that are repeated in headers. A [`u16`] counts them.
pub const HTTP_HEAD_MAX: usize = 32 * 1024;

/// Places that we listen at.
pub const LISTENERS_MAX: usize = 64;

/// Header lines of one request.
pub const HTTP_FIELDS_MAX: usize = 100;

/// Bytes that one chunk of a body may carry beside its data, and all its trailers together.
pub const HTTP_CHUNK_EXTRA_MAX: usize = 4096;

/// Events of one stream that are kept for a client that comes again.
pub const HTTP_RING_EVENTS: usize = 1024;

/// Bytes of one stream that are kept for that.
pub const HTTP_RING_BYTES: usize = 256 * 1024;

/// After how long a client shall come again when a stream broke off.
pub const HTTP_RETRY: Duration = Duration::from_secs(1);

/// Deadlines of connections and sessions fall on multiples of this, so that ten thousand of them
/// wake us no more often than one.
pub const HTTP_TICK: Duration = Duration::from_millis(250);

/// Bytes of all streams that are kept for clients that come again. Beyond it nothing is kept of
/// what is said then.
pub const HTTP_KEPT_MAX: usize = 64 * 1024 * 1024;

/// Streams of one session that are over and kept for a client that missed their end.
pub const HTTP_FINISHED_MAX: usize = 16;

/// Connections that may listen to one session; clients that lost one open another before we know.
pub const HTTP_LISTENERS_MAX: usize = 4;

/// Bytes of requests that have arrived in part, of all connections together. One message of the
/// usual bound fits several times.
pub const HTTP_INCOMING_MAX: usize = 256 * 1024 * 1024;

/// Bytes of the requests behind the one that is being answered; beyond it they are not read yet.
pub const HTTP_PENDING_MAX: usize = 16 * 1024;

/// The body of a refused request is stepped over up to here, so that the connection can be used
/// again; with a longer one it is closed.
pub const HTTP_DISCARD_MAX: u64 = 64 * 1024;

/// From the first byte of a head to its last.
pub const HTTP_HEAD_TIMEOUT: Duration = Duration::from_secs(15);

/// A body of which nothing came for so long is given up.
pub const HTTP_BODY_STALL: Duration = Duration::from_secs(30);

/// A response of which nothing was taken for so long is given up.
pub const HTTP_WRITE_STALL: Duration = Duration::from_secs(30);

/// Between two requests on one connection. A proxy's own patience is often 60 s, and whoever closes
/// first should be the one that asks.
pub const HTTP_KEEP_ALIVE: Duration = Duration::from_secs(75);

/// From our last word on a connection to its end: a client that still sends would otherwise lose
/// that word.
pub const HTTP_LINGER: Duration = Duration::from_secs(2);

/// Silence on a stream before a comment breaks it. Proxies give up after 60 s and more; official
/// servers send one this often.
pub const HTTP_QUIET: Duration = Duration::from_secs(15);

/// Where no more sessions may begin, one that was not used for so long gives way.
pub const HTTP_EVICT_AFTER: Duration = Duration::from_secs(60);

/// Bytes that wait for one client above which it is disconnected when more is to be said to it: one
/// slow reader must not hold up the others. One message alone may be larger.
pub const HTTP_QUEUE_HIGH: usize = 4 * 1024 * 1024;

/// Bytes that wait for one client above which nothing more is read of it.
pub const HTTP_QUEUE_LOW: usize = 64 * 1024;

/// Clients that one listener lets in within one turn of the loop.
pub const HTTP_ACCEPTS: usize = 64;

/// When no client can be let in (there are too many open files), try again after this.
pub const HTTP_LISTEN_RETRY: Duration = Duration::from_millis(500);

/// Default for `--connections-max`.
pub const HTTP_CONNECTIONS: usize = 16_384;

/// Default for `--processes-max`: an interpreter takes some 10 to 50 MiB.
pub const HTTP_PROCESSES: usize = 16;

/// Default for `--sessions-max`.
pub const HTTP_SESSIONS: usize = 10_000;

/// Default for `--session-idle`.
pub const HTTP_SESSION_IDLE: Duration = Duration::from_secs(3600);

/// Default for `--port`.
pub const HTTP_PORT: u16 = 8080;

/// Files that are open beside the connections: pipes, sockets and files of tool processes.
pub const OTHER_FILES: u64 = 128;

/// The first room for the body of a request: what it claims beyond that has to arrive in part
/// before it gets the whole.
pub const HTTP_BODY_FIRST_STEP: usize = 64 * 1024;

/// Default for `--timeout` of `pmcp health`: a container engine that asks every few seconds shall not
/// wait for one answer until it asks again.
pub const HEALTH_TIMEOUT: Duration = Duration::from_secs(3);

/// Bytes that `pmcp health` reads of an answer.
pub const HEALTH_ANSWER_MAX: usize = 16 * 1024;

/// Tools, resources, templates or prompts on one page of a list. Large, because many hosts never
/// ask for the second page.
pub const PAGE_MAX: usize = 1000;

/// Values in an answer to `completion/complete` (the specification's number).
pub const COMPLETION_VALUES_MAX: usize = 100;

/// The strictest hosts' longest name of a tool; `doctor` warns of longer ones.
pub const HOST_TOOL_NAME_MAX: usize = 64;

/// Tools that a widespread host shows of those that it is offered.
pub const HOST_TOOLS_SHOWN: usize = 40;

/// Tools that another host takes at most.
pub const HOST_TOOLS_MAX: usize = 128;

/// Silence after the tool list that means "handshake complete", for SDKs that do not say so.
pub const HANDSHAKE_SILENCE: Duration = Duration::from_millis(500);

/// After the handshake: the names of the tools that an SDK hides follow at once, and a host shall
/// not see those tools for a moment.
pub const SETTLE: Duration = Duration::from_millis(10);

/// What a tool process may leave to the one after it (the protocol's number).
pub const STATE_MAX: usize = 1024 * 1024;

/// Default for `--drain`: what the calls of a replaced tool process get to finish.
pub const DRAIN: Duration = Duration::from_secs(30);

/// Default for `--start-timeout`: from the start of a tool process to its complete handshake.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Default for `--build-timeout`: a first build fetches and compiles all that it depends on.
pub const BUILD_TIMEOUT: Duration = Duration::from_secs(600);

/// Default for `--call-timeout`.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(300);

/// A tool process that does not answer a list request within this does not speak it.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// One middleware, one phase.
pub const MIDDLEWARE_TIMEOUT: Duration = Duration::from_secs(30);

/// Default for `--input-timeout`: how long a host may take to answer a question, or to come back
/// with the answer; a person may have to think.
pub const INPUT_TIMEOUT: Duration = Duration::from_secs(600);

/// Default for `--cancel-grace`: what a cancelled call gets to end by itself before the tool process
/// that ignores it is restarted.
pub const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// After a cancel a published SDK, which may never answer the cancelled call, is asked after this
/// whether it is done with that. One that does not read while a handler runs must not find the next
/// request in the handler's hands.
pub const CANCEL_HOLD: Duration = Duration::from_millis(250);

/// What a tool process that may be stuck gets at least to answer a call to no tool at all, which takes
/// it no time.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// Default for `--grace`: what running calls get when the host is gone.
pub const GRACE: Duration = Duration::from_secs(1);

/// From TERM to KILL.
pub const KILL_AFTER: Duration = Duration::from_secs(1);

/// From the end of the tool process's connection to the expected end of the process itself.
pub const EXIT_WAIT: Duration = Duration::from_millis(50);

/// First wait before a restart; doubles up to [`BACKOFF_MAX`].
pub const BACKOFF_MIN: Duration = Duration::from_millis(100);

/// Longest wait before a restart.
pub const BACKOFF_MAX: Duration = Duration::from_secs(10);

/// A tool process that served this long is healthy: the next wait is [`BACKOFF_MIN`] again.
pub const HEALTHY_AFTER: Duration = Duration::from_secs(30);

/// A tool process that lived shorter than this died a quick death.
pub const QUICK_DEATH: Duration = Duration::from_secs(5);

/// Quick deaths in a row after which it stays down until the next call or file change.
pub const QUICK_DEATHS_MAX: u32 = 5;

/// When one that stays down is tried all the same, if it serves over a network unattended: there what
/// is not ready gets no calls. A start may cost a second of a processor.
pub const RETRY: Duration = Duration::from_secs(30);

/// Longest line of a tool process's stdout or stderr that is shown whole.
pub const LOG_LINE_MAX: usize = 8 * 1024;

/// Longest message of a build that is read: cargo's name all files of a crate, and its features.
pub const BUILD_LINE_MAX: usize = 1024 * 1024;

/// Largest file for `--env-file`: environments of this size no longer fit a start anyway.
pub const ENV_FILE_MAX: u64 = 1024 * 1024;

/// Lines of a tool process's stderr that are kept for error texts.
pub const STDERR_TAIL_LINES: usize = 20;

/// Longest of those lines: a model reads them as well.
pub const STDERR_TAIL_LINE_MAX: usize = 1024;

/// Longest error that stands for a whole stderr where one line is told: long enough for a path or
/// two, and it comes with every result.
pub const LAST_WORDS_MAX: usize = 300;

/// Lines per second of a tool process that are shown; the rest is counted.
pub const LOG_LINES_PER_SECOND: u32 = 500;

/// Bytes that wait for a slow reader of our stderr; lines beyond are dropped and counted.
pub const CONSOLE_QUEUE_MAX: usize = 64 * 1024;

/// What the lines of tool processes leave of that to our own, so that the one that says why a tool
/// process died fits behind whatever it printed.
pub const CONSOLE_OWN_MIN: usize = 32 * 1024;

/// What is still read from the connection and from each output of a tool process after its end.
/// Pipes and sockets hold far less; this stops a descendant of it that goes on writing.
pub const EXIT_DRAIN_MAX: usize = 16 * 1024 * 1024;

/// When a service manager that took no message is told again.
pub const NOTIFY_RETRY: Duration = Duration::from_millis(100);

/// What a host gets at least for its last messages, however long the end has taken already.
pub const LAST_FLUSH: Duration = Duration::from_millis(250);

/// What is waited for the last descendants to be gone when we end.
pub const REAP_WAIT: Duration = Duration::from_millis(100);

/// Folders that are watched for changes; the system's own limit is often 8192 or more.
pub const WATCHED_FOLDERS_MAX: usize = 8192;

/// Files whose contents are kept in mind (some hundred bytes each), so that a save which changes
/// nothing restarts nothing.
pub const WATCHED_FILES_MAX: usize = 65_536;

/// A larger file counts as changed by its size and time alone: sources are smaller, and reading it
/// would hold up the loop.
pub const HASHED_FILE_MAX: u64 = 1024 * 1024;

/// What is read of files before any has changed; a project whose sources are larger takes the
/// first touch of the others for a change.
pub const HASHED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// File systems count times in up to two seconds: before so long has passed, a second write may
/// leave the same time behind as the first.
pub const MTIME_SETTLED: Duration = Duration::from_secs(2);

/// Bytes of a `.gitignore` that are read.
pub const GITIGNORE_MAX: u64 = 256 * 1024;

/// Rules of a `.gitignore` that are heeded; each is tried for each file.
pub const GITIGNORE_RULES_MAX: usize = 4096;

/// Bytes of a pattern; paths are not longer.
pub const GLOB_LENGTH_MAX: usize = 4096;

/// Patterns that one with braces may stand for; each is tried for each file.
pub const GLOB_ALTERNATIVES_MAX: usize = 256;

/// How often files are looked at where nobody announces their changes.
pub const POLL: Duration = Duration::from_millis(500);

/// The least that `--poll` may be: below it looking would be all that is done.
pub const FLAG_POLL_MIN: Duration = Duration::from_millis(10);

/// After a look at all files, rest at least this many times as long as it took.
pub const POLL_REST: u32 = 4;

/// How long files are looked at in one turn of the loop.
pub const WATCH_SLICE: Duration = Duration::from_millis(2);

/// Default for `--max-in-flight`: what a host on a pipe may have waiting, for all HTTP hosts
/// together.
pub const IN_FLIGHT: usize = WAITING_REQUESTS_MAX;

/// The most that `--rate` may allow: more than a core of any machine answers.
pub const FLAG_RATE_MAX: u32 = 1_000_000;

/// What a caller may ask at once under any `--rate`: a host that has just started asks up to eight
/// things in a row, and many give up at the first 429.
pub const RATE_BURST_MIN: u32 = 10;

/// Callers whose requests are counted apart for `--rate`, of some hundred bytes each.
pub const RATE_CALLERS_MAX: usize = 4096;

/// How often callers who have asked nothing lately are looked for when there is no room for
/// another.
pub const RATE_SWEEP: Duration = Duration::from_secs(1);

/// Longest access token that is looked at: those with many groups and roles take some KiB.
pub const TOKEN_MAX: usize = 16 * 1024;

/// Longest name of whom a token belongs to, which is kept for as long as they ask; OpenID Connect
/// has 255 characters.
pub const TOKEN_SUBJECT_MAX: usize = 512;

/// What the clocks of the issuer and ours may differ by.
pub const TOKEN_LEEWAY: Duration = Duration::from_secs(60);

/// Tokens that were found good and are known again by their hash: to check a signature takes some
/// hundred microseconds.
pub const TOKENS_KNOWN_MAX: usize = 1024;

/// Largest file of the issuer's keys.
pub const JWKS_MAX: u64 = 256 * 1024;

/// Keys in it. While keys are changed there are two or three.
pub const JWKS_KEYS_MAX: usize = 64;

/// How often a file that may change is looked at when it is needed.
pub const FILE_LOOK: Duration = Duration::from_secs(1);

/// Lines of the access log that one turn of the loop may bring; what is beyond is counted.
pub const ACCESS_LINES_MAX: usize = 256;

/// Tools that are counted apart in the metrics, of some 20 lines each: what the widest host takes.
pub const METRICS_TOOLS_MAX: usize = HOST_TOOLS_MAX;

/// Bytes of the name of such a tool; the specification's number.
pub const METRICS_TOOL_NAME_MAX: usize = 128;

/// Codes of errors that are counted apart in the metrics. The specification has a dozen; tools may
/// have their own.
pub const METRICS_CODES_MAX: usize = 32;

/// Largest file with a certificate and those that lead to a root, or with a private key.
pub const TLS_FILE_MAX: u64 = 256 * 1024;

/// What is encrypted for a client before it has gone: a few records of TLS, of 16 KiB each.
pub const TLS_WRITE_BUFFER: usize = 64 * 1024;

/// Worker threads; with the loop that makes three threads at most.
pub const WORKERS: usize = 2;

/// Jobs that may be with the workers at once.
pub const JOBS_MAX: usize = 16;

/// Quiet time after a file change before it counts.
pub const DEBOUNCE: Duration = Duration::from_millis(50);

/// A storm of file changes counts at the latest after this.
pub const DEBOUNCE_MAX: Duration = Duration::from_millis(500);

/// The Rust SDK: how many requests it works on at once if its author does not say. Handlers mostly
/// wait for something else, so this is not about processors; threads start only when needed.
pub const SDK_CONCURRENCY: u32 = 8;

/// The Rust SDK: largest message to a bridge that does not say in `PROTOMCP_MAX_MESSAGE` what it
/// takes; no known bridge takes less.
pub const SDK_MESSAGE_MAX: usize = 10 * 1024 * 1024;

/// The Rust SDK: a handler that was done within this the last time runs on the reading thread
/// itself; to wake another one to read on takes 5 to 20 µs.
pub const SDK_QUICK: Duration = Duration::from_micros(50);

/// The Rust SDK: when a handler on the reading thread is not as quick as it was, another thread
/// reads on after one to two of these. Ticks only while such handlers run.
pub const SDK_TICK: Duration = Duration::from_millis(1);

/// The Rust SDK: tasks that run at once. They are not counted as requests, but each holds a thread.
pub const SDK_TASKS_MAX: usize = 64;

/// The Rust SDK: results of tasks that nobody has fetched yet. The bridge fetches each as soon as
/// it hears of it, so that beyond this the oldest are those that nobody will fetch.
pub const SDK_TASKS_KEPT_MAX: usize = 256;

/// The Rust SDK: bytes of those results (one alone may be larger): each may be as large as a
/// message.
pub const SDK_TASKS_KEPT_BYTES: usize = 64 * 1024 * 1024;

/// The Rust SDK: bytes of the text that says what a task is doing. Hosts show it in one line, and it
/// must fit the smallest `--max-message`.
pub const SDK_TASK_MESSAGE_MAX: usize = 512;

const _: () = assert!(READ_BUFFER < LARGE_MIN);
const _: () = assert!(TRANSFER_FIRST_STEP < FRAME_FIRST_STEP && FRAME_FIRST_STEP < MESSAGE_MAX);
const _: () = assert!(HTTP_HEAD_MAX <= u16::MAX as usize);
const _: () = assert!(HTTP_RING_BYTES < HTTP_KEPT_MAX);
const _: () = assert!(HTTP_TICK.as_millis() < HTTP_LINGER.as_millis());
const _: () = assert!(SDK_QUICK.as_micros() < SDK_TICK.as_micros());
const _: () = assert!(LARGE_MIN < MESSAGE_MAX);
const _: () = assert!(2 * SDK_TASK_MESSAGE_MAX <= FLAG_MESSAGE_MIN);
const _: () = assert!(FLAG_MESSAGE_MIN < MESSAGE_MAX && MESSAGE_MAX < FLAG_MESSAGE_MAX);
const _: () = assert!(CALL_TIMEOUT.as_secs() < FLAG_TIME_MAX.as_secs());
const _: () = assert!(READ_BUDGET >= READ_BUFFER);
const _: () = assert!(BACKOFF_MIN.as_millis() < BACKOFF_MAX.as_millis());
const _: () = assert!(DEBOUNCE.as_millis() < DEBOUNCE_MAX.as_millis());
const _: () = assert!(FLAG_POLL_MIN.as_millis() < POLL.as_millis());
const _: () = assert!(HASHED_FILE_MAX < HASHED_BYTES_MAX);
const _: () = assert!(CONSOLE_OWN_MIN < CONSOLE_QUEUE_MAX);
// With the marks of cut lines, and with a sentence before them.
const _: () = assert!(STDERR_TAIL_LINES * (STDERR_TAIL_LINE_MAX + 8) + 8 * 1024 <= CONSOLE_OWN_MIN);
const _: () = assert!(QUICK_DEATH.as_millis() < HEALTHY_AFTER.as_millis());
