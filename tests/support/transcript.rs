//! What was said at the pipes of the program, kept for the schemas: with `PMCP_TRANSCRIPTS=FOLDER`
//! each conversation becomes a file, which `tests/schemas/check.mjs` judges when the tests are done.
//!
//! A line of such a file is a direction, `>` from the host or `<` to it, a space, and the line that
//! was said; `>#` and `<#` stand for one that was too long to be kept.

use std::fs::{File, create_dir_all};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// A longer line is only counted.
const LINE_MAX: usize = 1024 * 1024;

/// Of longer strings only the beginning is kept: schemas do not look at the rest.
const STRING_MAX: usize = 4096;

/// One conversation.
pub(crate) struct Transcript {
    pages: Option<Mutex<Pages>>,
}

struct Pages {
    file: File,
    /// What the host said of a line that is not at its end.
    begun: Vec<u8>,
}

impl Transcript {
    /// A new file, named after the test, if anybody wants it.
    pub(crate) fn new() -> Transcript {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let pages = std::env::var_os("PMCP_TRANSCRIPTS").map(|folder| {
            let thread = std::thread::current();
            let test = thread.name().unwrap_or("a thread").replace("::", ".");
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{test}-{}-{number}", std::process::id());
            create_dir_all(&folder).expect("the folder for transcripts can be made");
            let file = File::create(Path::new(&folder).join(name)).expect("a transcript can be written");
            Mutex::new(Pages { file, begun: Vec::new() })
        });
        Transcript { pages }
    }

    /// The host said these bytes; lines may be whole or not.
    pub(crate) fn host(&self, bytes: &[u8]) {
        let Some(pages) = &self.pages else { return };
        let mut pages = pages.lock().unwrap_or_else(|poison| poison.into_inner());
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let mut line = std::mem::take(&mut pages.begun);
            line.extend_from_slice(&rest[..end]);
            pages.write(b'>', &line);
            rest = &rest[end + 1..];
        }
        pages.begun.extend_from_slice(rest);
    }

    /// The program said this line.
    pub(crate) fn program(&self, line: &[u8]) {
        let Some(pages) = &self.pages else { return };
        pages.lock().unwrap_or_else(|poison| poison.into_inner()).write(b'<', line);
    }
}

impl Pages {
    fn write(&mut self, direction: u8, line: &[u8]) {
        let mut entry = vec![direction];
        if line.len() > LINE_MAX {
            entry.push(b'#');
        } else {
            entry.push(b' ');
            shorten(line, &mut entry);
        }
        entry.push(b'\n');
        self.file.write_all(&entry).expect("a transcript can be written");
    }
}

/// Appends the line with its long strings cut short.
fn shorten(line: &[u8], out: &mut Vec<u8>) {
    let (mut is_string, mut is_cut, mut length) = (false, false, 0);
    // Bytes that still belong to an escape.
    let mut escape = 0;
    for &byte in line {
        let is_quote = byte == b'"' && escape == 0;
        // Never between the bytes of an escape or of a character.
        is_cut |= is_string && length >= STRING_MAX && escape == 0 && byte.is_ascii();
        if !is_cut || is_quote {
            out.push(byte);
        }
        length += 1;
        if is_quote {
            (is_string, is_cut, length) = (!is_string, false, 0);
        } else if is_string {
            escape = match (escape, byte) {
                (0, b'\\') => 1,
                (1, b'u') => 4,
                (left, _) => left.max(1) - 1,
            };
        }
    }
}

#[test]
fn long_strings_are_cut_and_nothing_else() {
    let short = |line: &str| {
        let mut out = Vec::new();
        shorten(line.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    };
    for line in [r#"{"a":"b\"c\\","d":[1,"é"]}"#, "nonsense \" \\", ""] {
        assert_eq!(short(line), line);
    }
    let a = "a".repeat(STRING_MAX);
    for tail in ["é\\\"b", "\\\\", "b\\n"] {
        let whole: String = format!("{a}{tail}{a}");
        let line = serde_json::json!({"x": whole, "y": 1}).to_string();
        let cut: serde_json::Value = serde_json::from_str(&short(&line)).expect("still JSON");
        let kept = cut["x"].as_str().unwrap();
        assert!(kept.len() < STRING_MAX + 8 && whole.starts_with(kept) && cut["y"] == 1, "{}", kept.len());
    }
}
