//! Agents behind nginx, with the configurations of docs/deploy/reverse-proxy.md.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that can't be set up fails"
)]
#![allow(clippy::print_stdout, reason = "a failed test prints the path on which it failed")]

use std::{
    collections::HashSet,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use a2a_core::{
    AgentCard, ErrorKind, Message, TaskState,
    v1::{
        ListTasksRequest, SecurityScheme, TaskPushNotificationConfig,
        send_message_response::Payload,
    },
};
use a2a_kit_auth::server::{ApiKeys, Guard};
use a2a_kit_client::{Client, ClientBuilder, ClientEvent, RetryPolicy, Transport, WaitOptions};
use a2a_kit_http::{
    Limits,
    client::ClientSettings,
    rate::AddressRate,
    tls::{ClientTls, Pem},
};
use a2a_kit_operations::{Agent as _, Caller, Engine, Event, EventStream, agent_fn};
use a2a_kit_store_testing::MemoryNode;
use a2a_test_certificates::{Authority, rcgen::CertificateParams};
use a2a_test_servers::Nginx;
use a2a_tests::{
    Control, Options,
    agent::{engine, engine_on},
    call::{
        all, at_once, cancel, get, next, positions, resume, send, stream_of, subscribe,
        subscription, task_of, to_task, with,
    },
};
use axum::{
    extract::{ConnectInfo, Request},
    middleware,
};
use futures_util::TryStreamExt as _;
use serde_json::json;
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

const DOCUMENT: &str = include_str!("../../docs/deploy/reverse-proxy.md");
/// Hosts for which nginx has a certificate.
const HOSTS: [&str; 4] = ["localhost", "127.0.0.1", "agent.example", "other.example"];
/// Far beyond what a test takes, so that a buffered event fails it.
const HANG: Duration = Duration::from_secs(60);

/// The configuration for one agent at the root, for two nodes of it, and for several under prefixes.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Root,
    Nodes,
    Prefixes,
}

impl Layout {
    /// The configuration in the document, and the addresses of its agents.
    fn document(self) -> (String, &'static [&'static str]) {
        let blocks: Vec<_> = DOCUMENT
            .split("```nginx\n")
            .skip(1)
            .map(|rest| rest.split_once("```").expect("the block ends").0)
            .collect();
        let [root, nodes, prefixes] = blocks[..] else { panic!("three blocks") };
        match self {
            Self::Root => (root.to_owned(), &["127.0.0.1:8080"]),
            Self::Nodes => {
                let server = root.find("server {\n    listen").expect("a server block");
                (nodes.to_owned() + &root[server..], &["127.0.0.1:8080", "127.0.0.1:8090"])
            }
            Self::Prefixes => (prefixes.to_owned(), &["127.0.0.1:8081", "127.0.0.1:8082"]),
        }
    }
}

/// nginx, and what its clients trust.
struct Proxy {
    nginx: Nginx,
    authority: Authority,
}

impl Proxy {
    /// Starts nginx in front of agents at these addresses; `None` where it is not installed.
    async fn start(
        layout: Layout,
        agents: &[SocketAddr],
        edit: impl FnOnce(String) -> String,
    ) -> Option<Self> {
        let authority = Authority::new("proxy");
        let hosts = CertificateParams::new(HOSTS.map(str::to_owned)).unwrap();
        let identity = authority.issue(hosts);
        let (config, documented) = layout.document();
        let config = |port: u16| {
            let listen = format!("listen 127.0.0.1:{port} ssl");
            let config = replaced(config.clone(), "listen 443 ssl", &listen);
            let config = replaced(config, "/etc/nginx/tls/", "");
            let agents = agents.iter().map(SocketAddr::to_string);
            let config = documented
                .iter()
                .zip(agents)
                .fold(config, |config, (from, to)| replaced(config, from, &to));
            edit(config)
        };
        let files = [("agent.crt", &*identity.certificate), ("agent.key", &*identity.key)];
        let nginx = Nginx::start(&files, config).await.ok()?;
        Some(Self { nginx, authority })
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.nginx.port())
    }

    fn tls(&self) -> ClientTls {
        ClientTls::new().with_roots(&Pem::text(self.authority.root())).unwrap()
    }

    fn client(&self, transport: Transport) -> ClientBuilder {
        let settings = ClientSettings::default().with_tls(self.tls());
        Client::builder().http(settings).only([transport])
    }

    /// A client for raw requests, which finds every host at nginx.
    fn raw(&self) -> reqwest::ClientBuilder {
        let address = SocketAddr::from(([127, 0, 0, 1], self.nginx.port()));
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls().http_config().unwrap())
            .no_proxy();
        HOSTS.iter().fold(client, |client, host| client.resolve(host, address))
    }
}

