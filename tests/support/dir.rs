//! A folder of a test's own that is removed with its value.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder.
pub(crate) struct Dir {
    path: PathBuf,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

impl Dir {
    pub(crate) fn new() -> Dir {
        let name = format!("pmcp-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Dir { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes a file that can be run.
    ///
    /// A shell does the writing: were this process to hold the file open for writing while another
    /// test forks, the child would hold it too, and running it would fail with "text file busy".
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let source = self.write(&format!("{name}.source"), text);
        let path = self.join(name);
        let status = std::process::Command::new("sh")
            .arg("-c")
            .arg("cat \"$0\" > \"$1\" && chmod 755 \"$1\" && rm \"$0\"")
            .arg(source)
            .arg(&path)
            .status()
            .unwrap();
        assert!(status.success());
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
