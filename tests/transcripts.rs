//! Conversations as they stand in `tests/transcripts`, over real pipes: each line of the host is sent,
//! each line of the program must be the one that is written there, and no other comes.
//!
//! In a file `>` begins what the host says, `<` what the program says, `!` what else happens, `=` a name
//! and its value, and `#` a comment. A string `…` stands for anything; `…name` for the value of the name,
//! or, if it has none yet, for anything the first time and for the same from then on. With `PMCP_WRITE=1` the lines of the program are written
//! anew, to be looked at before they are kept.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::support::dir::Dir;
use crate::support::host::Host;
use crate::support::pmcp::Setup;
use crate::support::raw_tool::RawTool;
use crate::support::{environment, process, scripted_tool};

/// What differs from run to run, and the name that it has in the files.
const CHANGING: [(&str, &str); 4] =
    [("taskId", "…task"), ("requestState", "…state"), ("createdAt", "…"), ("lastUpdatedAt", "…")];

/// One conversation.
struct Replay {
    host: Host,
    tool: RawTool,
    names: BTreeMap<String, Value>,
    serving: Option<std::thread::JoinHandle<()>>,
}

fn replay(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    let host = Setup::run(&dir).arg(tool.file()).host();
    let mut replay = Replay { host, tool, names: BTreeMap::new(), serving: None };
    replay.serve(false);
    let writes = std::env::var_os("PMCP_WRITE").is_some();
    let mut written = String::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{}:{}", path.display(), number + 1);
        if writes && line.starts_with('<') {
            continue;
        }
        writeln!(written, "{line}").unwrap();
        match line.split_at_checked(2) {
            Some(("> ", line)) => replay.say(line),
            Some(("< ", line)) => replay.hear(line, &place),
            Some(("= ", line)) => replay.declare(line, &place),
            Some(("! ", "the tool process is replaced by one with more")) => {
                replay.tool.order("exit 0");
                replay.serve(true);
            }
            Some(("! ", "the host hangs up")) => replay.host.hang_up(),
            Some(("! ", "the bridge is told to end")) => process::signal(replay.host.pid(), "TERM"),
            Some(("! ", other)) => panic!("{place}: {other}"),
            _ => continue,
        }
        while writes && let Some(message) = replay.host.within(Duration::from_millis(400)) {
            writeln!(written, "< {}", replay.named(message.json)).unwrap();
        }
    }
    replay.host.hang_up();
    let left = replay.host.until_end();
    if writes {
        for line in left {
            let message = serde_json::from_str(&line).unwrap();
            writeln!(written, "< {}", replay.named(message)).unwrap();
        }
    } else {
        assert!(left.is_empty(), "{}: more was said than is written there: {left:?}", path.display());
    }
    assert!(replay.host.wait().success());
    replay.host.nothing_left();
    replay.serving.take().unwrap().join().unwrap();
    if writes {
        std::fs::write(path, written).unwrap();
    }
}

impl Replay {
    /// Waits for a tool process and answers for it on a thread.
    fn serve(&mut self, has_more: bool) {
        self.serving = Some(scripted_tool::serve(&self.tool, has_more));
    }

    /// A name and the value that it has from the beginning.
    fn declare(&mut self, line: &str, place: &str) {
        let (name, value) = line.split_once(' ').unwrap_or_else(|| panic!("{place}: a name and a value"));
        let value = self.filled(value);
        let value = serde_json::from_str(&value).unwrap_or_else(|error| panic!("{place}: {error}"));
        self.names.insert(name.to_string(), value);
    }

    /// The line with values for its names.
    fn filled(&self, line: &str) -> String {
        let mut line = line.to_string();
        for (name, value) in &self.names {
            line = line.replace(&format!("\"{name}\""), &value.to_string());
        }
        line
    }

    fn say(&mut self, line: &str) {
        let line = self.filled(line);
        self.host.send(&line);
    }

