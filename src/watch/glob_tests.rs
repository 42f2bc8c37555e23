//! Patterns against paths, by table.

use std::time::{Duration, Instant};

use super::*;

fn pattern_matches(pattern: &[u8], path: &[u8]) -> bool {
    let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    Pattern::parse(pattern).unwrap().matches(&names)
}

#[test]
fn patterns_match_what_they_say() {
    for (pattern, yes, no) in [
        ("a.py", vec!["a.py"], vec!["b.py", "a.pyc", "x/a.py", "a.py/x", "A.py"]),
        ("*.py", vec!["a.py", ".py", "a.b.py"], vec!["a.pyc", "x/a.py", "py"]),
        ("*", vec!["a", "ab", "é"], vec!["a/b"]),
        ("a*b*c", vec!["abc", "aXbYc", "abbbc", "abcbc"], vec!["ab", "acb", "abcd", "a/b/c"]),
        ("?.py", vec!["a.py", "é.py", "漢.py"], vec![".py", "ab.py"]),
        ("??", vec!["ab", "éa"], vec!["é", "abc"]),
        ("[abc].py", vec!["a.py", "c.py"], vec!["d.py", "ab.py", "[.py"]),
        ("[a-c0-9]x", vec!["bx", "7x"], vec!["dx", "-x"]),
        ("[!a-c]x", vec!["dx", "-x"], vec!["ax", "x"]),
        ("[^a]", vec!["b"], vec!["a"]),
        ("[]a]", vec!["]", "a"], vec!["b"]),
        ("[!]a]", vec!["b"], vec!["]", "a"]),
        ("[a-]", vec!["a", "-"], vec!["b"]),
        (r"[\]\-x]", vec!["]", "-", "x"], vec!["\\"]),
        ("[à-ö]", vec!["é"], vec!["z", "ø"]),
        (r"\*.py", vec!["*.py"], vec!["a.py"]),
        (r"a\b", vec!["ab"], vec!["a\\b"]),
        ("**", vec!["a", "a/b/c"], vec![]),
        ("**/a", vec!["a", "x/a", "x/y/a"], vec!["ab", "a/x"]),
        ("a/**", vec!["a/b", "a/b/c"], vec!["a", "ab", "b/a"]),
        ("a/**/b", vec!["a/b", "a/x/b", "a/x/y/b", "a/b/b"], vec!["a", "ab", "a/bb", "x/a/b"]),
        ("**/a/**/b*", vec!["a/b", "x/a/y/bz", "a/a/b"], vec!["b", "a", "a/x"]),
        ("a/**/**/b", vec!["a/b", "a/x/y/b"], vec!["a"]),
        // Two stars beside something else are one.
        ("a**b", vec!["ab", "axb"], vec!["a/b"]),
        ("./a//b/", vec!["a/b"], vec!["a"]),
        ("*/b/*", vec!["a/b/c"], vec!["b/c", "a/b", "a/b/c/d"]),
    ] {
        for path in yes {
            assert!(pattern_matches(pattern.as_bytes(), path.as_bytes()), "{pattern} {path}");
        }
        for path in no {
            assert!(!pattern_matches(pattern.as_bytes(), path.as_bytes()), "{pattern} {path}");
        }
    }
    // Bytes that are no text are one character each.
    assert!(pattern_matches(b"a?.py", b"a\xff.py") && pattern_matches(b"a*", b"a\xff\xfe"));
    assert!(pattern_matches(b"\xff", b"\xff") && !pattern_matches(b"\xff?", b"\xff"));
    assert!(!pattern_matches(b"[a-z]", b"\xff"));
}

