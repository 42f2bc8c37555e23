//! What we are to an issuer and to clients: a protected resource (RFC 9728) under a URL of ours.

use super::token::Fault;
use crate::jsonrpc::json::{Array, Object};

/// Where metadata lies under an origin; the path of the resource follows (RFC 9728, section 3.1).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The usual path of an endpoint, under which clients look for metadata first.
const ENDPOINT: &str = "/mcp";

/// A protected resource.
#[derive(Clone, Debug)]
pub struct Resource {
    issuer: Box<str>,
    /// All names under which tokens may be issued for us, as they are compared; our URL first.
    audiences: Vec<String>,
    scopes: Vec<String>,
    /// The path of our URL, without a slash at its end.
    path: String,
    metadata_url: String,
    metadata: String,
}

impl Resource {
    /// A resource with tokens of this issuer, for these audiences, of which the first is the URL
    /// under which clients reach us; each of the scopes is needed.
    ///
    /// # Errors
    /// A sentence that names the flag.
    pub fn new(issuer: &str, audiences: &[String], scopes: &[String]) -> Result<Self, String> {
        split(issuer).ok_or_else(|| {
            format!("--oauth-issuer: \"{issuer}\" is not a URL such as https://login.example.com")
        })?;
        let own = audiences.first().map_or("", String::as_str);
        let (origin, path) = split(own).ok_or_else(|| {
            format!(
                "--oauth-audience: \"{own}\" is not the URL under which hosts reach this server, such as \
                 https://mcp.example.com/mcp (further audiences may be anything)"
            )
        })?;
        if let Some(wrong) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(format!(
                "--oauth-scope: \"{wrong}\" is not a scope; the flag may be given several times"
            ));
        }
        let path = path.trim_end_matches('/').to_string();
        Ok(Self {
            issuer: issuer.into(),
            audiences: audiences.iter().map(|audience| comparable(audience)).collect(),
            scopes: scopes.to_vec(),
            metadata_url: format!("{origin}{WELL_KNOWN}{path}"),
            metadata: metadata(own, issuer, scopes),
            path,
        })
    }

    /// The issuer, as tokens must name it.
    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The scopes that a token needs.
    pub(super) fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Whether a token for this audience is for us.
    pub(super) fn is_meant(&self, audience: &str) -> bool {
        let audience = comparable(audience);
        self.audiences.contains(&audience)
    }

    /// The metadata under a path, as JSON: at the root, for the usual endpoint and for our URL.
    pub fn document(&self, path: &str) -> Option<&str> {
        let of = path.strip_prefix(WELL_KNOWN)?;
        (of.is_empty() || of == ENDPOINT || of == self.path).then_some(&self.metadata)
    }

    /// A challenge for `WWW-Authenticate` (RFC 6750, section 3; RFC 9728, section 5.1). Who brought
    /// no token is told no error.
    pub fn challenge(&self, fault: Option<Fault>) -> String {
        let mut challenge = "Bearer ".to_string();
        if let Some(fault) = fault {
            let error = if fault == Fault::Scope { "insufficient_scope" } else { "invalid_token" };
            let description = fault.description();
            challenge.push_str(&format!("error=\"{error}\", error_description=\"{description}\", "));
        }
        challenge.push_str(&format!("resource_metadata=\"{}\"", self.metadata_url));
        if !self.scopes.is_empty() {
            challenge.push_str(&format!(", scope=\"{}\"", self.scopes.join(" ")));
        }
        challenge
    }
}

/// RFC 9728, section 2.
fn metadata(resource: &str, issuer: &str, scopes: &[String]) -> String {
    let list = |out: &mut Vec<u8>, texts: &[&str]| {
        let mut array = Array::open(out);
        for text in texts {
            crate::jsonrpc::json::write_str(array.element(), text);
        }
        array.close();
    };
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    object.text("resource", resource);
    list(object.member("authorization_servers"), &[issuer]);
    if !scopes.is_empty() {
        list(object.member("scopes_supported"), &scopes.iter().map(String::as_str).collect::<Vec<_>>());
    }
    list(object.member("bearer_methods_supported"), &["header"]);
    object.close();
    String::from_utf8(out).unwrap_or_default()
}

/// Origin and path of an http or https URL that has neither query nor fragment; it can be quoted
/// in a header as it is.
fn split(url: &str) -> Option<(&str, &str)> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}?#@".contains(&byte);
    let (scheme, rest) = url.split_once("://")?;
    let is_web = ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let end = rest.find('/').unwrap_or(rest.len());
    (is_web && end > 0 && rest.bytes().all(is_plain)).then(|| url.split_at(url.len() - rest.len() + end))
}

