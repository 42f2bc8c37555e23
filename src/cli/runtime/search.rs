//! Where programs and the files around a tool file are looked for.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::cli::project;

/// What of the process's surroundings decides; a value, so that a test can make its own.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The working folder.
    pub folder: PathBuf,
    /// Where programs are looked for first (`PATH`).
    pub path: Vec<PathBuf>,
    /// Where they are looked for then: hosts with a window do not have what a shell's start files
    /// add to `PATH`.
    pub usual: Vec<PathBuf>,
    /// The person's folder.
    pub home: Option<PathBuf>,
    /// `PROTOMCP_PYTHON`
    pub python: Option<OsString>,
    /// `PROTOMCP_NODE`
    pub node: Option<OsString>,
    /// `VIRTUAL_ENV`
    pub virtual_env: Option<PathBuf>,
    /// One variable of our own environment.
    pub variables: fn(&str) -> Option<OsString>,
    /// Asks a Node.js for its major and minor version.
    pub node_version: fn(&Path) -> Option<(u32, u32)>,
}

/// A program that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Only we know that: it is in a usual place that is not on `PATH`.
    pub is_off_path: bool,
}

impl Environment {
    /// The surroundings of this process.
    pub fn of_process() -> Result<Environment, String> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder =
            std::env::current_dir().map_err(|error| format!("the working folder can't be used: {error}"))?;
        let path = set("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        let path = without_repeats(std::env::split_paths(&path).collect());
        let home = set("HOME").map(PathBuf::from);
        let mut usual = without_repeats(usual_places(home.as_deref()));
        usual.retain(|place| !path.contains(place));
        Ok(Environment {
            folder,
            path,
            usual,
            home,
            python: set("PROTOMCP_PYTHON"),
            node: set("PROTOMCP_NODE"),
            virtual_env: set("VIRTUAL_ENV").map(PathBuf::from),
            variables: |name| std::env::var_os(name),
            node_version: ask_node,
        })
    }

    /// The program of this name, or at this path, if it can be run.
    pub fn program(&self, name: &OsStr) -> Option<Found> {
        if name.as_bytes().contains(&b'/') {
            let path = Some(self.folder.join(name)).filter(|path| is_executable(path));
            return path.map(|path| Found { path, is_off_path: false });
        }
        let places = self.path.iter().map(|place| (place, false));
        places.chain(self.usual.iter().map(|place| (place, true))).find_map(|(place, is_off_path)| {
            let path = self.folder.join(place).join(name);
            is_executable(&path).then_some(Found { path, is_off_path })
        })
    }

    /// Where [`program`](Self::program) looks, for a person.
    pub fn looked(&self) -> String {
        let list = |places: &[PathBuf]| {
            places.iter().map(|place| place.to_string_lossy()).collect::<Vec<_>>().join(", ")
        };
        if self.usual.is_empty() {
            format!("looked in {} (PATH)", list(&self.path))
        } else {
            format!("looked in {} (PATH) and in {}", list(&self.path), list(&self.usual))
        }
    }

    /// `PATH` with this folder in front.
    pub(super) fn path_with(&self, folder: &Path) -> Option<OsString> {
        std::env::join_paths([folder].into_iter().chain(self.path.iter().map(PathBuf::as_path))).ok()
    }
}

