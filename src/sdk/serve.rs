//! The blocking rim around [`Peer`]: one socket, and threads that take turns at reading it.
//!
//! A message is handled by the thread that read it: answers to questions of ours and cancels
//! while it is still the only reader, requests after it made another one possible (see
//! [`lead`](super::lead)). Frames are written whole, one after the other.
//!
//! No lock is held while another is taken, and none while a handler runs.

use std::env;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Instant;

use prost::Message;

use super::context::{Context, Link};
use super::error::{Error, ToolError};
use super::lead::{Lead, Wanted};
use super::listing::Listed;
use super::peer::{self, Cancelled, Peer, Request, Step, Work};
use super::server::{Handlers, Server, failed_as, failed_as_call};
use crate::limits::{SDK_MESSAGE_MAX, SDK_QUICK, SDK_TICK};
use crate::wire::frame::{self, Frame, FrameReader};
use crate::wire::protomcp::Envelope;
use crate::wire::protomcp::envelope::Msg;

/// Where the bridge listens.
const SOCKET: &str = "PROTOMCP_SOCKET";

/// The largest message that the bridge takes, in bytes.
const MAX_MESSAGE: &str = "PROTOMCP_MAX_MESSAGE";

impl Server {
    /// Connects to the bridge that started this process and serves it until it closes the
    /// connection. Handlers that still run then are told that they are cancelled and are not
    /// waited for: the process should end.
    ///
    /// # Errors
    ///
    /// [`Error::NotStartedByBridge`] in a program that was started by hand; otherwise what is
    /// wrong with the server's definition or with the connection.
    pub fn run(self) -> Result<(), Error> {
        let path = env::var_os(SOCKET).filter(|path| !path.is_empty()).ok_or(Error::NotStartedByBridge)?;
        let stream = UnixStream::connect(&path)
            .map_err(|error| Error::Connect { path: path.to_string_lossy().into_owned(), error })?;
        let message_max = env::var(MAX_MESSAGE).ok().and_then(|max| max.parse().ok());
        self.serve(stream, message_max.unwrap_or(SDK_MESSAGE_MAX))
    }

    /// Serves a connection of yours, as [`Server::run`] does. A message of more than
    /// `message_max` bytes is not sent; a result that would need it becomes an error.
    ///
    /// # Errors
    ///
    /// What is wrong with the server's definition or with the connection.
    pub fn serve(self, stream: UnixStream, message_max: usize) -> Result<(), Error> {
        let (offer, handlers) = self.into_parts()?;
        // One more than the handlers that run at once: somebody always reads.
        let threads_max = offer.concurrency.max(1) as usize + 1;
        // The bridge is trusted with its lengths: it started us.
        let reader = FrameReader::new(u32::MAX as usize);
        let connection = Arc::new_cyclic(|myself| Connection {
            stream,
            writing: Mutex::new(()),
            shared: Mutex::new(Shared {
                peer: Peer::new(offer),
                asking: Vec::new(),
                ended: false,
                outcome: None,
            }),
            lead: Lead::new(reader, threads_max),
            handlers,
            message_max,
            myself: myself.clone(),
        });
        let token = connection.lead.take();
        if token.map(|token| connection.lead.release(token)) == Some(Wanted::Thread) {
            connection.start_thread();
        }
        // Handlers never run on this thread, so that nothing holds it up when the bridge goes.
        connection.lead.watch(SDK_TICK, || connection.start_thread());
        connection.shared().outcome.take().unwrap_or(Ok(()))
    }
}

/// What all threads see.
struct Connection {
    stream: UnixStream,
    /// Held while one frame is written.
    writing: Mutex<()>,
    shared: Mutex<Shared>,
    lead: Lead<FrameReader>,
    handlers: Handlers,
    message_max: usize,
    /// For new threads.
    myself: Weak<Self>,
}

struct Shared {
    peer: Peer,
    /// Handlers that wait for the answer to a question, by its request id.
    asking: Vec<(String, Sender<Result<Msg, ToolError>>)>,
    /// All is over: who asks now would wait in vain.
    ended: bool,
    /// Set with that, and taken by [`Server::serve`].
    outcome: Option<Result<(), Error>>,
}

impl Connection {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_thread(&self) {
        let Some(connection) = self.myself.upgrade() else { return };
        let started = thread::Builder::new().name("pmcp-handler".to_owned()).spawn(move || {
            let link: Arc<dyn Link> = connection.clone();
            connection.take_turns(&link);
        });
        if let Err(error) = started {
            eprintln!("a thread could not be started: {error}");
            self.lead.thread_failed();
            if self.lead.has_no_threads() {
                self.end(Err(Error::Io(error)));
            }
        }
    }

