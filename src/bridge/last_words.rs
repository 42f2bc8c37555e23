//! Which line of a stderr says what went wrong: the one sentence that fits where the whole stderr
//! does not.
//!
//! A traceback, a stack or a compiler's summary stands around that line in most languages, so it
//! is rarely the last one. The rules are few and look at how a line begins; where none of them
//! fits, the last line it is.

use crate::limits::LAST_WORDS_MAX;

/// The line that names the error, with the one behind it if it ends in a colon.
pub(super) fn last_words(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let at = traceback(&lines)
        .or_else(|| lines.iter().position(|line| is_panic(line)))
        .or_else(|| lines.iter().rposition(|line| is_exception(line)))
        .or_else(|| lines.iter().position(|line| is_compile_error(line)))
        .or_else(|| lines.iter().rposition(|line| !is_noise(line)))
        .or_else(|| lines.len().checked_sub(1))?;
    let mut words = lines[at].trim_start().to_owned();
    if let Some(next) = lines.get(at + 1).filter(|_| words.ends_with(':')) {
        words.push(' ');
        words.push_str(next.trim_start());
    }
    if words.len() > LAST_WORDS_MAX {
        let end = (0..=LAST_WORDS_MAX).rev().find(|&at| words.is_char_boundary(at)).unwrap_or(0);
        words.truncate(end);
        words.push_str(" …");
    }
    Some(words)
}

/// Python: what stands behind the last traceback, whatever the exception is called.
fn traceback(lines: &[&str]) -> Option<usize> {
    let head = lines.iter().rposition(|line| line.starts_with("Traceback (most recent call last)"))?;
    let frames = lines[head + 1..].iter().take_while(|line| is_indented(line)).count();
    let at = head + 1 + frames;
    (at < lines.len()).then_some(at)
}

/// Rust and Go. The first is the cause of those that follow it.
fn is_panic(line: &str) -> bool {
    line.starts_with("panic: ")
        || line.starts_with("fatal error: ")
        || line.starts_with("thread '") && line.contains(" panicked at ")
}

/// `SyntaxError: …`, `pkg.SomeException`, `Error [ERR_MODULE_NOT_FOUND]: …`: what Node, Python and
/// a `main` of Rust that returns an error end with.
fn is_exception(line: &str) -> bool {
    let head = line.split_once(": ").map_or(line.trim_end_matches(':'), |(head, _)| head);
    let name = head.split_once(" [").map_or(head, |(name, _)| name);
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte));
    is_name && (name.ends_with("Error") || name.ends_with("Exception"))
}

/// `error: …`, `error[E0425]: …`, `./main.go:5:2: …`. The first one, as the others often follow
/// from it; never the sum at the end.
fn is_compile_error(line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("error: ") {
        return !rest.starts_with("could not compile") && !rest.starts_with("aborting due to");
    }
    line.starts_with("error[") || is_at_a_place(line)
}

/// `FILE:LINE: …` or `FILE:LINE:COLUMN: …`, which is how warnings look too.
fn is_at_a_place(line: &str) -> bool {
    let Some((place, text)) = line.split_once(": ") else { return false };
    let file = place.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    // Times and addresses have colons and digits as well, but no extension.
    let is_file = !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_file
        && place[file.len()..].starts_with(':')
        && !place.contains(' ')
        && !text.to_ascii_lowercase().contains("warning")
}

fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

