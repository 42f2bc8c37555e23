//! How a file in Go or Rust becomes a program.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::search::nearest;
use super::words::shown;
use super::{Picked, Search};
use crate::os::{Artefact, Build};

/// `go build` of the file's package; of the file alone where it is in no module, or where its
/// folder holds more than one program.
pub(super) fn go(search: &mut Search<'_>) -> Picked {
    let file = search.file;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let name = file.file_name().unwrap_or_default();
    let (words, rule) = if nearest(file, "go.mod").is_none() {
        (vec![name.into()], "a Go file in no module is built alone")
    } else if is_program(file) && has_other_program(folder, file) {
        (vec![name.into()], "a Go file beside other programs is built alone")
    } else {
        (Vec::new(), "a Go file is built with its package")
    };
    let mut words: Vec<OsString> = words;
    let command: Vec<OsString> = vec!["go".into(), "build".into()];
    let shown = shown(&[command.clone(), words.clone()].concat());
    // go takes a name that begins with a dash for a flag.
    words.iter_mut().for_each(|word| *word = Path::new(".").join(&*word).into());
    let artefact = Artefact::Written { words };
    Picked::build(Build { command, folder: folder.into(), artefact, shown }, rule)
}

/// Whether a Go file holds the function that a program begins with.
fn is_program(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.lines().any(|line| line.starts_with("func main()")))
}

/// Whether another file of the folder is a program of its own.
fn has_other_program(folder: &Path, file: &Path) -> bool {
    let others = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    others
        .filter(|path| path.extension().is_some_and(|extension| extension == "go") && path != file)
        .filter(|path| !path.to_string_lossy().ends_with("_test.go"))
        .any(|path| is_program(&path))
}

/// `cargo build` for the target that the file is the root of.
pub(super) fn cargo(search: &mut Search<'_>) -> Result<Picked, String> {
    let file = search.file;
    let manifest = nearest(file, "Cargo.toml").ok_or_else(|| {
        format!("{} is in no cargo package; make one, or name a command with --runtime", file.display())
    })?;
    let folder = manifest.parent().unwrap_or(Path::new("/"));
    let inside = file.strip_prefix(folder).unwrap_or(file);
    let text = fs::read_to_string(&manifest)
        .map_err(|error| format!("{} can't be read: {error}", manifest.display()))?;
    let (kind, name) = target(&text, inside).ok_or_else(|| {
        format!(
            "{} is no target of the package in {}: it is neither src/main.rs, nor in src/bin or examples, nor \
             named in Cargo.toml; name a command with --runtime",
            file.display(),
            folder.display()
        )
    })?;
    // What is wrong with the sources is then told as ever, and where the program is in JSON.
    let mut command: Vec<OsString> =
        ["cargo", "build", "--quiet", "--message-format=json-render-diagnostics"].map(OsString::from).into();
    let target = [kind.into(), name.clone().into()];
    let brief: Vec<OsString> = [vec!["cargo".into(), "build".into()], target.to_vec()].concat();
    command.extend(target);
    let build = Build {
        command,
        folder: folder.into(),
        artefact: Artefact::Told { source: file.into() },
        shown: shown(&brief),
    };
    Ok(Picked::build(build, format!("a Rust file is built as a target of {}", manifest.display())))
}

/// The flag and the name of the target whose root is this file of the package.
fn target(manifest: &str, inside: &Path) -> Option<(&'static str, String)> {
    let tables = tables(manifest);
    for (header, flag) in [("[[bin]]", "--bin"), ("[[example]]", "--example")] {
        let declared = tables.iter().filter(|table| table.header == header);
        let mut named = declared.filter(|table| table.path.is_some_and(|path| Path::new(path) == inside));
        if let Some(name) = named.find_map(|table| table.name) {
            return Some((flag, name.into()));
        }
    }
    if inside == Path::new("src/main.rs") {
        let package = tables.iter().find(|table| table.header == "[package]")?;
        return Some(("--bin", package.name?.into()));
    }
    let (flag, rest) = match (inside.strip_prefix("src/bin"), inside.strip_prefix("examples")) {
        (Ok(rest), _) => ("--bin", rest),
        (_, Ok(rest)) => ("--example", rest),
        _ => return None,
    };
    let name = match rest.components().count() {
        1 => rest.file_stem()?.to_str()?,
        2 if rest.ends_with("main.rs") => rest.parent()?.to_str()?,
        _ => return None,
    };
    Some((flag, name.into()))
}

/// What is looked for in a part of a manifest.
struct Table<'a> {
    header: &'a str,
    name: Option<&'a str>,
    path: Option<&'a str>,
}

/// The parts of a manifest, as people and `cargo new` write them.
fn tables(manifest: &str) -> Vec<Table<'_>> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            let header = line.split('#').next().unwrap_or_default().trim();
            tables.push(Table { header, name: None, path: None });
        } else if let (Some(table), Some((key, value))) = (tables.last_mut(), line.split_once('=')) {
            let value = value.trim();
            let quote = |c: char| c == '"' || c == '\'';
            let value = value.strip_prefix(quote).and_then(|value| value.split(quote).next());
            match key.trim() {
                "name" => table.name = value,
                "path" => table.path = value,
                _ => {}
            }
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_by_their_place_and_by_their_declaration() {
        let manifest = "[package]\nname = \"p\" # x\n\n[lib]\nname = \"q\"\npath = \"src/q.rs\"\n\
            [[bin]] # x\nname='tool'\npath = \"tools/tool.rs\"\n[[example]]\npath = \"tests/e.rs\"\nname = \"all\"\n\
            [[test]]\nname = \"t\"\npath = \"tests/t.rs\"\n[dependencies]\nx = { path = \"../x\" }\n";
        for (inside, expected) in [
            ("src/main.rs", Some("--bin p")),
            ("src/bin/b.rs", Some("--bin b")),
            ("src/bin/c/main.rs", Some("--bin c")),
            ("examples/e.rs", Some("--example e")),
            ("examples/f/main.rs", Some("--example f")),
            ("tools/tool.rs", Some("--bin tool")),
            ("tests/e.rs", Some("--example all")),
            ("tests/t.rs", None),
            ("src/lib.rs", None),
            ("src/q.rs", None),
            ("src/bin/c/part.rs", None),
            ("../x", None),
        ] {
            let found = target(manifest, Path::new(inside)).map(|(flag, name)| format!("{flag} {name}"));
            assert_eq!(found.as_deref(), expected, "{inside}");
        }
        assert_eq!(target("", Path::new("src/main.rs")), None);
        let renamed = "[package]\nname = \"p\"\n[[bin]]\nname = \"x\"\npath = \"src/main.rs\"\n";
        assert_eq!(target(renamed, Path::new("src/main.rs")), Some(("--bin", "x".into())));
    }
}
