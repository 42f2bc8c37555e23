//! The command line: what was typed becomes what will be done.
//!
//! What lives here: the commands ([`args`]) and flags ([`flag`]), what they mean ([`settings`]
//! and, over HTTP, [`network`] and [`access`]),
//! how a file becomes a command line ([`runtime`]), which folder is its project ([`project`]) and
//! what is watched of it ([`watched`]), the help texts ([`help`]), what a person asks when
//! nothing works ([`doctor`]), and what a machine asks all the time ([`health`]). What does not: anything that happens once the bridge runs. Imports:
//! everything below.
//!
//! Two stages: [`args::parse`] turns words into a [`args::Command`] and touches nothing;
//! [`settings::make`] looks at the file, the folders above it and the environment. Help and
//! version come out of the first stage, so nothing in the second can break them.

pub mod access;
pub mod args;
pub mod doctor;
pub mod flag;
pub mod health;
pub mod help;
pub mod network;
pub mod project;
pub mod quantity;
pub mod runtime;
pub mod settings;
pub mod suggest;
pub mod watched;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use self::args::Command;
use crate::log::{Format, Level};
use crate::os;

/// The work could not be begun: a wrong command line, a missing file or program.
const COULD_NOT_RUN: u8 = 2;

/// Runs the command that was typed. The exit code is 0 when its work is done, 1 when it failed,
/// 2 when it could not be begun.
pub fn main() -> ExitCode {
    let command = match args::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(problem) => return refuse(&problem),
    };
    match command {
        Command::Help(topic) => show(topic.text()),
        Command::Version => show(concat!("pmcp ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Doctor(typed, format) => doctor::examine(*typed, format),
        Command::Health(target, timeout) => health::ask(&target, timeout),
        Command::Serve(typed) => {
            let format = typed.log_format;
            let made = runtime::Environment::of_process().and_then(|here| settings::make(*typed, &here));
            let served = made.and_then(|plan| os::serve(plan.settings).map_err(|error| error.to_string()));
            match served {
                Ok(()) => ExitCode::SUCCESS,
                Err(problem) if format == Format::Text => refuse(&problem),
                Err(problem) => refuse_with(&os::log_line(format, Level::Error, &problem)),
            }
        }
    }
}

/// Prints a text that was asked for. A reader that has seen enough is no failure.
fn show(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Says on one line of stderr why nothing was begun.
fn refuse(problem: &str) -> ExitCode {
    refuse_with(format!("pmcp: {}\n", one_line(problem)).as_bytes())
}

fn refuse_with(line: &[u8]) -> ExitCode {
    // Nobody is left to tell when stderr is gone, too.
    let _ = std::io::stderr().write_all(line);
    ExitCode::from(COULD_NOT_RUN)
}

/// What was typed may hold anything; what is shown is one line without control characters.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line_whatever_was_typed() {
        assert_eq!(one_line("no file a\nb\x1b[0m\r"), "no file a\\nb\\u{1b}[0m\\r");
        assert_eq!(one_line("řemeslník 漢字"), "řemeslník 漢字");
    }
}
