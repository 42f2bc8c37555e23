//! The names under which we are asked: `Host`, and `Origin` of a page in a browser.
//!
//! A page of any site can have its own name resolve to 127.0.0.1 and so make a browser send us
//! requests as if we were that site (DNS rebinding). Its name stands in `Host` and `Origin`, so
//! on loopback only our own names pass.

// Of `core`, which knows addresses and no sockets.
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::fmt;
use std::str::FromStr;

use super::{Field, Head, Peer, Refusal};

/// Which hosts and origins count as ours.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// We listen on loopback only: without further names, loopback's are the only ones.
    pub loopback: bool,
    /// `--allow-host`: further names of ours. Where there are some, all others are refused.
    pub hosts: Vec<Authority>,
    /// `--allow-origin`: origins of pages that may ask.
    pub origins: Vec<Origin>,
    /// `--proxy`: whose word counts for what it was asked for.
    pub proxies: Vec<Proxy>,
}

/// A host and perhaps a port, in lower case: `example.com:8443`, `127.0.0.1`, `[::1]:80`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The name or address; that of IPv6 in its brackets.
    pub host: Box<str>,
    /// The port.
    pub port: Option<u16>,
}

/// An origin that may ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Any.
    Any,
    /// This one, in lower case: `https://example.com`, or `null`, which is what browsers send for
    /// pages without one.
    Exactly(Box<str>),
}

/// Peers that are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// Whoever may open our unix socket.
    Unix,
    /// The addresses that share so many first bits with this one.
    Network(IpAddr, u8),
}

impl Names {
    /// The verdict on host and origin.
    pub(super) fn check(&self, head: &dyn Head, peer: Peer) -> Result<(), Refusal> {
        let asked = self.asked(head, peer)?;
        let host = asked.and_then(|text| text.parse::<Authority>().ok());
        let strict = self.loopback || !self.hosts.is_empty();
        match &host {
            Some(host) if !strict || self.is_ours(host) => {}
            None if !strict => {}
            Some(host) => {
                return Err(Refusal::new(
                    403,
                    format_args!(
                        "{host} is not a name of this server; if it is, start it with --allow-host {}",
                        host.host
                    ),
                ));
            }
            None => {
                return Err(Refusal::new(
                    403,
                    "the Host header names no host; --allow-host tells which pass",
                ));
            }
        }
        match head.field("origin") {
            Field::Absent => Ok(()),
            Field::Is(origin) if self.is_allowed_origin(origin) => Ok(()),
            Field::Is(origin) if host.as_ref().is_some_and(|host| self.is_same(origin, host)) => Ok(()),
            Field::Is(origin) => {
                let shown = Some(origin).filter(|origin| origin.parse::<Origin>().is_ok());
                Err(Refusal::new(
                    403,
                    format_args!(
                        "pages of {0} may not ask this server; if they shall, start it with --allow-origin {0}",
                        shown.unwrap_or("this origin")
                    ),
                ))
            }
            Field::Unclear => Err(Refusal::new(400, "the Origin header is not one text")),
        }
    }

