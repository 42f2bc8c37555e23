//! What will be done: a typed command and its surroundings become [`Settings`].

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::bridge;
use crate::cli::args::{self, Serve};
use crate::cli::network::{self, Transport};
use crate::cli::runtime::{self, Choice, Environment, Language};
use crate::cli::{project, suggest, watched};
use crate::limits::{self, STATE_KEY_MIN};
use crate::log::Level;
use crate::mcp::lifecycle::ServerInfo;
use crate::mcp::state::Key;
use crate::os::{self, HttpSettings, Launch, Settings};

/// What hosts are told when nobody says which version the tools have.
pub const SERVER_VERSION: &str = "0.0.0";

/// What will be done, and why the tool process is started like that.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What will be done.
    pub settings: Settings,
    /// What starts the tool process.
    pub choice: Choice,
}

/// Looks at the file and around it. The error says what is missing or can't be used.
pub fn make(typed: Serve, here: &Environment) -> Result<Plan, String> {
    let file = entry(&typed, here)?;
    let choice = if typed.command.is_empty() {
        runtime::choose(&file, &typed.args, typed.runtime.as_deref(), here)?
    } else {
        runtime::typed(&typed.command, here)?
    };
    let instructions =
        typed.instructions.as_ref().map(|path| read_instructions(&here.folder.join(path))).transpose()?;
    let folder = match &typed.cwd {
        Some(folder) => existing_folder(here.folder.join(folder))?,
        None if typed.command.is_empty() => project::root(&file, here.home.as_deref()),
        None => here.folder.clone(),
    };
    let environment_file = typed.env_file.as_ref().map(|path| here.folder.join(path));
    if let Some(path) = &environment_file {
        os::check_environment_file(path)
            .map_err(|error| format!("--env-file: {} can't be used: {error}", path.display()))?;
    }
    let watch = if typed.dev {
        let place = Some(&*folder).filter(|_| !typed.command.is_empty());
        Some(watched::make(&typed, &file, place, environment_file.as_slice(), here.home.as_deref())?)
    } else {
        None
    };
    let name = typed
        .name
        .clone()
        .unwrap_or_else(|| file.file_stem().unwrap_or_default().to_string_lossy().into_owned());
    // What was built has no name that says anything to a person.
    let command = match &choice.build {
        Some(_) => [&[file.clone().into_os_string()], &choice.command[..]].concat(),
        None => choice.command.clone(),
    };
    let message_max = typed.message_max.unwrap_or(limits::MESSAGE_MAX);
    let http = match typed.network.transport()? {
        Transport::Stdio => None,
        Transport::Http => Some(http(&typed, here, message_max)?),
    };
    let typed_in_vain = typed.access.first_typed().or(typed.network.first_typed());
    let of_http = typed_in_vain.filter(|_| http.is_none()).map(|flag| {
        format!(
            "--{} has no effect without --transport http: over stdio, who started pmcp may ask",
            flag.long()
        )
    });
    let state_key = match &typed.state_key_env {
        Some(name) => state_key(name, here.variables)?,
        None => Key::new(&random::<32>()?),
    };
    let settings = Settings {
        bridge: bridge::Config {
            server: ServerInfo {
                name,
                version: typed.server_version.unwrap_or_else(|| SERVER_VERSION.into()),
                instructions,
            },
            start_timeout: typed.start_timeout.unwrap_or(limits::START_TIMEOUT),
            build_timeout: choice
                .build
                .is_some()
                .then(|| typed.build_timeout.unwrap_or(limits::BUILD_TIMEOUT)),
            call_timeout: typed.call_timeout.unwrap_or(limits::CALL_TIMEOUT),
            grace: typed.grace.unwrap_or(limits::GRACE),
            message_max,
            command: runtime::shown(&command),
            reload: typed.hot_reload.unwrap_or_default(),
            exclusive: typed.exclusive,
            drain: typed.drain.unwrap_or(limits::DRAIN),
            input_timeout: typed.input_timeout.unwrap_or(limits::INPUT_TIMEOUT),
            tasks_max: typed.tasks_max.unwrap_or(limits::TASKS_MAX),
            cancel_grace: typed.cancel_grace.unwrap_or(limits::CANCEL_GRACE),
            // Over stdio a host is there, and a person before it; whoever says dev looks on.
            is_unattended: http.is_some() && !typed.dev,
            isolate: typed.network.isolate,
            state_key,
            instance: u64::from_ne_bytes(random()?),
            seed: u64::from_ne_bytes(random()?),
        },
        launch: Launch {
            command: choice.command.clone(),
            build: choice.build.clone(),
            folder: Some(folder),
            search_path: choice.search_path.clone(),
            environment_file,
            environment: typed.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        },
        socket: typed.socket.map(|path| here.folder.join(path)),
        http,
        warnings: choice.warnings.iter().cloned().chain(of_http).collect(),
        watch,
        log_level: typed.log_level.unwrap_or_else(|| args::log_level_default(typed.dev)),
        log_format: typed.log_format,
    };
    Ok(Plan { settings, choice })
}

