//! One agent on one port, called at every binding.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use std::net::SocketAddr;

use a2a_kit::{
    AgentCard, Client, Engine, Server, TaskState, agent_fn,
    client::{DiscoveryError, Transport},
    operations::{Agent as _, Call},
    types::v1::ListTasksRequest,
};
use axum::{extract::Request, middleware::Next, response::Response};
use http::StatusCode;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus::Serving, health_client::HealthClient,
};

fn server() -> Server {
    let card = AgentCard::new("Echo", "Repeats its input");
    Server::from(Engine::new(card, agent_fn(async |text: String| format!("You said: {text}"))))
}

async fn start(server: Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { server.serve(listener, std::future::pending()).await.unwrap() });
    address
}

/// Sends one request over HTTP/1.1, and returns the whole answer.
async fn exchange(address: SocketAddr, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let text = format!(
        "{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn call(address: SocketAddr, transport: Transport) -> a2a_kit::types::Result<String> {
    let client = Client::builder().only([transport]).connect(&address.to_string()).await.unwrap();
    assert_eq!(client.interface().unwrap().protocol_binding, transport.as_str());
    client.send_text("hi").await
}

#[tokio::test]
async fn every_binding_answers_on_one_port() {
    let address = start(server()).await;
    for transport in Transport::ALL {
        assert_eq!(call(address, transport).await.unwrap(), "You said: hi", "{transport}");
        let client =
            Client::builder().only([transport]).connect(&address.to_string()).await.unwrap();
        let outcome = client.stream("hi").await.unwrap().outcome().await.unwrap();
        assert_eq!(outcome.state(), Some(TaskState::Completed), "{transport}");
    }
}

#[tokio::test]
async fn grpc_can_have_a_port_of_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let grpc = listener.local_addr().unwrap();
    let address = start(server().with_grpc_listener(listener)).await;
    let client =
        Client::builder().only([Transport::Grpc]).connect(&address.to_string()).await.unwrap();
    assert_eq!(client.interface().unwrap().url, grpc.to_string());
    assert_eq!(client.send_text("hi").await.unwrap(), "You said: hi");
    assert_eq!(call(address, Transport::JsonRpc).await.unwrap(), "You said: hi");
    for path in ["/healthz", "/.well-known/agent-card.json"] {
        let answer = exchange(grpc, &format!("GET {path} HTTP/1.1"), "").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn custom_binding_is_behind_the_layers_and_on_the_shared_port_only() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let grpc = listener.local_addr().unwrap();
    let mark = async |mut response: Response| {
        response.headers_mut().insert("x-layer", http::HeaderValue::from_static("seen"));
        response
    };
    let server = server()
        .with_layers(move |router| router.layer(axum::middleware::map_response(mark)))
        .with_binding(|agent| {
            let answers = async move || {
                let call = Call::new(ListTasksRequest::default());
                agent.list_tasks(call).await.is_ok().to_string()
            };
            axum::Router::new().route("/answers", axum::routing::get(answers))
        });
    let address = start(server.with_grpc_listener(listener)).await;
    let answer = exchange(address, "GET /answers HTTP/1.1", "").await;
    assert!(answer.contains("x-layer: seen") && answer.ends_with("true"), "{answer}");
    let answer = exchange(grpc, "GET /answers HTTP/1.1", "").await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn bindings_can_be_left_out_and_moved() {
    let address =
        start(server().without_grpc().with_rest_prefix("/v1").with_rpc_path("/rpc")).await;
    assert_eq!(call(address, Transport::Rest).await.unwrap(), "You said: hi");
    assert_eq!(call(address, Transport::JsonRpc).await.unwrap(), "You said: hi");
    let grpc = Client::builder().only([Transport::Grpc]).connect(&address.to_string()).await;
    assert!(matches!(grpc, Err(DiscoveryError::NoCommonBinding(_))));
    let at_the_root = exchange(address, "GET /tasks HTTP/1.1\r\na2a-version: 1.0", "").await;
    assert!(at_the_root.starts_with("HTTP/1.1 404"), "{at_the_root}");
    assert!(at_the_root.contains("METHOD_NOT_FOUND"), "{at_the_root}");
}

#[tokio::test]
async fn unknown_paths_are_answered_in_the_form_of_their_binding() {
    let address = start(server()).await;
    let rest = exchange(address, "GET /nothing/here HTTP/1.1", "").await;
    assert!(rest.starts_with("HTTP/1.1 404"), "{rest}");
    assert!(rest.contains("METHOD_NOT_FOUND"), "{rest}");
    let head = "POST /a.Service/Method HTTP/1.1\r\ncontent-type: application/grpc";
    let grpc = exchange(address, head, "").await;
    assert!(grpc.starts_with("HTTP/1.1 200") && grpc.contains("grpc-status: 12"), "{grpc}");
}

#[tokio::test]
async fn layers_are_around_the_bindings_and_not_around_the_card() {
    async fn refuse(_: Request, _: Next) -> Response {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        response
    }
    let layers = |router: axum::Router| router.layer(axum::middleware::from_fn(refuse));
    let address = start(server().with_layers(layers)).await;
    for transport in Transport::ALL {
        let error = call(address, transport).await.unwrap_err();
        assert_eq!(error.kind(), a2a_kit::ErrorKind::Unauthenticated, "{transport}");
    }
    for path in ["/.well-known/agent-card.json", "/healthz", "/readyz"] {
        let answer = exchange(address, &format!("GET {path} HTTP/1.1"), "").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[tokio::test]
async fn a_card_that_breaks_rules_is_not_served() {
    let mut card = AgentCard::new("Echo", "Repeats its input");
    card.version.clear();
    let server = Server::from(Engine::new(card, agent_fn(async |text: String| text)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let error = server.serve(listener, std::future::pending()).await.unwrap_err();
    assert!(matches!(error, a2a_kit::ServeError::Card(_)), "{error}");
}

#[tokio::test]
async fn server_ends_after_its_shutdown_signal() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = tokio::spawn(server().with_grpc_listener(grpc).serve(listener, async {
        drop(stopped.await);
    }));
    assert_eq!(call(address, Transport::JsonRpc).await.unwrap(), "You said: hi");
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_server_of_one_revision_names_that_in_its_card_and_serves_nothing_else() {
    use Transport::{Grpc, JsonRpc, Rest};
    let every = [JsonRpc, Rest, Grpc];
    for (revision, version, spoken) in [
        ("1.0", "1.0", &every[..]),
        ("draft", "draft", &every[..]),
        ("0.3", "0.3", &every[..]),
        ("0.2", "0.2", &[JsonRpc, Grpc]),
        ("0.1", "0.1", &[JsonRpc]),
    ] {
        let address = start(server().with_revisions(revision.parse().unwrap())).await;
        for transport in every {
            let client = Client::builder().only([transport]).connect(&address.to_string()).await;
            if !spoken.contains(&transport) {
                assert!(client.is_err(), "{revision} over {transport}");
                continue;
            }
            let client = client.unwrap_or_else(|error| panic!("{revision} {transport}: {error}"));
            assert_eq!(client.interface().unwrap().protocol_version, version);
            let said = client.send_text("hi").await;
            assert_eq!(said.unwrap(), "You said: hi", "{revision} over {transport}");
        }
        let is_current = revision == "1.0";
        let head = "POST /message:send HTTP/1.1\r\na2a-version: 1.0\r\n\
                    content-type: application/json";
        let body = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}"#;
        let answer = exchange(address, head, body).await;
        assert_eq!(answer.starts_with("HTTP/1.1 200"), is_current, "{revision}: {answer}");
        let head = "POST / HTTP/1.1\r\na2a-version: 1.0\r\ncontent-type: application/json";
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{body}}}"#);
        let answer = exchange(address, head, &body).await;
        assert_eq!(answer.contains("\"result\""), is_current, "{revision}: {answer}");
    }
}

#[tokio::test]
async fn services_of_every_revision_over_grpc_are_healthy_and_no_others() {
    const CURRENT: &str = "lf.a2a.v1.A2AService";
    const OLDER: &str = "a2a.v1.A2AService";
    for (revisions, healthy) in [
        ("1.0,0.3", &["", CURRENT, OLDER][..]),
        ("1.0", &["", CURRENT]),
        ("draft", &["", OLDER]),
        ("0.3", &["", OLDER]),
        ("0.1", &[]),
    ] {
        let address = start(server().with_revisions(revisions.parse().unwrap())).await;
        let channel = tonic::transport::Endpoint::from_shared(format!("http://{address}"));
        let mut health = HealthClient::new(channel.unwrap().connect().await.unwrap());
        for service in ["", CURRENT, OLDER] {
            let answer = health.check(HealthCheckRequest { service: service.into() }).await;
            let is_healthy = answer.is_ok_and(|answer| answer.get_ref().status() == Serving);
            assert_eq!(is_healthy, healthy.contains(&service), "{revisions}: {service:?}");
        }
    }
}