    /// Makes sure that somebody reads while this thread is busy or waits.
    fn attend(&self) {
        if self.lead.attend() == Wanted::Thread {
            self.start_thread();
        }
    }

    /// The life of a thread.
    fn take_turns(&self, link: &Arc<dyn Link>) {
        let mut steps = Vec::new();
        while let Some(mut reader) = self.lead.take() {
            match self.read_request(&mut reader, &mut steps) {
                Ok(Some(request)) => {
                    if self.run(request, reader, link, &mut steps) {
                        return;
                    }
                }
                Ok(None) => return self.end(Ok(())),
                Err(error) => return self.end(Err(error)),
            }
        }
    }

    /// Reads until there is something for a handler; `None` when the bridge is gone. All else is
    /// dealt with on the way.
    fn read_request(
        &self,
        reader: &mut FrameReader,
        steps: &mut Vec<Step>,
    ) -> Result<Option<Request>, Error> {
        loop {
            while let Some(frame) = reader.next().map_err(|error| Error::Wire(error.to_string()))? {
                let Frame::Body(body) = frame else { continue };
                match Envelope::decode(&*body) {
                    Ok(envelope) => self.shared().peer.receive(envelope, steps),
                    Err(error) => eprintln!("a message of the bridge can't be read and is skipped: {error}"),
                }
                let mut request = None;
                for step in steps.drain(..) {
                    match step {
                        Step::Send(envelope) => self.answer(envelope, failed_as_call).map_err(|size| {
                            Error::Definition(format!("a list of {size} bytes is more than the bridge takes"))
                        })?,
                        Step::Restore(state) => self.handlers.restore(&state),
                        Step::Answer { request_id, message } => self.deliver(&request_id, Ok(message)),
                        Step::TakenBack { request_id } => {
                            self.deliver(&request_id, Err(ToolError::cancelled()));
                        }
                        Step::Run(run) => request = Some(run),
                    }
                }
                if request.is_some() {
                    return Ok(request);
                }
            }
            match (&self.stream).read(reader.space()) {
                Ok(0) => return Ok(None),
                Ok(count) => reader.advance(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(Error::Io(error)),
            }
        }
    }

    /// Runs one request and those that waited for its end. Says whether this thread is to end,
    /// because another has taken its place while it was at a task.
    fn run(
        &self,
        request: Request,
        reader: FrameReader,
        link: &Arc<dyn Link>,
        steps: &mut Vec<Step>,
    ) -> bool {
        let quick = self.handlers.pace(&request.work).is_some_and(|pace| pace.is_quick());
        if quick {
            self.lead.keep(reader);
        } else if self.lead.release(reader) == Wanted::Thread {
            self.start_thread();
        }
        let mut tasks = 0;
        let mut next = Some(request);
        while let Some(request) = next {
            next = self.run_one(request, link, steps, &mut tasks);
            if next.is_some() {
                self.attend();
            }
        }
        tasks > 0 && self.lead.retire(tasks)
    }

    /// Runs one request and answers it; hands out one that waited for its end.
    fn run_one(
        &self,
        mut request: Request,
        link: &Arc<dyn Link>,
        steps: &mut Vec<Step>,
        tasks: &mut usize,
    ) -> Option<Request> {
        let pace = self.handlers.pace(&request.work);
        let failed = failed_as(&request.work);
        let context = Context::new(link.clone(), &mut request);
        let work = std::mem::replace(&mut request.work, Work::Read { uri: String::new() });
        let started = Instant::now();
        let answer = self.handlers.handle(&context, work);
        if let Some(pace) = pace {
            pace.set_quick(started.elapsed() < SDK_QUICK);
        }
        *tasks += usize::from(context.task_id().is_some());
        drop(context);
        let next = self.shared().peer.finish(request, answer, steps);
        for step in steps.drain(..) {
            if let Step::Send(envelope) = step {
                let _ = self.answer(envelope, failed);
            }
        }
        next
    }

    /// Writes an answer, or an error in its place if it is too large. Says how large it is if
    /// there is no error that could take its place.
    fn answer(&self, envelope: Envelope, failed: fn(ToolError) -> Msg) -> Result<(), usize> {
        let Err(size) = self.write(&envelope) else { return Ok(()) };
        if !is_result(&envelope) {
            return Err(size);
        }
        let error = ToolError::new("RESULT_TOO_LARGE", too_large("result", size, self.message_max));
        let instead = failed(error.suggestion("ask for less at once"));
        self.write(&peer::envelope(envelope.request_id, instead))
    }

    /// Writes one frame, or says how large it would be if that is too large. That the connection
    /// is broken is noticed where it is read.
    fn write(&self, envelope: &Envelope) -> Result<(), usize> {
        let size = envelope.encoded_len();
        if size > self.message_max {
            return Err(size);
        }
        let frame = frame::encode(envelope);
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = (&self.stream).write_all(&frame);
        Ok(())
    }

    /// Gives an answer to the handler that waits for it.
    fn deliver(&self, request_id: &str, outcome: Result<Msg, ToolError>) {
        let mut shared = self.shared();
        if let Some(at) = shared.asking.iter().position(|(id, _)| id == request_id) {
            let (_, answer) = shared.asking.swap_remove(at);
            drop(shared);
            let _ = answer.send(outcome);
        }
    }

    fn end(&self, outcome: Result<(), Error>) {
        let mut shared = self.shared();
        shared.peer.close();
        shared.asking.clear();
        shared.ended = true;
        shared.outcome = Some(outcome);
        drop(shared);
        self.lead.end();
    }
}

impl Link for Connection {
    fn send(&self, message: Msg) {
        if let Err(size) = self.write(&peer::envelope(String::new(), message)) {
            eprintln!("a message of {size} bytes is more than the bridge takes and was dropped");
        }
    }