/// The file that holds the tools. Of a whole command it is the first word that is a file in a known
/// language, else the program.
pub fn entry(typed: &Serve, here: &Environment) -> Result<PathBuf, String> {
    let Some(program) = typed.command.first() else { return find(&typed.file, here) };
    let words = typed.command.iter().map(|word| here.folder.join(word));
    let mut sources = words.filter(|path| Language::of(path).is_some() && path.is_file());
    Ok(sources.next().unwrap_or_else(|| here.folder.join(program)))
}

/// The key that several pmcp share.
fn state_key(name: &str, variables: fn(&str) -> Option<OsString>) -> Result<Key, String> {
    let secret = variables(name).ok_or_else(|| format!("--state-key-env: the variable {name} is not set"))?;
    let secret = secret.into_encoded_bytes();
    if secret.len() < STATE_KEY_MIN {
        return Err(format!(
            "--state-key-env: the variable {name} holds {} bytes, and a key must have at least {STATE_KEY_MIN}",
            secret.len()
        ));
    }
    Ok(Key::new(&secret))
}

/// Bytes of the system's randomness.
fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no randomness: {error}"))?;
    Ok(bytes)
}

/// How hosts reach us over HTTP.
fn http(typed: &Serve, here: &Environment, message_max: usize) -> Result<HttpSettings, String> {
    let handed = os::activation::handed(here.variables)?;
    let listen = typed.network.addresses(handed, &here.folder);
    if listen.len() > limits::LISTENERS_MAX {
        return Err(format!("--listen: {} are the most places to listen at", limits::LISTENERS_MAX));
    }
    let mut shown = String::new();
    let reach = network::reach(&listen, &mut shown);
    let admission = typed.access.settle(reach, &here.folder, here.variables)?;
    let mut server = typed.network.server(message_max);
    server.access_log = typed.log_level == Some(Level::Debug);
    Ok(HttpSettings { listen, server, admission })
}

fn existing_folder(folder: PathBuf) -> Result<PathBuf, String> {
    match fs::metadata(&folder) {
        Ok(data) if data.is_dir() => Ok(folder),
        Ok(_) => Err(format!("--cwd: {} is not a folder", folder.display())),
        Err(error) => Err(format!("--cwd: {} can't be used: {error}", folder.display())),
    }
}

/// The file's absolute path, if it can be served at all.
fn find(typed: &Path, here: &Environment) -> Result<PathBuf, String> {
    let shown = typed.display();
    // Taken apart and put together again, so that ./server.py leaves no dot behind.
    let file: PathBuf = here.folder.join(typed).components().collect();
    match fs::metadata(&file) {
        Ok(data) if data.is_dir() => {
            Err(format!("{shown} is a folder; name the file in it that holds the tools"))
        }
        Ok(_) => Ok(file),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = file.parent().unwrap_or(Path::new("/"));
            let neighbours: Vec<String> = fs::read_dir(folder)
                .map(|entries| {
                    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
                })
                .unwrap_or_default();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let hint =
                match suggest::nearest(&name, &neighbours.iter().map(String::as_str).collect::<Vec<_>>()) {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => format!("looked in {}", folder.display()),
                };
            Err(format!("there is no file {shown}; {hint}"))
        }
        Err(error) => Err(format!("{shown} can't be read: {error}")),
    }
}

