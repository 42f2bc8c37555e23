//! The build before a start: what it prints, and the program that it makes.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Deserialize;

use super::child;
use super::sys::How;
use super::{Artefact, Build};

/// A build that runs.
#[derive(Debug)]
pub(super) struct Building {
    began: Instant,
    shown: String,
    place: Place,
}

/// Where the program will be.
#[derive(Debug)]
enum Place {
    /// cargo tells it, in lines of JSON.
    Told {
        source: PathBuf,
        named: Option<Named>,
    },
    Written(Built),
}

/// An executable that cargo named.
#[derive(Debug)]
struct Named {
    program: PathBuf,
    is_ours: bool,
}

/// A program that was built.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) program: PathBuf,
    /// Made by us for it alone; gone with this value.
    _folder: Option<Folder>,
}

impl Building {
    /// What is to be run, and what will come of it.
    pub(super) fn prepare(build: &Build, now: Instant) -> io::Result<(Vec<OsString>, Self)> {
        let mut command = build.command.clone();
        let place = match &build.artefact {
            Artefact::Told { source } => Place::Told { source: source.clone(), named: None },
            Artefact::Written { words } => {
                let folder = Folder::new()?;
                let program = folder.0.join("tool");
                command.extend(["-o".into(), program.clone().into()]);
                command.extend_from_slice(words);
                Place::Written(Built { program, _folder: Some(folder) })
            }
        };
        Ok((command, Self { began: now, shown: build.shown.clone(), place }))
    }

    /// Takes a line that it printed to stdout. False if that is for a person.
    pub(super) fn take(&mut self, line: &[u8]) -> bool {
        let Place::Told { source, named } = &mut self.place else { return false };
        if !line.starts_with(b"{") {
            return false;
        }
        if let Ok(Message { executable: Some(program), target: Some(target) }) = serde_json::from_slice(line)
        {
            let is_ours = is_same(&target.src_path, source);
            // Without a hit the last one counts: what the target depends on is built before it.
            if is_ours || !named.as_ref().is_some_and(|named| named.is_ours) {
                *named = Some(Named { program, is_ours });
            }
        }
        true
    }

    /// It ended. The program, or for a person why there is none.
    pub(super) fn finish(self, how: How) -> Result<Built, String> {
        if how != How::Exited(0) {
            return Err(format!("could not be built: `{}` {}", self.shown, child::describe(how)));
        }
        let built = match self.place {
            Place::Told { named: Some(named), .. } => Built { program: named.program, _folder: None },
            Place::Told { named: None, .. } => {
                return Err(format!("could not be built: `{}` made no program", self.shown));
            }
            Place::Written(built) => built,
        };
        if !built.program.is_file() {
            return Err(format!(
                "could not be built: `{}` succeeded, but {} is not there",
                self.shown,
                built.program.display()
            ));
        }
        Ok(built)
    }

    /// For the person who waits.
    pub(super) fn took(&self, now: Instant) -> String {
        format!("built after {} ms", (now - self.began).as_millis())
    }
}

/// What is looked for in cargo's messages.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    src_path: PathBuf,
}

/// Two paths of one file: cargo may have followed links.
fn is_same(left: &Path, right: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    left == right || real(left).is_some_and(|left| Some(left) == real(right))
}

/// A folder that only we may enter, gone with its value. In the temporary folder, as that of
/// `go run`: the runtime folder is often one whose programs the system refuses to run.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let random = RandomState::new().hash_one(0);
        let path = std::env::temp_dir().join(format!("pmcp-build-{}-{random:016x}", std::process::id()));
        // mkdir fails for whatever exists already, so nobody can have prepared it.
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(artefact: Artefact) -> Build {
        Build { command: vec!["make-it".into()], folder: "/".into(), artefact, shown: "make-it".into() }
    }

    fn told(lines: &[&str], source: &str) -> Result<Built, String> {
        let artefact = Artefact::Told { source: source.into() };
        let (command, mut building) = Building::prepare(&build(artefact), Instant::now()).unwrap();
        assert_eq!(command, ["make-it"]);
        for line in lines {
            assert!(building.take(line.as_bytes()), "{line}");
        }
        building.finish(How::Exited(0))
    }

    fn message(source: &str, program: Option<&str>) -> String {
        let program = program.map_or("null".into(), |program| format!("{program:?}"));
        format!(
            r#"{{"reason":"compiler-artifact","target":{{"kind":["bin"],"src_path":{source:?}}},"executable":{program}}}"#
        )
    }

    #[test]
    fn cargo_tells_where_the_program_is() {
        let exe = std::env::current_exe().unwrap();
        let exe = exe.to_str().unwrap();
        let (library, ours, other) = (
            message("/p/src/lib.rs", None),
            message("/p/src/main.rs", Some(exe)),
            message("/p/src/bin/b.rs", Some("/no/such/b")),
        );
        let finished = r#"{"reason":"build-finished","success":true}"#;
        for lines in [[&*library, &*ours, &*other, finished], [&*other, &*library, &*ours, finished]] {
            assert_eq!(told(&lines, "/p/src/main.rs").unwrap().program, Path::new(exe));
        }
        // A path that says nothing to us: the last one.
        assert_eq!(told(&[&library, &ours, finished], "/elsewhere.rs").unwrap().program, Path::new(exe));
        let none = told(&[&library, "{broken", finished], "/p/src/main.rs").unwrap_err();
        assert_eq!(none, "could not be built: `make-it` made no program");
        assert!(told(&[&other], "/p/src/bin/b.rs").unwrap_err().contains("/no/such/b is not there"));
    }

    #[test]
    fn what_is_for_a_person_is_not_taken() {
        let artefact = Artefact::Told { source: "/x".into() };
        let (_, mut building) = Building::prepare(&build(artefact), Instant::now()).unwrap();
        assert!(!building.take(b"warning: unused"));
        let (_, mut building) =
            Building::prepare(&build(Artefact::Written { words: Vec::new() }), Instant::now()).unwrap();
        assert!(!building.take(b"{}"));
        assert_eq!(
            building.finish(How::Exited(1)).unwrap_err(),
            "could not be built: `make-it` exited with status 1"
        );
    }

    #[test]
    fn what_is_written_is_gone_with_its_process() {
        let artefact = Artefact::Written { words: vec!["./x.go".into()] };
        let (command, building) = Building::prepare(&build(artefact.clone()), Instant::now()).unwrap();
        let path = PathBuf::from(&command[2]);
        assert_eq!(command, ["make-it".into(), "-o".into(), path.clone().into_os_string(), "./x.go".into()]);
        fs::write(&path, "").unwrap();
        let built = building.finish(How::Exited(0)).unwrap();
        assert_eq!(built.program, path);
        drop(built);
        assert!(!path.parent().unwrap().exists());
        let (command, building) = Building::prepare(&build(artefact), Instant::now()).unwrap();
        assert!(building.finish(How::Exited(0)).unwrap_err().contains("is not there"));
        assert!(!Path::new(&command[2]).parent().unwrap().exists());
    }
}
