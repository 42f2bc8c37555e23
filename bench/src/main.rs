//! Load on `pmcp` and on two peers in one run: a do-nothing responder (the floor) and a server
//! written with the official Rust SDK (no bridge at all).
//!
//! Machines are noisy, so the servers take turns, every number is a median over the rounds, and
//! what counts are the ratios within one run.

mod http;
mod reload;
mod report;
mod server;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use report::{MEASURES, Round};
use server::{Recipe, Server};

const USAGE: &str = "\
usage: load --pmcp FILE [--static FILE] [--rounds N] [--calls N] [--window N] [--json] [--strict]

  --pmcp FILE    the bridge to measure
  --static FILE  the static binary whose size counts (default: --pmcp, when it is static)
  --rounds N     how often every server has its turn (default 7)
  --calls N      pipelined calls per round (default 20000); a tenth of it go one by one
  --window N     pipelined calls under way at once (default 64)
  --json         the numbers as one JSON object
  --strict       a missed target is exit code 1";

struct Options {
    pmcp: PathBuf,
    static_binary: Option<PathBuf>,
    rounds: usize,
    calls: usize,
    window: usize,
    json: bool,
    strict: bool,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(reason) => {
            eprintln!("load: {reason}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let folder = std::env::current_exe().expect("this program has a path");
    let folder = folder.parent().expect("in a folder").to_path_buf();
    let recipes = [
        Recipe { name: "floor", program: folder.join("floor"), arguments: vec![] },
        Recipe { name: "rmcp", program: folder.join("rmcp-server"), arguments: vec![] },
        Recipe {
            name: "pmcp",
            program: options.pmcp.clone(),
            arguments: vec!["run".into(), folder.join("echo-tool").display().to_string()],
        },
    ];

    let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); recipes.len()];
    for turn in 0..options.rounds {
        if !options.json {
            eprint!("\rround {} of {} ", turn + 1, options.rounds);
        }
        // Another one begins each time, so that none is always the one after the noisy one.
        for offset in 0..recipes.len() {
            let which = (turn + offset) % recipes.len();
            rounds[which].push(measure(&recipes[which], &options));
        }
    }
    if !options.json {
        eprintln!();
    }

    let medians: Vec<Vec<f64>> = rounds.iter().map(|rounds| report::summary(rounds)).collect();
    let binary = options
        .static_binary
        .as_deref()
        .or_else(|| is_static(&options.pmcp).then_some(options.pmcp.as_path()))
        .and_then(|file| Some(std::fs::metadata(file).ok()?.len()));
    let mut targets = report::targets(&medians[2], &medians[1], binary);
    let reload = reload::measure(&options.pmcp, &folder.join("echo-tool"), 3 * options.rounds);
    targets.push(report::reload_target(milliseconds(reload.save), milliseconds(reload.alone)));
    targets.extend(http::measure(&options.pmcp, &folder, options.rounds, options.calls, options.json));
    if options.json {
        print_json(&recipes, &medians, &targets, binary);
    } else {
        print_table(&recipes, &medians, &targets);
    }
    let missed = targets.iter().any(|target| target.met == Some(false));
    ExitCode::from(u8::from(options.strict && missed))
}

fn measure(recipe: &Recipe, options: &Options) -> Round {
    let text = "x".repeat(64);
    // The start is measured on processes of its own: one is too noisy a sample.
    let starts = (0..3)
        .map(|_| {
            let (server, took) = Server::start(recipe);
            server.stop();
            milliseconds(took)
        })
        .collect();
    let (mut server, _) = Server::start(recipe);
    for _ in 0..300 {
        server.round_trip(&text);
    }
    server.pipeline(options.calls / 10, options.window, &text);

    let mut trips: Vec<Duration> = (0..options.calls / 10).map(|_| server.round_trip(&text)).collect();
    let median = microseconds(report::percentile(&mut trips, 0.5));
    let p99 = microseconds(report::percentile(&mut trips, 0.99));

    let before = server.cpu();
    let took = server.pipeline(options.calls, options.window, &text);
    let cpu = microseconds(server.cpu() - before) / options.calls as f64;

    let rss = server.status("VmRSS") as f64 / 1024.0;
    let threads = server.status("Threads") as f64;

    let large = "y".repeat(10 * 1024 * 1024);
    server.round_trip(&large);
    let larges = (0..3).map(|_| milliseconds(server.round_trip(&large))).collect();
    server.stop();
    Round {
        start: report::median(starts),
        median,
        p99,
        pipelined: options.calls as f64 / took.as_secs_f64(),
        cpu,
        large: report::median(larges),
        rss,
        threads,
    }
}

