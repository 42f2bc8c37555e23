//! Tasks: results that are fetched later. In the modern era they are an extension (repository
//! `ext-tasks`, specification/2026-07-28/tasks), in revision 2025-11-25 a part of the core
//! (basic/utilities/tasks); other revisions have none.

use std::time::Duration;

use super::input::{Spelled, write_input_requests};
use super::notify::write_stream;
use super::result::{self, Dialect};
use super::revision::Revision;
use crate::jsonrpc::json::{Array, Object};
use crate::jsonrpc::message::{RequestId, RpcError, shown, write_error_object, write_notification};

/// The extension that tasks are in the modern era.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// What a host must declare to use them in the modern era: client capabilities, a JSON object.
pub const REQUIRED: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// The key in `_meta` that says to which task a message belongs (2025-11-25).
pub(super) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The tool is at it.
    Working,
    /// The tool waits for the host.
    InputRequired,
    /// There is a result, which may be one that failed.
    Completed,
    /// There is an error in place of a result.
    Failed,
    /// Nobody wants it any more.
    Cancelled,
}

impl Status {
    /// As the protocol spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Working => "working",
            Status::InputRequired => "input_required",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }

    /// It will not change any more.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Status::Completed | Status::Failed | Status::Cancelled)
    }
}

/// What a host sees of a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a> {
    /// Ours, see [`state::task_id`](super::state::task_id).
    pub id: &'a str,
    /// Where it is.
    pub status: Status,
    /// For people and models, or empty.
    pub message: &'a str,
    /// When it was created, since 1970.
    pub created: Duration,
    /// When it last changed, since 1970.
    pub updated: Duration,
    /// How long it is kept from its creation on, in milliseconds.
    pub ttl_ms: u64,
    /// How often to look at it, in milliseconds.
    pub poll_ms: u64,
}

