//! How a file becomes a command line: its language's runtime, looked for where people keep it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What of the process's surroundings decides; a value, so that a test can make its own.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The working folder.
    pub folder: PathBuf,
    /// Where programs are looked for (`PATH`).
    pub path: Vec<PathBuf>,
    /// `PROTOMCP_PYTHON`
    pub python: Option<OsString>,
    /// `PROTOMCP_NODE`
    pub node: Option<OsString>,
    /// Asks a Node.js for its major and minor version.
    pub node_version: fn(&Path) -> Option<(u32, u32)>,
}

impl Environment {
    /// The surroundings of this process.
    pub fn of_process() -> Result<Environment, String> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder =
            std::env::current_dir().map_err(|error| format!("the working folder can't be used: {error}"))?;
        let path = set("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        Ok(Environment {
            folder,
            path: std::env::split_paths(&path).collect(),
            python: set("PROTOMCP_PYTHON"),
            node: set("PROTOMCP_NODE"),
            node_version: ask_node,
        })
    }

    /// The program of this name, or at this path, if it can be run.
    fn program(&self, name: &OsStr) -> Option<PathBuf> {
        if name.as_bytes().contains(&b'/') {
            return Some(self.folder.join(name)).filter(|path| is_executable(path));
        }
        self.path.iter().map(|folder| folder.join(name)).find(|path| is_executable(path))
    }
}

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
            _ => None,
        }
    }

    /// Extensions of the files that a program in this language is made of: its sources and the
    /// manifests that say what else it needs.
    pub const fn sources(self) -> &'static [&'static str] {
        match self {
            Language::Python => &["py", "toml"],
            Language::JavaScript => &["js", "mjs", "cjs", "json"],
            Language::TypeScript => &["ts", "mts", "cts", "js", "mjs", "cjs", "json"],
            Language::Go => &["go", "mod", "sum"],
            Language::Rust => &["rs", "toml"],
        }
    }
}

/// The command line that starts `file` (an absolute path of a file that is there) with `args`.
/// `runtime` is the command that was asked for instead of the one that its language stands for.
pub fn command(
    file: &Path,
    args: &[OsString],
    runtime: Option<&str>,
    here: &Environment,
) -> Result<Vec<OsString>, String> {
    let mut command = match (runtime, Language::of(file)) {
        (Some(runtime), _) => asked_for(runtime, file)?,
        (None, Some(Language::Python)) => python(file, here),
        (None, Some(Language::JavaScript)) => vec![node(here), file.into()],
        (None, Some(Language::TypeScript)) => typescript(file, here),
        (None, Some(Language::Go)) => vec!["go".into(), "run".into(), file.into()],
        (None, Some(Language::Rust)) => cargo(file, !args.is_empty())?,
        (None, None) => itself(file)?,
    };
    check_program(&mut command[0], here)?;
    command.extend_from_slice(args);
    Ok(command)
}

/// The nearest folder, from the file's own upwards, that holds `name`; and what it holds.
pub fn nearest(file: &Path, name: &str) -> Option<PathBuf> {
    file.ancestors().skip(1).map(|folder| folder.join(name)).find(|path| path.exists())
}

fn asked_for(runtime: &str, file: &Path) -> Result<Vec<OsString>, String> {
    let mut command: Vec<OsString> =
        split(runtime).ok_or("--runtime: a quote is not closed")?.into_iter().map(OsString::from).collect();
    if command.is_empty() {
        return Err("--runtime: the command is empty".into());
    }
    command.push(file.into());
    Ok(command)
}

/// `PROTOMCP_PYTHON`, the nearest virtual environment, uv for a project, `python3`.
fn python(file: &Path, here: &Environment) -> Vec<OsString> {
    let environment = || {
        file.ancestors()
            .skip(1)
            .flat_map(|folder| [".venv", "venv"].map(|name| folder.join(name).join("bin/python")))
            .find(|path| is_executable(path))
    };
    if let Some(python) = &here.python {
        return vec![python.clone(), file.into()];
    }
    if let Some(python) = environment() {
        return vec![python.into(), file.into()];
    }
    let project = nearest(file, "pyproject.toml").filter(|_| here.program("uv".as_ref()).is_some());
    if let Some(folder) = project.as_deref().and_then(Path::parent) {
        // Named, because uv would look for the project above the working folder.
        let words: [OsString; 5] =
            ["uv".into(), "run".into(), "--project".into(), folder.into(), "python".into()];
        return words.into_iter().chain([file.into()]).collect();
    }
    vec!["python3".into(), file.into()]
}

fn node(here: &Environment) -> OsString {
    here.node.clone().unwrap_or_else(|| "node".into())
}