/// The first of each.
fn without_repeats(mut places: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

/// Where installers of languages put programs without asking, if it is there.
fn usual_places(home: Option<&Path>) -> Vec<PathBuf> {
    /// In the home folder; `*` stands for the newest version.
    const AT_HOME: [&str; 13] = [
        ".local/bin",
        ".cargo/bin",
        ".bun/bin",
        ".deno/bin",
        ".nvm/versions/node/*/bin",
        ".local/share/fnm/aliases/default/bin",
        ".local/share/fnm/node-versions/*/installation/bin",
        ".fnm/aliases/default/bin",
        ".volta/bin",
        ".local/share/mise/shims",
        ".asdf/shims",
        ".pyenv/shims",
        "go/bin",
    ];
    const ELSEWHERE: [&str; 4] =
        ["/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/local/go/bin"];
    let at_home = home.into_iter().flat_map(|home| {
        AT_HOME.into_iter().filter_map(|place| match place.split_once("/*/") {
            Some((versions, rest)) => Some(newest(&home.join(versions))?.join(rest)),
            None => Some(home.join(place)),
        })
    });
    at_home.chain(ELSEWHERE.map(PathBuf::from)).filter(|place| place.is_dir()).collect()
}

/// The folder in this one whose name is the highest version: `v22.3.1`.
fn newest(versions: &Path) -> Option<PathBuf> {
    let numbers = |name: &str| -> Option<Vec<u64>> {
        name.trim_start_matches('v').split('.').map(|number| number.parse().ok()).collect()
    };
    let entries = fs::read_dir(versions).ok()?.flatten();
    let known = entries.filter_map(|entry| Some((numbers(entry.file_name().to_str()?)?, entry.path())));
    known.max().map(|(_, path)| path)
}

/// The nearest folder, from the file's own upwards, that holds `name`; and what it holds.
pub fn nearest(file: &Path, name: &str) -> Option<PathBuf> {
    file.ancestors().skip(1).map(|folder| folder.join(name)).find(|path| path.exists())
}

/// The folders in which environments and lock files are looked for, from the file's own upwards:
/// up to the repository's root, since a workspace has one of them for many projects; without a
/// repository up to the outermost manifest.
pub(super) fn searched(file: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let own = file.parent().unwrap_or(Path::new("/"));
    let folders: Vec<&Path> =
        own.ancestors().take_while(|folder| !project::is_everything(folder, home)).collect();
    let repository = folders.iter().position(|folder| folder.join(".git").exists());
    let is_marked = |folder: &&Path| project::MARKERS.iter().any(|name| folder.join(name).exists());
    let last = repository.or_else(|| folders.iter().rposition(is_marked)).unwrap_or(0);
    match folders.get(..=last) {
        Some(folders) => folders.iter().map(PathBuf::from).collect(),
        // The file lies in a folder that is nobody's project.
        None => vec![own.into()],
    }
}

pub(super) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn ask_node(node: &Path) -> Option<(u32, u32)> {
    let mut command = std::process::Command::new(node);
    let output = command.arg("--version").stdin(std::process::Stdio::null()).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::settings::tests::Folder;

    #[test]
    fn the_usual_places_of_a_home() {
        let folder = Folder::new();
        let home = folder.path("home");
        for version in ["v9.1.0", "v22.3.1", "v22.10.0", "system"] {
            folder.program(&format!("home/.nvm/versions/node/{version}/bin/node"));
        }
        folder.program("home/.local/bin/uv");
        folder.program("home/.bun/bin/bun");
        let usual = usual_places(Some(&home));
        let at_home: Vec<_> = usual.iter().filter_map(|place| place.strip_prefix(&home).ok()).collect();
        let expected = [".local/bin", ".bun/bin", ".nvm/versions/node/v22.10.0/bin"];
        assert_eq!(at_home, expected.map(Path::new));
        assert!(usual_places(None).iter().all(|place| place.is_dir()));
    }

    #[test]
    fn a_workspace_has_one_lock_for_many_projects() {
        let folder = Folder::new();
        folder.file("home/a/b/c/s.py", "");
        let file = folder.path("home/a/b/c/s.py");
        let names = |folders: Vec<PathBuf>| -> Vec<String> {
            folders.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(searched(&file, None)), ["c"]);
        folder.file("home/a/b/pyproject.toml", "");
        assert_eq!(names(searched(&file, None)), ["c", "b"]);
        folder.file("home/package.json", "");
        assert_eq!(names(searched(&file, None)), ["c", "b", "a", "home"]);
        folder.file("home/a/.git/HEAD", "");
        assert_eq!(names(searched(&file, None)), ["c", "b", "a"]);
        let home = folder.path("home/a/b");
        assert_eq!(names(searched(&file, Some(&home))), ["c"], "what lies at home is nobody's");
        assert_eq!(names(searched(&home.join("s.py"), Some(&home))), ["b"]);
    }

    #[test]
    fn a_folder_is_looked_in_once() {
        let places = |text: &str| text.split(':').map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(without_repeats(places("/b:/a:/b:/c:/a")), places("/b:/a:/c"));
    }

    #[test]
    fn a_real_node_knows_its_version() {
        let Ok(here) = Environment::of_process() else { return };
        if let Some(node) = here.program("node".as_ref()) {
            assert!(ask_node(&node.path).is_some_and(|version| version > (10, 0)));
        }
        assert_eq!(ask_node(Path::new("/no/such/node")), None);
    }
}