    /// The host that the client asked for.
    fn asked<'a>(&self, head: &'a dyn Head, peer: Peer) -> Result<Option<&'a str>, Refusal> {
        if self.is_trusted(peer) {
            match head.field("x-forwarded-host") {
                // A proxy that adds to what it was sent adds at the end.
                Field::Is(hosts) => return Ok(hosts.rsplit(',').next().map(str::trim)),
                Field::Absent => {}
                Field::Unclear => {
                    return Err(Refusal::new(400, "the X-Forwarded-Host header is not one text"));
                }
            }
        }
        match head.field("host") {
            Field::Is(host) => Ok(Some(host)),
            Field::Absent => Ok(None),
            Field::Unclear => Err(Refusal::new(400, "the Host header is not one text")),
        }
    }

    /// Who asks a proxy that is trusted, or the peer itself.
    pub(super) fn caller(&self, head: &dyn Head, peer: Peer) -> Peer {
        if !self.is_trusted(peer) {
            return peer;
        }
        let Field::Is(addresses) = head.field("x-forwarded-for") else { return peer };
        // Each proxy adds at the end whom it was asked by; what stands before the first stranger
        // is only what that stranger says.
        let mut callers = addresses.rsplit(',').map_while(|text| address(text.trim()).map(Peer::Ip));
        callers.find(|caller| !self.is_trusted(*caller)).unwrap_or(peer)
    }

    /// Whether what this peer says of others is believed.
    fn is_trusted(&self, peer: Peer) -> bool {
        self.proxies.iter().any(|proxy| proxy.covers(peer))
    }

    fn is_ours(&self, host: &Authority) -> bool {
        let named =
            |own: &&Authority| own.host == host.host && own.port.is_none_or(|port| host.port == Some(port));
        self.loopback && host.is_loopback() || self.hosts.iter().any(|own| named(&own))
    }

    /// Whether `--allow-origin` names it.
    pub(super) fn is_allowed_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|allowed| match allowed {
            Origin::Any => true,
            Origin::Exactly(allowed) => allowed.eq_ignore_ascii_case(origin),
        })
    }

    /// Whether a page comes from the host that it asks. Loopback is one host under any name and
    /// port: whoever has a program there can ask us anyway.
    fn is_same(&self, origin: &str, host: &Authority) -> bool {
        let Some((scheme, rest)) = origin.split_once("://") else { return false };
        let Ok(page) = rest.parse::<Authority>() else { return false };
        let default = match scheme.to_ascii_lowercase().as_str() {
            "http" => 80,
            "https" => 443,
            _ => return false,
        };
        let same_port = page.port.unwrap_or(default) == host.port.unwrap_or(default);
        self.loopback && page.is_loopback() && host.is_loopback() || page.host == host.host && same_port
    }
}

/// An address, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok().or_else(|| text.parse().map(|socket: SocketAddr| socket.ip()).ok())
}

impl Authority {
    /// One of the names that a machine has for itself.
    fn is_loopback(&self) -> bool {
        matches!(&*self.host, "localhost" | "127.0.0.1" | "[::1]")
    }
}

impl FromStr for Authority {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FAULT: &str = "is not a host, like example.com or example.com:8443";
        let end = if text.starts_with('[') { text.find(']').map(|end| end + 1) } else { None };
        let end = end.or_else(|| text.find(':')).unwrap_or(text.len());
        let (host, port) = text.split_at(end);
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            // An empty port is the default one (RFC 3986, section 3.2.3).
            Some("") => None,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().map_err(|_| FAULT)?)
            }
            _ => return Err(FAULT),
        };
        let host = match host.strip_prefix('[').and_then(|inside| inside.strip_suffix(']')) {
            Some(address) => format!("[{}]", address.parse::<Ipv6Addr>().map_err(|_| FAULT)?),
            None => host.to_ascii_lowercase(),
        };
        let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if host.is_empty() || !host.starts_with('[') && !host.bytes().all(is_sound) {
            return Err(FAULT);
        }
        Ok(Self { host: host.into(), port })
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl FromStr for Origin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FAULT: &str = "is not an origin, like https://example.com or http://localhost:3000";
        if text == "*" {
            return Ok(Origin::Any);
        }
        if text != "null" {
            let (scheme, host) = text.split_once("://").ok_or(FAULT)?;
            let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
            if scheme.is_empty() || !scheme.bytes().all(is_scheme) || host.parse::<Authority>().is_err() {
                return Err(FAULT);
            }
        }
        Ok(Origin::Exactly(text.to_ascii_lowercase().into()))
    }
}

impl FromStr for Proxy {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FAULT: &str = "is not an address, a network like 10.0.0.0/8, or unix";
        if text == "unix" {
            return Ok(Proxy::Unix);
        }
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| FAULT)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| FAULT)?;
        if bits > most {
            return Err(FAULT);
        }
        Ok(Proxy::Network(address, bits))
    }
}

