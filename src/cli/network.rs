//! Where hosts reach us, and how many of them: the flags for it, and what they mean together.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use crate::cli::access::Reach;
use crate::cli::flag::Flag;
use crate::front::http::server;
use crate::limits::{HTTP_CONNECTIONS, HTTP_PORT, HTTP_PROCESSES, HTTP_SESSION_IDLE, HTTP_SESSIONS};
use crate::os::Address;

/// The flags, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// `--transport`
    pub transport: Option<Transport>,
    /// `--listen`, each
    pub listen: Vec<Address>,
    /// `--port`
    pub port: Option<u16>,
    /// `--connections-max`
    pub connections_max: Option<usize>,
    /// `--sessions-max`
    pub sessions_max: Option<usize>,
    /// `--isolate session`
    pub isolate: bool,
    /// `--processes-max`
    pub processes_max: Option<usize>,
    /// `--session-idle`
    pub session_idle: Option<Duration>,
    /// `--stream-time`
    pub stream_time: Option<Duration>,
}

/// How hosts reach us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// One, on standard input and output.
    Stdio,
    /// Many, over Streamable HTTP.
    Http,
}

impl Network {
    /// How hosts reach us. Who says where to listen need not say that it is HTTP.
    ///
    /// # Errors
    /// The flags exclude each other.
    pub fn transport(&self) -> Result<Transport, String> {
        let says_where = !self.listen.is_empty() || self.port.is_some();
        match self.transport {
            Some(Transport::Stdio) if says_where => {
                Err("--transport stdio listens nowhere, so --listen and --port can't go with it".into())
            }
            Some(transport) => Ok(transport),
            None if says_where => Ok(Transport::Http),
            None => Ok(Transport::Stdio),
        }
    }

    /// The first flag that was typed of those that mean nothing on a pipe.
    pub fn first_typed(&self) -> Option<Flag> {
        let typed = [
            (Flag::ConnectionsMax, self.connections_max.is_some()),
            (Flag::SessionsMax, self.sessions_max.is_some()),
            (Flag::Isolate, self.isolate),
            (Flag::ProcessesMax, self.processes_max.is_some()),
            (Flag::SessionIdle, self.session_idle.is_some()),
            (Flag::StreamTime, self.stream_time.is_some()),
        ];
        typed.into_iter().find(|(_, is_typed)| *is_typed).map(|(flag, _)| flag)
    }

    /// Where we listen: at what a service manager has handed over, and where it was said; files lie
    /// in `folder` if their paths do not say otherwise.
    pub fn addresses(&self, handed: Vec<Address>, folder: &Path) -> Vec<Address> {
        let mut addresses = handed;
        addresses.extend(self.listen.iter().map(|address| match address {
            Address::Unix(path) => Address::Unix(folder.join(path)),
            Address::Tcp(_) | Address::Handed(_) => address.clone(),
        }));
        let default = addresses.is_empty().then_some(HTTP_PORT);
        if let Some(port) = self.port.or(default) {
            addresses.push(Address::Tcp((Ipv4Addr::LOCALHOST, port).into()));
        }
        addresses
    }

    /// How many sessions there may be, and the flag that says so: with a tool process each, no more
    /// than processes.
    fn sessions(&self) -> (usize, Flag) {
        let sessions = (self.sessions_max.unwrap_or(HTTP_SESSIONS), Flag::SessionsMax);
        let processes = (self.processes_max.unwrap_or(HTTP_PROCESSES), Flag::ProcessesMax);
        if self.isolate && processes.0 < sessions.0 { processes } else { sessions }
    }

    /// What connections and sessions keep to.
    pub fn server(&self, message_max: usize) -> server::Config {
        let (sessions_max, sessions_flag) = self.sessions();
        server::Config {
            message_max,
            connections_max: self.connections_max.unwrap_or(HTTP_CONNECTIONS),
            sessions_max,
            sessions_flag: sessions_flag.long(),
            session_idle: self.session_idle.unwrap_or(HTTP_SESSION_IDLE),
            stream_time: self.stream_time,
            access_log: false,
        }
    }
}

/// From where we can be reached; `shown` is given the words for it.
pub fn reach<'a>(addresses: &[Address], shown: &'a mut String) -> Reach<'a> {
    let mut reach = Reach::Unix;
    for address in addresses {
        let of_network = match address {
            Address::Tcp(address) => Some(*address),
            Address::Handed(handed) => handed.address(),
            Address::Unix(_) => None,
        };
        match of_network {
            Some(address) if !address.ip().to_canonical().is_loopback() => {
                *shown = address.to_string();
                return Reach::Beyond(shown);
            }
            Some(_) => reach = Reach::Loopback,
            None => {}
        }
    }
    reach
}

