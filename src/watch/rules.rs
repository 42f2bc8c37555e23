//! Which files count, and which folders are looked into for them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::watch::gitignore::Gitignore;
use crate::watch::glob::{Glob, names};
use crate::watch::sources::Sources;

/// Folders of the project that hold no sources of it: what was installed or built, or what
/// belongs to other programs.
const LEFT_OUT: [&str; 10] =
    [".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", "target", "venv", ".venv", "dist"];

/// A folder with one of these in it says of itself that it holds no sources: a cache, a virtual
/// environment of any name.
pub const LEFT_OUT_MARKERS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// The file whose rules are heeded.
pub const GITIGNORE: &str = ".gitignore";

/// What a program is told by its environment; it counts wherever sources do.
const ENVIRONMENT: &str = ".env";

/// All that decides. Paths are absolute.
#[derive(Clone, Debug)]
pub struct Rules {
    root: PathBuf,
    is_deep: bool,
    sources: Sources,
    wanted: Vec<Glob>,
    unwanted: Vec<Glob>,
    gitignores: BTreeMap<PathBuf, Gitignore>,
}

impl Rules {
    /// Sources below `root` count (only those right in it, if it is not deep), and what is wanted,
    /// wherever it is. What is unwanted never counts.
    pub fn new(
        root: PathBuf,
        is_deep: bool,
        sources: Sources,
        wanted: Vec<Glob>,
        unwanted: Vec<Glob>,
    ) -> Self {
        Self { root, is_deep, sources, wanted, unwanted, gitignores: BTreeMap::new() }
    }

    /// The folder of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether what lies below the project's folder counts, too.
    pub fn is_deep(&self) -> bool {
        self.is_deep
    }

    /// The folders at which to begin, none of them inside another that is looked into anyway.
    pub fn begins(&self) -> Vec<&Path> {
        let mut begins = vec![self.root()];
        for base in self.wanted.iter().flat_map(Glob::bases) {
            let is_inside = base.starts_with(&self.root) || begins.contains(&base);
            if !is_inside {
                begins.push(base);
            }
        }
        begins
    }

    /// Whether the file counts, if all folders above it are looked into.
    pub fn counts(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default();
        if is_leaving(name) || self.unwanted.iter().any(|glob| glob.matches(file)) {
            return false;
        }
        if self.wanted.iter().any(|glob| glob.matches(file)) {
            return true;
        }
        let is_ours =
            if self.is_deep { file.starts_with(&self.root) } else { file.parent() == Some(&self.root) };
        if !is_ours {
            return false;
        }
        // Projects keep their `.env` out of git, and it matters all the same.
        if name == ENVIRONMENT || self.sources.manifests.iter().any(|manifest| name == *manifest) {
            return true;
        }
        let extension = Path::new(name).extension();
        extension.is_some_and(|extension| self.sources.extensions.iter().any(|wanted| extension == *wanted))
            && !name.as_encoded_bytes().starts_with(b".")
            && !self.is_git_ignored(file, false)
    }

    /// Whether the folder is looked into, if the one above it is.
    pub fn enters(&self, folder: &Path) -> bool {
        if self.root.starts_with(folder) {
            return true;
        }
        if self.unwanted.iter().any(|glob| glob.matches(folder)) {
            return false;
        }
        // What is asked for by name is looked into whatever it is called.
        if self.is_named(folder) {
            return true;
        }
        let name = folder.file_name().unwrap_or_default();
        if LEFT_OUT.iter().any(|left_out| name == *left_out) || self.is_git_ignored(folder, true) {
            return false;
        }
        self.is_deep && folder.starts_with(&self.root)
            || self.wanted.iter().any(|glob| glob.may_match_below(folder))
    }

    /// Whether the folder is asked for by its name, so that no marker in it leaves it out.
    pub fn is_named(&self, folder: &Path) -> bool {
        self.root.starts_with(folder) || self.wanted.iter().any(|glob| glob.names(folder))
    }

    /// Takes in what the folder's `.gitignore` says; `None` if it has none. True if that is other
    /// than before.
    pub fn learn(&mut self, folder: &Path, text: Option<&[u8]>) -> bool {
        match text.map(Gitignore::parse).filter(|rules| !rules.is_empty()) {
            Some(rules) if self.gitignores.get(folder) == Some(&rules) => false,
            Some(rules) => {
                self.gitignores.insert(folder.to_path_buf(), rules);
                true
            }
            None => self.gitignores.remove(folder).is_some(),
        }
    }