fn print_table(recipes: &[Recipe], medians: &[Vec<f64>], targets: &[report::Target]) {
    println!("{:<26}{:>12}{:>12}{:>12}{:>14}", "", "floor", "rmcp", "pmcp", "pmcp / rmcp");
    for (index, (name, unit, _)) in MEASURES.iter().enumerate() {
        print!("{:<26}", format!("{name} {unit}"));
        for medians in medians.iter().take(recipes.len()) {
            print!("{:>12.2}", medians[index]);
        }
        println!("{:>14.2}", medians[2][index] / medians[1][index]);
    }
    println!();
    for target in targets {
        let verdict = match target.met {
            Some(true) => "pass",
            Some(false) => "FAIL",
            None => "  - ",
        };
        println!("{verdict}  {} ({})", target.what, target.got);
    }
}

fn print_json(recipes: &[Recipe], medians: &[Vec<f64>], targets: &[report::Target], binary: Option<u64>) {
    let servers: serde_json::Map<String, serde_json::Value> = recipes
        .iter()
        .zip(medians)
        .map(|(recipe, medians)| {
            let numbers: serde_json::Map<String, serde_json::Value> = MEASURES
                .iter()
                .zip(medians)
                .map(|((name, unit, _), value)| (format!("{name} {unit}").trim().into(), (*value).into()))
                .collect();
            (recipe.name.into(), numbers.into())
        })
        .collect();
    let targets: Vec<serde_json::Value> = targets
        .iter()
        .map(|target| serde_json::json!({"target": target.what, "got": target.got, "met": target.met}))
        .collect();
    println!("{}", serde_json::json!({"servers": servers, "binary_bytes": binary, "targets": targets}));
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        pmcp: PathBuf::new(),
        static_binary: None,
        rounds: 7,
        calls: 20_000,
        window: 64,
        json: false,
        strict: false,
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        let number = |text: String| {
            text.parse::<usize>()
                .ok()
                .filter(|number| *number > 0)
                .ok_or_else(|| format!("{text} is not a number above zero"))
        };
        match argument.as_str() {
            "--pmcp" => options.pmcp = value()?.into(),
            "--static" => options.static_binary = Some(value()?.into()),
            "--rounds" => options.rounds = number(value()?)?,
            "--calls" => options.calls = number(value()?)?.max(1000),
            "--window" => options.window = number(value()?)?,
            "--json" => options.json = true,
            "--strict" => options.strict = true,
            other => return Err(format!("there is no option {other}")),
        }
    }
    if options.pmcp.as_os_str().is_empty() {
        return Err("--pmcp FILE is missing".into());
    }
    Ok(options)
}

/// Whether an ELF file asks for no dynamic loader (it has no PT_INTERP).
fn is_static(file: &Path) -> bool {
    let Ok(bytes) = std::fs::read(file) else { return false };
    let word = |at: usize| bytes.get(at..at + 2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    let (Some(size), Some(count)) = (word(54), word(56)) else { return false };
    let Some(start) = bytes.get(32..40) else { return false };
    let start = u64::from_le_bytes(start.try_into().expect("eight bytes")) as usize;
    (0..usize::from(count)).all(|index| {
        let at = start + index * usize::from(size);
        bytes.get(at..at + 4).is_some_and(|kind| kind != [3, 0, 0, 0])
    })
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
