//! Several agents on one port, at every kind of place.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::net::SocketAddr;

use a2a_kit::{
    AgentCard, Agents, Client, Engine, ErrorKind, ReadinessCheck, ServeError, Server, TaskState,
    agent_fn,
    client::{DiscoveryError, Transport},
    types::ProtocolVersion,
    v1::AgentInterface,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// An agent that says its name.
fn named(name: &'static str) -> Server {
    let card = AgentCard::new(name, "Says its name");
    Server::from(Engine::new(card, agent_fn(move |_: String| async move { name })))
}

async fn start(agents: Agents) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { agents.serve(listener, std::future::pending()).await.unwrap() });
    address
}

/// The root agent, and one at every kind of place.
async fn all_places() -> SocketAddr {
    let agents = Agents::new()
        .at("/", named("root"))
        .at("/planner", named("planner"))
        .at("/planner/inner", named("inner"))
        .tenant("echo", named("echo"))
        .host("localhost", named("host"));
    start(agents).await
}

/// The URLs of the agents of [`all_places`].
fn places(address: SocketAddr) -> [(String, &'static str); 5] {
    [
        (format!("http://{address}"), "root"),
        (format!("http://{address}/planner/.well-known/agent-card.json"), "planner"),
        (format!("http://{address}/planner/inner/.well-known/agent-card.json"), "inner"),
        (format!("http://{address}/echo/.well-known/agent-card.json"), "echo"),
        (format!("http://localhost:{}", address.port()), "host"),
    ]
}

async fn post(address: SocketAddr, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let text = format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\na2a-version: 1.0\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn every_interface_of_every_card_reaches_its_agent() {
    let address = all_places().await;
    let mut reached = 0;
    for (url, name) in places(address) {
        let card = Client::connect(&url).await.unwrap().card();
        assert_eq!(card.name, name);
        for AgentInterface { protocol_binding, protocol_version, .. } in &card.supported_interfaces
        {
            let transport: Transport = protocol_binding.parse().unwrap();
            let version: ProtocolVersion = protocol_version.parse().unwrap();
            let client = Client::builder().only([transport]).version(version).connect(&url).await;
            let client = client.unwrap();
            let interface = client.interface().unwrap();
            assert_eq!(interface.protocol_version, *protocol_version, "{name} {transport}");
            let said = client.send_text("who?").await;
            assert_eq!(said.unwrap(), name, "{name} {transport} {version}");
            let outcome = client.stream("who?").await.unwrap().outcome().await.unwrap();
            assert_eq!(outcome.text(), name, "{name} {transport} {version}");
            reached += 1;
        }
    }
    assert_eq!(reached, 2 * 6 + 3 * 5);
}

#[tokio::test]
async fn tasks_of_other_agents_are_not_found() {
    let address = all_places().await;
    let mut tasks = Vec::new();
    for (url, name) in places(address) {
        let client = Client::connect(&url).await.unwrap();
        let task = client.send("who?").await.unwrap();
        assert_eq!(task.state(), Some(TaskState::Completed));
        tasks.push((name, task.task_id().unwrap().to_owned()));
    }
    for (url, name) in places(address) {
        for transport in Transport::ALL {
            let client = Client::builder().only([transport]).connect(&url).await.unwrap();
            for (owner, id) in &tasks {
                let found = client.get(id).await;
                if *owner == name {
                    assert_eq!(found.unwrap().id, *id);
                } else {
                    let kind = found.unwrap_err().kind();
                    assert_eq!(kind, ErrorKind::TaskNotFound, "{owner} in {name}, {transport}");
                }
            }
        }
    }
}

#[tokio::test]
async fn unselected_requests_are_unknown_without_a_root_agent() {
    let address = start(Agents::new().tenant("echo", named("echo"))).await;
    let answer = post(address, "/", r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks"}"#).await;
    assert!(answer.contains("-32601") && answer.contains("no agent serves /"), "{answer}");
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"tenant":"other"}}"#;
    assert!(post(address, "/", body).await.contains("-32601"));
    let answer = post(address, "/message:send", "{}").await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let grpc = a2a_kit::grpc::Client::connect(&address.to_string()).unwrap();
    let client = Client::from_agent(grpc, AgentCard::new("Any", "Any"));
    assert_eq!(client.send("hi").await.unwrap_err().kind(), ErrorKind::MethodNotFound);
    let card = Client::connect(&address.to_string()).await.unwrap_err();
    assert!(matches!(card, DiscoveryError::NotFound(_)), "{card:?}");
}

#[tokio::test]
async fn jsonrpc_under_the_tenant_as_a_path_reaches_its_agent() {
    let address = all_places().await;
    let message = r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"tenant":"echo","message":{message}}}}}"#
    );
    for path in ["/echo", "/echo/", "/"] {
        let answer = post(address, path, &body).await;
        assert!(answer.contains("\"echo\""), "{path}: {answer}");
    }
}