    /// Whether the folder is known to have a `.gitignore`.
    pub fn has_learned(&self, folder: &Path) -> bool {
        self.gitignores.contains_key(folder)
    }

    /// Takes in the `.gitignore`s of the folders above the project's. If they leave out the
    /// project itself they are not about it.
    pub fn learn_above(&mut self, texts: &[(PathBuf, Vec<u8>)]) {
        for (folder, text) in texts {
            self.learn(folder, Some(text));
        }
        let is_left_out = self.root.ancestors().any(|folder| self.is_git_ignored(folder, true));
        if is_left_out {
            for (folder, _) in texts {
                self.gitignores.remove(folder);
            }
        }
    }

    /// The nearest file that speaks decides.
    fn is_git_ignored(&self, path: &Path, is_folder: bool) -> bool {
        if self.gitignores.is_empty() {
            return false;
        }
        let said = path.ancestors().skip(1).find_map(|folder| {
            let rules = self.gitignores.get(folder)?;
            rules.ignores(&names(path.strip_prefix(folder).ok()?), is_folder)
        });
        said == Some(true)
    }
}

/// What editors leave beside the file that is edited: `.#a.py`, `#a.py#`, `.a.py.swp`, `a.py~`,
/// and the number that vim tries a folder with.
fn is_leaving(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let is_vims =
        name.starts_with(b".") && [b".swp", b".swo", b".swx"].iter().any(|end| name.ends_with(*end));
    name.starts_with(b".#")
        || name.starts_with(b"#") && name.ends_with(b"#")
        || name.ends_with(b"~")
        || is_vims
        || name == b"4913"
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "/home/dist/venv/p";

    fn globs(texts: &[&str]) -> Vec<Glob> {
        texts.iter().map(|text| Glob::parse(text, Path::new(ROOT)).unwrap()).collect()
    }

    fn rules(watch: &[&str], ignore: &[&str]) -> Rules {
        Rules::new(ROOT.into(), true, Sources::of("py"), globs(watch), globs(ignore))
    }

    /// Whether a file below the root counts, all the way down to it.
    fn counts(rules: &Rules, file: &str) -> bool {
        let file = Path::new(ROOT).join(file);
        let above = file.ancestors().skip(1).take_while(|folder| *folder != Path::new(ROOT));
        above.into_iter().all(|folder| rules.enters(folder)) && rules.counts(&file)
    }

    #[test]
    fn sources_manifests_and_the_environment_count() {
        let rules = rules(&[], &[]);
        for file in [
            "a.py",
            "x/y/b.c.py",
            "pyproject.toml",
            "x/pyproject.toml",
            "requirements.txt",
            ".env",
            "x/.env",
            ".tools/a.py",
            "targets/a.py",
        ] {
            assert!(counts(&rules, file), "{file}");
        }
        for file in [
            "a.pyc",
            ".#a.py",
            "#a.py#",
            ".a.py.swp",
            "a.py~",
            "4913",
            "py",
            ".py",
            "a.rs",
            "data.json",
            "uv.lock",
            "other.toml",
            ".env.example",
            "a.py.123456",
            ".hidden.py",
        ] {
            assert!(!counts(&rules, file), "{file}");
        }
        for folder in LEFT_OUT {
            assert!(!counts(&rules, &format!("{folder}/a.py")), "{folder}");
            assert!(!counts(&rules, &format!("x/{folder}/y/a.py")), "{folder}");
            assert!(counts(&rules, &format!("{folder}s/a.py")), "{folder}");
        }
        // What is outside is nobody's.
        assert!(!rules.counts(Path::new("/home/dist/venv/a.py")));
        assert!(!rules.enters(Path::new("/home/dist/venv/q")));
    }

    #[test]
    fn globs_add_and_remove() {
        let rules = rules(
            &["*.html", "data/**/*.json", "dist/*.js", "../lib/*.py", "/etc/app.conf"],
            &["tests", "*_pb2.py", "data/big.json", "*.tmp.html"],
        );
        for file in ["a.html", "x/y/b.html", "data/a.json", "data/x/a.json", "dist/a.js", "a.py", "x/a.py"] {
            assert!(counts(&rules, file), "{file}");
        }
        for file in [
            "a.json",
            "dist/x/a.js",
            "tests/a.py",
            "x/tests/y/a.py",
            "a_pb2.py",
            "data/big.json",
            "a.tmp.html",
            "node_modules/a.html",
            "a.html~",
        ] {
            assert!(!counts(&rules, file), "{file}");
        }
        // A folder that is asked for by name is looked into whole.
        assert!(counts(&rules, "dist/a.py"));
        assert!(rules.counts(Path::new("/home/dist/venv/lib/a.py")));
        assert!(!rules.counts(Path::new("/home/dist/venv/lib/a.html")));
        assert!(rules.counts(Path::new("/etc/app.conf")));
        assert!(!rules.enters(Path::new("/etc/x")) && !rules.enters(Path::new("/home/dist/venv/lib/x")));
        let begins: Vec<_> = rules.begins();
        assert_eq!(begins, [Path::new(ROOT), Path::new("/home/dist/venv/lib"), Path::new("/etc")]);
    }

    #[test]
    fn the_file_itself_counts_wherever_it_is() {
        let entry = Path::new(ROOT).join("dist/deep/server");
        let mut rules =
            Rules::new(ROOT.into(), true, Sources::of("js"), vec![Glob::exactly(&entry)], Vec::new());
        rules.learn(Path::new(ROOT), Some(b"dist/\nserver"));
        assert!(counts(&rules, "dist/deep/server"));
        assert!(counts(&rules, "dist/deep/other.js"));
        assert!(!counts(&rules, "dist/deep/node_modules/other.js"));
        assert!(!counts(&rules, "x/dist/a.js"));
        let mut shallow =
            Rules::new(ROOT.into(), false, Sources::of("js"), globs(&["x/*.html"]), globs(&["no.js"]));
        assert!(counts(&shallow, "a.js") && counts(&shallow, "x/a.html") && counts(&shallow, ".env"));
        assert!(!counts(&shallow, "x/a.js") && !counts(&shallow, "y/a.js") && !counts(&shallow, "no.js"));
        assert!(!shallow.enters(&Path::new(ROOT).join("y")));
        shallow.learn(Path::new(ROOT), Some(b"*.js"));
        assert!(!counts(&shallow, "a.js"));
    }

    #[test]
    fn the_nearest_gitignore_decides() {
        let mut rules = rules(&["kept.gen.py"], &[]);
        let root = Path::new(ROOT);
        rules.learn(root, Some(b"*.gen.py\n/build/\ncache\n.env\npyproject.toml\n"));
        rules.learn(&root.join("x"), Some(b"!keep.gen.py\nlocal.py\n"));
        for file in
            ["a.py", "x/keep.gen.py", "y/build/a.py", "y/local.py", "kept.gen.py", ".env", "pyproject.toml"]
        {
            assert!(counts(&rules, file), "{file}");
        }
        for file in ["a.gen.py", "x/a.gen.py", "keep.gen.py", "build/a.py", "y/cache/a.py", "x/local.py"] {
            assert!(!counts(&rules, file), "{file}");
        }
        assert!(!rules.learn(&root.join("x"), Some(b"!keep.gen.py\n\nlocal.py")));
        assert!(rules.learn(&root.join("x"), None) && !rules.learn(&root.join("x"), None));
        assert!(counts(&rules, "x/local.py") && !counts(&rules, "x/keep.gen.py"));
    }

    #[test]
    fn what_is_said_above_holds_unless_it_leaves_out_the_project() {
        let above = |text: &str| {
            let mut rules = rules(&[], &[]);
            rules.learn_above(&[(PathBuf::from("/home"), text.into())]);
            rules
        };
        let inside = above("*.gen.py\np/build/\n/dist/venv/p/out/\n");
        assert!(!counts(&inside, "a.gen.py") && !counts(&inside, "out/a.py"));
        assert!(counts(&inside, "a.py") && counts(&inside, "build/a.py"));
        for text in ["dist/\n*.gen.py", "dist/**\n*.gen.py", "p\n*.gen.py", "venv\n*.gen.py"] {
            let outside = above(text);
            assert!(counts(&outside, "a.py") && counts(&outside, "a.gen.py"), "{text}");
        }
    }
}