/// `PROTOMCP_NODE`, the nearest tsx, a Node.js that knows types by itself, tsx through npx.
fn typescript(file: &Path, here: &Environment) -> Vec<OsString> {
    /// The first version that strips types without a flag.
    const STRIPS_TYPES: (u32, u32) = (22, 18);
    if let Some(node) = &here.node {
        return vec![node.clone(), file.into()];
    }
    if let Some(tsx) = nearest(file, "node_modules/.bin/tsx").filter(|path| is_executable(path)) {
        return vec![tsx.into(), file.into()];
    }
    if here.program("tsx".as_ref()).is_some() {
        return vec!["tsx".into(), file.into()];
    }
    let node = here.program("node".as_ref());
    if node.and_then(|node| (here.node_version)(&node)).is_some_and(|version| version >= STRIPS_TYPES) {
        return vec!["node".into(), file.into()];
    }
    vec!["npx".into(), "tsx".into(), file.into()]
}

/// `cargo run` for the target that the file is the root of.
fn cargo(file: &Path, has_args: bool) -> Result<Vec<OsString>, String> {
    let shown = file.display();
    let manifest = nearest(file, "Cargo.toml").ok_or_else(|| {
        format!("{shown} is in no cargo package; make one, or name a command with --runtime")
    })?;
    let folder = manifest.parent().unwrap_or(Path::new("/"));
    let inside = file.strip_prefix(folder).unwrap_or(file);
    let mut target: Vec<OsString> = Vec::new();
    let named = |kind: &str, rest: &Path| -> Option<Vec<OsString>> {
        let is_folder = rest.file_name() == Some("main.rs".as_ref()) && rest.components().count() == 2;
        let name = match rest.components().count() {
            1 => rest.file_stem()?,
            _ if is_folder => rest.parent()?.as_os_str(),
            _ => return None,
        };
        Some(vec![kind.into(), name.into()])
    };
    if inside != Path::new("src/main.rs") {
        let found = match (inside.strip_prefix("src/bin"), inside.strip_prefix("examples")) {
            (Ok(rest), _) => named("--bin", rest),
            (_, Ok(rest)) => named("--example", rest),
            _ => None,
        };
        target = found.ok_or_else(|| {
            format!(
                "{shown} is neither src/main.rs nor in src/bin or examples of the package in {}; name a command \
                 with --runtime",
                folder.display()
            )
        })?;
    }
    let mut command: Vec<OsString> =
        ["cargo", "run", "--quiet", "--manifest-path"].map(OsString::from).into();
    command.push(manifest.into());
    command.append(&mut target);
    if has_args {
        command.push("--".into());
    }
    Ok(command)
}

/// A file without a known extension: an executable runs as it is, a script by its first line.
fn itself(file: &Path) -> Result<Vec<OsString>, String> {
    if is_executable(file) {
        return Ok(vec![file.into()]);
    }
    let shown = file.display();
    match shebang(file).map_err(|error| format!("{shown} can't be read: {error}"))? {
        Some(mut command) => {
            command.push(file.into());
            Ok(command)
        }
        None => Err(format!(
            "nothing is known that runs {shown}: it is not executable and its extension is none of .py, .js, .ts, \
             .go, .rs; name a command with --runtime"
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

/// A program that is missing is better said now than by a failing start; one that is named by a
/// path is made absolute.
fn check_program(program: &mut OsString, here: &Environment) -> Result<(), String> {
    let has_folder = program.as_bytes().contains(&b'/');
    match here.program(program) {
        Some(found) => {
            if has_folder {
                *program = found.into();
            }
            Ok(())
        }
        None if has_folder => {
            Err(format!("{} is not a program that can be run", here.folder.join(&*program).display()))
        }
        None => {
            let looked: Vec<_> = here.path.iter().map(|folder| folder.to_string_lossy()).collect();
            Err(format!(
                "{} was not found; looked in {} (PATH); name a command with --runtime",
                program.to_string_lossy(),
                looked.join(", ")
            ))
        }
    }
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn ask_node(node: &Path) -> Option<(u32, u32)> {
    let output = std::process::Command::new(node).arg("--version").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Cuts a command at its spaces as a shell does, with both kinds of quotes and the backslash, and
/// nothing else. `None` if a quote is not closed.
pub fn split(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    // A word that is there may still be empty: ''.
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('"'), '\\') => match characters.next()? {
                escaped @ ('"' | '\\') => word.get_or_insert_default().push(escaped),
                other => word.get_or_insert_default().extend(['\\', other]),
            },
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().push(characters.next()?),
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// A command line as a person would type it.
pub fn shown(command: &[OsString]) -> String {
    let word = |word: &OsString| {
        let text = word.to_string_lossy();
        let plain = |c: char| c.is_alphanumeric() || "-_./=+:,@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text.into_owned()
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;
