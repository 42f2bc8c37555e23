//! The map in `src/lib.rs` is true: who may import whom, who may touch the world, and the few
//! habits that a compiler does not check.

use std::fmt::Write;
use std::fs;
use std::path::Path;

const LEVEL_0: [&str; 5] = ["buffer", "ids", "limits", "log", "metrics"];

/// Each room below the command line and the rooms above level 0 that it may import.
const IMPORTS: [(&str, &[&str]); 9] = [
    ("os", &["bridge", "front", "mcp", "wire", "jsonrpc", "watch"]),
    ("bridge", &["mcp", "wire", "jsonrpc"]),
    ("front", &["mcp", "jsonrpc"]),
    ("mcp", &["wire", "jsonrpc", "json_schema"]),
    ("wire", &[]),
    ("jsonrpc", &[]),
    ("json_schema", &[]),
    ("watch", &[]),
    ("sdk", &["wire"]),
];

/// What no line says where bytes and time go in and bytes and decisions come out.
const WORLD: [&str; 13] = [
    "std::net",
    "std::fs",
    "std::process",
    "std::thread",
    "std::env",
    "std::os",
    "mio::",
    "libc::",
    "inotify::",
    "crossbeam_channel",
    "Instant::now",
    "SystemTime",
    "RandomState",
];

/// A file that is longer holds more than one noun.
const LINES_MAX: usize = 600;

/// Written by `make proto`.
const GENERATED: &str = "src/wire/protomcp.rs";

/// The one file that may say `unsafe`.
const UNSAFE: &str = "src/os/sys.rs";

/// Everything that is wrong with one file of the tree.
fn faults(path: &str, text: &str) -> Vec<String> {
    if path == GENERATED {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let code = code(text);
    let lines = text.lines().count();
    if lines > LINES_MAX {
        faults.push(format!("has {lines} lines; {LINES_MAX} is the most"));
    }
    if !text.starts_with("//! ") && !text.starts_with("#!") {
        faults.push("does not open with a //! line that says what it is about".into());
    }
    if path != UNSAFE && words(&code).any(|word| word == "unsafe") {
        faults.push(format!("says unsafe; only {UNSAFE} may"));
    }
    for left in [concat!("TO", "DO"), concat!("FIX", "ME")] {
        if text.contains(left) {
            faults.push(format!("holds a leftover {left}"));
        }
    }
    for left in ["todo!", "unimplemented!", "dbg!"] {
        if code.contains(left) {
            faults.push(format!("holds a leftover {left}"));
        }
    }
    if let Some(inside) = path.strip_prefix("src/").filter(|inside| !is_test(inside)) {
        let room = inside.split(['/', '.']).next().unwrap_or_default();
        let code = without_tests(&code);
        faults.extend(import_faults(room, code));
        if is_pure(inside, room) {
            let named = roots(code, "std::").map(|name| format!("std::{name}"));
            let said: Vec<&str> = WORLD.into_iter().filter(|word| says(code, word)).collect();
            let grouped =
                named.filter(|name| WORLD.contains(&name.as_str()) && !said.contains(&name.as_str()));
            let all = said.iter().map(|word| word.to_string()).chain(grouped);
            faults.extend(all.map(|word| format!("says {word}, but this room does not touch the world")));
        }
    }
    faults
}

/// A module that is compiled for tests only, by its name.
fn is_test(inside: &str) -> bool {
    inside.contains("/tests/") || inside.ends_with("/tests.rs") || inside.ends_with("_tests.rs")
}

fn is_pure(inside: &str, room: &str) -> bool {
    match room {
        "bridge" | "front" | "mcp" | "wire" | "jsonrpc" | "json_schema" | "watch" => true,
        "sdk" => inside.starts_with("sdk/peer/"),
        _ => LEVEL_0.contains(&room),
    }
}

fn import_faults(room: &str, code: &str) -> Vec<String> {
    let allowed: &[&str] = match IMPORTS.iter().find(|(name, _)| *name == room) {
        Some((_, rooms)) => rooms,
        None if LEVEL_0.contains(&room) => &[],
        // main, lib and cli see everything.
        None => return Vec::new(),
    };
    let mut faults: Vec<String> = roots(code, "crate::")
        .filter(|name| *name != room && !LEVEL_0.contains(name) && !allowed.contains(name))
        // A macro, function or type at the root of the crate is no room.
        .filter(|name| *name == "cli" || IMPORTS.iter().any(|(room, _)| room == name))
        .map(|name| format!("imports {name}, but {room} may not"))
        .collect();
    faults.dedup();
    if code.contains("super::super::super") {
        faults.push("climbs out of its room with super; say crate::".into());
    }
    faults
}

/// The first names behind each `prefix`: of `crate::a::B` it is `a`, of `crate::{a::B, c}` `a`, `c`.
fn roots<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(prefix).flat_map(move |(start, _)| {
        let rest = &code[start + prefix.len()..];
        let mut names = Vec::new();
        if !rest.starts_with('{') {
            names.extend(words(rest).next());
            return names;
        }
        let mut depth = 0;
        let mut expects_name = false;
        for (at, character) in rest.char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            if depth == 1 && matches!(character, '{' | ',') {
                expects_name = true;
            } else if expects_name && character.is_alphanumeric() {
                names.extend(words(&rest[at..]).next());
                expects_name = false;
            }
        }
        names
    })
}

