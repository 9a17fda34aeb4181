//! Fixtures: exchanges on one connection, as text files in `tests/wire/`.
//!
//! A file begins with a description. `=== agent` configures the agent, one word per line;
//! then come pairs of `=== request` and `=== response`, in the form of HTTP/1.1 but with plain
//! line breaks. `Host` and `Content-Length` of a request are added. A response lists the relevant
//! headers, and with `!name` those that must be absent; its body is exact, except for the
//! placeholders of [`pattern`](super::pattern).
//!
//! After the last exchange, the connection has to serve another request.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use a2a_kit::{Revisions, Server};
use a2a_kit_http::{Drain, Limits, VersionPolicy};
use a2a_tests::{
    Control, Options,
    agent::{ExtendedCard, engine},
};
use tokio::task::JoinHandle;

use super::{
    pattern::{Bindings, check, fill},
    socket::{Connection, Head, text},
};

/// Plays a fixture, and lists all differences. The fixtures also apply to a server with older
/// revisions, except with `latest-only` in `=== agent`.
pub(crate) async fn play(name: &str) {
    let fixture = Fixture::read(name);
    play_at(name, &fixture, Revisions::latest()).await;
    if !fixture.agent.iter().any(|word| word == "latest-only") {
        play_at(name, &fixture, Revisions::all()).await;
    }
}

async fn play_at(name: &str, fixture: &Fixture, revisions: Revisions) {
    let place = format!("tests/wire/{name}.http, revisions {revisions:?}");
    let served = Served::start_with(&fixture.agent, revisions, Drain::new()).await;
    let mut connection = Connection::open(served.address).await;
    let mut bindings = Bindings::new();
    let mut faults = Vec::new();
    for (index, exchange) in fixture.exchanges.iter().enumerate() {
        let (head, body) = parts(&exchange.request);
        let head = fill(head, &bindings);
        connection.send(&head, fill(body, &bindings).as_bytes()).await;
        let (answer, body) = connection.receive(head.starts_with("HEAD")).await;
        for fault in exchange.faults(&answer, &text(&body), &mut bindings) {
            faults.push(format!("exchange {}: {fault}", index + 1));
        }
    }
    assert!(faults.is_empty(), "{place}\n{}", faults.join("\n"));
    connection.send("GET /healthz HTTP/1.1", b"").await;
    let (answer, _) = connection.receive(false).await;
    assert_eq!(answer.status, "HTTP/1.1 200 OK", "{place}: the connection lives");
}

/// The names of all fixtures.
pub(crate) fn all() -> Vec<String> {
    let mut names = Vec::new();
    for folder in fs::read_dir(root()).expect("the folder of fixtures") {
        let folder = folder.expect("an entry").path();
        if !folder.is_dir() {
            continue;
        }
        for file in fs::read_dir(&folder).expect("a folder") {
            let file = file.expect("an entry").path();
            let name = file.strip_prefix(root()).expect("below the root").with_extension("");
            names.push(name.to_str().expect("text").to_owned());
        }
    }
    names.sort();
    names
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("wire")
}

struct Fixture {
    agent: Vec<String>,
    exchanges: Vec<Exchange>,
}

struct Exchange {
    request: String,
    response: String,
}

impl Fixture {
    fn read(name: &str) -> Self {
        let path = root().join(name).with_extension("http");
        let content = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let mut fixture = Self { agent: Vec::new(), exchanges: Vec::new() };
        for section in content.split("=== ").skip(1) {
            let (title, content) = section.split_once('\n').expect("a line of its own");
            let content = content.strip_suffix('\n').unwrap_or(content);
            match title {
                "agent" => fixture.agent.extend(content.lines().map(str::to_owned)),
                "request" => fixture
                    .exchanges
                    .push(Exchange { request: content.to_owned(), response: String::new() }),
                "response" => {
                    let exchange = fixture.exchanges.last_mut().expect("a request before");
                    exchange.response = content.to_owned();
                }
                other => panic!("{path:?}: what is {other:?}?"),
            }
        }
        assert!(!fixture.exchanges.is_empty(), "{path:?} has no exchange");
        fixture
    }
}

