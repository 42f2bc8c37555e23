//! Each rule of [`super::choose`], in a folder of its own with programs that do nothing.

use super::*;
use crate::cli::settings::tests::Folder;
use crate::os::Artefact;

fn environment(folder: &Folder) -> Environment {
    Environment {
        folder: folder.path("home"),
        path: vec![folder.path("local"), folder.path("bin")],
        usual: Vec::new(),
        home: None,
        python: None,
        node: None,
        virtual_env: None,
        variables: |_| None,
        node_version: |_| None,
    }
}

/// What is chosen for a file of this folder.
fn choice(folder: &Folder, file: &str, here: &Environment) -> Choice {
    choose(&folder.path(file), &[], None, here).unwrap()
}

/// The command line for a file of this folder, with the folder's name taken out of it.
fn found(folder: &Folder, file: &str, here: &Environment) -> Result<String, String> {
    let root = folder.path("");
    let root = root.to_str().expect("a plain name");
    choose(&folder.path(file), &[], None, here)
        .map(|choice| shown(&choice.command).replace(root, "/"))
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
fn python_layouts() {
    /// Files (programs end with `!`), programs on PATH, and what follows from them.
    type Layout = (&'static [&'static str], &'static [&'static str], &'static str);
    let layouts: [Layout; 14] = [
        (&[], &[], "python3"),
        (&["pyproject.toml"], &[], "python3"),
        (&["pyproject.toml"], &["uv"], "uv run --project /home python"),
        (&["a/uv.lock", "pyproject.toml"], &["uv"], "uv run --project /home/a python"),
        (&["pyproject.toml", "uv.lock"], &["poetry"], "python3"),
        (&["pyproject.toml", "poetry.lock"], &["poetry", "uv"], "poetry --directory /home run python"),
        (&["pyproject.toml", "poetry.lock"], &["uv"], "uv run --project /home python"),
        (&["pyproject.toml", "pdm.lock"], &["pdm", "uv"], "pdm run --project /home python"),
        (&["pyproject.toml", "pdm.lock"], &[], "python3"),
        (&["pyproject.toml", "uv.lock", "venv/bin/python!"], &["uv"], "/home/venv/bin/python"),
        (&["pyproject.toml", "venv/bin/python!", ".venv/bin/python!"], &[], "/home/.venv/bin/python"),
        (&["pyproject.toml", ".venv/bin/python!", "a/venv/bin/python!"], &[], "/home/a/venv/bin/python"),
        // A workspace of a repository; what lies above it is not its.
        (&[".git/HEAD", "a/pyproject.toml", ".venv/bin/python!"], &[], "/home/.venv/bin/python"),
        (&["a/.git/HEAD", ".venv/bin/python!"], &[], "python3"),
    ];
    for (files, programs, expected) in layouts {
        let folder = Folder::new();
        let file = "home/a/b/server.py";
        folder.file(file, "");
        for name in files {
            match name.strip_suffix('!') {
                Some(program) => folder.program(&format!("home/{program}")),
                None => folder.file(&format!("home/{name}"), ""),
            }
        }
        for program in programs.iter().chain(&["python3"]) {
            folder.program(&format!("bin/{program}"));
        }
        let said = found(&folder, file, &environment(&folder)).unwrap();
        assert_eq!(said, format!("{expected} /home/a/b/server.py"), "{files:?} {programs:?}");
    }
}

#[test]
fn what_a_person_says_about_python_goes_before_what_is_found() {
    let folder = all_programs();
    let mut here = environment(&folder);
    let file = "home/a/b/server.py";
    folder.file(file, "");
    folder.file("home/pyproject.toml", "");
    folder.program("home/.venv/bin/python");
    folder.program("active/bin/python");
    here.virtual_env = Some(folder.path("active"));
    assert_eq!(found(&folder, file, &here).unwrap(), "/active/bin/python /home/a/b/server.py");
    here.python = Some("python3".into());
    assert_eq!(found(&folder, file, &here).unwrap(), "python3 /home/a/b/server.py");
    here.python = Some("./.venv/bin/python".into());
    assert_eq!(found(&folder, file, &here).unwrap(), "/home/./.venv/bin/python /home/a/b/server.py");
    here.python = None;
    here.virtual_env = Some(folder.path("gone"));
    let choice = choice(&folder, file, &here);
    assert_eq!(choice.command[0], folder.path("home/.venv/bin/python"));
    assert!(choice.warnings[0].starts_with("VIRTUAL_ENV is "), "{:?}", choice.warnings);
}

