//! nginx with TLS in front of an agent, for the clients of the SDKs.
//!
//! Prints a line of JSON, `{"url": …, "agent": …, "ca": …}`: the address of nginx, the address at
//! which the agent has to listen, and the file with the certificate authority. It runs until the end
//! of standard input. The configuration is the first of `docs/deploy/reverse-proxy.md`.

#![allow(clippy::print_stdout, reason = "its output is its interface")]

use std::{env, error::Error, fs, io, net::TcpListener};

use a2a_test_certificates::Authority;
use a2a_test_servers::Nginx;
use serde_json::json;

const DOCUMENT: &str = include_str!("../../../../docs/deploy/reverse-proxy.md");

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let ca = arguments.next().ok_or("interop-nginx CA_FILE")?;
    let (_, block) = DOCUMENT.split_once("```nginx\n").ok_or("the page has no configuration")?;
    let (config, _) = block.split_once("```").ok_or("the configuration does not end")?;
    // Free until the agent listens on it.
    let agent = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let authority = Authority::new("interop");
    let identity = authority.for_this_machine("127.0.0.1");
    let files = [("agent.crt", &*identity.certificate), ("agent.key", &*identity.key)];
    let nginx = Nginx::start(&files, |port| {
        config
            .replace("listen 443 ssl", &format!("listen 127.0.0.1:{port} ssl"))
            .replace("/etc/nginx/tls/", "")
            .replace("127.0.0.1:8080", &agent)
    });
    let nginx = nginx.await.map_err(|skipped| skipped.to_string())?;
    fs::write(&ca, authority.root())?;
    let url = format!("https://127.0.0.1:{}", nginx.port());
    println!("{}", json!({"url": url, "agent": agent, "ca": ca}));
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
