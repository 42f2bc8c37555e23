//! Which folder is the project of a file.

use std::path::{Path, PathBuf};

/// What lies in the folder that a project begins at.
pub const MARKERS: [&str; 5] = ["pyproject.toml", "package.json", "go.mod", "Cargo.toml", ".git"];

/// The nearest folder, from the file's own upwards, with one of the [`MARKERS`] in it; without
/// one, the file's own folder.
///
/// What lies in the home folder or at the top of the file system marks nothing: people keep their
/// settings in git, and nobody's project is all they have.
pub fn root(file: &Path, home: Option<&Path>) -> PathBuf {
    let own = file.parent().unwrap_or(Path::new("/"));
    let is_project = |folder: &&Path| MARKERS.iter().any(|name| folder.join(name).exists());
    own.ancestors().take_while(|folder| !is_everything(folder, home)).find(is_project).unwrap_or(own).into()
}

/// Whether the folder holds all that a person has, and much that is no project's.
pub fn is_everything(folder: &Path, home: Option<&Path>) -> bool {
    folder.parent().is_none() || Some(folder) == home || folder == Path::new("/tmp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::settings::tests::Folder;

    #[test]
    fn a_project_begins_at_the_nearest_marker() {
        let folder = Folder::new();
        for (marker, file) in [
            ("a/.git/HEAD", "a/tools/server.py"),
            ("b/pyproject.toml", "b/server.py"),
            ("c/package.json", "c/src/deep/er/server.ts"),
            ("d/go.mod", "d/cmd/tool/main.go"),
            ("e/Cargo.toml", "e/src/main.rs"),
            // A work tree of git has a file of this name.
            ("f/.git", "f/x/server.lua"),
            // The project itself lives where projects keep what they build.
            ("g/node_modules/h/package.json", "g/node_modules/h/dist/server.js"),
        ] {
            folder.file(marker, "");
            folder.file(file, "");
            let name = marker.strip_suffix("/HEAD").unwrap_or(marker);
            let expected = folder.path(name).parent().map(Path::to_path_buf);
            assert_eq!(Some(root(&folder.path(file), None)), expected, "{file}");
        }
        folder.file("a/inner/go.mod", "");
        folder.file("a/inner/main.go", "");
        assert_eq!(root(&folder.path("a/inner/main.go"), None), folder.path("a/inner"));
    }

    #[test]
    fn a_file_without_a_project_has_its_folder() {
        let folder = Folder::new();
        folder.file("home/.git/HEAD", "");
        folder.file("home/package.json", "");
        folder.file("home/scripts/server.py", "");
        let home = folder.path("home");
        assert_eq!(root(&home.join("scripts/server.py"), Some(&home)), home.join("scripts"));
        assert_eq!(root(&home.join("server.py"), Some(&home)), home);
        assert_eq!(root(Path::new("/no-such-file.py"), Some(&home)), Path::new("/"));
        assert!(is_everything(&home, Some(&home)) && !is_everything(&home, None));
        assert!(is_everything(Path::new("/"), None));
    }
}