#[test]
fn a_lock_file_of_a_tool_that_is_not_installed_is_said() {
    let folder = all_programs();
    folder.remove("bin/uv");
    let here = environment(&folder);
    for (project, lock, tool) in [
        ("", "uv.lock", "uv"),
        ("[tool.uv]", "pyproject.toml", "uv"),
        ("", "poetry.lock", "poetry"),
        ("", "pdm.lock", "pdm"),
    ] {
        folder.file("home/p/pyproject.toml", project);
        folder.file("home/p/s.py", "");
        if lock != "pyproject.toml" {
            folder.file(&format!("home/p/{lock}"), "");
        }
        let choice = choice(&folder, "home/p/s.py", &here);
        assert_eq!(choice.command[0], "python3");
        let said = format!(
            "{} asks for {tool}, which is not installed; looked in {}, {} (PATH)",
            folder.path(&format!("home/p/{lock}")).display(),
            folder.path("local").display(),
            folder.path("bin").display()
        );
        assert_eq!(choice.warnings, [said]);
        if lock != "pyproject.toml" {
            folder.remove(&format!("home/p/{lock}"));
        }
    }
    folder.file("home/j/bun.lock", "");
    folder.file("home/j/package.json", "");
    folder.file("home/j/s.js", "");
    let choice = choice(&folder, "home/j/s.js", &here);
    assert_eq!(choice.command[0], "node");
    assert!(choice.warnings[0].contains("asks for bun"), "{:?}", choice.warnings);
}

#[test]
fn a_choice_gives_its_reasons() {
    let folder = all_programs();
    folder.file("home/pyproject.toml", "");
    folder.file("home/s.py", "");
    let choice = choice(&folder, "home/s.py", &environment(&folder));
    let work = folder.path("home");
    let work = work.display();
    assert_eq!(choice.rule, format!("uv is installed and this is a project: {work}/pyproject.toml"));
    assert_eq!(
        choice.passed_over,
        [
            "--runtime: not given".to_string(),
            "PROTOMCP_PYTHON: not set".into(),
            "VIRTUAL_ENV: not set".into(),
            format!("virtual environment: no .venv or venv in {work}"),
            format!("uv: no uv.lock in {work}"),
            format!("poetry: no poetry.lock in {work}"),
            format!("pdm: no pdm.lock in {work}"),
        ]
    );
    assert_eq!((choice.program, choice.search_path), (folder.path("bin/uv"), None));
}

#[test]
fn a_bare_path_finds_what_is_in_the_usual_places() {
    let folder = Folder::new();
    let mut here = environment(&folder);
    here.path = vec!["/usr/no-such-bin".into(), "/no-such-bin".into()];
    here.usual = vec![folder.path("home/.local/bin"), folder.path("home/node/bin")];
    folder.program("home/.local/bin/uv");
    for program in ["node", "npx"] {
        folder.program(&format!("home/node/bin/{program}"));
    }
    folder.file("home/p/pyproject.toml", "");
    folder.file("home/p/s.py", "");
    let found = choice(&folder, "home/p/s.py", &here);
    let uv = folder.path("home/.local/bin/uv");
    assert_eq!((&found.command[0], &found.program), (&uv.clone().into_os_string(), &uv));
    let path = format!("{}:/usr/no-such-bin:/no-such-bin", folder.path("home/.local/bin").display());
    assert_eq!(found.search_path, Some(path.into()), "what it starts is to be found, too");
    // A script that is found by its path needs its interpreter.
    folder.file("home/t/package.json", "");
    folder.file("home/t/s.ts", "");
    folder.program("home/t/node_modules/.bin/tsx");
    let path = format!("{}:/usr/no-such-bin:/no-such-bin", folder.path("home/node/bin").display());
    assert_eq!(choice(&folder, "home/t/s.ts", &here).search_path, Some(path.into()));
    folder.file("home/p/s.rb", "");
    let error = choose(&folder.path("home/p/s.rb"), &[], None, &here).unwrap_err();
    let looked = here.usual.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ");
    assert_eq!(
        error,
        format!(
            "ruby was not found; looked in /usr/no-such-bin, /no-such-bin (PATH) and in {looked}; name a \
             command with --runtime"
        )
    );
}

