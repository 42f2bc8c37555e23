//! What the README shows is what is there. Its commands are run by `.ci/run`.

use std::fs;
use std::path::Path;

fn file(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file of the tree")
}

/// What stands in the README between a fence of this language and the next.
fn blocks(readme: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let found: Vec<String> = readme
        .split(&fence)
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(block, _)| block.to_string()))
        .collect();
    assert!(!found.is_empty(), "the README has no block of {language}");
    found
}

#[test]
fn its_tool_file_is_the_example() {
    let example = file("examples/server.py");
    for block in blocks(&file("README.md"), "python") {
        assert!(example.contains(&block), "not in examples/server.py:\n{block}");
    }
}

#[test]
fn its_configuration_is_json_and_a_command_line() {
    for block in blocks(&file("README.md"), "json") {
        let config: serde_json::Value = serde_json::from_str(&block).expect("JSON");
        let server = &config["mcpServers"]["demo"];
        let args: Vec<_> = server["args"].as_array().expect("arguments").iter().collect();
        assert_eq!((server["command"].as_str(), args[0].as_str()), (Some("pmcp"), Some("run")));
        let served = args[1].as_str().and_then(|path| path.strip_prefix("/path/to/")).expect("a path");
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(served).exists(), "{served}");
    }
}

#[test]
fn its_targets_and_links_are_there() {
    let readme = file("README.md");
    let makefile = file("Makefile");
    let targets: Vec<&str> = readme
        .split("make ")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next())
        .collect();
    assert!(targets.len() >= 5, "{targets:?}");
    for target in targets {
        assert!(makefile.contains(&format!("\n{target}: ")), "make {target}");
    }
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        let is_there = Path::new(env!("CARGO_MANIFEST_DIR")).join(link).exists();
        assert!(is_there || link.starts_with("https://"), "{link}");
    }
}

#[test]
fn its_rust_is_the_packages() {
    let wanted = format!("Rust ({} or later)", env!("CARGO_PKG_RUST_VERSION"));
    assert!(file("README.md").contains(&wanted), "{wanted}");
}

#[test]
fn its_dependency_is_the_tutorials() {
    for block in blocks(&file("README.md"), "toml") {
        let documented: String = block.lines().map(|line| format!("//! {line}\n")).collect();
        assert!(file("src/sdk/mod.rs").contains(&documented), "not in src/sdk/mod.rs:\n{block}");
    }
}

#[test]
fn the_changelog_opens_with_what_is_unreleased() {
    let changelog = file("CHANGELOG.md");
    let first = changelog.lines().find(|line| line.starts_with("## ")).expect("a heading");
    assert_eq!(first, "## [Unreleased]");
}
