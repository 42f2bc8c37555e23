//! Work that would hold the loop up, as values. A worker runs it; tests run it in place.

use std::sync::Arc;

use crate::ids::{CallId, Generation};
use crate::jsonrpc::message::{RequestId, write_result};
use crate::mcp::call::Note;
use crate::mcp::call::{self, CallAnswer};
use crate::mcp::result::Dialect;
use crate::mcp::revision::Revision;
use crate::mcp::tool::Tool;
use crate::wire::call::CallResult;
use crate::wire::envelope::{Field, Payload};
use crate::wire::{protomcp::ToolError, zstd};

/// Makes a call's result out of large or compressed bytes.
#[derive(Debug)]
pub struct Job {
    /// Whose result it is.
    pub call: CallId,
    /// From which process.
    pub generation: Generation,
    /// What came from the tool process.
    pub source: Source,
    /// How to spell it for the host; absent while middleware still has to see it.
    pub render: Option<Render>,
    /// Bound of what comes out of a compressed payload, in bytes.
    pub message_max: usize,
}

/// What a job starts from.
#[derive(Debug)]
pub enum Source {
    /// An envelope with a call's result.
    Frame(Vec<u8>),
    /// A finished transfer.
    Payload(Payload),
    /// A result that middleware has seen.
    Stored(StoredResult),
}

/// For whom a result is spelled.
#[derive(Clone, Debug)]
pub struct Render {
    /// The request that is answered; absent if nobody waits, so that only the body is spelled.
    pub id: Option<RequestId>,
    /// What its host understands.
    pub revision: Revision,
    /// Our name and version, spelled once.
    pub server_json: Arc<str>,
    /// The task that the call is, where its result has to say so.
    pub task: Option<Box<str>>,
    /// The tool that was called.
    pub tool: Option<Arc<Tool>>,
    /// What the bridge has to say beside the result.
    pub note: Option<Arc<Note>>,
}

impl Render {
    /// The whole answer as one JSON message, or the body alone.
    pub fn message(&self, answer: &CallAnswer<'_>) -> Rendered {
        let answer = CallAnswer { note: self.note.as_deref(), related_task: self.task.as_deref(), ..*answer };
        let dialect = Dialect { revision: self.revision, server_json: &self.server_json };
        let mut bytes = Vec::new();
        let mut is_error = false;
        let mut body = |out: &mut Vec<u8>| {
            is_error = call::write_call_result(out, dialect, self.tool.as_deref(), &answer);
        };
        match &self.id {
            Some(id) => write_result(&mut bytes, id, body),
            None => body(&mut bytes),
        }
        Rendered { bytes, is_whole: self.id.is_some(), is_error }
    }
}

/// A spelled result.
#[derive(Debug)]
pub struct Rendered {
    /// JSON.
    pub bytes: Vec<u8>,
    /// A whole message, not the body of a result alone.
    pub is_whole: bool,
    /// It says that the tool failed.
    pub is_error: bool,
}

/// A call's result that has to outlive the bytes it came in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredResult {
    /// The call failed.
    pub is_error: bool,
    /// Content blocks, normally.
    pub result_json: String,
    /// A JSON value, or empty.
    pub structured_content_json: String,
    /// A JSON object, or empty.
    pub meta_json: String,
    /// Details of the failure.
    pub error: Option<ToolError>,
}

impl StoredResult {
    /// The same, borrowed, as the spelling wants it.
    pub fn answer(&self) -> CallAnswer<'_> {
        CallAnswer {
            is_error: self.is_error,
            result_json: &self.result_json,
            structured_content_json: &self.structured_content_json,
            meta_json: &self.meta_json,
            error: self.error.as_ref(),
            note: None,
            related_task: None,
        }
    }

    /// Bytes of its texts.
    pub fn len(&self) -> usize {
        self.result_json.len() + self.structured_content_json.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What became of a job.
#[derive(Debug)]
pub struct JobDone {
    /// Whose result it is.
    pub call: CallId,
    /// From which process.
    pub generation: Generation,
    /// Tools to enable.
    pub enable: Vec<String>,
    /// Tools to disable.
    pub disable: Vec<String>,
    /// The result, or why there is none.
    pub outcome: Result<Finished, String>,
}

/// A job's result.
#[derive(Debug)]
pub enum Finished {
    /// The answer.
    Message(Rendered),
    /// To be shown to middleware first.
    Stored(StoredResult),
}

impl Job {
    /// Does the work. Takes time in proportion to the bytes, and never waits.
    pub fn run(self) -> JobDone {
        let mut done = JobDone {
            call: self.call,
            generation: self.generation,
            enable: Vec::new(),
            disable: Vec::new(),
            outcome: Err(String::new()),
        };
        done.outcome = match self.source {
            Source::Frame(frame) => match CallResult::decode(&frame) {
                Ok(result) => {
                    done.enable = owned(&result.enable_tools);
                    done.disable = owned(&result.disable_tools);
                    Ok(finish(self.render, &borrow(&result)))
                }
                Err(error) => {
                    Err(format!("the tool process answered with a message that cannot be read: {error}"))
                }
            },
            Source::Payload(payload) => payload_text(payload, self.message_max)
                .map(|(field, text)| finish(self.render, &field_answer(field, &text))),
            Source::Stored(stored) => Ok(finish(self.render, &stored.answer())),
        };
        done
    }
}

/// The result of an envelope as the spelling wants it.
pub fn borrow<'a>(result: &'a CallResult<'a>) -> CallAnswer<'a> {
    CallAnswer {
        is_error: result.is_error,
        result_json: result.result_json,
        structured_content_json: result.structured_content_json,
        meta_json: result.meta_json,
        error: result.error.as_ref(),
        note: None,
        related_task: None,
    }
}

/// A copy that outlives its bytes.
pub fn store(answer: &CallAnswer<'_>) -> StoredResult {
    StoredResult {
        is_error: answer.is_error,
        result_json: answer.result_json.to_owned(),
        structured_content_json: answer.structured_content_json.to_owned(),
        meta_json: answer.meta_json.to_owned(),
        error: answer.error.cloned(),
    }
}

/// A finished transfer stands for a result with that one field set.
pub fn field_answer(field: Field, text: &str) -> CallAnswer<'_> {
    let (result_json, structured_content_json) = match field {
        Field::Result => (text, ""),
        Field::StructuredContent => ("", text),
    };
    CallAnswer {
        is_error: false,
        result_json,
        structured_content_json,
        meta_json: "",
        error: None,
        note: None,
        related_task: None,
    }
}

/// A transfer's text, inflated where needed.
pub fn payload_text(payload: Payload, message_max: usize) -> Result<(Field, String), String> {
    let bytes = if payload.zstd {
        zstd::inflate(&payload.bytes, message_max).map_err(|error| {
            format!("the tool process sent a compressed result that cannot be used: {error}")
        })?
    } else {
        payload.bytes
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| "the tool process sent a result that is not UTF-8".to_owned())?;
    Ok((payload.field, text))
}

fn finish(render: Option<Render>, answer: &CallAnswer<'_>) -> Finished {
    match render {
        Some(render) => Finished::Message(render.message(answer)),
        None => Finished::Stored(store(answer)),
    }
}

/// Names that outlive their bytes.
pub fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