/// What goes with the status of a task (modern era).
#[derive(Clone, Copy, Debug)]
pub enum Detail<'a> {
    /// Nothing.
    None,
    /// Of a completed one: the body of the call's result.
    Result(&'a [u8]),
    /// Of a failed one.
    Error(&'a RpcError),
    /// Of one that waits for input: its open questions by their keys.
    Questions(&'a [(&'a str, &'a Spelled)]),
}

/// Appends the result of a `tools/call` that goes on as a task.
pub fn write_created(out: &mut Vec<u8>, dialect: Dialect<'_>, task: &TaskView<'_>) {
    if dialect.revision.is_modern() {
        let mut result = result::open_as(out, dialect, "task");
        write_members(&mut result, dialect.revision, task);
        return result::close(result, dialect, None);
    }
    let mut result = result::open(out, dialect);
    let mut inner = Object::open(result.member("task"));
    write_members(&mut inner, dialect.revision, task);
    inner.close();
    result::close(result, dialect, None);
}

/// Appends the result of `tasks/get`.
pub fn write_task(out: &mut Vec<u8>, dialect: Dialect<'_>, task: &TaskView<'_>, detail: Detail<'_>) {
    let mut result = result::open(out, dialect);
    write_members(&mut result, dialect.revision, task);
    write_detail(&mut result, dialect.revision, detail);
    result::close(result, dialect, None);
}

/// Appends the result of `tasks/cancel`: the cancelled task in 2025-11-25, an acknowledgement in
/// the modern era.
pub fn write_cancelled(out: &mut Vec<u8>, dialect: Dialect<'_>, task: &TaskView<'_>) {
    if dialect.revision.is_modern() {
        return write_acknowledged(out, dialect);
    }
    write_task(out, dialect, task, Detail::None);
}

/// Appends the result of `tasks/update`.
pub fn write_acknowledged(out: &mut Vec<u8>, dialect: Dialect<'_>) {
    result::write_empty(out, dialect);
}

/// Appends the result of `tasks/list` (2025-11-25).
pub fn write_list<'t>(
    out: &mut Vec<u8>,
    dialect: Dialect<'_>,
    tasks: impl IntoIterator<Item = TaskView<'t>>,
    next_cursor: Option<&str>,
) {
    let mut result = result::open(out, dialect);
    let mut list = Array::open(result.member("tasks"));
    for task in tasks {
        let mut object = Object::open(list.element());
        write_members(&mut object, dialect.revision, &task);
        object.close();
    }
    list.close();
    if let Some(cursor) = next_cursor {
        result.text("nextCursor", cursor);
    }
    result::close(result, dialect, None);
}

/// Appends the whole message that tells of a task's change. In the modern era it goes to the
/// `subscriptions/listen` `stream` and says all that `tasks/get` would.
pub fn status_notification(
    out: &mut Vec<u8>,
    dialect: Dialect<'_>,
    task: &TaskView<'_>,
    detail: Detail<'_>,
    stream: Option<&RequestId>,
) {
    let revision = dialect.revision;
    let method = if revision.is_modern() { "notifications/tasks" } else { "notifications/tasks/status" };
    write_notification(out, method, |out| {
        let mut params = Object::open(out);
        write_members(&mut params, revision, task);
        write_detail(&mut params, revision, detail);
        write_stream(&mut params, stream);
        params.close();
    });
}

fn write_members(object: &mut Object<'_>, revision: Revision, task: &TaskView<'_>) {
    let [ttl, poll] =
        if revision.is_modern() { ["ttlMs", "pollIntervalMs"] } else { ["ttl", "pollInterval"] };
    object.text("taskId", task.id);
    object.text("status", task.status.as_str());
    object.text_if("statusMessage", task.message);
    object.text("createdAt", &timestamp(task.created));
    object.text("lastUpdatedAt", &timestamp(task.updated));
    object.number(ttl, task.ttl_ms);
    object.number(poll, task.poll_ms);
}

fn write_detail(object: &mut Object<'_>, revision: Revision, detail: Detail<'_>) {
    match detail {
        _ if !revision.is_modern() => {}
        Detail::None => {}
        Detail::Result(body) => object.member("result").extend_from_slice(body),
        Detail::Error(error) => write_error_object(object.member("error"), error),
        Detail::Questions(questions) => {
            write_input_requests(object.member("inputRequests"), questions.iter().copied());
        }
    }
}

/// Adds to `_meta` which task a message belongs to.
pub(super) fn write_related(meta: &mut Object<'_>, id: &str) {
    let mut related = Object::open(meta.member(RELATED));
    related.text("taskId", id);
    related.close();
}

/// A `_meta` object that says which task a message belongs to (2025-11-25).
pub fn related_meta(id: &str) -> String {
    let mut out = Vec::new();
    let mut meta = Object::open(&mut out);
    write_related(&mut meta, id);
    meta.close();
    // What the writers append is text.
    String::from_utf8(out).unwrap_or_default()
}

/// There is no task of this id and there never was one, or it was somebody else's.
pub fn unknown(id: &str) -> RpcError {
    RpcError::invalid_params(format!("Unknown task: {}", shown(id)))
}

/// There was a task of this id, but it is not kept any more.
pub fn dropped(id: &str) -> RpcError {
    RpcError::invalid_params(format!(
        "The task {} is no longer kept: its time is over, or newer ones took its place",
        shown(id)
    ))
}

/// A task that has ended cannot be cancelled.
pub fn already_over(id: &str, status: Status) -> RpcError {
    let status = status.as_str();
    RpcError::invalid_params(format!("The task {} has ended already: it is {status}", shown(id)))
}

/// A tool that is no task was to be one (2025-11-25, "Tool-Level Negotiation").
pub fn not_supported(tool: &str) -> RpcError {
    RpcError::new(-32601, format!("The tool {} does not run as a task: call it without one", shown(tool)))
}

/// A tool that is always a task was to be called without one (as above).
pub fn required(tool: &str) -> RpcError {
    RpcError::new(-32601, format!("The tool {} runs as a task only: call it with one", shown(tool)))
}

/// How far a task is, for people; empty if nothing is known.
pub fn progress_text(progress: i64, total: i64, message: &str) -> String {
    match (total, message) {
        (_, message) if !message.is_empty() => message.to_owned(),
        (0, _) => String::new(),
        (total, _) => format!("{progress} of {total}"),
    }
}

/// A time since 1970 in UTC, as RFC 3339 spells it with milliseconds.
pub fn timestamp(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let [year, month, day] = civil(seconds / 86_400);
    let [hour, minute, second] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    let millis = since_1970.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Year, month and day of the Gregorian calendar, so many days after 1970-01-01. Years are counted
/// from March on, so that the day that only some of them have is their last.
fn civil(days: u64) -> [u64; 3] {
    /// From 0000-03-01 to 1970-01-01.
    const BEFORE_1970: u64 = 719_468;
    /// 400 years, after which the calendar begins anew.
    const CYCLE: u64 = 146_097;
    let days = days + BEFORE_1970;
    let (cycle, day) = (days / CYCLE, days % CYCLE);
    // Without the leap days before it: every 4 years, but not every 100, but every 400.
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, 5 months have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, is_next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    [cycle * 400 + year + is_next_year, month, day]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;
    use crate::mcp::input::Question;
    use crate::mcp::result::proof::{MODERN_DIALECT, modern};
    use crate::mcp::revision::LATEST;
    use crate::wire::protomcp::ListRootsRequest;

    const OLD: Dialect<'static> = Dialect { revision: LATEST, ..MODERN_DIALECT };

    const WORKING: TaskView<'static> = TaskView {
        id: "t-1",
        status: Status::Working,
        message: "50 %",
        created: Duration::from_millis(1_764_066_600_000),
        updated: Duration::from_millis(1_764_067_200_250),
        ttl_ms: 60_000,
        poll_ms: 5_000,
    };

    /// The members of a task in the modern era, with a comma behind them.
    fn members(status: &str) -> String {
        format!(
            r#""taskId":"t-1","status":"{status}","statusMessage":"50 %","createdAt":"2025-11-25T10:30:00.000Z","lastUpdatedAt":"2025-11-25T10:40:00.250Z","ttlMs":60000,"pollIntervalMs":5000,"#
        )
    }

    /// The same in 2025-11-25, without the comma.
    fn old_members(status: &str) -> String {
        let members = members(status).replace("ttlMs", "ttl").replace("pollIntervalMs", "pollInterval");
        members.trim_end_matches(',').to_owned()
    }

    #[test]
    fn a_created_task() {
        let text = written(|out| write_created(out, MODERN_DIALECT, &WORKING));
        assert_eq!(text, modern(&members("working")).replace("complete", "task"));
        let text = written(|out| write_created(out, OLD, &WORKING));
        assert_eq!(text, format!(r#"{{"task":{{{}}}}}"#, old_members("working")));
        let silent = TaskView { message: "", ..WORKING };
        assert!(!written(|out| write_created(out, OLD, &silent)).contains("statusMessage"));
    }

    #[test]
    fn a_task_with_what_goes_with_it() {
        let error = RpcError { data: Some(r#"{"a":1}"#.into()), ..RpcError::internal("no \"x\"") };
        let roots = Question::Roots(ListRootsRequest::default()).spell(MODERN_DIALECT.revision).unwrap();
        let questions = [("r1", &roots)];
        let table = [
            (Status::Working, Detail::None, ""),
            (Status::Cancelled, Detail::None, ""),
            (Status::Completed, Detail::Result(br#"{"content":[]}"#), r#""result":{"content":[]},"#),
            (
                Status::Failed,
                Detail::Error(&error),
                r#""error":{"code":-32603,"message":"no \"x\"","data":{"a":1}},"#,
            ),
            (
                Status::InputRequired,
                Detail::Questions(&questions),
                r#""inputRequests":{"r1":{"method":"roots/list","params":{}}},"#,
            ),
        ];
        let id = RequestId::from_u64(9);
        for (status, detail, expected) in table {
            let task = TaskView { status, ..WORKING };
            let own = members(status.as_str()) + expected;
            assert_eq!(written(|out| write_task(out, MODERN_DIALECT, &task, detail)), modern(&own));
            let old = old_members(status.as_str());
            assert_eq!(written(|out| write_task(out, OLD, &task, detail)), format!("{{{old}}}"));
            let text = written(|out| status_notification(out, MODERN_DIALECT, &task, detail, Some(&id)));
            assert_eq!(
                text,
                format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{{{own}"_meta":{{"io.modelcontextprotocol/subscriptionId":9}}}}}}"#
                )
            );
            let text = written(|out| status_notification(out, OLD, &task, detail, None));
            assert_eq!(
                text,
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{{old}}}}}"#)
            );
        }
    }

    #[test]
    fn cancelled_acknowledged_and_listed() {
        let cancelled = TaskView { status: Status::Cancelled, ..WORKING };
        assert_eq!(written(|out| write_cancelled(out, MODERN_DIALECT, &cancelled)), modern(""));
        assert_eq!(written(|out| write_acknowledged(out, MODERN_DIALECT)), modern(""));
        let task = old_members("cancelled");
        assert_eq!(written(|out| write_cancelled(out, OLD, &cancelled)), format!("{{{task}}}"));
        let text = written(|out| write_list(out, OLD, [WORKING, cancelled], Some("c")));
        let tasks = format!("{{{}}},{{{task}}}", old_members("working"));
        assert_eq!(text, format!(r#"{{"tasks":[{tasks}],"nextCursor":"c"}}"#));
        assert_eq!(written(|out| write_list(out, OLD, [], None)), r#"{"tasks":[]}"#);
    }

    #[test]
    fn statuses() {
        let table = [
            (Status::Working, "working", false),
            (Status::InputRequired, "input_required", false),
            (Status::Completed, "completed", true),
            (Status::Failed, "failed", true),
            (Status::Cancelled, "cancelled", true),
        ];
        for (status, name, is_terminal) in table {
            assert_eq!((status.as_str(), status.is_terminal()), (name, is_terminal));
        }
    }

    #[test]
    fn errors_name_the_task() {
        let long = "x".repeat(100_000);
        for error in [unknown("t-1"), dropped("t-1"), already_over("t-1", Status::Failed)] {
            assert_eq!(error.code, -32602);
            assert!(error.message.contains("t-1"), "{}", error.message);
        }
        assert!(already_over("t", Status::Failed).message.ends_with("failed"));
        assert!(unknown(&long).message.len() < 300);
    }

    #[test]
    fn times_of_the_calendar() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (1, "1970-01-01T00:00:00.001Z"),
            (68_169_599_999, "1972-02-28T23:59:59.999Z"),
            (68_169_600_000, "1972-02-29T00:00:00.000Z"),
            (68_256_000_000, "1972-03-01T00:00:00.000Z"),
            (946_684_799_000, "1999-12-31T23:59:59.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (978_220_800_000, "2000-12-31T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_735_603_200_000, "2024-12-31T00:00:00.000Z"),
            (1_785_196_800_000, "2026-07-28T00:00:00.000Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ];
        for (millis, expected) in table {
            assert_eq!(timestamp(Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn each_day_follows_the_one_before() {
        let of = |year: u64, years| year.is_multiple_of(years);
        let is_leap = |year| of(year, 4) && (!of(year, 100) || of(year, 400));
        let mut date = [1970, 1, 1];
        for days in 0..500 * 366 {
            assert_eq!(civil(days), date);
            let [year, month, day] = date;
            let last = match month {
                2 if is_leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            date = match (day == last, month) {
                (false, _) => [year, month, day + 1],
                (true, 12) => [year + 1, 1, 1],
                (true, _) => [year, month + 1, 1],
            };
        }
    }
}