fn read_instructions(path: &Path) -> Result<String, String> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.trim_end().to_string()),
        Err(error) => Err(format!("--instructions: {} can't be read: {error}", path.display())),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::cli::access::Access;
    use crate::cli::network::Network;
    use crate::log::Format;

    /// A folder that is gone with its value.
    pub(crate) struct Folder(PathBuf);

    impl Folder {
        pub(crate) fn new() -> Folder {
            static COUNT: AtomicUsize = AtomicUsize::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("pmcp-cli-{}-{count}", std::process::id()));
            fs::create_dir_all(path.join("home")).expect("a temporary folder");
            Folder(path)
        }

        pub(crate) fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        pub(crate) fn file(&self, name: &str, text: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
            fs::write(path, text).expect("a file");
        }

        pub(crate) fn program(&self, name: &str) {
            self.file(name, "");
            fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).expect("its mode");
        }

        pub(crate) fn remove(&self, name: &str) {
            fs::remove_file(self.path(name)).expect("a file");
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn environment(folder: &Folder) -> Environment {
        folder.program("bin/python3");
        folder.program("bin/cargo");
        Environment {
            folder: folder.path("home"),
            path: vec![folder.path("bin")],
            usual: Vec::new(),
            home: None,
            python: None,
            node: None,
            virtual_env: None,
            variables: |_| None,
            node_version: |_| None,
        }
    }

    #[test]
    fn a_file_alone_gets_every_default() {
        let folder = Folder::new();
        let here = environment(&folder);
        folder.file("home/weather.py", "");
        let file = folder.path("home/weather.py");
        let settings =
            make(Serve { file: "./weather.py".into(), ..Serve::default() }, &here).unwrap().settings;
        assert_eq!(settings.launch.command, [OsString::from("python3"), file.clone().into()]);
        assert_eq!(settings.launch.folder, Some(folder.path("home")));
        assert!(settings.launch.environment.is_empty());
        assert_eq!(settings.bridge.command, format!("python3 {}", file.display()));
        assert_eq!(
            settings.bridge.server,
            ServerInfo { name: "weather".into(), version: "0.0.0".into(), instructions: None }
        );
        assert_eq!(settings.bridge.start_timeout, limits::START_TIMEOUT);
        assert_eq!(settings.bridge.call_timeout, limits::CALL_TIMEOUT);
        assert_eq!(settings.bridge.grace, limits::GRACE);
        assert_eq!(settings.bridge.message_max, limits::MESSAGE_MAX);
        assert!(settings.socket.is_none() && settings.watch.is_none());
        assert_eq!(settings.log_level, Level::Warning);
    }

    #[test]
    fn every_flag_arrives() {
        let folder = Folder::new();
        let here = environment(&folder);
        folder.file("home/weather.py", "");
        folder.file("home/how.md", "Ask for one city.\n\n");
        folder.file("home/vars", "C=d");
        folder.file("home/elsewhere/x", "");
        let typed = Serve {
            dev: true,
            file: folder.path("home/weather.py"),
            args: vec!["-x".into()],
            command: Vec::new(),
            cwd: Some("elsewhere".into()),
            env: vec![("A".into(), "b".into())],
            env_file: Some("vars".into()),
            build_timeout: Some(Duration::from_secs(1)),
            runtime: Some("python3 -I".into()),
            socket: Some("s.sock".into()),
            name: Some("Weather".into()),
            server_version: Some("2".into()),
            instructions: Some("how.md".into()),
            message_max: Some(2048),
            start_timeout: Some(Duration::from_secs(2)),
            call_timeout: Some(Duration::from_secs(3)),
            input_timeout: Some(Duration::from_secs(6)),
            cancel_grace: Some(Duration::from_secs(7)),
            tasks_max: Some(8),
            state_key_env: Some("KEY".into()),
            grace: Some(Duration::from_secs(4)),
            hot_reload: Some(bridge::ReloadMode::Immediate),
            exclusive: true,
            drain: Some(Duration::from_secs(5)),
            watch: vec!["*.sql".into()],
            ignore: vec!["y.py".into()],
            poll: Some(Duration::from_millis(100)),
            access: Access { insecure: true, ..Access::default() },
            network: Network { sessions_max: Some(9), ..Network::default() },
            log_level: Some(Level::Error),
            log_format: Format::Json,
        };
        let here = Environment { variables: |name| (name == "KEY").then(|| "k".repeat(32).into()), ..here };
        let settings = make(typed, &here).unwrap().settings;
        let file = folder.path("home/weather.py").into_os_string();
        assert_eq!(settings.launch.command, ["python3".into(), "-I".into(), file, "-x".into()]);
        assert_eq!(settings.launch.folder, Some(folder.path("home/elsewhere")));
        assert_eq!(settings.launch.environment, [("A".into(), "b".into())]);
        assert_eq!(settings.launch.environment_file, Some(folder.path("home/vars")));
        assert_eq!(settings.bridge.build_timeout, None, "there is nothing to build");
        let server = settings.bridge.server;
        assert_eq!((server.name.as_str(), server.version.as_str()), ("Weather", "2"));
        assert_eq!(server.instructions.as_deref(), Some("Ask for one city."));
        assert_eq!(settings.bridge.message_max, 2048);
        assert_eq!(settings.bridge.start_timeout, Duration::from_secs(2));
        assert_eq!(settings.bridge.call_timeout, Duration::from_secs(3));
        assert_eq!(settings.bridge.grace, Duration::from_secs(4));
        assert_eq!(settings.bridge.input_timeout, Duration::from_secs(6));
        assert_eq!(settings.bridge.cancel_grace, Duration::from_secs(7));
        assert_eq!(settings.bridge.tasks_max, 8);
        assert_eq!(settings.bridge.reload, bridge::ReloadMode::Immediate);
        assert!(settings.bridge.exclusive);
        assert_eq!(settings.bridge.drain, Duration::from_secs(5));
        assert_eq!(settings.socket, Some(folder.path("home/s.sock")));
        assert_eq!((settings.log_level, settings.log_format), (Level::Error, Format::Json));
        assert!(settings.warnings[0].contains("--insecure"), "{:?}", settings.warnings);
        let watch = settings.watch.expect("dev watches");
        assert_eq!(watch.rules.root(), folder.path("home"));
        assert!(
            watch.rules.counts(&folder.path("home/x.sql")) && !watch.rules.counts(&folder.path("home/y.py"))
        );
        assert!(watch.rules.counts(&folder.path("home/vars")));
        assert_eq!(watch.poll, Some(Duration::from_millis(100)));
    }

    #[test]
    fn http_is_a_transport_with_its_own_flags() {
        let folder = Folder::new();
        let here = environment(&folder);
        folder.file("home/weather.py", "");
        let http = |network: Network, access: Access| {
            let typed = Serve { file: folder.path("home/weather.py"), network, access, ..Serve::default() };
            make(typed, &here).map(|plan| plan.settings.http)
        };
        assert!(http(Network::default(), Access::default()).unwrap().is_none());
        let listen = |text: &str| Network {
            listen: vec![network::address(text).expect("an address")],
            sessions_max: Some(9),
            ..Network::default()
        };
        let settings = http(listen("unix:s"), Access::default()).unwrap().expect("HTTP");
        assert_eq!(settings.listen, [os::Address::Unix(folder.path("home/s"))]);
        assert_eq!(settings.server.sessions_max, 9);
        assert_eq!(settings.server.connections_max, limits::HTTP_CONNECTIONS);
        assert!(!settings.admission.rules.names.loopback);
        let settings = http(listen("127.0.0.1:0"), Access::default()).unwrap().expect("HTTP");
        assert!(settings.admission.rules.names.loopback);
        let problem = http(listen("0.0.0.0:0"), Access::default()).unwrap_err();
        assert!(problem.contains("--insecure"), "{problem}");
        let open = Access { insecure: true, ..Access::default() };
        assert!(http(listen("0.0.0.0:0"), open).unwrap().is_some());
    }

    #[test]
    fn dev_watches_a_whole_cargo_package() {
        let folder = Folder::new();
        let here = environment(&folder);
        folder.file("home/p/Cargo.toml", "[package]");
        folder.file("home/p/src/bin/b.rs", "");
        folder.program("home/tool");
        let dev = |file: &str| {
            let typed = Serve { dev: true, file: file.into(), ..Serve::default() };
            make(typed, &here).unwrap().settings
        };
        let settings = dev("p/src/bin/b.rs");
        assert_eq!(settings.bridge.server.name, "b");
        assert_eq!(settings.bridge.build_timeout, Some(limits::BUILD_TIMEOUT));
        assert_eq!(settings.bridge.command, folder.path("home/p/src/bin/b.rs").display().to_string());
        assert_eq!(settings.launch.folder, Some(folder.path("home/p")));
        assert_eq!(settings.log_level, Level::Info);
        let watch = settings.watch.expect("dev watches");
        assert_eq!(watch.rules.root(), folder.path("home/p"));
        assert_eq!(watch.poll, None);
        let watch = dev("tool").watch.expect("dev watches");
        assert_eq!(watch.rules.root(), folder.path("home"));
    }

    #[test]
    fn a_command_instead_of_a_file() {
        let folder = Folder::new();
        let here = environment(&folder);
        folder.file("home/p/pyproject.toml", "");
        folder.file("home/p/s.py", "");
        folder.program("home/tool");
        let dev = |words: &[&str]| {
            let command = words.iter().map(OsString::from).collect();
            make(Serve { dev: true, command, ..Serve::default() }, &here).unwrap().settings
        };
        let settings = dev(&["python3", "-X", "dev", "p/s.py"]);
        assert_eq!(settings.launch.command, ["python3", "-X", "dev", "p/s.py"]);
        assert_eq!(settings.launch.folder, Some(folder.path("home")), "the words mean what they meant");
        assert_eq!(settings.bridge.server.name, "s");
        let watch = settings.watch.expect("dev watches");
        assert_eq!(watch.rules.root(), folder.path("home"));
        assert!(watch.rules.counts(&folder.path("home/p/x.py")));
        let settings = dev(&["./tool"]);
        assert_eq!(settings.launch.command, [folder.path("home/./tool")]);
        assert_eq!(settings.bridge.server.name, "tool");
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = Folder::new();
        let here = environment(&folder);
        folder.file("home/weather.py", "");
        folder.file("home/bytes", "");
        fs::write(folder.path("home/bytes"), b"\xff").unwrap();
        let work = folder.path("home").display().to_string();
        let problem = |typed: Serve| make(typed, &here).unwrap_err();
        let file = |name: &str| Serve { file: name.into(), ..Serve::default() };
        assert_eq!(problem(file("wether.py")), "there is no file wether.py; did you mean weather.py?");
        assert_eq!(problem(file("x/y.py")), format!("there is no file x/y.py; looked in {work}/x"));
        assert_eq!(
            problem(file("quite-different")),
            format!("there is no file quite-different; looked in {work}")
        );
        assert_eq!(problem(file("..")), ".. is a folder; name the file in it that holds the tools");
        assert!(problem(file("weather.py/x")).starts_with("weather.py/x can't be read: "));
        let told = |path: &str| Serve { instructions: Some(path.into()), ..file("weather.py") };
        assert!(problem(told("no.md")).starts_with(&format!("--instructions: {work}/no.md can't be read: ")));
        assert!(problem(told("bytes")).contains("UTF-8"));
        let cwd = |path: &str| Serve { cwd: Some(path.into()), ..file("weather.py") };
        assert_eq!(problem(cwd("bytes")), format!("--cwd: {work}/bytes is not a folder"));
        assert!(problem(cwd("no")).starts_with(&format!("--cwd: {work}/no can't be used: ")));
        let env_file = |path: &str| Serve { env_file: Some(path.into()), ..file("weather.py") };
        assert!(problem(env_file("no")).starts_with(&format!("--env-file: {work}/no can't be used: ")));
        assert!(problem(env_file("bytes")).contains("UTF-8"));
        assert!(problem(env_file(".")).contains("not a file"));
        let typed = Serve { command: vec!["no-such".into()], ..Serve::default() };
        assert!(problem(typed).starts_with("no-such was not found; looked in "));
    }
}
