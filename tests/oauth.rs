//! Access tokens of an issuer that is not ours: two Python libraries sign, we judge.

use std::process::Command;
use std::time::SystemTime;

use pmcp_bridge::front::oauth::keys::Keys;
use pmcp_bridge::front::oauth::resource::Resource;
use pmcp_bridge::front::oauth::{self, token::Fault};

use crate::support::dir::Dir;
use crate::support::environment;

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