#[test]
fn a_command_that_was_typed() {
    let folder = all_programs();
    let mut here = environment(&folder);
    folder.program("home/tool");
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let choice = typed(&words(&["uv", "run", "x.py"]), &here).unwrap();
    assert_eq!((choice.command, choice.program), (words(&["uv", "run", "x.py"]), folder.path("bin/uv")));
    let choice = typed(&words(&["./tool", "-x"]), &here).unwrap();
    assert_eq!(choice.command, [folder.path("home/./tool").into_os_string(), "-x".into()]);
    assert!(typed(&words(&["./missing"]), &here).unwrap_err().contains("is not a program"));
    assert_eq!(typed(&words(&[""]), &here).unwrap_err(), "the command is empty");
    here.usual = vec![folder.path("usual")];
    folder.program("usual/bun");
    assert_eq!(typed(&words(&["bun"]), &here).unwrap().command, [folder.path("usual/bun")]);
}

#[test]
fn the_other_languages() {
    let folder = Folder::new();
    for program in ["ruby", "php", "lua", "perl", "sh", "julia", "Rscript", "bash"] {
        folder.program(&format!("bin/{program}"));
    }
    let here = environment(&folder);
    for (name, expected) in [
        ("s.rb", "ruby"),
        ("s.php", "php"),
        ("s.lua", "lua"),
        ("s.pl", "perl"),
        ("s.sh", "sh"),
        ("s.jl", "julia"),
        ("s.R", "Rscript"),
    ] {
        folder.file(&format!("home/{name}"), "");
        let said = found(&folder, &format!("home/{name}"), &here).unwrap();
        assert_eq!(said, format!("{expected} /home/{name}"));
    }
    let bash = folder.path("bin/bash");
    folder.file("home/b.sh", &format!("#!{}\n", bash.display()));
    assert_eq!(found(&folder, "home/b.sh", &here).unwrap(), "/bin/bash /home/b.sh");
}

#[test]
fn javascript() {
    let folder = all_programs();
    let mut here = environment(&folder);
    for file in ["home/s.js", "home/s.mjs", "home/s.cjs"] {
        folder.file(file, "");
        assert_eq!(found(&folder, file, &here).unwrap(), format!("node /{file}"));
    }
    folder.file("home/deno.lock", "");
    folder.program("bin/deno");
    assert_eq!(found(&folder, "home/s.js", &here).unwrap(), "deno run --allow-all /home/s.js");
    folder.remove("home/deno.lock");
    folder.remove("bin/node");
    assert_eq!(found(&folder, "home/s.js", &here).unwrap(), "deno run --allow-all /home/s.js");
    folder.program("home/my-node");
    here.node = Some("./my-node".into());
    assert_eq!(found(&folder, "home/s.js", &here).unwrap(), "/home/./my-node /home/s.js");
}