impl Exchange {
    fn faults(&self, head: &Head, body: &str, bindings: &mut Bindings) -> Vec<String> {
        let (expected, expected_body) = parts(&self.response);
        let mut faults = Vec::new();
        let mut lines = expected.lines();
        if lines.next() != Some(head.status.as_str()) {
            faults.push(format!("status {:?}", head.status));
        }
        for line in lines {
            if let Some(absent) = line.strip_prefix('!') {
                if let Some(value) = head.header(absent) {
                    faults.push(format!("there is a header {absent}: {value}"));
                }
                continue;
            }
            let (name, expected) = line.split_once(": ").expect("a header");
            match head.header(name) {
                None => faults.push(format!("no header {name}")),
                Some(value) => faults.extend(
                    check(expected, value, bindings).err().map(|fault| format!("{name} {fault}")),
                ),
            }
        }
        faults.extend(
            check(expected_body, body, bindings).err().map(|fault| format!("body {fault}")),
        );
        faults
    }
}

/// Head and body of a message.
fn parts(message: &str) -> (&str, &str) {
    message.split_once("\n\n").unwrap_or((message.trim_end(), ""))
}

/// A server on a new port, stopped on drop.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) control: Control,
    server: JoinHandle<()>,
}

impl Served {
    /// Starts an agent configured by the words of a fixture, with 1.0 only.
    pub(crate) async fn start(words: &[impl AsRef<str>]) -> Self {
        Self::start_with(words, Revisions::latest(), Drain::new()).await
    }

    /// Starts it with older revisions too, and a signal to end.
    pub(crate) async fn start_with(
        words: &[impl AsRef<str>],
        revisions: Revisions,
        drain: Drain,
    ) -> Self {
        let mut options = Options::default();
        let mut limits = Limits::default();
        let mut policy = VersionPolicy::default();
        let mut origins = None;
        let mut rpc_path = "";
        let mut rest_prefix = "";
        for line in words {
            let (word, value) = line.as_ref().split_once(' ').unwrap_or((line.as_ref(), ""));
            match word {
                "" | "latest-only" => {}
                "no-streaming" => options.streaming = false,
                "no-push" => options.push = false,
                "no-extended-card" => options.extended_card = ExtendedCard::Absent,
                "promises-extended-card" => options.extended_card = ExtendedCard::PromisedOnly,
                "requires-extension" => options.required_extension = Some("urn:example:required"),
                "lenient" => policy = VersionPolicy::Lenient,
                "max-body-bytes" => {
                    limits = limits.with_max_body_bytes(value.parse().expect("a number"));
                }
                "keep-alive-ms" => {
                    let silence = value.parse().map(std::time::Duration::from_millis);
                    limits = limits.with_keep_alive_interval(silence.expect("a number"));
                }
                "max-running" => {
                    options.config = options.config.with_max_running(value.parse().expect("one"));
                }
                "any-origin" => origins = Some("*"),
                "rpc-path" => rpc_path = value,
                "rest-prefix" => rest_prefix = value,
                other => panic!("no agent is {other:?}"),
            }
        }
        let control = Control::default();
        let server = Server::from(engine(&options, &control))
            .with_limits(limits)
            .with_version_policy(policy)
            .with_drain(drain)
            .with_revisions(revisions)
            .with_rpc_path(rpc_path)
            .with_rest_prefix(rest_prefix)
            .with_public_url("http://agent.example");
        let server = match origins {
            Some(origins) => server.with_allowed_origins([origins]),
            None => server,
        };
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = tokio::spawn(async move {
            server.serve(listener, std::future::pending()).await.expect("a server");
        });
        Self { address, control, server }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.abort();
    }
}
