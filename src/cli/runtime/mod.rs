//! How a file becomes a command line: its language's runtime, looked for where people keep it.
//!
//! Each language has an order of rules; the first that fits chooses. What was passed over, and
//! why, is kept for `pmcp doctor`.

mod compiled;
mod javascript;
mod python;
mod search;
mod words;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use self::search::{Environment, Found, nearest};
pub use self::words::{shown, split};

use self::search::is_executable;
use crate::os::Build;

/// What is known by a file's extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `.py`
    Python,
    /// `.js`, `.mjs`, `.cjs`
    JavaScript,
    /// `.ts`, `.mts`, `.cts`
    TypeScript,
    /// `.go`
    Go,
    /// `.rs`
    Rust,
    /// `.rb`
    Ruby,
    /// `.php`
    Php,
    /// `.lua`
    Lua,
    /// `.pl`
    Perl,
    /// `.sh`
    Shell,
    /// `.jl`
    Julia,
    /// `.R`
    R,
}

impl Language {
    /// The language that a file's extension stands for.
    pub fn of(file: &Path) -> Option<Language> {
        match file.extension()?.to_str()? {
            "py" => Some(Language::Python),
            "js" | "mjs" | "cjs" => Some(Language::JavaScript),
            "ts" | "mts" | "cts" => Some(Language::TypeScript),
            "go" => Some(Language::Go),
            "rs" => Some(Language::Rust),
            "rb" => Some(Language::Ruby),
            "php" => Some(Language::Php),
            "lua" => Some(Language::Lua),
            "pl" => Some(Language::Perl),
            "sh" => Some(Language::Shell),
            "jl" => Some(Language::Julia),
            "R" | "r" => Some(Language::R),
            _ => None,
        }
    }
}

/// What starts a tool process, and why.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Program and arguments; behind a build the arguments alone.
    pub command: Vec<OsString>,
    /// What makes the program before each start.
    pub build: Option<Build>,
    /// The words in front of the file; for a build the compiler.
    pub runner: Vec<OsString>,
    /// Where the first of them is.
    pub program: PathBuf,
    /// The rule that chose.
    pub rule: String,
    /// The rules before it, and why they did not.
    pub passed_over: Vec<String>,
    /// What the person should know: a lock file of a tool that is not installed.
    pub warnings: Vec<String>,
    /// `PATH`, if something was found that is not on it.
    pub search_path: Option<OsString>,
}

/// What starts `file` (an absolute path of a file that is there) with `args`. `runtime` is the
/// command that was asked for instead of the one that its language stands for.
pub fn choose(
    file: &Path,
    args: &[OsString],
    runtime: Option<&str>,
    here: &Environment,
) -> Result<Choice, String> {
    let mut search = Search::new(file, here);
    let mut picked = match (runtime, Language::of(file)) {
        (Some(runtime), _) => asked_for(runtime)?,
        (None, Some(language)) => {
            search.pass("--runtime: not given");
            search.pick(language)?
        }
        (None, None) => itself(file)?,
    };
    let command = match &picked.build {
        Some(_) => args.to_vec(),
        None => {
            let file = picked.takes_file.then(|| OsString::from(file));
            picked.runner.iter().cloned().chain(file).chain(args.iter().cloned()).collect()
        }
    };
    let mut build = picked.build.take();
    let found = find_program(&picked.runner[0], here, "; name a command with --runtime")?;
    let needed = picked.needs.and_then(|name| here.program(name.as_ref()));
    let mut choice = Choice {
        command,
        build: None,
        runner: picked.runner,
        program: found.path.clone(),
        rule: picked.rule,
        passed_over: search.passed_over,
        warnings: search.warnings,
        search_path: [Some(found), needed].into_iter().flatten().find_map(|found| off_path(&found, here)),
    };
    match &mut build {
        Some(build) => choice.settle(&mut build.command[0]),
        None => {
            let mut program = std::mem::take(&mut choice.command[0]);
            choice.settle(&mut program);
            choice.command[0] = program;
        }
    }
    choice.build = build;
    Ok(choice)
}

/// What starts a command that was typed as a whole.
pub fn typed(command: &[OsString], here: &Environment) -> Result<Choice, String> {
    let program = command.first().filter(|program| !program.is_empty()).ok_or("the command is empty")?;
    let found = find_program(program, here, "")?;
    let mut choice = Choice {
        command: command.to_vec(),
        build: None,
        runner: vec![program.clone()],
        program: found.path.clone(),
        rule: "this command was typed".into(),
        passed_over: Vec::new(),
        warnings: Vec::new(),
        search_path: off_path(&found, here),
    };
    let mut program = program.clone();
    choice.settle(&mut program);
    choice.command[0] = program;
    Ok(choice)
}

impl Choice {
    /// A program that is named by a path, or that only we found, is started by its whole path:
    /// the working folder and `PATH` of the process may be others.
    fn settle(&mut self, program: &mut OsString) {
        let is_named_by_path = program.as_bytes().contains(&b'/');
        let is_on_path = self.search_path.is_none();
        if is_named_by_path || !is_on_path {
            *program = self.program.clone().into();
            self.runner[0] = program.clone();
        }
    }
}

fn off_path(found: &Found, here: &Environment) -> Option<OsString> {
    let folder = found.path.parent().filter(|_| found.is_off_path)?;
    here.path_with(folder)
}

/// A program that is missing is better said now than by a failing start.
fn find_program(program: &OsStr, here: &Environment, hint: &str) -> Result<Found, String> {
    here.program(program).ok_or_else(|| {
        if program.as_bytes().contains(&b'/') {
            format!("{} is not a program that can be run", here.folder.join(program).display())
        } else {
            format!("{} was not found; {}{hint}", program.to_string_lossy(), here.looked())
        }
    })
}

