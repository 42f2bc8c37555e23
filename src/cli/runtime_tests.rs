//! Each rule of [`super::command`], in a folder of its own with programs that do nothing.

use super::*;
use crate::cli::settings::tests::Folder;

fn environment(folder: &Folder) -> Environment {
    Environment {
        folder: folder.path("work"),
        path: vec![folder.path("local"), folder.path("bin")],
        python: None,
        node: None,
        node_version: |_| None,
    }
}

/// The command line for a file of this folder, with the folder's name taken out of it.
fn found(folder: &Folder, file: &str, here: &Environment) -> Result<String, String> {
    let root = folder.path("");
    let root = root.to_str().expect("a plain name");
    command(&folder.path(file), &[], None, here)
        .map(|command| shown(&command).replace(root, "/"))
        .map_err(|error| error.replace(root, "/"))
}

fn all_programs() -> Folder {
    let folder = Folder::new();
    for program in ["python3", "uv", "node", "npx", "go", "cargo"] {
        folder.program(&format!("bin/{program}"));
    }
    folder
}

#[test]
fn python_from_the_nearest_place() {
    let folder = all_programs();
    let mut here = environment(&folder);
    let file = "work/a/b/server.py";
    folder.file(file, "");
    assert_eq!(found(&folder, file, &here).unwrap(), "python3 /work/a/b/server.py");
    folder.file("work/pyproject.toml", "");
    assert_eq!(found(&folder, file, &here).unwrap(), "uv run --project /work python /work/a/b/server.py");
    folder.program("work/venv/bin/python");
    assert_eq!(found(&folder, file, &here).unwrap(), "/work/venv/bin/python /work/a/b/server.py");
    folder.program("work/.venv/bin/python");
    assert_eq!(found(&folder, file, &here).unwrap(), "/work/.venv/bin/python /work/a/b/server.py");
    folder.program("work/a/venv/bin/python");
    assert_eq!(found(&folder, file, &here).unwrap(), "/work/a/venv/bin/python /work/a/b/server.py");
    here.python = Some("python3".into());
    assert_eq!(found(&folder, file, &here).unwrap(), "python3 /work/a/b/server.py");
    here.python = Some("./.venv/bin/python".into());
    assert_eq!(found(&folder, file, &here).unwrap(), "/work/./.venv/bin/python /work/a/b/server.py");
}

#[test]
fn a_project_without_uv_is_plain_python() {
    let folder = all_programs();
    folder.file("work/pyproject.toml", "");
    folder.file("work/server.py", "");
    folder.remove("bin/uv");
    assert_eq!(found(&folder, "work/server.py", &environment(&folder)).unwrap(), "python3 /work/server.py");
}

#[test]
fn javascript() {
    let folder = all_programs();
    let mut here = environment(&folder);
    for file in ["work/s.js", "work/s.mjs", "work/s.cjs"] {
        folder.file(file, "");
        assert_eq!(found(&folder, file, &here).unwrap(), format!("node /{file}"));
    }
    folder.program("work/my-node");
    here.node = Some("./my-node".into());
    assert_eq!(found(&folder, "work/s.js", &here).unwrap(), "/work/./my-node /work/s.js");
}

#[test]
fn typescript_from_the_nearest_place() {
    let folder = all_programs();
    let mut here = environment(&folder);
    let file = "work/a/s.ts";
    folder.file(file, "");
    assert_eq!(found(&folder, file, &here).unwrap(), "npx tsx /work/a/s.ts");
    for (version, expected) in [
        (Some((20, 20)), "npx tsx /work/a/s.ts"),
        (Some((22, 17)), "npx tsx /work/a/s.ts"),
        (Some((22, 18)), "node /work/a/s.ts"),
        (Some((24, 0)), "node /work/a/s.ts"),
        (None, "npx tsx /work/a/s.ts"),
    ] {
        here.node_version = match version {
            Some((20, _)) => |_| Some((20, 20)),
            Some((22, 17)) => |_| Some((22, 17)),
            Some((22, _)) => |_| Some((22, 18)),
            Some(_) => |_| Some((24, 0)),
            None => |_| None,
        };
        assert_eq!(found(&folder, file, &here).unwrap(), expected, "{version:?}");
    }
    folder.program("local/tsx");
    assert_eq!(found(&folder, file, &here).unwrap(), "tsx /work/a/s.ts");
    folder.program("work/node_modules/.bin/tsx");
    assert_eq!(found(&folder, file, &here).unwrap(), "/work/node_modules/.bin/tsx /work/a/s.ts");
    here.node = Some("node".into());
    assert_eq!(found(&folder, file, &here).unwrap(), "node /work/a/s.ts");
}