/// Is `word` said, and not as the end of a longer name?
fn says(code: &str, word: &str) -> bool {
    code.match_indices(word)
        .any(|(start, _)| !code[..start].ends_with(|before: char| before.is_alphanumeric() || before == '_'))
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Tests stand last in a file.
fn without_tests(code: &str) -> &str {
    code.split_once("#[cfg(test)]\nmod ").map_or(code, |(before, _)| before)
}

/// A file's code: comments and what literals hold are left out, newlines stay.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let skipped = match character {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted(rest, '"'),
            'r' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => raw(rest),
            '\'' => character_literal(rest),
            _ => 0,
        };
        if skipped == 0 {
            code.push(character);
            rest = &rest[character.len_utf8()..];
        } else {
            code.extend(rest[..skipped].chars().filter(|c| *c == '\n'));
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

/// The length of a literal that opens with `quote`.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if character == quote && !escaped {
            return at + 1;
        }
        escaped = character == '\\' && !escaped;
    }
    text.len()
}

/// The length of a raw string, or 0 if it is none.
fn raw(text: &str) -> usize {
    let hashes = text[1..].len() - text[1..].trim_start_matches('#').len();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    text[2 + hashes..].find(&end).map_or(text.len(), |at| 2 + hashes + at + end.len())
}

/// The length of a character literal, or 0 if it is a lifetime.
fn character_literal(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), _) => quoted(text, '\''),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// Every Rust file below a folder, by its path from the package's root.
fn rust_files(root: &Path, folder: &str, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}/{name}");
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !name.starts_with('.') && name != "target" && name != "node_modules" {
            rust_files(root, &path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_tree_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "tests", "examples", "demo", "bench", "proto"] {
        rust_files(root, folder, &mut files);
    }
    assert!(files.len() > 20, "the walk found {files:?}");
    let mut report = String::new();
    for path in files {
        let text = fs::read_to_string(root.join(&path)).expect("a file that was just listed");
        for fault in faults(&path, &text) {
            let _ = writeln!(report, "{path} {fault}");
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn each_rule_can_be_broken() {
    let long = format!("//! x\n{}", "\n".repeat(LINES_MAX));
    let leftover = format!("//! x\n// {}: later\n", concat!("FIX", "ME"));
    for (path, text, expected) in [
        ("src/bridge/a.rs", "//! x\nuse crate::os::Settings;\n", "imports os, but bridge may not"),
        ("src/bridge/a.rs", "//! x\nuse crate::{log::Level, front};\n", "imports front, but bridge may not"),
        ("src/bridge/a.rs", "//! x\nfn f() { crate::sdk::g() }\n", "imports sdk, but bridge may not"),
        ("src/wire/a.rs", "//! x\nuse crate::jsonrpc;\n", "imports jsonrpc, but wire may not"),
        ("src/log.rs", "//! x\nuse crate::wire;\n", "imports wire, but log may not"),
        ("src/os/a.rs", "//! x\nuse crate::cli;\n", "imports cli, but os may not"),
        ("src/mcp/a.rs", "//! x\nuse std::fs;\n", "says std::fs, but this room does not touch the world"),
        (
            "src/mcp/a.rs",
            "//! x\nuse std::{fmt, thread};\n",
            "says std::thread, but this room does not touch the world",
        ),
        (
            "src/sdk/peer/a.rs",
            "//! x\nlet now = Instant::now();\n",
            "says Instant::now, but this room does not touch the world",
        ),
        ("src/cli/a.rs", "//! x\nunsafe { f() }\n", "says unsafe; only src/os/sys.rs may"),
        ("src/cli/a.rs", "fn f() {}\n", "does not open with a //! line that says what it is about"),
        ("src/cli/a.rs", "//! x\nfn f() { todo!() }\n", "holds a leftover todo!"),
        ("src/cli/a.rs", &leftover, concat!("holds a leftover FIX", "ME")),
        ("tests/a.rs", &long, "has 601 lines; 600 is the most"),
    ] {
        assert_eq!(faults(path, text), [expected], "{path}\n{text}");
    }
}

#[test]
fn what_is_no_code_breaks_no_rule() {
    for (path, text) in [
        ("src/wire/a.rs", "//! [`crate::os`]\n/* use crate::os; */ // unsafe\nfn f<'a>() {}\n"),
        (
            "src/wire/a.rs",
            "//! x\nconst A: &str = \"unsafe \\\" std::fs\";\nconst B: char = '\"';\n// unsafe\n",
        ),
        ("src/wire/a.rs", "//! x\nconst A: &str = r#\"unsafe \" crate::os\"#;\nuse crate::limits;\n"),
        ("src/bridge/a.rs", "//! x\nuse crate::mcp;\n#[cfg(test)]\nmod tests { use crate::sdk; }\n"),
        ("src/bridge/tests/a.rs", "//! x\nuse crate::sdk::peer;\nuse std::fs;\n"),
        ("src/cli/a.rs", "//! x\nuse crate::{os, bridge};\nuse std::fs;\n"),
        ("src/bridge/a.rs", "//! x\nuse std::time::{Duration, Instant};\nlet unsafety = mcp_radio::x;\n"),
        ("src/os/sys.rs", "//! x\nunsafe { f() }\n"),
    ] {
        assert_eq!(faults(path, text), [] as [&str; 0], "{path}\n{text}");
    }
}
