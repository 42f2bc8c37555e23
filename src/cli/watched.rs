//! What `dev` watches: the project of the file, and what was asked for.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::args::Serve;
use crate::cli::project;
use crate::os::Watch;
use crate::watch::glob::Glob;
use crate::watch::rules::Rules;
use crate::watch::sources::Sources;

/// Which files restart the tool process: the sources of the language of `file`, in its project (or
/// in `folder`, where a whole command was typed instead of a file), the file itself, `also` these,
/// and what the flags say.
pub fn make(
    typed: &Serve,
    file: &Path,
    folder: Option<&Path>,
    also: &[PathBuf],
    home: Option<&Path>,
) -> Result<Watch, String> {
    // Everything by its real name: the same folder by two of them would be watched by one.
    let real = canonical(file);
    let home = home.map(canonical);
    let root = match folder {
        Some(folder) => canonical(folder),
        None => project::root(&real, home.as_deref()),
    };
    let is_deep = !project::is_everything(&root, home.as_deref());
    let extension = real.extension().and_then(OsStr::to_str).unwrap_or_default();
    // A link counts, and what it leads to.
    let files = also.iter().map(PathBuf::as_path).chain([file]);
    let mut wanted: Vec<Glob> =
        files.flat_map(|file| [link(file), canonical(file)]).map(|path| Glob::exactly(&path)).collect();
    for text in &typed.watch {
        // The name of a folder stands for all that is in it.
        let is_folder = !text.ends_with('/') && root.join(text).is_dir();
        wanted.push(glob("--watch", &if is_folder { format!("{text}/") } else { text.clone() }, &root)?);
    }
    let unwanted = typed.ignore.iter().map(|text| glob("--ignore", text.trim_end_matches('/'), &root));
    let unwanted = unwanted.collect::<Result<_, _>>()?;
    let rules = Rules::new(root, is_deep, Sources::of(extension), wanted, unwanted);
    Ok(Watch { rules, poll: typed.poll })
}

fn glob(flag: &str, text: &str, root: &Path) -> Result<Glob, String> {
    let glob = Glob::parse(text, root).map_err(|problem| format!("{flag}: \"{text}\" {problem}"))?;
    Ok(glob.with_bases(canonical))
}

/// The path without links, as far as it is there.
fn canonical(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|there| Some((there, fs::canonicalize(there).ok()?)));
    match there {
        Some((there, real)) => match path.strip_prefix(there) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            _ => real,
        },
        None => path.to_path_buf(),
    }
}

/// The path of a file whose folder has no links in it, while it may be one itself.
fn link(file: &Path) -> PathBuf {
    match (file.parent(), file.file_name()) {
        (Some(folder), Some(name)) => canonical(folder).join(name),
        _ => file.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::settings::tests::Folder;

    fn of(folder: &Folder, file: &str, watch: &[&str], ignore: &[&str]) -> Result<Rules, String> {
        let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect();
        let typed = Serve { watch: texts(watch), ignore: texts(ignore), ..Serve::default() };
        make(&typed, &folder.path(file), None, &[], None).map(|watch| watch.rules)
    }

    #[test]
    fn a_project_is_watched_whole() {
        let folder = Folder::new();
        folder.file("p/package.json", "");
        folder.file("p/dist/server.js", "");
        let rules = of(&folder, "p/dist/server.js", &[], &[]).unwrap();
        assert_eq!(rules.root(), folder.path("p"));
        assert_eq!(rules.begins(), [folder.path("p")]);
        assert!(rules.counts(&folder.path("p/src/a.ts")) && rules.counts(&folder.path("p/package.json")));
        assert!(rules.enters(&folder.path("p/dist")) && !rules.enters(&folder.path("p/node_modules")));
        assert!(!rules.counts(&folder.path("p/a.py")));
        folder.program("q/tool");
        let rules = of(&folder, "q/tool", &[], &[]).unwrap();
        assert!(rules.counts(&folder.path("q/tool")) && rules.counts(&folder.path("q/.env")));
        assert!(!rules.counts(&folder.path("q/other")) && !rules.counts(&folder.path("q/a.py")));
    }

    #[test]
    fn what_was_asked_for_is_added_and_removed() {
        let folder = Folder::new();
        folder.file("p/go.mod", "");
        folder.file("p/main.go", "");
        folder.file("p/templates/deep/a.txt", "");
        folder.file("lib/a.go", "");
        let rules =
            of(&folder, "p/main.go", &["templates", "../lib/", "*.sql"], &["gen/", "*_test.go"]).unwrap();
        for file in ["p/templates/deep/a.txt", "lib/a.go", "p/x/a.sql", "p/main.go"] {
            assert!(rules.counts(&folder.path(file)), "{file}");
        }
        assert!(!rules.counts(&folder.path("p/a_test.go")) && !rules.enters(&folder.path("p/x/gen")));
        for (watch, ignore, problem) in [
            ("[a", "x", "--watch: \"[a\" has a [ that is not closed"),
            ("a", "{b", "--ignore: \"{b\" has a { that is not closed"),
        ] {
            assert_eq!(of(&folder, "p/main.go", &[watch], &[ignore]).unwrap_err(), problem);
        }
    }

    #[test]
    fn links_are_followed_to_what_is_there() {
        let folder = Folder::new();
        folder.file("real/pyproject.toml", "");
        folder.file("real/src/server.py", "");
        std::os::unix::fs::symlink(folder.path("real"), folder.path("alias")).unwrap();
        std::os::unix::fs::symlink(folder.path("real/src/server.py"), folder.path("home/tool.py")).unwrap();
        let rules = of(&folder, "alias/src/server.py", &["../alias/x/*.txt"], &[]).unwrap();
        assert_eq!(rules.begins(), [folder.path("real")]);
        assert!(rules.counts(&folder.path("real/x/a.txt")));
        let rules = of(&folder, "home/tool.py", &[], &[]).unwrap();
        assert_eq!(rules.begins(), [folder.path("real"), folder.path("home")]);
        assert!(rules.counts(&folder.path("home/tool.py")) && !rules.counts(&folder.path("home/other.py")));
    }

    #[test]
    fn a_home_is_no_project() {
        let folder = Folder::new();
        folder.file("home/server.py", "");
        let home = folder.path("home");
        let watch = make(&Serve::default(), &home.join("server.py"), None, &[], Some(&home)).unwrap();
        assert!(!watch.rules.is_deep() && !watch.rules.enters(&home.join("x")));
        assert!(watch.rules.counts(&home.join("other.py")));
        let also = [folder.path("secrets/prod.env")];
        let watch = make(&Serve::default(), &home.join("x/server.py"), Some(&home), &also, None).unwrap();
        assert_eq!(watch.rules.root(), home);
        assert!(watch.rules.is_deep() && watch.rules.counts(&also[0]));
        assert!(!watch.rules.counts(&folder.path("secrets/other.env")));
    }
}
