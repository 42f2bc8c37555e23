//! `pmcp doctor`: what would be used to start a file and why, whether it serves, and what commonly
//! breaks.
//!
//! It starts this very program with `run` and talks with it as a host, so that what it finds is
//! what a host would find.

mod inquiry;
mod probe;
mod report;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::inquiry::Offers;
use self::report::{Interpreter, Offered, Report};
use super::args::{Format, Serve};
use super::runtime::{self, Choice, Environment, Language};
use super::{refuse, settings, show};
use crate::mcp::{client, complaints};
use crate::os::Settings;

/// The file would not be served.
const DOES_NOT_SERVE: u8 = 1;

/// Examines what was typed and shows a report. The exit code is 0 if it serves, 1 if it does not,
/// and 2 if it could not be examined.
pub fn examine(typed: Serve, format: Format) -> ExitCode {
    let report = match diagnose(typed) {
        Ok(report) => report,
        Err(problem) => return refuse(&problem),
    };
    let shown = show(&match format {
        Format::Text => report.text(),
        Format::Json => report.json(),
    });
    if report.serves { shown } else { ExitCode::from(DOES_NOT_SERVE) }
}

fn diagnose(typed: Serve) -> Result<Report, String> {
    let here = Environment::of_process()?;
    let file = settings::entry(&typed, &here)?;
    let shown = (typed.command.is_empty() || file.is_file()).then(|| file.display().to_string());
    let mut report = Report { file: shown, ..Report::default() };
    report.warnings.extend(other_pmcp(&here));
    let chosen = match typed.command.as_slice() {
        [] => runtime::choose(&file, &typed.args, typed.runtime.as_deref(), &here),
        command => runtime::typed(command, &here),
    };
    // That nothing runs the file is what the doctor is asked about.
    let choice = match chosen {
        Ok(choice) => choice,
        Err(problem) => {
            report.problem = Some(problem);
            return Ok(report);
        }
    };
    let words = probe::words(&typed, &file);
    let plan = settings::make(typed, &here)?;
    describe(&mut report, &choice, &plan.settings)?;
    report.warnings.extend(choice.warnings.iter().cloned());
    report.warnings.extend(missing_sdk(&file, &choice, &plan.settings));
    match probe::run(&words)? {
        (Ok(offers), after) => {
            report.serves = true;
            report.serves_after_ms = Some(u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
            report.warnings.extend(complaints::about(&offers.tools));
            report.offers = Some(offered(offers));
        }
        (Err(problem), _) => {
            report.hint = hint(&problem).map(Into::into);
            report.problem = Some(problem);
        }
    }
    Ok(report)
}

fn describe(report: &mut Report, choice: &Choice, settings: &Settings) -> Result<(), String> {
    let launch = &settings.launch;
    report.command = Some(settings.bridge.command.clone());
    report.build = launch.build.as_ref().map(|build| runtime::shown(&build.command));
    report.rule = Some(choice.rule.clone());
    report.passed_over = choice.passed_over.clone();
    report.folder = launch.folder.as_ref().map(|folder| folder.display().to_string());
    report.interpreter = Some(Interpreter {
        path: choice.program.display().to_string(),
        version: probe::version(choice, launch.search_path.as_deref()),
    });
    let (names, warnings) = launch.environment_names().map_err(|error| error.to_string())?;
    report.environment = names;
    report.warnings.extend(warnings);
    Ok(())
}

fn offered(offers: Offers) -> Offered {
    let Offers { tools, resources, resource_templates, prompts } = offers;
    let tools = tools.iter().map(|tool| client::name(tool).to_owned()).collect();
    Offered { tools, resources, resource_templates, prompts }
}

/// What to try, for the ends that say little by themselves.
fn hint(problem: &str) -> Option<&'static str> {
    if problem.contains("exited with status 0 before it connected") {
        return Some("it ended without an error and without serving: does the file call run() at its end?");
    }
    problem.contains("did not connect within").then_some(
        "it runs, but it does not look for pmcp: does it use a protomcp SDK, and does it call run() in time? \
         --start-timeout gives it longer",
    )
}

/// Other programs have this name, too; what is on `PATH` first is what hosts are told to start.
fn other_pmcp(here: &Environment) -> Option<String> {
    let first = here.program("pmcp".as_ref()).filter(|found| !found.is_off_path)?.path;
    let real = |path: &Path| fs::canonicalize(path).ok();
    let own = std::env::current_exe().ok().as_deref().and_then(real);
    (real(&first) != own).then(|| {
        let own = own.unwrap_or_else(|| PathBuf::from("this program"));
        format!(
            "the first pmcp on PATH is another program: {}; have hosts start {}",
            first.display(),
            own.display()
        )
    })
}

/// Whether a Python file needs an SDK that its interpreter does not have.
fn missing_sdk(file: &Path, choice: &Choice, settings: &Settings) -> Option<String> {
    let (is_python, text) = (Language::of(file) == Some(Language::Python), fs::read_to_string(file).ok()?);
    if !is_python || !imports_sdk(&text) {
        return None;
    }
    let python =
        choice.runner.last().filter(|word| Path::new(word).file_name().is_some_and(is_python_name))?;
    let problem = probe::import(choice, file.parent()?, settings.launch.search_path.as_deref())?;
    let install = match choice.runner[0].to_str() {
        Some(manager @ ("uv" | "poetry" | "pdm")) => format!("{manager} add protomcp"),
        _ => format!("{} -m pip install protomcp", python.display()),
    };
    Some(format!("the SDK is missing: {} can't import protomcp ({problem}); {install}", python.display()))
}

fn is_python_name(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"python")
}

/// Whether a line of a Python file imports the SDK.
fn imports_sdk(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split(|c: char| c.is_whitespace() || ".,".contains(c));
        let is_import =
            words.by_ref().find(|word| !word.is_empty()).is_some_and(|w| w == "import" || w == "from");
        is_import && words.find(|word| !word.is_empty()) == Some("protomcp")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_imports_the_sdk() {
        for line in [
            "import protomcp",
            "from protomcp import tool",
            "  from protomcp.x import y",
            "import protomcp as p",
        ] {
            assert!(imports_sdk(&format!("x = 1\n{line}\n")), "{line}");
        }
        for line in
            ["# import protomcp", "import protomcpx", "from x import protomcp", "protomcp", "import os"]
        {
            assert!(!imports_sdk(line), "{line}");
        }
    }
}
