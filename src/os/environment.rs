//! The environment of a tool process: what is added to our own, and the file that says more.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::Launch;
use crate::limits::ENV_FILE_MAX;

/// What is added to our own environment for one start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Variables {
    /// Later ones replace earlier ones.
    pub(super) set: Vec<(OsString, OsString)>,
    /// A sentence for each line of the file that says nothing.
    pub(super) warnings: Vec<String>,
}

impl Launch {
    /// The names of the variables that a start would add to our environment, each once, and a
    /// sentence for each line of the file that says nothing.
    pub fn environment_names(&self) -> io::Result<(Vec<String>, Vec<String>)> {
        let variables = self.variables()?;
        let mut names: Vec<String> = Vec::new();
        for (name, _) in &variables.set {
            let name = name.to_string_lossy();
            if !names.iter().any(|known| *known == name) {
                names.push(name.into_owned());
            }
        }
        Ok((names, variables.warnings))
    }

    /// Reads what is to be read anew at each start.
    pub(super) fn variables(&self) -> io::Result<Variables> {
        let mut variables = Variables::default();
        // A block-buffered print would show up only at the end of the process, and UTF-8 must not
        // depend on the host's locale.
        for name in ["PYTHONUNBUFFERED", "PYTHONUTF8"] {
            if std::env::var_os(name).is_none() {
                variables.set.push((name.into(), "1".into()));
            }
        }
        variables.set.extend(self.search_path.iter().map(|path| ("PATH".into(), path.clone())));
        if let Some(path) = &self.environment_file {
            let file = read_file(path).map_err(|error| {
                io::Error::new(error.kind(), format!("--env-file {}: {error}", path.display()))
            })?;
            variables.set.extend(file.set.into_iter().map(|(name, value)| (name.into(), value.into())));
            let sentence = |fault: Fault| {
                let Fault { line, problem } = fault;
                format!("--env-file {}, line {line}: {problem}; the line is left out", path.display())
            };
            variables.warnings.extend(file.faults.into_iter().map(sentence));
        }
        variables.set.extend(self.environment.iter().cloned());
        Ok(variables)
    }
}

/// What a file of `NAME=VALUE` lines says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EnvironmentFile {
    /// Its variables, in their order.
    set: Vec<(String, String)>,
    /// Its lines that say nothing.
    faults: Vec<Fault>,
}

/// A line that says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Its number, from 1.
    line: usize,
    /// What is wrong with it. Not what it holds: that may be a secret.
    problem: &'static str,
}

/// Reads a file of `NAME=VALUE` lines.
pub(super) fn read_file(path: &Path) -> io::Result<EnvironmentFile> {
    let bytes = super::fresh_file::read(path, ENV_FILE_MAX)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))?;
    Ok(parse(&text))
}

/// Reads lines of `NAME=VALUE`, perhaps behind `export`. A value may stand in single quotes, where
/// every character stands for itself, or in double quotes, where a backslash escapes. A `#` opens
/// a comment at the begin of a line and behind a blank or a closing quote. Nothing is expanded.
fn parse(text: &str) -> EnvironmentFile {
    let mut file = EnvironmentFile::default();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match assignment(line) {
            Ok(assignment) => file.set.push(assignment),
            Err(problem) => file.faults.push(Fault { line: index + 1, problem }),
        }
    }
    file
}

fn assignment(line: &str) -> Result<(String, String), &'static str> {
    let line = match line.strip_prefix("export") {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest,
        _ => line,
    };
    let (name, value) = line.split_once('=').ok_or("there is no NAME=VALUE")?;
    let name = name.trim();
    let is_name = |name: &str| {
        let mut characters = name.chars();
        characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if !is_name(name) {
        return Err("what stands before = is not a name of letters, digits and _");
    }
    let value = value.trim();
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted(&value[1..], quote)?,
        _ => plain(value),
    };
    if value.contains('\0') {
        return Err("there is a NUL character in the value");
    }
    Ok((name.to_owned(), value))
}

/// A value up to its comment.
fn plain(value: &str) -> String {
    let comment = value
        .match_indices('#')
        .map(|(at, _)| at)
        .find(|at| *at == 0 || value[..*at].ends_with(char::is_whitespace));
    value[..comment.unwrap_or(value.len())].trim_end().to_owned()
}