fn replaced(config: String, from: &str, to: &str) -> String {
    assert!(config.contains(from), "{from:?} is not in the configuration");
    config.replace(from, to)
}

fn without_http2(config: String) -> String {
    replaced(config, " http2;", ";")
}

/// A server of an agent, which ends with it.
struct Served(JoinHandle<()>);

impl Served {
    fn start(server: a2a_kit::Server, listener: TcpListener) -> Self {
        Self(tokio::spawn(async move {
            server.serve(listener, std::future::pending()).await.unwrap();
        }))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// The agent under test at the root of a host.
struct Site {
    proxy: Proxy,
    engine: Engine,
    control: Control,
    agent: SocketAddr,
    served: Served,
}

impl Site {
    async fn start() -> Option<Self> {
        Self::with(|config| config, |server| server).await
    }

    async fn with(
        edit: impl FnOnce(String) -> String,
        configure: impl FnOnce(a2a_kit::Server) -> a2a_kit::Server,
    ) -> Option<Self> {
        let control = Control::default();
        let engine = engine(&Options::default(), &control);
        let (listener, agent) = listener().await;
        let proxy = Proxy::start(Layout::Root, &[agent], edit).await?;
        let server = a2a_kit::Server::from(engine.clone()).with_public_url(proxy.url());
        let served = Served::start(configure(server), listener);
        Some(Self { proxy, engine, control, agent, served })
    }

    async fn client(&self, transport: Transport) -> Client {
        self.proxy.client(transport).connect(&self.proxy.url()).await.unwrap()
    }
}

/// Reads events until the agent works.
async fn working(stream: &mut EventStream) {
    while next(stream).await.state() != Some(TaskState::Working) {}
}

fn last_state(events: Vec<Event>) -> TaskState {
    events.last().unwrap().state().unwrap()
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, work).await.expect("nothing hangs")
}

/// Checks each binding over each version of HTTP towards nginx.
async fn on_every_path(check: impl AsyncFn(&Site, Client)) {
    let Some(site) = Site::start().await else { return };
    for transport in Transport::ALL {
        println!("{transport} over HTTP/2");
        in_time(check(&site, site.client(transport).await)).await;
    }
    assert_versions(&site, "HTTP/2.0");
    let Some(site) = Site::with(without_http2, |server| server).await else { return };
    for transport in [Transport::JsonRpc, Transport::Rest] {
        println!("{transport} over HTTP/1.1");
        in_time(check(&site, site.client(transport).await)).await;
    }
    assert_versions(&site, "HTTP/1.1");
}

fn assert_versions(site: &Site, version: &str) {
    let log = site.proxy.nginx.access_log();
    assert!(!log.is_empty());
    assert!(log.lines().all(|line| line.contains(version)), "not all {version}:\n{log}");
}

#[tokio::test]
async fn message_is_answered_on_every_binding() {
    on_every_path(async |_, client| {
        let agent = client.agent();
        let task = task_of(&agent, send("hello")).await;
        assert_eq!(task.status.unwrap().state(), TaskState::Completed);
        let asked = task_of(&agent, send("ask")).await;
        let done = task_of(&agent, to_task(&asked.id, "this")).await;
        assert_eq!(done.status.unwrap().state(), TaskState::Completed);
        assert_eq!(agent.get_task(get(&asked.id)).await.unwrap().response.id, asked.id);
    })
    .await;
}

#[tokio::test]
async fn events_arrive_before_the_agent_produces_the_next() {
    on_every_path(async |site, client| {
        let mut stream = stream_of(&client.agent(), send("gate")).await;
        working(&mut stream).await;
        // The agent waits for this, so nothing held back the event.
        site.control.open();
        assert_eq!(last_state(all(stream).await), TaskState::Completed);
    })
    .await;
}

#[tokio::test]
async fn stream_can_be_subscribed_to_and_resumed() {
    on_every_path(async |site, client| {
        let agent = client.agent();
        let task = task_of(&agent, at_once(send("gate"))).await;
        let mut subscribed = subscription(&agent, subscribe(&task.id)).await;
        assert_eq!(next(&mut subscribed).await.task().unwrap().id, task.id);
        site.control.open();
        assert_eq!(last_state(all(subscribed).await), TaskState::Completed);

        let events = all(stream_of(&agent, send("stream 5")).await).await;
        let id = events[0].task().unwrap().id.clone();
        let after = events.iter().find_map(Event::id).unwrap();
        let resumed = all(subscription(&agent, resume(&id, after)).await).await;
        let expected: Vec<_> =
            positions(&events).into_iter().filter(|position| *position > after.get()).collect();
        assert!(!expected.is_empty());
        assert_eq!(positions(&resumed), expected);
    })
    .await;
}

#[tokio::test]
async fn cancel_ends_the_task_and_its_stream() {
    on_every_path(async |_, client| {
        let agent = client.agent();
        let mut stream = stream_of(&agent, send("wait")).await;
        let id = next(&mut stream).await.task().unwrap().id.clone();
        let canceled = agent.cancel_task(cancel(&id)).await.unwrap().response;
        assert_eq!(canceled.status.as_ref().unwrap().state(), TaskState::Canceled);
        assert_eq!(last_state(all(stream).await), TaskState::Canceled);
    })
    .await;
}

#[tokio::test]
async fn large_message_and_response_pass() {
    let text = format!("large {}", "ü".repeat(3 << 20));
    on_every_path(async |_, client| {
        let task = task_of(&client.agent(), send(&text)).await;
        assert!(task.artifacts[0].parts[0].as_text() == Some(&text), "another text");
    })
    .await;
}

#[tokio::test]
async fn message_above_the_body_limit_of_the_proxy_is_too_large() {
    let text = "x".repeat(17 << 20);
    on_every_path(async |_, client| {
        let error = client.agent().send_message(send(&text)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PayloadTooLarge, "{error}");
    })
    .await;
}

#[tokio::test]
async fn errors_are_those_of_the_engine() {
    on_every_path(async |site, client| {
        let agent = client.agent();
        let done = task_of(&agent, send("hello")).await;
        let (of_engine, received) = (
            [
                site.engine.get_task(get("unknown")).await.unwrap_err(),
                site.engine.cancel_task(cancel(&done.id)).await.unwrap_err(),
                site.engine.send_message(to_task(&done.id, "more")).await.unwrap_err(),
            ],
            [
                agent.get_task(get("unknown")).await.unwrap_err(),
                agent.cancel_task(cancel(&done.id)).await.unwrap_err(),
                agent.send_message(to_task(&done.id, "more")).await.unwrap_err(),
            ],
        );
        for (expected, received) in of_engine.iter().zip(&received) {
            assert_eq!(received.kind(), expected.kind());
            assert_eq!(received.message(), expected.message());
            assert_eq!(received.details(), expected.details());
        }
    })
    .await;
}

/// A server that requires an API key.
fn with_key(server: a2a_kit::Server) -> a2a_kit::Server {
    drop(server);
    let card = AgentCard::new("Echo", "Says what it hears")
        .with_security_scheme("key", SecurityScheme::api_key_header("X-API-Key"))
        .requiring("key");
    let keys = ApiKeys::new().with_key("a long secret", Caller::authenticated("ann"));
    let enforcement = Guard::new().with_verifier("key", keys).enforce(&card).unwrap();
    a2a_kit::Server::from(Engine::new(card, agent_fn(async |text: String| text)))
        .trust_layers_for_auth()
        .with_layers(move |router| enforcement.layer(router))
}

#[tokio::test]
async fn error_responses_are_unchanged() {
    let Some(site) = Site::with(|config| config, with_key).await else { return };
    let rpc = |method: &str| json!({"jsonrpc": "2.0", "id": 7, "method": method}).to_string();
    let (http1, http2) =
        (site.proxy.raw().http1_only().build().unwrap(), site.proxy.raw().build().unwrap());
    let mut statuses = Vec::new();
    for (method, path, key, body) in [
        ("GET", "/tasks/unknown", "a long secret", String::new()),
        ("GET", "/tasks/unknown", "another secret", String::new()),
        ("GET", "/nothing/here/at/all", "a long secret", String::new()),
        ("PUT", "/tasks", "a long secret", String::new()),
        ("GET", "/tasks?pageSize=-1", "a long secret", String::new()),
        ("POST", "/message:send", "a long secret", "{".to_owned()),
        // Above the limit of the agent, below that of nginx.
        ("POST", "/message:send", "a long secret", "x".repeat(9 << 20)),
        ("POST", "/", "a long secret", "{".to_owned()),
        ("POST", "/", "a long secret", rpc("Unknown")),
        ("POST", "/", "", rpc("GetTask")),
        ("POST", "/", "a long secret", "x".repeat(9 << 20)),
    ] {
        let case = format!("{method} {path}, {} bytes, key {key:?}", body.len());
        let mut responses = Vec::new();
        for (client, base) in [
            (&http1, format!("http://{}", site.agent)),
            (&http1, site.proxy.url()),
            (&http2, site.proxy.url()),
        ] {
            let response = client
                .request(method.parse().unwrap(), format!("{base}{path}"))
                .header("content-type", "application/json")
                .header("a2a-version", "1.0")
                .header("x-api-key", key)
                .body(body.clone())
                .send()
                .await
                .unwrap_or_else(|error| panic!("{case}: {error:?}"));
            let status = response.status();
            let header = |name: &str| response.headers().get(name).cloned();
            let headers = ["content-type", "www-authenticate", "retry-after", "allow"].map(header);
            responses.push((status, headers, response.text().await.unwrap()));
        }
        assert_eq!(responses[1], responses[0], "{case}, HTTP/1.1");
        assert_eq!(responses[2], responses[0], "{case}, HTTP/2");
        statuses.push(responses[0].0.as_u16());
    }
    assert_eq!(statuses, [404, 401, 404, 405, 400, 400, 413, 200, 200, 401, 413]);

    let too_large = http2.post(site.proxy.url()).body("x".repeat(17 << 20)).send().await.unwrap();
    assert_eq!(too_large.status(), 413);
    assert_eq!(too_large.headers()["content-type"], "text/html", "the page of nginx");
}

#[tokio::test]
async fn every_interface_in_the_card_can_be_called() {
    let Some(site) = Site::start().await else { return };
    let card = site.client(Transport::JsonRpc).await.card();
    let url = site.proxy.url();
    for interface in &card.supported_interfaces {
        assert_eq!(interface.url, url);
        let only = AgentCard { supported_interfaces: vec![interface.clone()], ..(*card).clone() };
        let transport = interface.protocol_binding.parse().unwrap();
        let client = site.proxy.client(transport).build(only).unwrap();
        assert_eq!(client.send_text("hello").await.unwrap(), "hello", "{interface:?}");
    }
    let versions: Vec<_> =
        card.supported_interfaces.iter().map(|one| &*one.protocol_version).collect();
    assert_eq!(versions, ["1.0", "1.0", "1.0", "0.3", "0.3", "0.3"]);
}

#[tokio::test]
async fn agents_under_path_prefixes_are_separate() {
    let (echo_listener, echo) = listener().await;
    let (weather_listener, weather) = listener().await;
    let proxy = Proxy::start(Layout::Prefixes, &[echo, weather], |config| config).await;
    let Some(proxy) = proxy else { return };
    let control = Control::default();
    let base = proxy.url();
    let server = |name: &str| {
        let engine = engine(&Options::default(), &control);
        let card = AgentCard { name: name.to_owned(), ..engine.card().clone() };
        a2a_kit::Server::new(engine, card).with_public_url(format!("{base}/agents/{name}"))
    };
    // gRPC has no path prefix: at this host it belongs to one of the agents.
    let _echo = Served::start(server("echo").with_grpc_address(base.clone()), echo_listener);
    let _weather = Served::start(server("weather"), weather_listener);

    for (name, interfaces) in [("echo", 6), ("weather", 4)] {
        let reference = format!("{base}/agents/{name}/.well-known/agent-card.json");
        let card = proxy.client(Transport::JsonRpc).connect(&reference).await.unwrap().card();
        assert_eq!((&*card.name, card.supported_interfaces.len()), (name, interfaces));
        for interface in &card.supported_interfaces {
            let only =
                AgentCard { supported_interfaces: vec![interface.clone()], ..(*card).clone() };
            let transport = interface.protocol_binding.parse().unwrap();
            let client = proxy.client(transport).build(only).unwrap();
            assert_eq!(client.send_text("hello").await.unwrap(), "hello", "{interface:?}");
            let mut stream = stream_of(&client.agent(), send("gate")).await;
            in_time(working(&mut stream)).await;
            control.open();
            assert_eq!(last_state(in_time(all(stream)).await), TaskState::Completed);
        }
        // A task of one agent is unknown to the other.
        let client = proxy.client(Transport::Rest).connect(&reference).await.unwrap();
        let asked = task_of(&client.agent(), send("ask")).await;
        let other = if name == "echo" { "weather" } else { "echo" };
        let other = format!("{base}/agents/{other}/.well-known/agent-card.json");
        let other = proxy.client(Transport::Rest).connect(&other).await.unwrap();
        assert_eq!(other.get(&asked.id).await.unwrap_err().kind(), ErrorKind::TaskNotFound);

        // Identifiers in paths and queries keep their encoding.
        for id in ["a/b", "a//b", "a%2Fb c?d#e", "..x", "é+"] {
            let config = TaskPushNotificationConfig {
                task_id: asked.id.clone(),
                id: id.to_owned(),
                url: "http://127.0.0.1:1/hook".to_owned(),
                ..TaskPushNotificationConfig::default()
            };
            client.create_push_config(config).await.unwrap();
            assert_eq!(client.push_config(&asked.id, id).await.unwrap().id, id);
            client.delete_push_config(&asked.id, id).await.unwrap();
        }
        // A proxy may resolve it to another resource.
        let refused = client.push_config(&asked.id, "../x").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidParams);
    }
    let elsewhere = proxy.raw().build().unwrap().get(format!("{base}/agents/echoes")).send().await;
    assert_eq!(elsewhere.unwrap().status(), 404);
}

