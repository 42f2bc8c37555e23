//! JSON Schema: the official test suite, and another validator's opinion.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use pmcp_bridge::json_schema::{Draft, Schema};
use serde_json::Value;

use crate::support::environment;

/// The drafts, the folders of their cases, how many required ones there are, and how many of the
/// others come out right.
const DRAFTS: [(Draft, &str, usize, usize); 2] =
    [(Draft::Draft2020, "draft2020-12", 1257, 148), (Draft::Draft7, "draft7", 913, 106)];

/// Which of the cases came out as the suite says.
#[derive(Default)]
struct Outcome {
    right: usize,
    wrong: String,
    wrong_count: usize,
}

#[test]
fn every_required_case_of_the_official_suite() {
    let Some(suite) = environment::file("json-schema-suite/tests") else { return };
    let others = documents(&suite);
    for (draft, folder, required, _) in DRAFTS {
        let mut outcome = Outcome::default();
        for file in json_files(&suite.join(folder), false) {
            run(&file, draft, &others, &mut outcome);
        }
        assert_eq!(outcome.wrong_count, 0, "{folder}:\n{}", outcome.wrong);
        assert_eq!(outcome.right, required, "cases of {folder}");
    }
}

/// What validators need not do. Those that come out wrong are about drafts that are not known here,
/// properties of Unicode without a table, and `format` and `content`, which are annotations.
#[test]
fn optional_cases_of_the_official_suite() {
    let Some(suite) = environment::file("json-schema-suite/tests") else { return };
    let others = documents(&suite);
    for (draft, folder, _, right) in DRAFTS {
        let folder = suite.join(folder).join("optional");
        let mut formats = Outcome::default();
        for file in json_files(&folder.join("format"), false) {
            run(&file, draft, &others, &mut formats);
        }
        let mut outcome = Outcome::default();
        for file in json_files(&folder, false) {
            run(&file, draft, &others, &mut outcome);
        }
        for (what, Outcome { right, wrong, wrong_count }) in [("formats", &formats), ("the rest", &outcome)] {
            eprintln!("{folder:?}, {what}: {right} of {}\n{wrong}", right + wrong_count);
        }
        assert!(outcome.right >= right, "{} right ones, and:\n{}", outcome.right, outcome.wrong);
    }
}

fn json_files(folder: &Path, deep: bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the suite") {
        let path = entry.expect("an entry").path();
        match path.extension() {
            None if deep => files.extend(json_files(&path, true)),
            Some(extension) if extension == "json" => files.push(path),
            _ => {}
        }
    }
    files.sort();
    files
}

/// The documents that cases refer to, by the addresses that the suite gives them.
fn documents(suite: &Path) -> Vec<(String, String)> {
    let folder = suite.with_file_name("remotes");
    let named = |path: PathBuf| {
        let relative = path.strip_prefix(&folder).expect("inside").to_string_lossy().into_owned();
        (format!("http://localhost:1234/{relative}"), fs::read_to_string(&path).expect("a document"))
    };
    json_files(&folder, true).into_iter().map(named).collect()
}

fn run(file: &Path, draft: Draft, others: &[(String, String)], outcome: &mut Outcome) {
    let others: Vec<(&str, &str)> = others.iter().map(|(uri, text)| (uri.as_str(), text.as_str())).collect();
    let groups: Vec<Value> = serde_json::from_str(&fs::read_to_string(file).expect("a file")).expect("JSON");
    for group in &groups {
        let compiled = Schema::compile_with(&group["schema"].to_string(), draft, &others);
        for test in group["tests"].as_array().expect("tests") {
            let expected = test["valid"].as_bool().expect("a verdict");
            let instance = test["data"].to_string();
            let found = compiled.as_ref().map(|schema| schema.check(&instance));
            if matches!(&found, Ok(findings) if findings.is_empty() == expected) {
                outcome.right += 1;
                continue;
            }
            outcome.wrong_count += 1;
            let _ = writeln!(
                outcome.wrong,
                "{}: {} / {} should be {expected}, but: {found:?}",
                file.file_name().unwrap_or_default().to_string_lossy(),
                group["description"].as_str().unwrap_or_default(),
                test["description"].as_str().unwrap_or_default(),
            );
        }
    }
}
