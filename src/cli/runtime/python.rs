//! Which Python runs a file.

use std::fs;
use std::path::{Path, PathBuf};

use super::search::is_executable;
use super::{Picked, Search};

/// `PROTOMCP_PYTHON`, the active virtual environment, the nearest one, the project's manager by its
/// lock file, uv for any project, `python3`.
pub(super) fn pick(search: &mut Search<'_>) -> Picked {
    let here = search.here;
    if let Some(python) = &here.python {
        return Picked::interpreter([python.clone()], "PROTOMCP_PYTHON is set");
    }
    search.pass("PROTOMCP_PYTHON: not set");
    if let Some(picked) = active(search) {
        return picked;
    }
    let environment = search
        .folders
        .iter()
        .flat_map(|folder| [".venv", "venv"].map(|name| folder.join(name)))
        .find(|folder| is_executable(&folder.join("bin/python")));
    if let Some(folder) = environment {
        let rule = format!("the nearest virtual environment, {}", folder.display());
        return Picked::interpreter([folder.join("bin/python").into()], rule);
    }
    search.pass(format!("virtual environment: no .venv or venv {}", search.between()));
    let project = search.nearest("pyproject.toml");
    for manager in [&UV, &POETRY, &PDM] {
        if let Some(picked) = manager.pick(search, project.as_deref()) {
            return picked;
        }
    }
    if let Some(project) = &project {
        if here.program("uv".as_ref()).is_some() {
            return UV.run(project, "uv is installed and this is a project: ");
        }
        search.pass("uv for any project: not installed");
    }
    let rule = "python3, since nothing else was found";
    let python = ["python3", "python"].into_iter().find(|name| here.program(name.as_ref()).is_some());
    Picked::interpreter([python.unwrap_or("python3").into()], rule)
}

fn active(search: &mut Search<'_>) -> Option<Picked> {
    let Some(folder) = &search.here.virtual_env else {
        search.pass("VIRTUAL_ENV: not set");
        return None;
    };
    let python = search.here.folder.join(folder).join("bin/python");
    if is_executable(&python) {
        let rule = format!("the active virtual environment, {} (VIRTUAL_ENV)", folder.display());
        return Some(Picked::interpreter([python.into()], rule));
    }
    search.warn(format!("VIRTUAL_ENV is {}, but {} can't be run", folder.display(), python.display()));
    None
}

/// A program that keeps a project's packages.
struct Manager {
    name: &'static str,
    lock: &'static str,
    /// A part of `pyproject.toml` that says that it is used.
    table: Option<&'static str>,
    /// Between its name and the project's folder.
    before: &'static [&'static str],
    /// Behind the project's folder.
    behind: &'static [&'static str],
}

const UV: Manager = Manager {
    name: "uv",
    lock: "uv.lock",
    table: Some("[tool.uv"),
    before: &["run", "--project"],
    behind: &["python"],
};

const POETRY: Manager = Manager {
    name: "poetry",
    lock: "poetry.lock",
    table: None,
    before: &["--directory"],
    behind: &["run", "python"],
};

const PDM: Manager = Manager {
    name: "pdm",
    lock: "pdm.lock",
    table: None,
    before: &["run", "--project"],
    behind: &["python"],
};

impl Manager {
    /// If the project is one of its.
    fn pick(&self, search: &mut Search<'_>, project: Option<&Path>) -> Option<Picked> {
        let says_so = |project: &Path| {
            let text = fs::read_to_string(project).unwrap_or_default();
            self.table.is_some_and(|table| text.lines().any(|line| line.trim_start().starts_with(table)))
        };
        let reason: Option<PathBuf> = search
            .nearest(self.lock)
            .or_else(|| project.filter(|project| says_so(project)).map(PathBuf::from));
        let Some(reason) = reason else {
            search.pass(format!("{}: no {} {}", self.name, self.lock, search.between()));
            return None;
        };
        if search.here.program(self.name.as_ref()).is_none() {
            search.missing(self.name, &reason);
            return None;
        }
        Some(self.run(&reason, ""))
    }

    /// `reason` is a file in the project's folder. The folder is named, because the working folder
    /// may be another one.
    fn run(&self, reason: &Path, why: &str) -> Picked {
        let folder = reason.parent().unwrap_or(Path::new("/"));
        let before = [&[self.name], self.before].concat().into_iter().map(Into::into);
        let words = before.chain([folder.into()]).chain(self.behind.iter().map(Into::into));
        Picked::interpreter(words, format!("{why}{}", reason.display()))
    }
}