/// A value whose opening quote is already taken.
fn quoted(rest: &str, quote: char) -> Result<String, &'static str> {
    let mut value = String::new();
    let mut characters = rest.chars();
    loop {
        match characters.next().ok_or("a quote is not closed")? {
            character if character == quote => break,
            '\\' if quote == '"' => match characters.next().ok_or("a quote is not closed")? {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                escaped @ ('"' | '\\' | '$' | '`') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
            character => value.push(character),
        }
    }
    let behind = characters.as_str().trim_start();
    if behind.is_empty() || behind.starts_with('#') {
        Ok(value)
    } else {
        Err("something stands behind the closing quote")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_way_to_write_a_line() {
        for (line, name, value) in [
            ("A=b", "A", "b"),
            ("  A = b c  ", "A", "b c"),
            ("A=", "A", ""),
            ("export A=b", "A", "b"),
            ("export\tA=b", "A", "b"),
            ("exported=b", "exported", "b"),
            ("A=b # c", "A", "b"),
            ("A=b#c", "A", "b#c"),
            ("A=#c", "A", ""),
            ("A=b=c", "A", "b=c"),
            ("A=$HOME", "A", "$HOME"),
            ("A='b # \\n' # c", "A", "b # \\n"),
            ("A=\"b \\\" \\n \\$ \\x\"# c", "A", "b \" \n $ \\x"),
            ("A=\"\"", "A", ""),
            ("_a1=it's", "_a1", "it's"),
            ("A=řemeslník\r", "A", "řemeslník"),
        ] {
            let file = parse(line);
            assert_eq!(file.set, [(name.to_owned(), value.to_owned())], "{line:?}");
            assert!(file.faults.is_empty(), "{line:?}");
        }
        for line in ["", "  ", "# A=b", "\u{feff}"] {
            assert_eq!(parse(line), EnvironmentFile::default(), "{line:?}");
        }
    }

    #[test]
    fn a_line_that_says_nothing_is_named_and_hurts_no_other() {
        for (line, problem) in [
            ("A", "there is no NAME=VALUE"),
            ("export", "there is no NAME=VALUE"),
            ("=b", "what stands before = is not a name of letters, digits and _"),
            ("1A=b", "what stands before = is not a name of letters, digits and _"),
            ("A B=c", "what stands before = is not a name of letters, digits and _"),
            ("A='b", "a quote is not closed"),
            ("A=\"b\\", "a quote is not closed"),
            ("A=\"b\" c", "something stands behind the closing quote"),
            ("A=b\0c", "there is a NUL character in the value"),
        ] {
            let file = parse(&format!("X=1\n\n{line}\nY=2"));
            assert_eq!(file.faults, [Fault { line: 3, problem }], "{line:?}");
            let names: Vec<&str> = file.set.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["X", "Y"], "{line:?}");
        }
    }

    #[test]
    fn the_nearest_to_the_person_wins() {
        let path = std::env::temp_dir().join(format!("pmcp-environment-{}", std::process::id()));
        fs::write(&path, "A=file\nB=file\nPATH=/file\nsecret").unwrap();
        let launch = Launch {
            search_path: Some("/found".into()),
            environment_file: Some(path.clone()),
            environment: vec![("B".into(), "typed".into())],
            ..Launch::default()
        };
        let variables = launch.variables().unwrap();
        let last = |name: &str| {
            let found = variables.set.iter().rev().find(|(set, _)| set == name);
            found.and_then(|(_, value)| value.to_str())
        };
        assert_eq!(
            [last("A"), last("B"), last("PATH"), last("PYTHONUTF8")],
            [Some("file"), Some("typed"), Some("/file"), Some("1")]
        );
        assert_eq!(variables.warnings.len(), 1);
        assert!(variables.warnings[0].contains("line 4") && !variables.warnings[0].contains("secret"));
        fs::remove_file(&path).unwrap();
        let error = launch.variables().unwrap_err().to_string();
        assert!(error.contains("--env-file") && error.contains(path.to_str().unwrap()), "{error}");
    }

    #[test]
    fn only_a_file_of_text_is_read() {
        assert!(read_file(Path::new("/")).is_err());
        assert!(read_file(Path::new("/dev/zero")).is_err());
        assert!(read_file(&std::env::current_exe().unwrap()).is_err());
    }
}
