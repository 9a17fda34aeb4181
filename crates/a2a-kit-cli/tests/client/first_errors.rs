//! The errors that newcomers see first: each names the cause and the next step.

use crate::common::{Run, Server, command, home::Home};
use a2a_kit_http::tls::{Pem, TlsSettings};
use a2a_test_certificates::Folder;
use axum::{Router, response::Html};
use serde_json::json;

fn send(agent: &str, arguments: &[&str]) -> Run {
    Run::of(command().args(["send", "hello", "-a", agent]).args(arguments))
}

/// Checks the whole text of an error.
fn assert_error(run: &Run, exit: i32, lines: &[&str]) {
    assert_eq!((run.code, run.stdout.as_str()), (exit, ""), "{run:?}");
    assert_eq!(run.stderr.lines().collect::<Vec<_>>(), lines, "{run:?}");
}

/// Serves a router, with TLS if there is a folder with a certificate.
async fn serve(router: Router, folder: Option<&Folder>) -> String {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut server = a2a_kit_http::HttpServer::new(router);
    if let Some(folder) = folder {
        let pem = |name: &str| Pem::file(folder.path(name));
        let tls = TlsSettings::new(pem("server.crt"), pem("server.key")).load().unwrap();
        server = server.with_tls(tls);
    }
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}

#[test]
fn host_without_a_server() {
    let server = Server::start(&[]);
    let address = server.address.clone();
    drop(server);
    let run = send(&address, &[]);
    assert_eq!(run.code, 3, "{run:?}");
    for expected in [
        "Error: A2ACLI_ERR_UNREACHABLE\n",
        &format!("failed to connect to http://{address}"),
        "Hint: nothing listens at that address: check host and port, and that the agent is running",
    ] {
        assert!(run.stderr.contains(expected), "{expected}: {run:?}");
    }
    let unknown = send("no-such-host.invalid", &["--request-timeout", "20s"]);
    assert_eq!(unknown.code, 3, "{unknown:?}");
    assert!(unknown.stderr.contains("no-such-host.invalid"), "{unknown:?}");
}

#[test]
fn path_without_a_card() {
    let server = Server::start(&[]);
    let url = format!("{}/agents/one.json", server.url());
    assert_error(
        &send(&url, &[]),
        3,
        &[
            "Error: A2ACLI_ERR_CARD_NOT_FOUND",
            &format!("Message: no agent card at {url}"),
            "Hint: check the address; for a card elsewhere, give its complete URL",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn web_page_in_place_of_a_card() {
    let router = Router::new().fallback(async || Html("<!doctype html><title>Shop</title>"));
    let address = serve(router, None).await;
    assert_error(
        &send(&address, &[]),
        3,
        &[
            "Error: A2ACLI_ERR_CARD_NOT_FOUND",
            &format!(
                "Message: found a web page instead of an agent card at \
                 http://{address}/.well-known/agent-card.json"
            ),
            "Hint: name the agent by its host alone, or ask its operator for the URL of its card",
        ],
    );
}

#[test]
fn agent_of_an_older_version_only() {
    let server = Server::start(&["--protocol", "0.3"]);
    let run = send(&server.address, &[]);
    assert_error(
        &run,
        1,
        &[
            "Error: VersionNotSupportedError",
            "Message: no common protocol version: the agent offers [\"JSONRPC 0.3\", \
             \"HTTP+JSON 0.3\", \"GRPC 0.3\"]",
            "Hint: try --a2a-version 0.3",
            "A2A Code: -32009",
        ],
    );
    assert_eq!(send(&server.address, &["--a2a-version", "0.3"]).field("State"), "COMPLETED");
}

#[test]
fn card_without_a_common_binding() {
    let home = Home::new();
    let card = json!({
        "name": "A", "description": "", "version": "1",
        "supportedInterfaces": [{
            "url": "https://a.example", "protocolBinding": "CARRIER-PIGEON",
            "protocolVersion": "1.0",
        }],
        "capabilities": {}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"], "skills": [],
    });
    let path = home.write(home.working().join("card.json"), &card.to_string());
    assert_error(
        &send(&path, &[]),
        1,
        &[
            "Error: UnsupportedOperationError",
            "Message: no common protocol binding: the agent offers [\"CARRIER-PIGEON 1.0\"]",
            "Hint: this tool speaks JSONRPC, HTTP+JSON and GRPC; see the interfaces with `a2a card \
             get`",
            "A2A Code: -32004",
        ],
    );
}

#[test]
fn refused_token() {
    let server = Server::start(&["--require-bearer", "t0ken"]);
    assert_error(
        &send(&server.address, &["--bearer", "0ld-t0ken"]),
        4,
        &[
            "Error: A2ACLI_ERR_AUTH_FAILED",
            "Message: invalid credentials",
            "Hint: check that the credential is valid and has not expired",
            "A2A Code: -31401",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_of_an_unknown_authority() {
    let folder = Folder::new("root");
    folder.issue("server");
    let address = serve(Router::new(), Some(&folder)).await;
    let url = format!("https://{address}");
    assert_error(
        &send(&url, &[]),
        3,
        &[
            "Error: A2ACLI_ERR_UNREACHABLE",
            &format!(
                "Message: failed to fetch agent card from {url}/.well-known/agent-card.json: failed \
                 to connect to {url}: connection failed: invalid peer certificate: UnknownIssuer"
            ),
            "Hint: the certificate is from an authority that is not trusted: give the certificate of \
             that authority with --ca-cert, or, if it is self-signed, its fingerprint with \
             --pin-sha256; print it with: openssl s_client -connect <host>:<port> </dev/null | \
             openssl x509 -noout -fingerprint -sha256",
        ],
    );
    let known = send(&url, &["--ca-cert", &folder.path("root.pem")]);
    assert_eq!(known.code, 3, "{known:?}");
    assert!(known.stderr.contains("A2ACLI_ERR_CARD_NOT_FOUND"), "{known:?}");
    let plaintext = send(&format!("http://{address}"), &[]);
    assert!(plaintext.code != 0, "{plaintext:?}");
}

#[test]
fn plaintext_server_that_is_called_with_tls() {
    let server = Server::start(&[]);
    let run = send(&format!("https://{}", server.address), &[]);
    assert_eq!(run.code, 3, "{run:?}");
    let hint = "Hint: the server does not speak TLS at that port: name the agent with http://";
    assert!(run.stderr.contains(hint), "{run:?}");
}