/// What stands behind an error and does not name it: stacks and their headings, advice, versions.
fn is_noise(line: &str) -> bool {
    is_indented(line)
        || line.ends_with(':')
        || ["note: ", "Node.js v", "(Use `node ", "error: could not compile"]
            .iter()
            .any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stderr: &str, expected: &str) {
        assert_eq!(last_words(stderr).as_deref(), Some(expected), "of:\n{stderr}");
    }

    #[test]
    fn python() {
        check(
            "starting\n  File \"/p/a.py\", line 2\n    this does not parse\n         ^^^^\n\
             SyntaxError: invalid syntax\n",
            "SyntaxError: invalid syntax",
        );
        check(
            "Traceback (most recent call last):\n  File \"/p/b.py\", line 1, in <module>\n    \
             raise ValueError(\"several\\nlines\")\nValueError: several\nlines",
            "ValueError: several",
        );
        check(
            "Traceback (most recent call last):\n  File \"/p/c.py\", line 2, in <module>\n    1/0\n    \
             ~^~\nZeroDivisionError: division by zero\n\nThe above exception was the direct cause of the \
             following exception:\n\nTraceback (most recent call last):\n  File \"/p/c.py\", line 4, in \
             <module>\n    raise lib.Gone from e\nlib.Gone\n",
            "lib.Gone",
        );
        // A traceback whose head is beyond what is kept; one that is cut off before its end.
        check(
            "    import nothing\nModuleNotFoundError: No module named 'nothing'",
            "ModuleNotFoundError: No module named 'nothing'",
        );
        check("Traceback (most recent call last):\n  File \"/p/a.py\", line 1", "File \"/p/a.py\", line 1");
        check("/p/a.py:1: DeprecationWarning: old\n  import old\nno settings file", "no settings file");
    }

    #[test]
    fn node() {
        check(
            "file:///p/a.mjs:2\nthis does not parse\n     ^^^^\n\nSyntaxError: Unexpected identifier 'does'\n    \
             at compileSourceTextModule (node:internal/modules/esm/utils:346:16)\n    at async \
             ModuleJob._link (node:internal/modules/esm/module_job:148:19)\n\nNode.js v20.20.2\n",
            "SyntaxError: Unexpected identifier 'does'",
        );
        check(
            "node:internal/modules/esm/resolve:283\n    throw new ERR_MODULE_NOT_FOUND(\n          ^\n\n\
             Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/p/x.mjs' imported from /p/c.mjs\n    at \
             finalizeResolution (node:internal/modules/esm/resolve:283:11) {\n  code: \
             'ERR_MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/p/x.mjs' imported from /p/c.mjs",
        );
        check(
            "Error: Transform failed with 1 error:\n/p/a.ts:1:5: ERROR: Expected \";\" but found \"does\"\n    \
             at failureErrorWithLog (/p/node_modules/esbuild/lib/main.js:1472:15)\n\nNode.js v20.20.2",
            "Error: Transform failed with 1 error: /p/a.ts:1:5: ERROR: Expected \";\" but found \"does\"",
        );
        check(
            "node:internal/process/esm_loader:97\nthrow \"gone\"\n^\ngone\n(Use `node --trace-uncaught ...` \
             to show where the exception was thrown)\n\nNode.js v20.20.2",
            "gone",
        );
    }

    #[test]
    fn cargo() {
        check(
            "   Compiling p v0.1.0 (/p)\nerror: expected one of `!` or `::`, found `does`\n --> \
             src/main.rs:2:7\n  |\n2 |  this does not\n  |       ^^^^ expected one of 8 possible \
             tokens\n\nerror: could not compile `p` (bin \"p\") due to 1 previous error\n",
            "error: expected one of `!` or `::`, found `does`",
        );
        check(
            "warning: unused variable: `x`\n --> src/main.rs:1:9\n\nerror[E0425]: cannot find function \
             `nope` in this scope\n --> src/main.rs:1:31\n  |\n1 | fn main() { nope(); }\n  |             \
             ^^^^ not found in this scope\n\nerror[E0308]: mismatched types\n\nFor more information about \
             this error, try `rustc --explain E0425`.\nerror: could not compile `p` (bin \"p\") due to 2 \
             previous errors",
            "error[E0425]: cannot find function `nope` in this scope",
        );
    }

    #[test]
    fn go() {
        check(
            "# example.com/p\n./main.go:5:2: undefined: x\n./main.go:6:2: undefined: y",
            "./main.go:5:2: undefined: x",
        );
        check(
            "# example.com/p\nsub/v.go:3:6: syntax error: unexpected name does\nmain.go:9: too many errors",
            "sub/v.go:3:6: syntax error: unexpected name does",
        );
        check(
            "panic: broken\n\ngoroutine 1 [running]:\nmain.init.0()\n\t/p/version.go:4 +0x25\nexit status 2",
            "panic: broken",
        );
    }

    #[test]
    fn rust_panics() {
        let panic = "\nthread 'main' (8540) panicked at src/main.rs:2:2:\nwent wrong\n";
        let words = "thread 'main' (8540) panicked at src/main.rs:2:2: went wrong";
        check(
            &format!(
                "{panic}note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
            ),
            words,
        );
        check(
            &format!(
                "{panic}stack backtrace:\n   0: __rustc::rust_begin_unwind\n             at \
                 /rustc/5980/library/std/src/panicking.rs:689:5\nnote: Some details are omitted, run with \
                 `RUST_BACKTRACE=full` for a verbose backtrace.\n"
            ),
            words,
        );
        check(
            "Error: Os { code: 2, message: \"No such file\" }",
            "Error: Os { code: 2, message: \"No such file\" }",
        );
    }

    #[test]
    fn others() {
        check("sh: 1: nosuch: not found\n", "sh: 1: nosuch: not found");
        check(
            "/p/a.sh: line 2: syntax error: unexpected end of file",
            "/p/a.sh: line 2: syntax error: unexpected end of file",
        );
        check(
            "a.rb:2: syntax error, unexpected end-of-input",
            "a.rb:2: syntax error, unexpected end-of-input",
        );
        check(
            "lua: a.lua:1: syntax error near 'does'\nstack traceback:\n\t[C]: in ?",
            "lua: a.lua:1: syntax error near 'does'",
        );
        check(
            "2026-11-21T10:00:00: starting\n127.0.0.1:80: in use\n\n \nport 80 is taken\r\n",
            "port 80 is taken",
        );
        check("  all is\n  indented\n", "indented");
        for nothing in ["", "\n \n"] {
            assert_eq!(last_words(nothing), None);
        }
    }

    #[test]
    fn long_lines_are_cut_on_a_character() {
        let words = last_words(&"…".repeat(LAST_WORDS_MAX)).unwrap_or_default();
        assert_eq!(words, format!("{} …", "…".repeat(LAST_WORDS_MAX / 3)));
        let odd = last_words(&format!("x{}", "…".repeat(LAST_WORDS_MAX))).unwrap_or_default();
        assert_eq!(odd, format!("x{} …", "…".repeat((LAST_WORDS_MAX - 1) / 3)));
    }
}