/// `--transport NAME`
pub fn transport(text: &str) -> Result<Transport, String> {
    match text {
        "stdio" => Ok(Transport::Stdio),
        "http" | "sse" | "streamable-http" => Ok(Transport::Http),
        _ => Err("is not a transport; they are stdio and http".into()),
    }
}

/// `--listen ADDRESS`
pub fn address(text: &str) -> Result<Address, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return match path {
            "" => Err("names no file; like unix:/run/pmcp.sock".into()),
            path => Ok(Address::Unix(path.into())),
        };
    }
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric.parse::<SocketAddr>().map(Address::Tcp).map_err(|_| {
        let port = text.strip_prefix([':', '*']).unwrap_or(text).trim_start_matches(':');
        if port.parse::<u16>().is_ok() {
            return format!(
                "has no address; 127.0.0.1:{port} is this machine alone, 0.0.0.0:{port} all others, too"
            );
        }
        "is not an address with a port, like 127.0.0.1:8080 or [::1]:8080, nor unix:PATH".into()
    })
}

/// `--port N`
pub fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "is not a port; they go from 0 (any that is free) to 65535".into())
}

/// A number of things of which there must be one at least.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("lets nobody in".into()),
        Ok(count) if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(count),
        _ => Err("is not a number".into()),
    }
}

/// What gets a tool process of its own.
pub fn isolate(text: &str) -> Result<(), String> {
    match text {
        "session" => Ok(()),
        _ => Err("is not what can be isolated; a session can".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let tcp = |text: &str| Ok(Address::Tcp(text.parse().expect("an address")));
        assert_eq!(address("127.0.0.1:8080"), tcp("127.0.0.1:8080"));
        assert_eq!(address("[::1]:0"), tcp("[::1]:0"));
        assert_eq!(address("localhost:1"), tcp("127.0.0.1:1"));
        assert_eq!(address("unix:a/b"), Ok(Address::Unix("a/b".into())));
        for (text, hint) in [
            ("8080", "127.0.0.1:8080 is"),
            (":8080", "127.0.0.1:8080 is"),
            ("*:8080", "0.0.0.0:8080 all"),
            ("example.com:80", "is not an address"),
            ("127.0.0.1", "is not an address"),
            ("localhost:x", "is not an address"),
            ("::1:80", "is not an address"),
            ("unix:", "names no file"),
        ] {
            let problem = address(text).expect_err(text);
            assert!(problem.contains(hint), "{text}: {problem}");
        }
        assert_eq!(port("0"), Ok(0));
        assert!(port("65536").is_err() && port("-1").is_err() && port("").is_err());
        assert_eq!(count("7"), Ok(7));
        assert!(count("0").is_err() && count("+1").is_err());
    }

    #[test]
    fn where_to_listen_says_how() {
        let typed = |transport, listen: &[&str], port| Network {
            transport,
            listen: listen.iter().map(|text| address(text).expect("an address")).collect(),
            port,
            ..Network::default()
        };
        assert_eq!(typed(None, &[], None).transport(), Ok(Transport::Stdio));
        assert_eq!(typed(None, &["127.0.0.1:1"], None).transport(), Ok(Transport::Http));
        assert_eq!(typed(None, &[], Some(0)).transport(), Ok(Transport::Http));
        assert!(typed(Some(Transport::Stdio), &[], Some(0)).transport().is_err());
        let shown = |network: Network| -> Vec<String> {
            network.addresses(Vec::new(), Path::new("/f")).iter().map(ToString::to_string).collect()
        };
        assert_eq!(shown(typed(Some(Transport::Http), &[], None)), ["127.0.0.1:8080"]);
        assert_eq!(shown(typed(None, &["unix:s", "[::1]:1"], None)), ["unix:/f/s", "[::1]:1"]);
        assert_eq!(shown(typed(None, &["unix:/s"], Some(5))), ["unix:/s", "127.0.0.1:5"]);
    }

    #[test]
    fn who_can_reach_us_is_who_can_reach_one_of_the_addresses() {
        let of = |texts: &[&str]| {
            let addresses: Vec<Address> =
                texts.iter().map(|text| address(text).expect("an address")).collect();
            format!("{:?}", reach(&addresses, &mut String::new()))
        };
        assert_eq!(of(&["unix:s"]), "Unix");
        assert_eq!(of(&["unix:s", "127.0.0.2:1", "[::1]:1"]), "Loopback");
        assert_eq!(of(&["127.0.0.1:1", "0.0.0.0:1"]), "Beyond(\"0.0.0.0:1\")");
        assert_eq!(of(&["[::]:1"]), "Beyond(\"[::]:1\")");
        assert_eq!(of(&["[::ffff:127.0.0.1]:1"]), "Loopback");
    }
}