#[tokio::test]
async fn only_the_public_host_and_origin_are_accepted_without_authentication() {
    let (listener, agent) = listener().await;
    let Some(proxy) = Proxy::start(Layout::Root, &[agent], |config| config).await else { return };
    let port = proxy.nginx.port();
    let server = a2a_kit::Server::from(engine(&Options::default(), &Control::default()))
        .with_public_url(format!("https://agent.example:{port}"));
    let _served = Served::start(server, listener);
    let (http1, http2) = (proxy.raw().http1_only().build().unwrap(), proxy.raw().build().unwrap());
    for client in [http1, http2] {
        for (host, origin, status) in [
            ("agent.example", None, 200),
            ("other.example", None, 403),
            ("agent.example", Some(format!("https://agent.example:{port}")), 200),
            ("agent.example", Some("https://agent.example".to_owned()), 403),
            ("agent.example", Some("https://other.example".to_owned()), 403),
        ] {
            let mut request = client.get(format!("https://{host}:{port}/tasks"));
            if let Some(origin) = &origin {
                request = request.header("origin", origin);
            }
            let response = request.header("a2a-version", "1.0").send().await.unwrap();
            assert_eq!(response.status(), status, "{host}, {origin:?}");
        }
    }
}

// Other systems have no further addresses on the loopback interface.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn forwarded_client_address_counts_only_from_a_trusted_proxy() {
    for (trusted, statuses) in [(true, [404, 429, 429, 404]), (false, [404, 429, 429, 429])] {
        let rate = AddressRate::new("1/m".parse().unwrap());
        let rate = match trusted {
            true => rate.with_proxies(["127.0.0.1".parse().unwrap()]),
            false => rate,
        };
        let limited = |server: a2a_kit::Server| server.with_address_rate(rate);
        let Some(site) = Site::with(|config| config, limited).await else { return };
        let mut received = Vec::new();
        for (address, forwarded) in [
            ([127, 0, 0, 2], None),
            ([127, 0, 0, 2], None),
            // A claim of the client itself.
            ([127, 0, 0, 2], Some("192.0.2.1")),
            ([127, 0, 0, 3], None),
        ] {
            let client = site.proxy.raw().local_address(IpAddr::from(address)).build().unwrap();
            let mut request = client.get(format!("{}/tasks/unknown", site.proxy.url()));
            if let Some(forwarded) = forwarded {
                request = request.header("x-forwarded-for", forwarded);
            }
            let response = request.header("a2a-version", "1.0").send().await.unwrap();
            received.push(response.status().as_u16());
        }
        assert_eq!(received, statuses, "trusted: {trusted}");

        // This client has a third address, or shares that of nginx.
        let client = site.proxy.client(Transport::Grpc).retry(RetryPolicy::NEVER);
        let client = client.connect(&site.proxy.url()).await.unwrap();
        let kind = client.get("unknown").await.unwrap_err().kind();
        let expected = if trusted { ErrorKind::TaskNotFound } else { ErrorKind::ResourceExhausted };
        assert_eq!(kind, expected, "gRPC, trusted: {trusted}");
    }
}