#[tokio::test]
async fn card_is_found_below_the_url_of_an_agent() {
    let address = all_places().await;
    for path in ["/planner", "/planner/", "/planner/.well-known/agent-card.json"] {
        let client = Client::connect(&format!("http://{address}{path}")).await.unwrap();
        assert_eq!(client.card().name, "planner", "{path}");
    }
    for path in ["/nobody", "/nobody/agent.json"] {
        let url = format!("http://{address}{path}");
        let error = Client::connect(&url).await.unwrap_err();
        assert!(matches!(&error, DiscoveryError::NotFound(missing) if *missing == *url));
    }
}

#[tokio::test]
async fn probes_and_own_routes_are_shared() {
    let routes = axum::Router::new().route("/about", axum::routing::post(async || "four agents"));
    let failing = named("b").with_readiness(ReadinessCheck::new("model", async || {
        Err(a2a_kit::Error::unavailable("it is loading"))
    }));
    let agents = Agents::new().at("/a", named("a")).at("/b", failing).with_routes(routes);
    let address = start(agents).await;
    assert!(post(address, "/about", "").await.contains("four agents"));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("503") && answer.contains("not ready: model"), "{answer}");
}

#[tokio::test]
async fn places_that_clash_or_cannot_be_named_are_errors() {
    let address = "127.0.0.1:80".parse().unwrap();
    let two = |one: Agents| one.at("/a", named("a"));
    for (agents, place) in [
        (two(Agents::new().at("a/", named("b"))), "/a"),
        (two(Agents::new().tenant("a", named("b"))), "/a"),
        (Agents::new().host("A", named("a")).host("a", named("b")), "host a"),
        (Agents::new().at("/", named("a")).at("", named("b")), "/"),
        (Agents::new().at("/a//b", named("a")), "/a//b"),
        (Agents::new().tenant("a/b", named("a")), "tenant a/b"),
        (Agents::new().host("http://a", named("a")), "host http://a"),
    ] {
        match agents.mount(address, std::future::pending()).unwrap_err() {
            ServeError::Mount { place: found, .. } => assert_eq!(found, place),
            error => panic!("{place}: {error}"),
        }
    }
}

#[tokio::test]
async fn stop_shuts_every_engine_down() {
    let engines = ["a", "b"].map(|name| {
        Engine::new(
            AgentCard::new(name, "Says its name"),
            agent_fn(move |_: String| async move { name }),
        )
    });
    let [a, b] = engines.clone();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    Agents::new().at("/a", a).at("/b", b).serve(listener, std::future::ready(())).await.unwrap();
    for engine in engines {
        let client = Client::from_agent(engine.clone(), engine.card().clone());
        assert_eq!(client.send("who?").await.unwrap_err().kind(), ErrorKind::Unavailable);
    }
}

#[cfg(all(unix, feature = "exec"))]
#[tokio::test]
async fn programs_are_agents_beside_others() {
    use a2a_kit::exec::Exec;

    let program = |name: &'static str| {
        let program = Exec::new("sh").args(["-c", &format!("cat; printf ' {name}'")]);
        Server::from(Engine::new(program.card(name, "Says its name"), program))
    };
    let agents = Agents::new().at("/one", program("one")).at("/two", program("two"));
    let address = start(agents.at("/plain", named("plain"))).await;
    for (path, expected) in [("one", "hi one"), ("two", "hi two"), ("plain", "plain")] {
        let client = Client::connect(&format!("http://{address}/{path}")).await.unwrap();
        assert_eq!(client.send("hi").await.unwrap().text(), expected);
    }
}