/// RFC 6749, section 3.3.
fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

/// How audiences are compared: scheme and host of a URL in any case, and with or without a slash
/// at the end, which clients add and drop; else letter by letter.
fn comparable(audience: &str) -> String {
    match split(audience) {
        Some((origin, path)) => origin.to_ascii_lowercase() + path.strip_suffix('/').unwrap_or(path),
        None => audience.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(audiences: &[&str], scopes: &[&str]) -> Result<Resource, String> {
        let strings = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        Resource::new("https://login.example.com/t", &strings(audiences), &strings(scopes))
    }

    #[test]
    fn metadata_lies_where_clients_look() {
        let own =
            resource(&["https://mcp.example.com/team/mcp", "api://x"], &["a:b", "c"]).expect("a resource");
        let document = "{\"resource\":\"https://mcp.example.com/team/mcp\",\
            \"authorization_servers\":[\"https://login.example.com/t\"],\
            \"scopes_supported\":[\"a:b\",\"c\"],\"bearer_methods_supported\":[\"header\"]}";
        for (path, served) in [
            ("/.well-known/oauth-protected-resource", true),
            ("/.well-known/oauth-protected-resource/mcp", true),
            ("/.well-known/oauth-protected-resource/team/mcp", true),
            ("/.well-known/oauth-protected-resource/", false),
            ("/.well-known/oauth-protected-resource/other", false),
            ("/.well-known/oauth-protected-resourcemcp", false),
            ("/.well-known/oauth-authorization-server", false),
            ("/mcp", false),
        ] {
            assert_eq!(own.document(path), served.then_some(document), "{path}");
        }
        let at_root = resource(&["https://mcp.example.com/"], &[]).expect("a resource");
        assert!(at_root.document("/.well-known/oauth-protected-resource").is_some());
        assert!(!at_root.metadata.contains("scopes_supported"));
    }

    #[test]
    fn a_challenge_names_metadata_and_scopes() {
        let own = resource(&["https://mcp.example.com:8443/mcp"], &["a:b", "c"]).expect("a resource");
        let url = "https://mcp.example.com:8443/.well-known/oauth-protected-resource/mcp";
        assert_eq!(own.challenge(None), format!("Bearer resource_metadata=\"{url}\", scope=\"a:b c\""));
        assert_eq!(
            own.challenge(Some(Fault::Expired)),
            format!(
                "Bearer error=\"invalid_token\", error_description=\"the token has expired (exp)\", \
                 resource_metadata=\"{url}\", scope=\"a:b c\""
            )
        );
        assert!(own.challenge(Some(Fault::Scope)).starts_with("Bearer error=\"insufficient_scope\", "));
        let bare = resource(&["http://localhost:8080"], &[]).expect("a resource");
        assert_eq!(
            bare.challenge(None),
            "Bearer resource_metadata=\"http://localhost:8080/.well-known/oauth-protected-resource\""
        );
    }

    #[test]
    fn an_audience_is_ours_however_its_url_is_written() {
        let own = resource(&["https://mcp.example.com/mcp", "API://Pmcp"], &[]).expect("a resource");
        for (audience, is_ours) in [
            ("https://mcp.example.com/mcp", true),
            ("https://mcp.example.com/mcp/", true),
            ("HTTPS://MCP.example.com/mcp", true),
            ("https://mcp.example.com/MCP", false),
            ("https://mcp.example.com/mcp//", false),
            ("https://mcp.example.com", false),
            ("https://mcp.example.com/mcp?", false),
            ("https://mcp.example.com.evil.example/mcp", false),
            ("http://mcp.example.com/mcp", false),
            ("API://Pmcp", true),
            ("api://pmcp", false),
            ("", false),
        ] {
            assert_eq!(own.is_meant(audience), is_ours, "{audience}");
        }
    }

    #[test]
    fn what_is_no_url_or_scope_is_refused() {
        for wrong in [
            "",
            "mcp.example.com",
            "ftp://x",
            "https://",
            "https:///mcp",
            "https://x/\"",
            "https://x#f",
            "https://x?q",
            "https://u@x",
            "https://x/ y",
            "https://é",
        ] {
            assert!(resource(&[wrong], &[]).is_err(), "{wrong}");
            assert!(Resource::new(wrong, &["https://x".into()], &[]).is_err(), "{wrong}");
        }
        assert!(resource(&[], &[]).is_err());
        for wrong in ["", "a b", "a\"", "a\\", "é"] {
            assert!(resource(&["https://x"], &[wrong]).is_err(), "{wrong}");
        }
    }
}