#[tokio::test]
async fn connections_to_the_agent_are_reused() {
    let peers: Arc<Mutex<Vec<SocketAddr>>> = Arc::default();
    let record = {
        let peers = Arc::clone(&peers);
        move |request: Request, next: middleware::Next| {
            let ConnectInfo(peer) = *request.extensions().get::<ConnectInfo<SocketAddr>>().unwrap();
            peers.lock().unwrap().push(peer);
            next.run(request)
        }
    };
    let recorded = |server: a2a_kit::Server| {
        server.with_layers(move |router| router.layer(middleware::from_fn(record.clone())))
    };
    let Some(site) = Site::with(|config| config, recorded).await else { return };
    for transport in Transport::ALL {
        let client = site.client(transport).await;
        for _ in 0..5 {
            client.get("unknown").await.unwrap_err();
        }
    }
    let peers = std::mem::take(&mut *peers.lock().unwrap());
    let connections: HashSet<_> = peers.iter().collect();
    assert_eq!(peers.len(), 15);
    // nginx opens another one if a request arrives before it has kept the connection of the last.
    assert!(connections.len() < peers.len(), "{peers:?}");
}

#[tokio::test]
async fn silent_stream_outlives_the_read_timeout() {
    let limits = Limits::default()
        .with_keep_alive_interval(Duration::from_millis(250))
        .with_http2_ping_interval(Duration::from_millis(500));
    let edit = |config| replaced(config, "read_timeout 10m", "read_timeout 2s");
    let Some(site) = Site::with(edit, |server| server.with_limits(limits)).await else { return };
    let mut streams = Vec::new();
    for transport in Transport::ALL {
        let lost = |event| panic!("the stream was lost: {event:?}");
        let client = site.proxy.client(transport).on_event(lost);
        let client = client.connect(&site.proxy.url()).await.unwrap();
        let mut stream = stream_of(&client.agent(), send("gate")).await;
        in_time(working(&mut stream)).await;
        streams.push(stream);
    }
    // Longer than the timeout of nginx.
    tokio::time::sleep(Duration::from_secs(3)).await;
    streams.iter().for_each(|_| site.control.open());
    for stream in streams {
        assert_eq!(last_state(in_time(all(stream)).await), TaskState::Completed);
    }
}

