//! Calls that became tasks of this process: how each stands, and what it answered.
//!
//! ```text
//!              begin            end, nobody asked yet           fetch
//!  a running call ──▶ running ──────────────────────▶ kept ──────────▶ forgotten
//!                        └── end, its result was asked for ──────────▶ forgotten
//! ```

use std::collections::VecDeque;

use prost::Message;

use super::requests::Cancelled;
use crate::limits::{SDK_TASK_MESSAGE_MAX, SDK_TASKS_KEPT_BYTES, SDK_TASKS_KEPT_MAX, SDK_TASKS_MAX};
use crate::sdk::error::ToolError;
use crate::sdk::result::failed_call;
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{CallToolResponse, TaskStatusResponse};

/// All tasks of this process.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// At most [`SDK_TASKS_MAX`].
    running: Vec<Running>,
    /// Ended, and not fetched yet; the oldest first. At most [`SDK_TASKS_KEPT_MAX`], and at most
    /// [`SDK_TASKS_KEPT_BYTES`] unless there is only one.
    kept: VecDeque<Kept>,
    kept_bytes: usize,
    last: u64,
}

#[derive(Debug)]
struct Running {
    /// In the state `running`.
    status: TaskStatusResponse,
    /// Of the call that became this task.
    request_id: String,
    cancelled: Cancelled,
    /// Request ids of those who wait for the result.
    wanted: Vec<String>,
}

#[derive(Debug)]
struct Kept {
    status: TaskStatusResponse,
    result: CallToolResponse,
    /// Of the result.
    bytes: usize,
}

/// A task's end.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: TaskStatusResponse,
    /// The result for each request that waited for it.
    pub(super) results: Vec<(String, CallToolResponse)>,
}

impl Tasks {
    /// Makes a call a task and names it.
    ///
    /// # Errors
    ///
    /// `TOO_MANY_TASKS`.
    pub(super) fn begin(&mut self, request_id: &str, cancelled: &Cancelled) -> Result<String, ToolError> {
        if self.running.len() >= SDK_TASKS_MAX {
            let text = format!("{SDK_TASKS_MAX} tasks run already, which is the most");
            return Err(ToolError::new("TOO_MANY_TASKS", text).retryable(true));
        }
        self.last += 1;
        let task_id = format!("task-{}", self.last);
        self.running.push(Running {
            status: TaskStatusResponse {
                task_id: task_id.clone(),
                state: "running".to_owned(),
                ..Default::default()
            },
            request_id: request_id.to_owned(),
            cancelled: cancelled.clone(),
            wanted: Vec::new(),
        });
        Ok(task_id)
    }

    fn position(&self, cancelled: &Cancelled) -> Option<usize> {
        self.running.iter().position(|task| task.cancelled.is(cancelled))
    }

    /// The id of the task that this call has become, while it runs.
    pub(super) fn id_of(&self, cancelled: &Cancelled) -> Option<&str> {
        Some(&self.running[self.position(cancelled)?].status.task_id)
    }

    /// Notes how far a task has come; `None` if this is no running task.
    pub(super) fn note(
        &mut self,
        cancelled: &Cancelled,
        progress: Option<(i64, i64)>,
        message: String,
    ) -> Option<&TaskStatusResponse> {
        let at = self.position(cancelled)?;
        let status = &mut self.running[at].status;
        if let Some((progress, total)) = progress {
            (status.progress, status.total) = (progress, total);
        }
        if !message.is_empty() {
            status.message = shortened(message);
        }
        Some(status)
    }

    /// Ends a task with what its handler answered; `None` if this is no running task.
    pub(super) fn end(&mut self, cancelled: &Cancelled, answer: Msg) -> Option<Ended> {
        let at = self.position(cancelled)?;
        let Running { mut status, cancelled, wanted, .. } = self.running.swap_remove(at);
        let result = match answer {
            Msg::CallResult(result) => result,
            _ => failed_call(ToolError::new(
                "INVALID",
                "a task can't answer with questions; it can ask them while it runs",
            )),
        };
        let error = result.error.as_ref();
        // A task that was done in spite of its cancellation is done. An error of the tool is a
        // result like any other, as the protocol has it; only a protocol error is a failure.
        status.state = match (result.is_error && cancelled.get(), error) {
            (true, _) => "cancelled",
            (false, Some(error)) if error.rpc_code != 0 => "failed",
            (false, _) => "completed",
        }
        .to_owned();
        if let Some(error) = error {
            status.message = shortened(error.message.clone());
        }
        let ended = Ended {
            status: status.clone(),
            results: wanted.into_iter().map(|request_id| (request_id, result.clone())).collect(),
        };
        if ended.results.is_empty() {
            self.keep(status, result);
        }
        Some(ended)
    }

    fn keep(&mut self, status: TaskStatusResponse, result: CallToolResponse) {
        let bytes = result.encoded_len();
        self.kept_bytes += bytes;
        self.kept.push_back(Kept { status, result, bytes });
        while self.kept.len() > SDK_TASKS_KEPT_MAX
            || (self.kept_bytes > SDK_TASKS_KEPT_BYTES && self.kept.len() > 1)
        {
            let oldest = self.kept.pop_front();
            self.kept_bytes -= oldest.map_or(0, |kept| kept.bytes);
        }
    }

    /// How a task stands. One that is not known has failed: its result can't be had any more.
    pub(super) fn status(&self, task_id: &str) -> TaskStatusResponse {
        let running = self.running.iter().map(|task| &task.status);
        let mut all = running.chain(self.kept.iter().map(|kept| &kept.status));
        all.find(|status| status.task_id == task_id).cloned().unwrap_or_else(|| TaskStatusResponse {
            task_id: task_id.to_owned(),
            state: "failed".to_owned(),
            message: unknown(task_id),
            ..Default::default()
        })
    }

    /// The result of a task, which is forgotten with that. `None` while it runs: the request will
    /// be answered at its end.
    pub(super) fn fetch(&mut self, task_id: &str, request_id: &str) -> Option<CallToolResponse> {
        if let Some(task) = self.running.iter_mut().find(|task| task.status.task_id == task_id) {
            task.wanted.push(request_id.to_owned());
            return None;
        }
        let Some(at) = self.kept.iter().position(|kept| kept.status.task_id == task_id) else {
            return Some(failed_call(ToolError::not_found(unknown(task_id))));
        };
        let kept = self.kept.remove(at)?;
        self.kept_bytes -= kept.bytes;
        Some(kept.result)
    }

    /// Raises the flag of a task; the id of the call that it was.
    pub(super) fn cancel(&self, task_id: &str) -> Option<&str> {
        let task = self.running.iter().find(|task| task.status.task_id == task_id)?;
        task.cancelled.set();
        Some(&task.request_id)
    }

    /// Raises the flag of the task that a call has become.
    pub(super) fn cancel_call(&self, request_id: &str) {
        let of_call = |task: &&Running| task.request_id == request_id;
        self.running.iter().filter(of_call).for_each(|task| task.cancelled.set());
    }

    pub(super) fn close(&mut self) {
        self.running.iter().for_each(|task| task.cancelled.set());
        self.kept.clear();
        self.kept_bytes = 0;
    }
}

fn unknown(task_id: &str) -> String {
    format!("there is no task {task_id:?}, or its result was fetched or dropped already")
}

fn shortened(mut message: String) -> String {
    if message.len() > SDK_TASK_MESSAGE_MAX {
        let end = (0..=SDK_TASK_MESSAGE_MAX).rev().find(|&at| message.is_char_boundary(at));
        message.truncate(end.unwrap_or(0));
        message.push('…');
    }
    message
}