#[test]
fn typescript_from_the_nearest_place() {
    let folder = all_programs();
    let mut here = environment(&folder);
    let file = "home/a/s.ts";
    folder.file(file, "");
    assert_eq!(found(&folder, file, &here).unwrap(), "npx tsx /home/a/s.ts");
    for (version, expected) in [
        (Some((20, 20)), "npx tsx /home/a/s.ts"),
        (Some((22, 17)), "node --experimental-strip-types /home/a/s.ts"),
        (Some((22, 18)), "node /home/a/s.ts"),
        (Some((24, 0)), "node /home/a/s.ts"),
        (None, "npx tsx /home/a/s.ts"),
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
    here.node_version = |_| None;
    folder.program("local/tsx");
    assert_eq!(found(&folder, file, &here).unwrap(), "tsx /home/a/s.ts");
    folder.file("home/package.json", "");
    for program in ["bun", "deno"] {
        folder.program(&format!("bin/{program}"));
    }
    folder.file("home/deno.json", "");
    assert_eq!(found(&folder, file, &here).unwrap(), "deno run --allow-all /home/a/s.ts");
    folder.file("home/bun.lockb", "");
    assert_eq!(found(&folder, file, &here).unwrap(), "bun run /home/a/s.ts");
    folder.program("home/node_modules/.bin/tsx");
    assert_eq!(found(&folder, file, &here).unwrap(), "/home/node_modules/.bin/tsx /home/a/s.ts");
    here.node = Some("node".into());
    assert_eq!(found(&folder, file, &here).unwrap(), "node /home/a/s.ts");
}

/// The build of a file of this folder: its command, its folder and what is added behind `-o`.
fn build(folder: &Folder, file: &str) -> Result<(String, PathBuf, Vec<OsString>), String> {
    let args = ["-x".into()];
    let choice = choose(&folder.path(file), &args, None, &environment(folder))?;
    assert_eq!(choice.command, args, "they are for what is built");
    let build = choice.build.expect("a build");
    let words = match build.artefact {
        Artefact::Written { words } => words,
        Artefact::Told { source } => {
            assert_eq!(source, folder.path(file));
            Vec::new()
        }
    };
    Ok((shown(&build.command), build.folder, words))
}

#[test]
fn go_and_cargo() {
    let folder = all_programs();
    folder.file("go/s.go", "package main\n\nfunc main() {}\n");
    let alone = ("go build".to_string(), folder.path("go"), vec!["./s.go".into()]);
    assert_eq!(build(&folder, "go/s.go"), Ok(alone.clone()));
    folder.file("go/go.mod", "");
    folder.file("go/part.go", "package main\n");
    assert_eq!(build(&folder, "go/s.go"), Ok(("go build".into(), folder.path("go"), Vec::new())));
    folder.file("go/other.go", "package main\n\nfunc main() {\n}\n");
    assert_eq!(build(&folder, "go/s.go"), Ok(alone));
    assert_eq!(build(&folder, "go/part.go"), Ok(("go build".into(), folder.path("go"), Vec::new())));

    folder.file("p/Cargo.toml", "[package]\nname = \"p\"\n");
    for (file, target) in
        [("p/src/main.rs", "--bin p"), ("p/src/bin/b.rs", "--bin b"), ("p/examples/f/main.rs", "--example f")]
    {
        folder.file(file, "");
        let command = format!("cargo build --quiet --message-format=json-render-diagnostics {target}");
        assert_eq!(build(&folder, file), Ok((command, folder.path("p"), Vec::new())));
    }
    for file in ["p/src/lib.rs", "p/src/bin/c/part.rs", "alone/s.rs"] {
        folder.file(file, "");
        let error = build(&folder, file).unwrap_err();
        assert!(error.contains("--runtime") && error.contains(file), "{error}");
    }
}

#[test]
fn a_program_runs_as_it_is_and_a_script_by_its_first_line() {
    let folder = all_programs();
    let here = environment(&folder);
    folder.program("home/tool");
    assert_eq!(found(&folder, "home/tool", &here).unwrap(), "/home/tool");
    let interpreter = folder.path("bin/python3");
    let interpreter = interpreter.to_str().expect("a plain name");
    for (line, expected) in [
        (format!("#!{interpreter}\nx"), "/bin/python3 /home/s.tool"),
        (format!("#! {interpreter}  -u -x \r\nx"), "/bin/python3 '-u -x' /home/s.tool"),
        (format!("#!{interpreter}"), "/bin/python3 /home/s.tool"),
    ] {
        folder.file("home/s.tool", &line);
        assert_eq!(found(&folder, "home/s.tool", &here).unwrap(), expected, "{line:?}");
    }
    for text in ["", "#!", "#! \n/x", "text"] {
        folder.file("home/s.tool", text);
        let error = found(&folder, "home/s.tool", &here).unwrap_err();
        assert!(error.starts_with("nothing is known that runs /home/s.tool"), "{error}");
    }
    folder.file("home/s.tool", "#!/no/such/interpreter\n");
    assert_eq!(
        found(&folder, "home/s.tool", &here).unwrap_err(),
        "/no/such/interpreter is not a program that can be run"
    );
}

#[test]
fn the_runtime_that_was_asked_for() {
    let folder = all_programs();
    let here = environment(&folder);
    folder.file("home/s.py", "");
    folder.program("home/wrap it.sh");
    let file = folder.path("home/s.py");
    let made = |runtime: &str| {
        choose(&file, &["a b".into()], Some(runtime), &here).map(|choice| choice.command.join(" ".as_ref()))
    };
    let file_shown = file.to_str().expect("a plain name");
    assert_eq!(made("uv run -q").unwrap().to_str(), Some(format!("uv run -q {file_shown} a b").as_str()));
    let wrapped = choose(&file, &[], Some("'./wrap it.sh' -x"), &here).unwrap().command;
    assert_eq!(wrapped[0], folder.path("home/./wrap it.sh"));
    assert_eq!(made("'open").unwrap_err(), "--runtime: a quote is not closed");
    let missing = made("ruby").unwrap_err();
    let looked = format!("{}, {}", folder.path("local").display(), folder.path("bin").display());
    assert_eq!(
        missing,
        format!("ruby was not found; looked in {looked} (PATH); name a command with --runtime")
    );
}