impl Proxy {
    fn covers(self, peer: Peer) -> bool {
        match (self, peer) {
            (Proxy::Unix, Peer::Unix) => true,
            (Proxy::Network(network, bits), Peer::Ip(address)) => match (network, address.to_canonical()) {
                (IpAddr::V4(network), IpAddr::V4(address)) => {
                    let differs = network.to_bits() ^ address.to_bits();
                    differs.leading_zeros() >= u32::from(bits)
                }
                (IpAddr::V6(network), IpAddr::V6(address)) => {
                    let differs = network.to_bits() ^ address.to_bits();
                    differs.leading_zeros() >= u32::from(bits)
                }
                _ => false,
            },
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Asked;
    use super::*;

    fn status(names: &Names, peer: &str, headers: &[(&str, &str)]) -> u16 {
        let peer = if peer == "unix" { Peer::Unix } else { Peer::Ip(peer.parse().expect("an address")) };
        names.check(&Asked::new(headers), peer).map_or_else(|refusal| refusal.status, |()| 200)
    }

    fn loopback() -> Names {
        Names { loopback: true, ..Names::default() }
    }

    #[test]
    fn on_loopback_only_its_own_names_pass() {
        let names = loopback();
        for host in
            ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]", "[::1]:8080", "[0:0::1]", "localhost:"]
        {
            assert_eq!(status(&names, "127.0.0.1", &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "localhost.",
            "evil.example:8080",
            "127.0.0.1.nip.io",
            "",
            ":80",
            "localhost:x",
            "localhost:99999",
            "localhost:8080:1",
            "localhost/",
            "a@localhost",
            "[::1",
            "::1",
            "[::1]x",
            "local host",
            "127.0.0.1,evil.example",
            "[localhost]",
        ] {
            assert_eq!(status(&names, "127.0.0.1", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status(&names, "127.0.0.1", &[]), 403);
        assert_eq!(status(&names, "127.0.0.1", &[("host", "localhost"), ("host", "localhost")]), 400);
    }

    #[test]
    fn a_refusal_names_the_flag() {
        let refused = |headers: &[(&str, &str)]| {
            loopback().check(&Asked::new(headers), Peer::Unix).expect_err("a refusal").body
        };
        let body = refused(&[("host", "mcp.example.com:8443")]);
        assert!(body.contains("--allow-host mcp.example.com\n"), "{body}");
        let body = refused(&[("host", "localhost"), ("origin", "https://app.example.com")]);
        assert!(body.contains("--allow-origin https://app.example.com\n"), "{body}");
        let body = refused(&[("host", "localhost"), ("origin", "<b>\u{1b}[0m")]);
        assert!(body.contains("this origin") && !body.contains("<b>"), "{body}");
    }

    #[test]
    fn a_page_must_come_from_the_same_host_or_be_allowed() {
        let mut names = loopback();
        let page =
            |names: &Names, host, origin| status(names, "127.0.0.1", &[("host", host), ("origin", origin)]);
        for origin in ["http://localhost:8080", "http://127.0.0.1:6274", "https://[::1]", "HTTP://LOCALHOST"]
        {
            assert_eq!(page(&names, "localhost:8080", origin), 200, "{origin}");
        }
        for origin in [
            "https://app.example.com",
            "null",
            "",
            "localhost",
            "file://localhost",
            "http://localhost.evil.example",
        ] {
            assert_eq!(page(&names, "localhost:8080", origin), 403, "{origin}");
        }
        names.origins = vec!["https://app.example.com".parse().unwrap(), "null".parse().unwrap()];
        assert_eq!(page(&names, "localhost", "https://APP.example.com"), 200);
        assert_eq!(page(&names, "localhost", "null"), 200);
        assert_eq!(page(&names, "localhost", "http://app.example.com"), 403);
        assert_eq!(
            page(&names, "evil.example", "https://app.example.com"),
            403,
            "the host counts all the same"
        );
        names.origins = vec!["*".parse().unwrap()];
        assert_eq!(page(&names, "localhost", "https://anywhere.example"), 200);
        let headers = [("host", "localhost"), ("origin", "null"), ("origin", "null")];
        assert_eq!(status(&names, "127.0.0.1", &headers), 400);
    }

    #[test]
    fn beyond_loopback_any_host_passes_until_some_are_named() {
        let mut names = Names::default();
        let page =
            |names: &Names, host, origin| status(names, "192.0.2.1", &[("host", host), ("origin", origin)]);
        assert_eq!(status(&names, "192.0.2.1", &[("host", "pmcp:8080")]), 200);
        assert_eq!(status(&names, "192.0.2.1", &[]), 200);
        assert_eq!(page(&names, "mcp.example.com", "https://mcp.example.com"), 200);
        assert_eq!(page(&names, "mcp.example.com:8443", "https://mcp.example.com"), 403);
        assert_eq!(page(&names, "localhost", "http://localhost:3000"), 403, "another origin");
        names.hosts = vec!["Mcp.example.com".parse().unwrap(), "other.example:81".parse().unwrap()];
        for (host, expected) in [
            ("mcp.example.com", 200),
            ("mcp.example.com:444", 200),
            ("other.example:81", 200),
            ("other.example", 403),
            ("localhost", 403),
        ] {
            assert_eq!(status(&names, "192.0.2.1", &[("host", host)]), expected, "{host}");
        }
    }

    #[test]
    fn a_trusted_proxy_says_what_it_was_asked_for() {
        let mut names = loopback();
        names.hosts = vec!["mcp.example.com".parse().unwrap()];
        let proxied = [
            ("host", "127.0.0.1:8080"),
            ("x-forwarded-host", "evil.example, mcp.example.com"),
            ("origin", "https://mcp.example.com"),
        ];
        assert_eq!(status(&names, "127.0.0.1", &proxied), 403, "nobody is trusted");
        names.proxies = vec!["127.0.0.0/8".parse().unwrap()];
        assert_eq!(status(&names, "127.0.0.1", &proxied), 200);
        assert_eq!(status(&names, "::ffff:127.0.0.1", &proxied), 200, "the same address in IPv6");
        assert_eq!(status(&names, "128.0.0.1", &proxied), 403);
        assert_eq!(status(&names, "unix", &proxied), 403);
        let evil = [("host", "localhost"), ("x-forwarded-host", "mcp.example.com, evil.example")];
        assert_eq!(status(&names, "127.0.0.1", &evil), 403, "a proxy that takes any name");
        let twice = [("host", "localhost"), ("x-forwarded-host", "a"), ("x-forwarded-host", "localhost")];
        assert_eq!(status(&names, "127.0.0.1", &twice), 400);
        assert_eq!(status(&names, "192.0.2.1", &twice), 200, "not looked at");
        names.proxies = vec!["unix".parse().unwrap()];
        assert_eq!(status(&names, "unix", &proxied), 200);
    }

    #[test]
    fn a_trusted_proxy_says_who_asks() {
        let mut names = loopback();
        let at = |text: &str| Peer::Ip(text.parse().expect("an address"));
        let caller =
            |names: &Names, peer, list| names.caller(&Asked::new(&[("x-forwarded-for", list)]), peer);
        assert_eq!(caller(&names, at("127.0.0.1"), "192.0.2.1"), at("127.0.0.1"), "nobody is trusted");
        names.proxies = vec!["127.0.0.1".parse().unwrap(), "10.0.0.0/8".parse().unwrap()];
        for (list, expected) in [
            ("192.0.2.1", "192.0.2.1"),
            ("198.51.100.7, 192.0.2.1", "192.0.2.1"),
            ("198.51.100.7, 192.0.2.1,10.0.0.2", "192.0.2.1"),
            ("[2001:db8::1]:443", "2001:db8::1"),
            ("192.0.2.1:9, 10.1.1.1", "192.0.2.1"),
            ("10.0.0.3", "127.0.0.1"),
            ("192.0.2.1, unknown", "127.0.0.1"),
            ("", "127.0.0.1"),
        ] {
            assert_eq!(caller(&names, at("127.0.0.1"), list), at(expected), "{list}");
        }
        assert_eq!(caller(&names, at("192.0.2.9"), "192.0.2.1"), at("192.0.2.9"));
        assert_eq!(caller(&names, Peer::Unix, "192.0.2.1"), Peer::Unix);
    }

    #[test]
    fn networks_are_read_and_kept_apart() {
        let covers = |network: &str, address: &str| {
            let peer = Peer::Ip(address.parse().expect("an address"));
            network.parse::<Proxy>().expect("a network").covers(peer)
        };
        assert!(covers("10.0.0.0/8", "10.255.0.1") && !covers("10.0.0.0/8", "11.0.0.1"));
        assert!(covers("10.1.2.3", "10.1.2.3") && !covers("10.1.2.3", "10.1.2.2"));
        assert!(covers("0.0.0.0/0", "203.0.113.9") && !covers("0.0.0.0/0", "2001:db8::1"));
        assert!(covers("2001:db8::/32", "2001:db8:1::1") && !covers("2001:db8::/32", "2001:db9::"));
        for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/", "10.0.0.0/x", "example.com", "/8"]
        {
            assert!(wrong.parse::<Proxy>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_allowed_origin_is_an_origin_and_no_more() {
        for wrong in [
            "",
            "example.com",
            "https://",
            "https://example.com/",
            "https://a b",
            "://x",
            "NULL",
            "https://*.example.com",
        ] {
            assert!(wrong.parse::<Origin>().is_err(), "{wrong}");
        }
    }
}
