//! What a `.gitignore` says about the files and folders at its side and below.

use crate::limits::GITIGNORE_RULES_MAX;
use crate::watch::glob::Pattern;

/// The rules of one file, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gitignore {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    pattern: Pattern,
    /// It takes out of what rules before it have put in.
    is_negated: bool,
    /// It is about folders alone.
    is_of_folders: bool,
}

impl Gitignore {
    /// Reads the file's text. A line that makes no sense says nothing, as with git.
    pub fn parse(text: &[u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let rules = text.split(|byte| *byte == b'\n').filter_map(Rule::parse).take(GITIGNORE_RULES_MAX);
        Self { rules: rules.collect() }
    }

    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether a path, by its names from the file's own folder on, is ignored; `None` if the file
    /// does not say. Paths in ignored folders are not asked about.
    pub fn ignores(&self, names: &[&[u8]], is_folder: bool) -> Option<bool> {
        let speaks = |rule: &&Rule| (is_folder || !rule.is_of_folders) && rule.pattern.matches(names);
        self.rules.iter().rev().find(speaks).map(|rule| !rule.is_negated)
    }
}

impl Rule {
    fn parse(line: &[u8]) -> Option<Self> {
        let line = without_trailing_spaces(line.strip_suffix(b"\r").unwrap_or(line));
        if line.starts_with(b"#") {
            return None;
        }
        let (is_negated, line) = match line.strip_prefix(b"!") {
            Some(line) => (true, line),
            None => (false, line),
        };
        let (is_of_folders, path) = match line.strip_suffix(b"/") {
            Some(path) => (true, path),
            None => (false, line),
        };
        let mut pattern = Pattern::parse(path).ok()?;
        // A slash at the beginning or in the middle ties it to the file's own folder.
        if !path.contains(&b'/') {
            pattern = pattern.at_any_depth();
        }
        Some(Self { pattern, is_negated, is_of_folders })
    }
}

/// A space counts at the end only behind a backslash.
fn without_trailing_spaces(mut line: &[u8]) -> &[u8] {
    while let Some(shorter) = line.strip_suffix(b" ") {
        let backslashes = shorter.iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 1 {
            break;
        }
        line = shorter;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, path: &str) -> Option<bool> {
        let (path, is_folder) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
        let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        Gitignore::parse(text.as_bytes()).ignores(&names, is_folder)
    }

    #[test]
    fn rules_say_what_git_says() {
        for (text, ignored, not_mentioned) in [
            ("*.pyc", vec!["a.pyc", "x/y/a.pyc", "a.pyc/"], vec!["a.py"]),
            ("build", vec!["build", "build/", "x/build/"], vec!["builds", "xbuild/"]),
            ("build/", vec!["build/", "x/build/"], vec!["build", "x/build"]),
            ("/build", vec!["build", "build/"], vec!["x/build"]),
            ("/build/", vec!["build/"], vec!["build", "x/build/"]),
            ("x/build", vec!["x/build", "x/build/"], vec!["y/x/build", "build"]),
            ("x/*.py", vec!["x/a.py"], vec!["x/y/a.py", "z/x/a.py"]),
            ("**/x/a", vec!["x/a", "y/x/a"], vec!["a"]),
            ("x/**", vec!["x/a", "x/y/a", "x/y/"], vec!["x/", "y/x/a"]),
            ("x/**/a", vec!["x/a", "x/y/z/a"], vec!["a"]),
            ("**/a", vec!["a", "x/y/a"], vec!["b"]),
            ("*", vec!["a", ".a", "x/"], vec![]),
            ("# a\n\n  \n\\#b\n\\!c", vec!["#b", "!c"], vec!["# a", "a", "b", "c"]),
            ("a  \nb\\ \nc\\\\ ", vec!["a", "b ", "c\\"], vec!["a  ", "b", "b\\"]),
            ("a\r\nb/\r\n", vec!["a", "b/"], vec!["b"]),
            ("\u{feff}a", vec!["a"], vec![]),
            (" a", vec![" a"], vec!["a"]),
            ("[a-c].py\n[", vec!["b.py"], vec!["[", "d.py"]),
            // Braces are just characters.
            ("{a,b}", vec!["{a,b}"], vec!["a", "b"]),
            ("a\\", vec![], vec!["a", "a\\"]),
            ("/\n//\n!", vec![], vec!["a", "a/"]),
            ("no newline", vec!["no newline"], vec![]),
        ] {
            for path in ignored {
                assert_eq!(said(text, path), Some(true), "{text:?} {path}");
            }
            for path in not_mentioned {
                assert_eq!(said(text, path), None, "{text:?} {path}");
            }
        }
    }

    #[test]
    fn the_last_rule_that_speaks_holds() {
        let text = "*.py\n!keep.py\n/x/keep.py\n!*/";
        assert_eq!(said(text, "a.py"), Some(true));
        assert_eq!(said(text, "keep.py"), Some(false));
        assert_eq!(said(text, "y/keep.py"), Some(false));
        assert_eq!(said(text, "x/keep.py"), Some(true));
        assert_eq!(said(text, "a.py/"), Some(false));
        assert_eq!(said(text, "a.txt"), None);
    }

    #[test]
    fn anything_at_all_can_be_read() {
        let odd = b"\xff\xfe[\n\0*\n\\\n!!\n!/!\n***\n/**\n**/**\n";
        let rules = Gitignore::parse(odd);
        assert_eq!(rules.ignores(&[b"a\xff"], false), Some(true));
        assert!(Gitignore::parse(b"").is_empty() && Gitignore::parse(b"# nothing\n").is_empty());
        let many = "a\n".repeat(2 * GITIGNORE_RULES_MAX);
        assert_eq!(Gitignore::parse(many.as_bytes()).rules.len(), GITIGNORE_RULES_MAX);
    }
}