#[tokio::test]
async fn stream_that_the_proxy_cuts_is_resumed() {
    let limits = Limits::default()
        .with_keep_alive_interval(Duration::from_secs(600))
        .with_http2_ping_interval(Duration::from_secs(600));
    let edit = |config| replaced(config, "read_timeout 10m", "read_timeout 1s");
    let Some(site) = Site::with(edit, |server| server.with_limits(limits)).await else { return };
    for transport in Transport::ALL {
        let resumed = Arc::new(Notify::new());
        let notify = Arc::clone(&resumed);
        let client = site.proxy.client(transport).on_event(move |event| {
            if matches!(event, ClientEvent::Resumed { .. }) {
                notify.notify_one();
            }
        });
        let client = client.connect(&site.proxy.url()).await.unwrap();
        let stream = stream_of(&client.agent(), send("gate")).await;
        let open = async {
            resumed.notified().await;
            site.control.open();
        };
        let (events, ()) = in_time(async { tokio::join!(all(stream), open) }).await;
        let id = &events[0].task().unwrap().id;
        assert_eq!(events.last().unwrap().state(), Some(TaskState::Completed), "{transport}");
        let received = positions(&events);
        let first = events.iter().find_map(Event::id).unwrap();
        let log = site.engine.subscribe_to_task(resume(id, first)).await;
        let log = positions(&all(log.unwrap().response).await);
        assert_eq!(received[1..], log, "{transport}: no gaps and no duplicates");
    }
}