    fn ask(&self, message: Msg, call: Option<&Cancelled>) -> Result<Msg, ToolError> {
        self.attend();
        let (answer, answered) = mpsc::channel();
        let envelope = {
            let mut shared = self.shared();
            if shared.ended {
                return Err(gone());
            }
            if call.is_some_and(Cancelled::get) {
                return Err(ToolError::cancelled());
            }
            let envelope = shared.peer.ask(message);
            shared.asking.push((envelope.request_id.clone(), answer));
            envelope
        };
        if let Err(size) = self.write(&envelope) {
            let mut shared = self.shared();
            shared.peer.forget(&envelope.request_id);
            shared.asking.retain(|(id, _)| *id != envelope.request_id);
            return Err(ToolError::new("TOO_LARGE", too_large("question", size, self.message_max)));
        }
        answered.recv().unwrap_or_else(|_| Err(gone()))
    }

    fn start_task(&self, call: &Cancelled) -> Result<String, ToolError> {
        let started = {
            let mut shared = self.shared();
            if shared.ended {
                return Err(gone());
            }
            shared.peer.start_task(call)?
        };
        if let Some(announcement) = started.announcement {
            let _ = self.write(&announcement);
            self.lead.lend();
            self.attend();
        }
        Ok(started.task_id)
    }

    fn note_progress(&self, call: &Cancelled, progress: i64, total: i64, message: String) {
        self.shared().peer.note_progress(call, progress, total, message);
    }

    fn list(&self, listed: Listed, names: &[String], shown: bool) {
        let news = self.shared().peer.set_listed(listed, names, shown);
        if let Some(Err(size)) = news.map(|news| self.write(&news)) {
            eprintln!("{}", too_large("list", size, self.message_max));
        }
    }

    fn is_listed(&self, listed: Listed, name: &str) -> bool {
        self.shared().peer.is_listed(listed, name)
    }

    fn note_status(&self, call: &Cancelled, message: String) {
        let news = self.shared().peer.note_status(call, message);
        if let Some(news) = news {
            let _ = self.write(&news);
        }
    }
}

fn gone() -> ToolError {
    ToolError::new("BRIDGE_GONE", "the bridge closed the connection")
}

fn too_large(what: &str, size: usize, max: usize) -> String {
    format!("the {what} takes {size} bytes, the bridge accepts {max} (see --max-message)")
}

/// Whether this is what a handler answered, and not a list or a question of ours.
fn is_result(envelope: &Envelope) -> bool {
    matches!(
        envelope.msg,
        Some(
            Msg::CallResult(_)
                | Msg::InputRequired(_)
                | Msg::ReadResourceResponse(_)
                | Msg::GetPromptResponse(_)
                | Msg::MiddlewareInterceptResponse(_)
                | Msg::CompletionResponse(_)
        )
    )
}
