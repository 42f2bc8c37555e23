//! Access tokens of an issuer that is not ours: two Python libraries sign, we judge.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::SystemTime;

use pmcp_bridge::front::oauth::keys::Keys;
use pmcp_bridge::front::oauth::resource::Resource;
use pmcp_bridge::front::oauth::{self, token::Fault};

use crate::access::{Server, serve_in};
use crate::support::dir::Dir;
use crate::support::{environment, eventually};

/// A token and the status that it must get.
struct Case {
    what: String,
    status: u64,
    token: String,
}

/// Has the issuer write its keys to a file, and sign.
fn issue(dir: &Dir) -> Option<Vec<Case>> {
    let python = environment::file("client-python/bin/python")?;
    let output = Command::new(python)
        .arg(environment::source("clients/tokens.py"))
        .arg(dir.join("jwks"))
        .output()
        .expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("JSON lines");
    let case = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let text = |name: &str| value[name].as_str().expect("a string").to_string();
        Case { what: text("what"), status: value["status"].as_u64().expect("a status"), token: text("token") }
    };
    Some(text.lines().map(case).collect())
}

#[test]
fn tokens_of_other_libraries() {
    let dir = Dir::new();
    let Some(cases) = issue(&dir) else { return };
    let keys = Keys::read(&std::fs::read(dir.join("jwks")).expect("a file")).expect("keys");
    assert_eq!(keys.len(), 6);
    assert!(keys.left_out.len() == 1 && keys.left_out[0].contains("rsa-1024"), "{:?}", keys.left_out);
    let own = ["https://mcp.example.com/mcp".to_string()];
    let resource = Resource::new("https://login.example.com", &own, &["mcp:use".into()]).expect("a resource");
    let mut server = oauth::Server::new(resource, keys);
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock");
    let mut seen = [0; 3];
    for Case { what, status, token } in &cases {
        let verdict = server.examine(token, wall);
        let got = match &verdict {
            Ok(_) => 200,
            Err(Fault::Scope) => 403,
            Err(_) => 401,
        };
        assert_eq!(got, *status, "{what}: {verdict:?}");
        seen[[200, 401, 403].iter().position(|known| known == status).expect("a known status")] += 1;
    }
    assert!(seen[0] >= 14 && seen[1] >= 45 && seen[2] >= 2, "{seen:?}");
}

const FLAGS: [&str; 9] = [
    "--oauth-issuer",
    "https://login.example.com",
    "--oauth-audience",
    "https://mcp.example.com/mcp",
    "--oauth-jwks",
    "jwks",
    "--oauth-scope",
    "mcp:use",
    "-v",
];

fn initialize(server: &Server, token: &str) -> crate::support::served::Response {
    server.initialize(&[("Authorization", &format!("Bearer {token}"))])
}

#[test]
fn every_token_gets_its_status_and_none_is_told_to_anybody() {
    let dir = Arc::new(Dir::new());
    let Some(cases) = issue(&dir) else { return };
    let server = serve_in(Arc::clone(&dir), &FLAGS, &[]);
    let metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    for Case { what, status, token } in &cases {
        for _ in 0..2 {
            let response = initialize(&server, token);
            assert_eq!(u64::from(response.status), *status, "{what}: {response:?}");
            let error = match status {
                200 => continue,
                403 => "error=\"insufficient_scope\"",
                _ => "error=\"invalid_token\"",
            };
            let challenge = response.one("www-authenticate");
            assert!(challenge.contains(error), "{what}: {challenge}");
            assert!(challenge.contains(&format!("resource_metadata=\"{metadata}\"")), "{what}: {challenge}");
            assert!(challenge.contains("scope=\"mcp:use\""), "{what}: {challenge}");
        }
    }
    let bare = server.initialize(&[]);
    assert_eq!(bare.status, 401);
    assert!(!bare.one("www-authenticate").contains("error"), "{bare:?}");
    for path in ["", "/mcp"] {
        let document = server.ask(&format!("GET /.well-known/oauth-protected-resource{path}"), &[], "");
        assert_eq!((document.status, document.one("content-type")), (200, "application/json"));
        let document: serde_json::Value = serde_json::from_str(&document.body).expect("JSON");
        assert_eq!(document["resource"], "https://mcp.example.com/mcp");
        assert_eq!(document["authorization_servers"][0], "https://login.example.com");
        assert_eq!(document["scopes_supported"][0], "mcp:use");
    }
    // A token in the URL is none, and nothing of any is shown.
    let query = server.ask(&format!("GET /mcp?access_token={}", cases[0].token), &[], "");
    assert_eq!(query.status, 401);
    let said = server.stderr();
    for Case { token, .. } in &cases {
        let signature = token.rsplit('.').find(|part| !part.is_empty()).expect("a part");
        assert!(!said.contains(signature), "{said}");
    }
}

