//! The peer to compare with over HTTP: a Streamable HTTP server written with the official Rust SDK,
//! axum and tokio as its documentation shows, with the same `echo` tool that sits behind the bridge.

use axum::serve::ListenerExt as _;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ServerHandler, tool, tool_handler, tool_router};

#[derive(Clone)]
struct Echo;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct EchoArguments {
    /// What comes back.
    text: String,
}

#[tool_router]
impl Echo {
    #[tool(description = "Gives back its text")]
    fn echo(&self, Parameters(EchoArguments { text }): Parameters<EchoArguments>) -> String {
        text
    }
}

#[tool_handler]
impl ServerHandler for Echo {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service: StreamableHttpService<Echo, LocalSessionManager> =
        StreamableHttpService::new(|| Ok(Echo), Default::default(), StreamableHttpServerConfig::default());
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}/mcp", listener.local_addr()?);
    // Without this each of its calls would wait 40 ms for an acknowledgement.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}