/// What a rule chose.
struct Picked {
    /// Words in front of the file; for a build the compiler.
    runner: Vec<OsString>,
    takes_file: bool,
    build: Option<Build>,
    rule: String,
    /// A program that the first word needs on its `PATH`.
    needs: Option<&'static str>,
}

impl Picked {
    fn interpreter(runner: impl IntoIterator<Item = OsString>, rule: impl Into<String>) -> Picked {
        let runner = runner.into_iter().collect();
        Picked { runner, takes_file: true, build: None, rule: rule.into(), needs: None }
    }

    fn build(build: Build, rule: impl Into<String>) -> Picked {
        let runner = build.command.iter().take(1).cloned().collect();
        Picked { runner, takes_file: false, build: Some(build), rule: rule.into(), needs: None }
    }
}

/// The search for what runs a file.
struct Search<'a> {
    file: &'a Path,
    here: &'a Environment,
    /// Where environments and lock files are looked for.
    folders: Vec<PathBuf>,
    passed_over: Vec<String>,
    warnings: Vec<String>,
}

impl<'a> Search<'a> {
    fn new(file: &'a Path, here: &'a Environment) -> Search<'a> {
        let folders = search::searched(file, here.home.as_deref());
        Search { file, here, folders, passed_over: Vec::new(), warnings: Vec::new() }
    }

    fn pick(&mut self, language: Language) -> Result<Picked, String> {
        let interpreter = |name: &str, rule: &str| Ok(Picked::interpreter([name.into()], rule));
        match language {
            Language::Python => Ok(python::pick(self)),
            Language::JavaScript => Ok(javascript::pick_javascript(self)),
            Language::TypeScript => Ok(javascript::pick_typescript(self)),
            Language::Go => Ok(compiled::go(self)),
            Language::Rust => compiled::cargo(self),
            Language::Ruby => interpreter("ruby", "a Ruby file"),
            Language::Php => interpreter("php", "a PHP file"),
            Language::Lua => interpreter("lua", "a Lua file"),
            Language::Perl => interpreter("perl", "a Perl file"),
            Language::Julia => interpreter("julia", "a Julia file"),
            Language::R => interpreter("Rscript", "an R file"),
            Language::Shell => match shebang(self.file) {
                Ok(Some(words)) => Ok(Picked::interpreter(words, "the first line of the script")),
                _ => interpreter("sh", "a shell script without an interpreter in its first line"),
            },
        }
    }

    /// A rule that does not fit.
    fn pass(&mut self, rule: impl Into<String>) {
        self.passed_over.push(rule.into());
    }

    /// A rule that would fit, if something were not wrong.
    fn warn(&mut self, problem: String) {
        self.pass(problem.clone());
        self.warnings.push(problem);
    }

    /// A file asks for a tool that is not there.
    fn missing(&mut self, name: &str, reason: &Path) {
        let looked = self.here.looked();
        self.warn(format!("{} asks for {name}, which is not installed; {looked}", reason.display()));
    }

    /// The nearest file of this name.
    fn nearest(&self, name: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(name)).find(|path| path.exists())
    }

    /// Where was looked, for a person.
    fn between(&self) -> String {
        match self.folders.as_slice() {
            [first, .., last] => format!("from {} up to {}", first.display(), last.display()),
            [only] => format!("in {}", only.display()),
            [] => String::new(),
        }
    }
}

fn asked_for(runtime: &str) -> Result<Picked, String> {
    let words = split(runtime).ok_or("--runtime: a quote is not closed")?;
    if words.is_empty() {
        return Err("--runtime: the command is empty".into());
    }
    Ok(Picked::interpreter(words.into_iter().map(OsString::from), "--runtime was given"))
}

/// A file without a known extension: an executable runs as it is, a script by its first line.
fn itself(file: &Path) -> Result<Picked, String> {
    if is_executable(file) {
        let picked = Picked::interpreter([file.into()], "the file is executable");
        return Ok(Picked { takes_file: false, ..picked });
    }
    let shown = file.display();
    match shebang(file).map_err(|error| format!("{shown} can't be read: {error}"))? {
        Some(words) => Ok(Picked::interpreter(words, "the first line of the file")),
        None => Err(format!(
            "nothing is known that runs {shown}: it is not executable, it names no interpreter in its first line, \
             and its extension is none of .py, .js, .ts, .go, .rs, .rb, .php, .lua, .pl, .sh, .jl, .R; name a \
             command with --runtime"
        )),
    }
}

/// The interpreter in a file's first line and its one argument, as the kernel reads them.
fn shebang(file: &Path) -> std::io::Result<Option<Vec<OsString>>> {
    /// The kernel looks no further.
    const LINE_MAX: u64 = 256;
    let mut head = Vec::new();
    fs::File::open(file)?.take(LINE_MAX).read_to_end(&mut head)?;
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(words) = line.strip_prefix(b"#!").map(<[u8]>::trim_ascii).filter(|words| !words.is_empty())
    else {
        return Ok(None);
    };
    let end = words.iter().position(u8::is_ascii_whitespace).unwrap_or(words.len());
    let (interpreter, argument) = (&words[..end], words[end..].trim_ascii());
    let words = [interpreter, argument].into_iter().filter(|word| !word.is_empty());
    Ok(Some(words.map(|word| OsStr::from_bytes(word).into()).collect()))
}

#[cfg(test)]
mod tests;