#[test]
fn a_change_of_the_keys_holds_without_a_restart() {
    let dir = Arc::new(Dir::new());
    let Some(before) = issue(&dir) else { return };
    let server = serve_in(Arc::clone(&dir), &FLAGS, &[]);
    assert_eq!(initialize(&server, &before[0].token).status, 200);
    dir.write("jwks", "{\"keys\": [");
    eventually("the broken file is told", || {
        assert_eq!(initialize(&server, &before[0].token).status, 200, "the keys before it stay");
        server.stderr().contains("jwks is not a JWK set")
    });
    let after = issue(&dir).expect("the issuer");
    eventually("the new keys hold", || initialize(&server, &after[0].token).status == 200);
    assert_eq!(initialize(&server, &before[0].token).status, 401, "those before do not");
}

#[test]
fn a_session_belongs_to_who_made_it() {
    let dir = Arc::new(Dir::new());
    let Some(cases) = issue(&dir) else { return };
    let server = serve_in(Arc::clone(&dir), &FLAGS, &[]);
    let of = |what: &str| {
        let case = cases.iter().find(|case| case.what == what).expect("a case");
        format!("Bearer {}", case.token)
    };
    // Two tokens of one person, and one of a client of its own.
    let [ada, again, worker] = [of("PyJWT p-256"), of("joserfc ed25519"), of("a client of its own")];
    let begun = server.initialize(&[("Authorization", &ada)]);
    let session = begun.one("mcp-session-id").to_string();
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}";
    for (token, status) in [(&ada, 200), (&again, 200), (&worker, 404)] {
        let headers = [("Authorization", token.as_str()), ("Mcp-Session-Id", &session)];
        assert_eq!(server.ask("POST /mcp", &headers, ping).status, status);
    }
}

/// An issuer that runs until it is dropped.
struct Issuer(Child);

impl Drop for Issuer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn the_official_client_finds_its_way_to_a_token() {
    let Some(python) = environment::file("client-python/bin/python") else { return };
    let script = environment::source("clients/oauth_host.py");
    let dir = Arc::new(Dir::new());
    let mut child = Command::new(&python)
        .arg(&script)
        .arg("issuer")
        .arg(dir.join("jwks"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs");
    let mut url = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut url).expect("its URL");
    let _issuer = Issuer(child);
    // The audience is our own URL, so the port has to be known before.
    let free =
        TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("its number").port();
    let (port, own) = (free.to_string(), format!("http://127.0.0.1:{free}/mcp"));
    let flags = [
        "--port",
        &port,
        "--oauth-issuer",
        url.trim(),
        "--oauth-audience",
        &own,
        "--oauth-jwks",
        "jwks",
        "--oauth-scope",
        "mcp:use",
    ];
    let server = serve_in(Arc::clone(&dir), &flags, &[]);
    let output = Command::new(python).arg(script).args(["host", &own]).output().expect("Python runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.trim(), "{\"tools\": [\"any\"], \"scope\": \"mcp:use\"}", "{errors} {}", server.stderr());
}
