//! What runs a file in JavaScript or TypeScript.

use std::path::Path;

use super::search::is_executable;
use super::{Picked, Search};

/// What a version of Node.js does with types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Types {
    Stripped,
    /// Stripped if it is told so.
    WithFlag,
    Unknown,
}

const FLAG: &str = "--experimental-strip-types";

fn types(version: Option<(u32, u32)>) -> Types {
    match version {
        Some((22, minor)) if minor >= 18 => Types::Stripped,
        Some((23, minor)) if minor >= 6 => Types::Stripped,
        Some((major, _)) if major >= 24 => Types::Stripped,
        Some((22, minor)) if minor >= 6 => Types::WithFlag,
        Some((23, _)) => Types::WithFlag,
        _ => Types::Unknown,
    }
}

/// `PROTOMCP_NODE`, bun or deno by their lock files, `node`, whichever else there is.
pub(super) fn pick_javascript(search: &mut Search<'_>) -> Picked {
    let here = search.here;
    if let Some(node) = &here.node {
        return Picked::interpreter([node.clone()], "PROTOMCP_NODE is set");
    }
    search.pass("PROTOMCP_NODE: not set");
    if let Some(picked) = by_lock(search) {
        return picked;
    }
    let has = |name: &str| here.program(name.as_ref()).is_some();
    match (has("node"), has("bun"), has("deno")) {
        (false, true, _) => bun("no Node.js was found, but bun"),
        (false, false, true) => deno("no Node.js was found, but deno"),
        _ => Picked::interpreter(["node".into()], "node, since nothing else was found"),
    }
}

/// `PROTOMCP_NODE`, the project's own tsx, bun or deno by their lock files, a Node.js that knows
/// types, tsx.
pub(super) fn pick_typescript(search: &mut Search<'_>) -> Picked {
    let here = search.here;
    let flag = |types| (types == Types::WithFlag).then(|| FLAG.into());
    if let Some(node) = &here.node {
        let found = here.program(node);
        let types = types(found.and_then(|node| (here.node_version)(&node.path)));
        return Picked::interpreter([node.clone()].into_iter().chain(flag(types)), "PROTOMCP_NODE is set");
    }
    search.pass("PROTOMCP_NODE: not set");
    let tsx = search.folders.iter().map(|folder| folder.join("node_modules/.bin/tsx"));
    if let Some(tsx) = tsx.into_iter().find(|path| is_executable(path)) {
        let rule = format!("the project's own tsx, {}", tsx.display());
        return Picked { needs: Some("node"), ..Picked::interpreter([tsx.into()], rule) };
    }
    search.pass(format!("the project's own tsx: no node_modules/.bin/tsx {}", search.between()));
    if let Some(picked) = by_lock(search) {
        return picked;
    }
    let node = here.program("node".as_ref());
    let version = node.as_ref().and_then(|node| (here.node_version)(&node.path));
    let types = types(version);
    if types != Types::Unknown {
        let rule = "this version of Node.js knows types";
        return Picked::interpreter(["node".into()].into_iter().chain(flag(types)), rule);
    }
    search.pass(match (node, version) {
        (None, _) => "node: not installed".into(),
        (Some(_), None) => "node: it does not say its version".to_string(),
        (Some(_), Some((major, minor))) => {
            format!("node: {major}.{minor} does not know types; 22.6 and later do")
        }
    });
    if here.program("tsx".as_ref()).is_some() {
        return Picked { needs: Some("node"), ..Picked::interpreter(["tsx".into()], "tsx is installed") };
    }
    search.pass("tsx: not installed");
    Picked { needs: Some("node"), ..Picked::interpreter(["npx".into(), "tsx".into()], "npx fetches tsx") }
}

/// bun or deno, if the project is one of theirs.
fn by_lock(search: &mut Search<'_>) -> Option<Picked> {
    type Run = fn(&str) -> Picked;
    let runtimes: [(&str, &[&str], Run); 2] = [
        ("bun", &["bun.lock", "bun.lockb"], |rule| bun(rule)),
        ("deno", &["deno.lock", "deno.json", "deno.jsonc"], |rule| deno(rule)),
    ];
    for (name, files, run) in runtimes {
        let reason = files.iter().find_map(|file| search.nearest(file));
        match reason {
            Some(reason) if search.here.program(name.as_ref()).is_some() => {
                return Some(run(&shown(&reason)));
            }
            Some(reason) => search.missing(name, &reason),
            None => search.pass(format!("{name}: no {} {}", files.join(" or "), search.between())),
        }
    }
    None
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn bun(rule: &str) -> Picked {
    Picked::interpreter(["bun".into(), "run".into()], rule)
}

/// A tool does what it likes with its user's rights, whatever its language.
fn deno(rule: &str) -> Picked {
    Picked::interpreter(["deno".into(), "run".into(), "--allow-all".into()], rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_versions_know_types() {
        for (version, expected) in [
            (None, Types::Unknown),
            (Some((20, 20)), Types::Unknown),
            (Some((22, 5)), Types::Unknown),
            (Some((22, 6)), Types::WithFlag),
            (Some((22, 17)), Types::WithFlag),
            (Some((22, 18)), Types::Stripped),
            (Some((23, 5)), Types::WithFlag),
            (Some((23, 6)), Types::Stripped),
            (Some((24, 0)), Types::Stripped),
        ] {
            assert_eq!(types(version), expected, "{version:?}");
        }
    }
}