#[test]
fn no_pattern_takes_long() {
    let name = "a".repeat(200);
    let path = vec![name.as_bytes(); 60];
    let deep = "**/a*/".repeat(30) + "b";
    let begin = Instant::now();
    assert!(!pattern_matches(("a*".repeat(90) + "b").as_bytes(), name.as_bytes()));
    assert!(!Pattern::parse(deep.as_bytes()).unwrap().matches(&path));
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[test]
fn globs_begin_at_a_folder() {
    let root = Path::new("/home/me/project");
    for (glob, yes, no) in [
        ("*.html", vec!["/home/me/project/a.html", "/home/me/project/x/a.html"], vec!["/home/me/a.html"]),
        ("x/*.html", vec!["/home/me/project/x/a.html"], vec!["/home/me/project/y/x/a.html"]),
        ("./a.txt", vec!["/home/me/project/a.txt"], vec!["/home/me/project/x/a.txt"]),
        (
            "../lib/**/*.py",
            vec!["/home/me/lib/a.py", "/home/me/lib/x/a.py"],
            vec!["/home/me/project/lib/a.py"],
        ),
        ("/etc/*.conf", vec!["/etc/a.conf"], vec!["/home/me/project/etc/a.conf"]),
        ("x/", vec!["/home/me/project/x/a", "/home/me/project/x/y/a"], vec!["/home/me/project/x"]),
        (
            "{a,b}.txt",
            vec!["/home/me/project/a.txt", "/home/me/project/x/b.txt"],
            vec!["/home/me/project/c.txt"],
        ),
        (
            "{x,../y/z}/*.{py,{js,ts}}",
            vec!["/home/me/project/x/a.py", "/home/me/y/z/a.ts"],
            vec!["/home/me/project/x/a.rs", "/home/me/project/y/z/a.ts"],
        ),
        ("[{,}]", vec!["/home/me/project/{", "/home/me/project/,"], vec!["/home/me/project/a"]),
        ("[!!{}]", vec!["/home/me/project/a"], vec!["/home/me/project/!", "/home/me/project/{"]),
        (r"\{a,b\}", vec!["/home/me/project/{a,b}"], vec!["/home/me/project/a"]),
        ("a{,.bak}", vec!["/home/me/project/a", "/home/me/project/a.bak"], vec!["/home/me/project/b"]),
        ("a}", vec!["/home/me/project/a}"], vec!["/home/me/project/a"]),
        ("../../../../../x/*", vec!["/x/a"], vec!["/home/x/a"]),
    ] {
        let parsed = Glob::parse(glob, root).unwrap();
        for path in yes {
            assert!(parsed.matches(Path::new(path)), "{glob} {path}");
        }
        for path in no {
            assert!(!parsed.matches(Path::new(path)), "{glob} {path}");
        }
    }
    let exactly = Glob::exactly(Path::new("/a/[x]*.py"));
    assert!(exactly.matches(Path::new("/a/[x]*.py")) && !exactly.matches(Path::new("/a/xx.py")));
}

#[test]
fn a_folder_is_on_the_way_or_not() {
    let root = Path::new("/p");
    for (glob, folder, may_match, is_named) in [
        ("dist/*.js", "/p/dist", true, true),
        ("dist/*.js", "/p/dist/x", false, false),
        ("dist/**", "/p/dist/x", true, false),
        ("*/x/*.js", "/p/dist", true, false),
        ("*/x/*.js", "/p/dist/x", true, true),
        ("*.js", "/p/dist", true, false),
        ("**/x/*.js", "/p/x", true, false),
        ("../q/r/*.js", "/q", true, true),
        ("../q/r/*.js", "/q/r", true, true),
        ("../q/r/*.js", "/q/s", false, false),
        ("../q/r/*.js", "/", true, true),
    ] {
        let parsed = Glob::parse(glob, root).unwrap();
        let folder = Path::new(folder);
        assert_eq!(parsed.may_match_below(folder), may_match, "{glob} {folder:?}");
        assert_eq!(parsed.names(folder), is_named, "{glob} {folder:?}");
    }
}

#[test]
fn what_does_not_parse_says_why() {
    for (glob, problem) in [
        ("[a", "has a [ that is not closed"),
        ("[]", "has a [ that is not closed"),
        ("x/[!", "has a [ that is not closed"),
        (r"[a\", "has a [ that is not closed"),
        ("[z-a]", "has a range whose end comes before its beginning"),
        ("{a,b", "has a { that is not closed"),
        ("{a,{b}", "has a { that is not closed"),
        (r"a\", "ends with a backslash that escapes nothing"),
        ("", "names nothing"),
        ("/", "names nothing"),
        ("a/{b,[}", "has a { that is not closed"),
        ("*/../a", "has .. where it cannot be followed"),
        ("..", "has .. where it cannot be followed"),
        ("!a", "begins with !; name what is left out with --ignore"),
    ] {
        assert_eq!(Glob::parse(glob, Path::new("/p")).unwrap_err(), problem, "{glob}");
    }
    let many = "{a,b,c,d}".repeat(10);
    assert!(Glob::parse(&many, Path::new("/p")).unwrap_err().starts_with("stands for more than"));
    let nested = "{".repeat(2000) + &"}".repeat(2000);
    assert!(Glob::parse(&nested, Path::new("/p")).unwrap_err().starts_with("stands for more than"));
    let long = "a".repeat(GLOB_LENGTH_MAX + 1);
    assert!(Glob::parse(&long, Path::new("/p")).unwrap_err().starts_with("is longer than"));
}
