//! What the doctor found, for a person or for a program.

use std::fmt::Write as _;

use serde::Serialize;

use crate::cli::one_line;

/// What was found. An absent field could not be found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Report {
    pub(super) file: Option<String>,
    pub(super) serves: bool,
    /// Why it does not serve.
    pub(super) problem: Option<String>,
    /// What to try.
    pub(super) hint: Option<String>,
    /// From the start of `pmcp run` to its tool list, a build included.
    pub(super) serves_after_ms: Option<u64>,
    pub(super) command: Option<String>,
    pub(super) build: Option<String>,
    /// The rule that chose.
    pub(super) rule: Option<String>,
    pub(super) passed_over: Vec<String>,
    pub(super) interpreter: Option<Interpreter>,
    pub(super) folder: Option<String>,
    /// The names of the variables that are added to the environment. Not their values: they may be
    /// secrets.
    pub(super) environment: Vec<String>,
    pub(super) offers: Option<Offered>,
    pub(super) warnings: Vec<String>,
}

/// What runs the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Interpreter {
    pub(super) path: String,
    pub(super) version: Option<String>,
}

/// Names of what is offered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Offered {
    pub(super) tools: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) resource_templates: Vec<String>,
    pub(super) prompts: Vec<String>,
}

impl Report {
    /// For a program: one object.
    pub(super) fn json(&self) -> String {
        // Strings, numbers and lists of them can't fail to be written.
        serde_json::to_string_pretty(self).map(|json| json + "\n").unwrap_or_default()
    }

    /// For a person.
    pub(super) fn text(&self) -> String {
        let mut text = Text::default();
        text.entry("file", &self.file);
        text.entry("command", &self.command);
        text.entry("built by", &self.build);
        text.entry("because", &self.rule);
        text.entry("passed over", &self.passed_over);
        if let Some(Interpreter { path, version }) = &self.interpreter {
            let version = version.as_ref().map(|version| format!(" ({version})"));
            text.entry("program", [path.clone() + version.as_deref().unwrap_or_default()]);
        }
        text.entry("folder", &self.folder);
        if !self.environment.is_empty() {
            text.entry("environment", [format!("ours and {}", self.environment.join(", "))]);
        }
        if let Some(time) = self.serves_after_ms {
            text.entry("serves", [format!("yes, after {time} ms")]);
        }
        if let Some(Offered { tools, resources, resource_templates, prompts }) = &self.offers {
            for (label, names) in [
                ("tools", tools),
                ("resources", resources),
                ("templates", resource_templates),
                ("prompts", prompts),
            ] {
                let list = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
                text.entry(label, [format!("{}{list}", names.len())]);
            }
        }
        if let Some(problem) = &self.problem {
            text.entry("serves", [&format!("no: {problem}")]);
        }
        text.entry("hint", &self.hint);
        for warning in &self.warnings {
            text.entry("warning", [warning]);
        }
        text.0
    }
}

/// Entries with their labels in a column of their own.
#[derive(Default)]
struct Text(String);

impl Text {
    fn entry(&mut self, label: &str, values: impl IntoIterator<Item: AsRef<str>>) {
        let mut label = label;
        for value in values {
            for line in value.as_ref().lines() {
                let _ = writeln!(self.0, "{label:<12} {}", one_line(line));
                label = "";
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn a_report_for_a_person() {
        let report = Report {
            file: Some("/x/s.py".into()),
            serves: true,
            serves_after_ms: Some(12),
            command: Some("python3 /x/s.py".into()),
            rule: Some("python3, since nothing else was found".into()),
            passed_over: names(&["--runtime: not given", "uv: no uv.lock in /x"]),
            interpreter: Some(Interpreter { path: "/bin/python3".into(), version: Some("Python 3".into()) }),
            folder: Some("/x".into()),
            environment: names(&["PYTHONUTF8", "KEY"]),
            offers: Some(Offered { tools: names(&["a", "b\n"]), ..Offered::default() }),
            warnings: names(&["one", "two"]),
            ..Report::default()
        };
        let expected = "\
file         /x/s.py
command      python3 /x/s.py
because      python3, since nothing else was found
passed over  --runtime: not given
             uv: no uv.lock in /x
program      /bin/python3 (Python 3)
folder       /x
environment  ours and PYTHONUTF8, KEY
serves       yes, after 12 ms
tools        2: a, b
resources    0
templates    0
prompts      0
warning      one
warning      two
";
        assert_eq!(report.text(), expected);
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!((&json["serves"], &json["offers"]["tools"][0]), (&true.into(), &"a".into()));
    }

    #[test]
    fn a_problem_of_many_lines() {
        let report = Report {
            file: Some("/x".into()),
            problem: Some("it exited:\nboom\x1b".into()),
            hint: Some("try".into()),
            ..Report::default()
        };
        assert_eq!(
            report.text(),
            "file         /x\nserves       no: it exited:\n             boom\\u{1b}\nhint         try\n"
        );
    }
}