#[test]
fn go_and_cargo() {
    let folder = all_programs();
    let here = environment(&folder);
    for file in ["go/s.go", "p/src/main.rs", "p/src/bin/b.rs", "p/src/bin/c/main.rs", "p/examples/e.rs"] {
        folder.file(file, "");
    }
    for file in ["p/examples/f/main.rs", "p/src/lib.rs", "p/src/bin/c/part.rs", "alone/s.rs"] {
        folder.file(file, "");
    }
    folder.file("p/Cargo.toml", "");
    assert_eq!(found(&folder, "go/s.go", &here).unwrap(), "go run /go/s.go");
    let run = "cargo run --quiet --manifest-path /p/Cargo.toml";
    for (file, target) in [
        ("p/src/main.rs", ""),
        ("p/src/bin/b.rs", " --bin b"),
        ("p/src/bin/c/main.rs", " --bin c"),
        ("p/examples/e.rs", " --example e"),
        ("p/examples/f/main.rs", " --example f"),
    ] {
        assert_eq!(found(&folder, file, &here).unwrap(), format!("{run}{target}"));
    }
    for file in ["p/src/lib.rs", "p/src/bin/c/part.rs", "alone/s.rs"] {
        let error = found(&folder, file, &here).unwrap_err();
        assert!(error.contains("--runtime") && error.contains(file), "{error}");
    }
    let with = command(&folder.path("p/src/main.rs"), &["-x".into()], None, &here).unwrap();
    assert_eq!(&with[with.len() - 2..], ["--", "-x"]);
}

#[test]
fn a_program_runs_as_it_is_and_a_script_by_its_first_line() {
    let folder = all_programs();
    let here = environment(&folder);
    folder.program("work/tool");
    assert_eq!(found(&folder, "work/tool", &here).unwrap(), "/work/tool");
    let interpreter = folder.path("bin/python3");
    let interpreter = interpreter.to_str().expect("a plain name");
    for (line, expected) in [
        (format!("#!{interpreter}\nx"), "/bin/python3 /work/s.tool"),
        (format!("#! {interpreter}  -u -x \r\nx"), "/bin/python3 '-u -x' /work/s.tool"),
        (format!("#!{interpreter}"), "/bin/python3 /work/s.tool"),
    ] {
        folder.file("work/s.tool", &line);
        assert_eq!(found(&folder, "work/s.tool", &here).unwrap(), expected, "{line:?}");
    }
    for text in ["", "#!", "#! \n/x", "text"] {
        folder.file("work/s.tool", text);
        let error = found(&folder, "work/s.tool", &here).unwrap_err();
        assert!(error.starts_with("nothing is known that runs /work/s.tool"), "{error}");
    }
    folder.file("work/s.tool", "#!/no/such/interpreter\n");
    assert_eq!(
        found(&folder, "work/s.tool", &here).unwrap_err(),
        "/no/such/interpreter is not a program that can be run"
    );
}

#[test]
fn the_runtime_that_was_asked_for() {
    let folder = all_programs();
    let here = environment(&folder);
    folder.file("work/s.py", "");
    folder.program("work/wrap it.sh");
    let file = folder.path("work/s.py");
    let made = |runtime: &str| {
        command(&file, &["a b".into()], Some(runtime), &here).map(|words| words.join(" ".as_ref()))
    };
    let file_shown = file.to_str().expect("a plain name");
    assert_eq!(made("uv run -q").unwrap().to_str(), Some(format!("uv run -q {file_shown} a b").as_str()));
    let wrapped = command(&file, &[], Some("'./wrap it.sh' -x"), &here).unwrap();
    assert_eq!(wrapped[0], folder.path("work/./wrap it.sh"));
    assert_eq!(made("'open").unwrap_err(), "--runtime: a quote is not closed");
    let missing = made("ruby").unwrap_err();
    let looked = format!("{}, {}", folder.path("local").display(), folder.path("bin").display());
    assert_eq!(
        missing,
        format!("ruby was not found; looked in {looked} (PATH); name a command with --runtime")
    );
}

#[test]
fn commands_are_cut_as_a_shell_does() {
    for (text, expected) in [
        ("", &[] as &[&str]),
        ("  a  b ", &["a", "b"]),
        ("a 'b c' d", &["a", "b c", "d"]),
        (r#"a "b 'c' \"d\" \n""#, &["a", r#"b 'c' "d" \n"#]),
        (r"a\ b 'c\d'", &["a b", r"c\d"]),
        ("a''b '' \"\"", &["ab", "", ""]),
        ("x='1 2'3", &["x=1 23"]),
    ] {
        assert_eq!(
            split(text).as_deref(),
            Some(&expected.iter().map(|s| s.to_string()).collect::<Vec<_>>()[..]),
            "{text}"
        );
    }
    for text in ["'a", "\"a", "a\\", "\"a\\", "a 'b\""] {
        assert_eq!(split(text), None, "{text}");
    }
    let words = ["a b", "", "it's", "plain/x.py", "$HOME"].map(OsString::from);
    assert_eq!(shown(&words), r"'a b' '' 'it'\''s' plain/x.py '$HOME'");
    assert_eq!(split(&shown(&words)), Some(words.map(|word| word.into_string().unwrap()).into()));
}

#[test]
fn a_real_node_knows_its_version() {
    let Ok(here) = Environment::of_process() else { return };
    if let Some(node) = here.program("node".as_ref()) {
        assert!(ask_node(&node).is_some_and(|version| version > (10, 0)));
    }
    assert_eq!(ask_node(Path::new("/no/such/node")), None);
}
