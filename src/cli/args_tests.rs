//! Command lines, right and wrong.

use super::*;
use crate::cli::network::Transport;
use crate::front::http::guard::rate::Rate;
use crate::front::http::guard::secret::Scheme;
use crate::os::Address;

fn typed(line: &str) -> Result<Command, String> {
    parse(line.split_whitespace().map(OsString::from))
}

fn served(line: &str) -> Serve {
    match typed(line) {
        Ok(Command::Serve(serve)) => *serve,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn all_flags_before_and_behind_the_file() {
    let flags = "--runtime uv --cwd /d --env A=b --env C= --env-file e --build-timeout 1s --socket /s --name n --server-version 2 --instructions i.md \
        --max-message 1M --start-timeout 2s --call-timeout 3m --input-timeout 4m --cancel-grace 0 --tasks-max 7 \
        --state-key-env K --grace 0 --hot-reload graceful \
        --drain 1m --watch *.sql --watch x/ --ignore y --poll 1s --transport sse --listen unix:s --listen [::1]:5 --port 6 --connections-max 10 --sessions-max 11 --isolate session --processes-max 3 --session-idle 12s --stream-time 13s --log-level info --log-format json \
        --auth token:T --auth apikey:K --allow-host h:1 --allow-origin https://o --proxy 10.0.0.0/8 --rate 5/s --max-in-flight 9 \
        --oauth-issuer https://i --oauth-audience https://a --oauth-jwks k --oauth-scope s --oauth-scope t --tls-cert c --tls-key d";
    let expected = Serve {
        dev: true,
        file: "f.py".into(),
        args: Vec::new(),
        command: Vec::new(),
        runtime: Some("uv".into()),
        cwd: Some("/d".into()),
        env: vec![("A".into(), "b".into()), ("C".into(), String::new())],
        env_file: Some("e".into()),
        build_timeout: Some(Duration::from_secs(1)),
        socket: Some("/s".into()),
        name: Some("n".into()),
        server_version: Some("2".into()),
        instructions: Some("i.md".into()),
        message_max: Some(1 << 20),
        start_timeout: Some(Duration::from_secs(2)),
        call_timeout: Some(Duration::from_secs(180)),
        input_timeout: Some(Duration::from_secs(240)),
        cancel_grace: Some(Duration::ZERO),
        tasks_max: Some(7),
        state_key_env: Some("K".into()),
        grace: Some(Duration::ZERO),
        hot_reload: Some(ReloadMode::Graceful),
        exclusive: false,
        drain: Some(Duration::from_secs(60)),
        watch: vec!["*.sql".into(), "x/".into()],
        ignore: vec!["y".into()],
        poll: Some(Duration::from_secs(1)),
        access: Access {
            auth: vec![(Scheme::Token, "T".into()), (Scheme::ApiKey, "K".into())],
            insecure: false,
            hosts: vec!["h:1".parse().expect("a host")],
            origins: vec!["https://o".parse().expect("an origin")],
            proxies: vec!["10.0.0.0/8".parse().expect("a network")],
            rate: Some(Rate { requests: 5, per: Duration::from_secs(1) }),
            in_flight_max: Some(9),
            issuer: Some("https://i".into()),
            audiences: vec!["https://a".into()],
            jwks: Some("k".into()),
            scopes: vec!["s".into(), "t".into()],
            certificate: Some("c".into()),
            tls_key: Some("d".into()),
        },
        network: Network {
            transport: Some(Transport::Http),
            listen: vec![Address::Unix("s".into()), Address::Tcp("[::1]:5".parse().expect("an address"))],
            port: Some(6),
            connections_max: Some(10),
            sessions_max: Some(11),
            isolate: true,
            processes_max: Some(3),
            session_idle: Some(Duration::from_secs(12)),
            stream_time: Some(Duration::from_secs(13)),
        },
        log_level: Some(Level::Info),
        log_format: log::Format::Json,
    };
    assert_eq!(served(&format!("dev {flags} f.py")), expected);
    assert_eq!(served(&format!("dev f.py {flags}")), expected);
    let glued: Vec<String> = flags
        .split_whitespace()
        .collect::<Vec<_>>()
        .chunks(2)
        .map(|pair| format!("{}={}", pair[0], pair[1]))
        .collect();
    assert_eq!(served(&format!("dev f.py {}", glued.join(" "))), expected);
}

#[test]
fn arguments_of_the_tool_process() {
    assert_eq!(served("run f.py a b").args, ["a", "b"]);
    assert_eq!(served("run f.py -q -- --name -x").args, ["--name", "-x"]);
    assert_eq!(served("run f.py a -q").log_level, Some(Level::Error));
    assert_eq!(served("run -q f.py -- -- x").args, ["--", "x"]);
    assert_eq!(served("run f.py").args, Vec::<OsString>::new());
}

#[test]
fn a_command_instead_of_a_file() {
    for (line, command) in [
        ("run -- uv run x.py --name y", &["uv", "run", "x.py", "--name", "y"] as &[&str]),
        ("dev --name n -q -- x", &["x"]),
        ("dev --name -- -- x --", &["x", "--"]),
    ] {
        let typed = served(line);
        assert_eq!((typed.command, typed.file), (command.iter().map(Into::into).collect(), "".into()));
    }
}

#[test]
fn the_doctor_takes_what_is_about_the_start() {
    let Ok(Command::Doctor(asked, format)) = typed("doctor f.py --format json --cwd /d --env A=b x") else {
        panic!("not the doctor");
    };
    assert_eq!((format, asked.dev, &asked.args[..]), (Format::Json, false, &["x".into()][..]));
    let Ok(Command::Doctor(asked, format)) = typed("doctor -- a -b") else { panic!("not the doctor") };
    assert_eq!((format, &asked.command[..]), (Format::Text, &["a".into(), "-b".into()][..]));
}

#[test]
fn health_takes_whom_to_ask() {
    let default = Target::default();
    assert_eq!(typed("health"), Ok(Command::Health(default, HEALTH_TIMEOUT)));
    let target = health::target("unix:/s").expect("a target");
    let asked = Command::Health(target, Duration::from_secs(1));
    for line in ["health unix:/s --timeout 1s", "health --timeout=1s unix:/s"] {
        assert_eq!(typed(line).as_ref(), Ok(&asked), "{line}");
    }
}

#[test]
fn the_last_flag_holds() {
    assert_eq!(served("run f -v -q").log_level, Some(Level::Error));
    assert_eq!(served("run f -q --log-level debug").log_level, Some(Level::Debug));
    assert_eq!(served("run f --name a --name b").name.as_deref(), Some("b"));
}

#[test]
fn help_and_version_from_everywhere() {
    for (line, topic) in [
        ("-h", Topic::Pmcp),
        ("--help", Topic::Pmcp),
        ("help", Topic::Pmcp),
        ("help --help", Topic::Pmcp),
        ("help run", Topic::Run),
        ("help doctor", Topic::Doctor),
        ("doctor -h", Topic::Doctor),
        ("help dev", Topic::Dev),
        ("help health", Topic::Health),
        ("health -h", Topic::Health),
        ("run -h", Topic::Run),
        ("run no-such-file.py --help", Topic::Run),
        ("dev --grace 1s --help", Topic::Dev),
    ] {
        assert_eq!(typed(line), Ok(Command::Help(topic)), "{line}");
    }
    for line in ["-V", "--version", "run --version", "dev f.py -V"] {
        assert_eq!(typed(line), Ok(Command::Version), "{line}");
    }
}

#[test]
fn what_is_wrong_and_what_was_meant() {
    for (line, problem) in [
        ("", "no command; try pmcp run FILE, or pmcp help"),
        ("rum f.py", "\"rum\" is not a command; did you mean run?"),
        ("develop", "\"develop\" is not a command; the commands are run, dev, doctor, health and help"),
        ("version", "\"version\" is not a command; did you mean --version?"),
        ("server.py", "\"server.py\" is not a command; did you mean pmcp run server.py?"),
        ("--halp", "unknown flag --halp; did you mean --help?"),
        ("-x", "unknown flag -x; see pmcp --help"),
        ("--grace 1s", "--grace belongs behind a command: pmcp run FILE --grace"),
        ("--help=me", "Ok"),
        ("run", "no file; pmcp run FILE serves the tools of FILE (see pmcp run --help)"),
        ("dev --quiet", "no file; pmcp dev FILE serves the tools of FILE (see pmcp dev --help)"),
        ("run f.py --runtim uv", "unknown flag --runtim; did you mean --runtime?"),
        ("run f.py --call-timout=1s", "unknown flag --call-timout; did you mean --call-timeout?"),
        ("run f.py --quite-unlike 80", "unknown flag --quite-unlike; see pmcp run --help"),
        ("dev f.py -z", "unknown flag -z; see pmcp dev --help"),
        ("run f.py --quiet=yes", "--quiet takes no value, but \"yes\" was given"),
        ("run f.py --grace", "--grace needs a value: --grace TIME"),
        ("run f.py --name=", "--name: the value is empty"),
        ("run f.py --socket=", "--socket: the value is empty"),
        ("run f.py --env A", "--env: \"A\" is not NAME=VALUE"),
        ("run f.py --env =secret", "--env: \"\" is not NAME=VALUE"),
        ("run --", "no file; pmcp run FILE serves the tools of FILE (see pmcp run --help)"),
        ("run --runtime x -- y", "--runtime belongs to a file, but a whole command was typed"),
        ("run f.py --format json", "unknown flag --format; did you mean --log-format?"),
        ("doctor f.py --name x", "unknown flag --name; see pmcp doctor --help"),
        ("doctor f.py --format xml", "--format: \"xml\" is not a format; they are text and json"),
        ("run f.py --grace 5", "--grace: \"5\" has no unit: 5s, 5m?"),
        ("run f.py --call-timeout 0s", "--call-timeout: \"0s\" leaves no time at all"),
        ("run f.py --call-timeout x", "--call-timeout: \"x\" is not a time such as 300ms, 1.5s or 1h30m"),
        ("run f.py --watch x", "--watch belongs behind pmcp dev; pmcp run watches nothing"),
        ("run f.py --wtach x", "unknown flag --wtach; see pmcp run --help"),
        ("dev f.py --wtach x", "unknown flag --wtach; did you mean --watch?"),
        ("dev f.py --poll 1ms", "--poll: \"1ms\" is less than 10ms"),
        ("run f.py --max-message 0", "--max-message: \"0\" is not between 1K and 2047M"),
        ("run f.py --transport htpp", "--transport: \"htpp\" is not a transport; they are stdio and http"),
        ("run f.py --log-level warn", "--log-level: \"warn\" is not a level; did you mean warning?"),
        (
            "run f.py --log-level 3",
            "--log-level: \"3\" is not a level; they are error, warning, info and debug",
        ),
        ("health nowhere:x", "\"nowhere:x\" is neither http://HOST:PORT/PATH nor unix:FILE:/PATH"),
        ("health a b", "one URL is asked at a time; see pmcp health --help"),
        ("health --timeout 0s", "--timeout: \"0s\" leaves no time at all"),
        ("health --timout 1s", "unknown flag --timout; did you mean --timeout?"),
        ("help rnu", "no help about \"rnu\"; did you mean run?"),
        ("help everything", "no help about \"everything\"; the topics are run, dev, doctor and health"),
        ("help --verbose", "unknown flag --verbose; see pmcp --help"),
    ] {
        let said = typed(line).err().unwrap_or_else(|| "Ok".into());
        assert_eq!(said, problem, "{line}");
    }
}

#[test]
fn bytes_that_are_no_text() {
    use std::os::unix::ffi::OsStringExt;
    let bytes = OsString::from_vec(b"f\xff.py".to_vec());
    let words = |words: [&OsString; 2]| parse(words.into_iter().cloned());
    match words([&"run".into(), &bytes]) {
        Ok(Command::Serve(serve)) => assert_eq!(serve.file, PathBuf::from(&bytes)),
        other => panic!("{other:?}"),
    }
    assert!(words([&bytes, &bytes]).is_err());
    let name = parse(["run".into(), "f.py".into(), "--name".into(), bytes]);
    assert_eq!(name, Err("--name: the value is not UTF-8".into()));
}