    fn hear(&mut self, line: &str, place: &str) {
        let expected: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
        let message = self.host.next();
        assert!(
            self.is_same(&message.json, &expected),
            "{place}\nwritten: {expected}\nsaid:    {}",
            message.json
        );
    }

    fn is_same(&mut self, seen: &Value, expected: &Value) -> bool {
        match (seen, expected) {
            (_, Value::String(name)) if name == "…" => true,
            (_, Value::String(name)) if name.starts_with('…') => {
                self.names.entry(name.clone()).or_insert_with(|| seen.clone()) == seen
            }
            (Value::String(seen), Value::String(expected)) if expected.contains('…') => {
                *seen
                    == self.names.iter().fold(expected.clone(), |text, (name, value)| {
                        text.replace(name.as_str(), value.as_str().unwrap_or(name))
                    })
            }
            // A key that differs from run to run stands alone.
            (Value::Object(seen), Value::Object(expected))
                if seen.len() == 1 && expected.keys().next().is_some_and(|key| key.starts_with('…')) =>
            {
                let both = seen.iter().zip(expected);
                both.fold(expected.len() == 1, |same, ((key, seen), (name, expected))| {
                    let key = Value::from(key.as_str());
                    same && self.is_same(&key, &name.as_str().into()) && self.is_same(seen, expected)
                })
            }
            (Value::Object(seen), Value::Object(expected)) => {
                seen.len() == expected.len()
                    && expected
                        .iter()
                        .all(|(name, value)| seen.get(name).is_some_and(|seen| self.is_same(seen, value)))
            }
            (Value::Array(seen), Value::Array(expected)) => {
                seen.len() == expected.len()
                    && seen.iter().zip(expected).all(|(seen, expected)| self.is_same(seen, expected))
            }
            _ => seen == expected,
        }
    }

    /// Puts names for what differs from run to run. Each new value of a kind has a new name.
    fn named(&mut self, mut message: Value) -> Value {
        self.put_names(&mut message);
        message
    }

    fn put_names(&mut self, value: &mut Value) {
        if let Some((name, _)) = self.names.iter().find(|(_, known)| known.is_object() && *known == value) {
            *value = name.as_str().into();
        }
        match value {
            Value::Object(members) => {
                // A request of the program's own, and its end.
                if members.contains_key("method")
                    && let Some(id) = members.get_mut("id")
                {
                    *id = self.name("…ask", id).into();
                }
                if let Some(Value::Object(questions)) = members.get_mut("inputRequests") {
                    for (key, question) in std::mem::take(questions) {
                        questions.insert(self.name("…key", &key.into()), question);
                    }
                }
                for (name, value) in members {
                    if name == "requestId" && self.names.values().any(|known| known == value) {
                        *value = self.name("…ask", value).into();
                    }
                    match CHANGING.iter().find(|(changing, _)| changing == name) {
                        Some((_, "…")) => *value = "…".into(),
                        Some((_, kind)) if value.is_string() => *value = self.name(kind, value).into(),
                        _ => self.put_names(value),
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.put_names(value)),
            Value::String(text) => {
                for (name, known) in &self.names {
                    if let Some(known) = known.as_str().filter(|known| known.len() > 16) {
                        *text = text.replace(known, name);
                    }
                }
            }
            _ => {}
        }
    }

    fn name(&mut self, kind: &str, value: &Value) -> String {
        if let Some((name, _)) = self.names.iter().find(|(_, known)| *known == value) {
            return name.clone();
        }
        let count = self.names.keys().filter(|name| name.starts_with(kind)).count();
        let name = format!("{kind}{}", count + 1);
        self.names.insert(name.clone(), value.clone());
        name
    }
}

#[test]
fn each_goes_as_it_is_written() {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(environment::source("transcripts"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| std::env::var("PMCP_ONLY").map_or(true, |only| path.ends_with(only)));
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        replay(&path);
    }
}