#[tokio::test]
async fn silent_response_exceeds_the_read_timeout_and_the_task_continues() {
    // PINGs extend streams of gRPC, but not the wait for the head of a response.
    let limits = Limits::default().with_http2_ping_interval(Duration::from_millis(500));
    let edit = |config| replaced(config, "read_timeout 10m", "read_timeout 1s");
    let Some(site) = Site::with(edit, |server| server.with_limits(limits)).await else { return };
    for transport in Transport::ALL {
        let client = site.proxy.client(transport).retry(RetryPolicy::NEVER);
        let client = client.connect(&site.proxy.url()).await.unwrap();
        let message = Message::user("gate").with_context_id(transport.as_str());
        let error = in_time(client.agent().send_message(with(message))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{transport}");
        assert!(error.message().contains("504"), "{transport}: {error}");

        let context_id = transport.as_str().to_owned();
        let in_context = ListTasksRequest { context_id, ..ListTasksRequest::default() };
        let page = client.list_page(in_context).await.unwrap();
        let [task] = &page.tasks[..] else { panic!("one task: {page:?}") };
        assert_eq!(task.status.as_ref().unwrap().state(), TaskState::Working, "{transport}");
        site.control.open();
        let task = in_time(client.wait(&task.id, WaitOptions::default())).await.unwrap();
        assert_eq!(task.status.as_ref().unwrap().state(), TaskState::Completed, "{transport}");
    }
}

#[tokio::test]
async fn stopped_agent_is_unavailable_until_it_is_back() {
    let Some(site) = Site::start().await else { return };
    let Site { proxy, engine, agent, served, .. } = site;
    let mut clients = Vec::new();
    for transport in Transport::ALL {
        let client = proxy.client(transport).retry(RetryPolicy::NEVER);
        let client = client.connect(&proxy.url()).await.unwrap();
        assert_eq!(client.send_text("hello").await.unwrap(), "hello");
        clients.push((transport, client));
    }
    served.0.abort();
    drop(served);
    for (transport, client) in &clients {
        let error = client.send_text("hello").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{transport}: {error}");
        assert!(!error.message().contains('<'), "{transport}: {error}");
    }
    let listener = a2a_kit_http::bind(&agent.to_string()).await.unwrap();
    let server = a2a_kit::Server::from(engine).with_public_url(proxy.url());
    let _served = Served::start(server, listener);
    for (transport, client) in &clients {
        assert_eq!(client.send_text("hello").await.unwrap(), "hello", "{transport}");
    }
}

/// A node of an agent on a store that it shares.
struct Node {
    store: Arc<MemoryNode>,
    public_url: String,
    address: SocketAddr,
    stop: Arc<Notify>,
    served: JoinHandle<()>,
}

impl Node {
    fn start(store: Arc<MemoryNode>, public_url: String, listener: TcpListener) -> Self {
        static NODES: AtomicUsize = AtomicUsize::new(0);
        let name = format!("node {}", NODES.fetch_add(1, Ordering::Relaxed));
        let joined = Arc::new(store.join(&name));
        let engine = engine_on(&Options::default(), &Control::default(), joined);
        let delay =
            DOCUMENT.split("--shutdown-delay ").nth(1).and_then(|rest| rest.split('s').next());
        let delay = Duration::from_secs(delay.expect("a delay").parse().unwrap());
        let limits = Limits::default()
            .with_shutdown_delay(delay)
            // The default of `a2a serve`.
            .with_stream_drain_timeout(Duration::from_secs(5));
        let server = a2a_kit::Server::from(engine).with_public_url(&public_url).with_limits(limits);
        let (address, stop) = (listener.local_addr().unwrap(), Arc::new(Notify::new()));
        let stopped = Arc::clone(&stop);
        let served = tokio::spawn(async move {
            server.serve(listener, async move { stopped.notified().await }).await.unwrap();
        });
        Self { store, public_url, address, stop, served }
    }

    /// As the recipe does: stops gracefully, starts, and waits until it is ready.
    async fn restarted(self, http: &reqwest::Client) -> Self {
        self.stop.notify_one();
        self.served.await.unwrap();
        let listener = a2a_kit_http::bind(&self.address.to_string()).await.unwrap();
        let node = Self::start(self.store, self.public_url, listener);
        let ready = http.get(format!("http://{}/readyz", node.address)).send().await.unwrap();
        assert_eq!(ready.status(), 200);
        node
    }
}

/// Requests so far, and the failures among them.
#[derive(Default)]
struct Load {
    requests: AtomicUsize,
    counted: Notify,
    failures: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

impl Load {
    /// Calls an agent until the load is over, without retries.
    async fn run(&self, client: Client) {
        let agent = client.agent();
        while !self.is_over.load(Ordering::Relaxed) {
            let sent = self.count(agent.send_message(send("hello"))).await;
            if let Some(Payload::Task(task)) = sent.and_then(|sent| sent.response.payload) {
                self.count(agent.get_task(get(&task.id))).await;
            }
            self.count(async {
                let events = agent.send_streaming_message(send("stream 3")).await?.response;
                events.try_collect::<Vec<_>>().await
            })
            .await;
        }
    }

    async fn count<T>(&self, call: impl Future<Output = a2a_core::Result<T>>) -> Option<T> {
        let result = call.await;
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.counted.notify_one();
        result.map_err(|error| self.failures.lock().unwrap().push(error.to_string())).ok()
    }

    /// Waits for this many further requests.
    async fn progress(&self, requests: usize) {
        let enough = self.requests.load(Ordering::Relaxed) + requests;
        while self.requests.load(Ordering::Relaxed) < enough {
            self.counted.notified().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rolling_restart_under_load_fails_no_request() {
    const RESTARTS: usize = 8;
    const REQUESTS: usize = 6_000;

    let ((one, first), (two, second)) = (listener().await, listener().await);
    let Some(proxy) = Proxy::start(Layout::Nodes, &[first, second], |config| config).await else {
        return;
    };
    let store = Arc::new(MemoryNode::new());
    let mut nodes =
        [one, two].map(|listener| Node::start(Arc::clone(&store), proxy.url(), listener));
    let load = Arc::new(Load::default());
    let http = proxy.raw().pool_max_idle_per_host(0).build().unwrap();
    let mut workers = Vec::new();
    for transport in Transport::ALL.into_iter().cycle().take(12) {
        let client = proxy.client(transport).retry(RetryPolicy::NEVER).resume(RetryPolicy::NEVER);
        let client = client.connect(&proxy.url()).await.unwrap();
        let load = Arc::clone(&load);
        workers.push(tokio::spawn(async move { load.run(client).await }));
    }
    for _ in 0..RESTARTS {
        load.progress(REQUESTS / RESTARTS).await;
        let [next, last] = nodes;
        nodes = [last, next.restarted(&http).await];
    }
    load.is_over.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.unwrap();
    }
    let requests = load.requests.load(Ordering::Relaxed);
    let failures = load.failures.lock().unwrap();
    println!("{requests} requests during {RESTARTS} restarts: {} failed", failures.len());
    assert!(requests >= 5_000, "{requests}");
    let log = proxy.nginx.error_log();
    assert!(failures.is_empty(), "{} of {requests}: {failures:#?}\n{log}", failures.len());
}
