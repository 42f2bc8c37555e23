//! What the doctor starts to find something out: this program as a host would, and interpreters.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::inquiry::{Inquiry, Offers, Step};
use crate::cli::args::Serve;
use crate::cli::runtime::Choice;
use crate::limits;

/// The words for `pmcp run` that mean the same.
pub(super) fn words(typed: &Serve, file: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["run".into()];
    let mut add = |flag: &str, value: OsString| words.extend([flag.into(), value]);
    let time = |time: Duration| format!("{}ms", time.as_millis().max(1)).into();
    let (build, start) = (
        typed.build_timeout.unwrap_or(limits::BUILD_TIMEOUT),
        typed.start_timeout.unwrap_or(limits::START_TIMEOUT),
    );
    add("--build-timeout", time(build));
    add("--start-timeout", time(start));
    // The question whether it serves waits for the whole start.
    let call = build.saturating_add(start).saturating_add(limits::CALL_TIMEOUT);
    add("--call-timeout", time(call.min(limits::FLAG_TIME_MAX)));
    if let Some(runtime) = &typed.runtime {
        add("--runtime", runtime.into());
    }
    if let Some(folder) = &typed.cwd {
        add("--cwd", folder.into());
    }
    for (name, value) in &typed.env {
        add("--env", format!("{name}={value}").into());
    }
    if let Some(file) = &typed.env_file {
        add("--env-file", file.into());
    }
    if typed.command.is_empty() {
        words.push(file.into());
    }
    words.push("--".into());
    words.extend_from_slice(if typed.command.is_empty() { &typed.args } else { &typed.command });
    words
}

/// Starts this program and asks it for everything. What it offers, or why it does not serve; and
/// how long it took to its tool list. An error if that could not be found out.
pub(super) fn run(words: &[OsString]) -> Result<(Result<Offers, String>, Duration), String> {
    let failed = |error: std::io::Error| format!("pmcp run can't be asked: {error}");
    let begin = Instant::now();
    let mut child = Command::new(std::env::current_exe().map_err(failed)?)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // What matters of it is in the answers.
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let mut inquiry = Inquiry::default();
    let mut after = None;
    if let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) {
        let mut send = |lines: Vec<String>| lines.iter().try_for_each(|line| writeln!(stdin, "{line}"));
        // A reader that is gone shows as the end of its lines.
        let _ = send(inquiry.open());
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { break };
            let step = inquiry.take(&line);
            if inquiry.has_tools() {
                after.get_or_insert_with(|| begin.elapsed());
            }
            match step {
                Step::Send(lines) => {
                    let _ = send(lines);
                }
                Step::Done => break,
            }
        }
    }
    // Its input is closed: it ends.
    let status = child.wait().map_err(failed)?;
    let found = inquiry.finish().unwrap_or_else(|| Err(format!("pmcp run ended early: {status}")));
    Ok((found, after.unwrap_or_else(|| begin.elapsed())))
}

/// What an interpreter that we know says about its version.
pub(super) fn version(choice: &Choice, search_path: Option<&OsStr>) -> Option<String> {
    let name = choice.program.file_name()?.to_str()?;
    let argument = match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "go" => "version",
        "lua" => "-v",
        "python" | "uv" | "poetry" | "pdm" | "node" | "bun" | "deno" | "cargo" | "ruby" | "php" | "perl"
        | "julia" | "Rscript" | "tsx" => "--version",
        _ => return None,
    };
    // uv, poetry and pdm lead to a Python, whose version is the one that matters.
    let words = if choice.runner.last().is_some_and(|word| word == "python") {
        &choice.runner[..]
    } else {
        &choice.runner[..1]
    };
    let output = asked(words, &[argument], None, search_path)?;
    first_line(&output.stdout).or_else(|| first_line(&output.stderr))
}

/// Why the chosen Python can't import the SDK; `None` if it can.
pub(super) fn import(choice: &Choice, folder: &Path, search_path: Option<&OsStr>) -> Option<String> {
    let output = asked(&choice.runner, &["-c", "import protomcp"], Some(folder), search_path)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it does not say why");
    (!output.status.success()).then(|| last.trim().to_owned())
}

fn asked(
    words: &[OsString],
    more: &[&str],
    folder: Option<&Path>,
    search_path: Option<&OsStr>,
) -> Option<Output> {
    let (program, rest) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(rest).args(more).stdin(Stdio::null());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    if let Some(path) = search_path {
        command.env("PATH", path);
    }
    command.output().ok()
}

fn first_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{self, Command as Typed};

    /// What is typed for the doctor means the same to `run`.
    #[test]
    fn the_words_mean_the_same() {
        for line in [
            "doctor f.py",
            "doctor /d/f.py --runtime x --cwd /e --env A=b=c --env B= --env-file v -- -x y",
            "doctor --start-timeout 1s --build-timeout 2h /d/f.py",
            "doctor --cwd /e -- python3 f.py --name x",
        ] {
            let parse = |words: Vec<OsString>| args::parse(words).unwrap();
            let Typed::Doctor(asked, _) = parse(line.split(' ').map(OsString::from).collect()) else {
                panic!("{line}");
            };
            let Typed::Serve(run) = parse(words(&asked, &asked.file)) else { panic!("{line}") };
            let expected = Serve {
                build_timeout: asked.build_timeout.or(Some(limits::BUILD_TIMEOUT)),
                start_timeout: asked.start_timeout.or(Some(limits::START_TIMEOUT)),
                call_timeout: run.call_timeout,
                ..*asked
            };
            assert_eq!(*run, expected, "{line}");
            assert!(run.call_timeout > run.build_timeout, "{line}");
        }
    }
}
