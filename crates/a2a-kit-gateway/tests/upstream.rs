//! Gateways with unavailable upstream agents, rejected credentials and forwarding loops.
#![allow(
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use a2a_core::{
    AgentCard, Error, ErrorKind, Message, ProtocolVersion, TaskState,
    v1::{GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest},
};
use a2a_kit_compat::{ServerOptions, client::JsonRpcClient};
use a2a_kit_gateway::{Forward, Isolation};
use a2a_kit_http::client::{ClientSettings, HttpClient};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, Engine, RequestContext, TaskUpdater, agent_fn,
};
use axum::{Router, extract::Request, middleware, middleware::Next, response::IntoResponse as _};
use futures_util::StreamExt as _;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{AUTHORIZATION, WWW_AUTHENTICATE},
};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    task::{AbortHandle, JoinSet},
};

/// Servers that stop at the end of the test.
#[derive(Default)]
struct Servers(JoinSet<()>);

impl Servers {
    fn serve(&mut self, listener: TcpListener, router: Router) -> AbortHandle {
        self.0.spawn(a2a_kit_http::HttpServer::new(router).serve(listener, std::future::pending()))
    }
}

async fn listen() -> (TcpListener, String) {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

fn client(url: &str) -> a2a_kit_jsonrpc::Client {
    a2a_kit_jsonrpc::Client::new(url).unwrap()
}

/// A client that sends a header with every call.
fn client_with(url: &str, headers: HeaderMap) -> a2a_kit_jsonrpc::Client {
    let http = HttpClient::new(ClientSettings::default().with_headers(headers)).unwrap();
    a2a_kit_jsonrpc::Client::with_http(url, http).unwrap()
}

fn bearer(token: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(token))])
}

fn hello() -> Call<SendMessageRequest> {
    let message = Some(Message::user("hello"));
    Call::new(SendMessageRequest { message, ..SendMessageRequest::default() })
}

fn echo() -> Engine {
    let card = AgentCard::new("Echo", "Repeats messages");
    Engine::new(card, agent_fn(async |text: String| text))
}

/// A gateway that forwards every operation, also on tasks that it did not begin.
fn forward<A: Agent>(agent: A) -> Forward<A> {
    Forward::new(agent).with_isolation(Isolation::Shared)
}

async fn call_errors(agent: &impl Agent) -> [Error; 3] {
    let get = Call::new(GetTaskRequest { id: "t".into(), ..GetTaskRequest::default() });
    [
        agent.send_message(hello()).await.unwrap_err(),
        agent.send_streaming_message(hello()).await.unwrap_err(),
        agent.get_task(get).await.unwrap_err(),
    ]
}

#[tokio::test]
async fn gateway_that_forwards_to_itself_detects_the_loop() {
    let mut servers = Servers::default();
    let (listener, url) = listen().await;
    servers.serve(listener, a2a_kit_jsonrpc::router(forward(client(&url))));
    for error in call_errors(&client(&url)).await {
        assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
        assert!(error.message().contains("gateway loop detected"), "{error}");
    }
}

#[tokio::test]
async fn loop_across_bindings_is_detected() {
    let mut servers = Servers::default();
    let (first, first_url) = listen().await;
    let (second, second_url) = listen().await;
    let to_second = a2a_kit_grpc::Client::connect(&second_url).unwrap();
    servers.serve(first, a2a_kit_jsonrpc::router(forward(to_second)));
    servers.serve(second, a2a_kit_grpc::router(forward(client(&first_url))));
    for error in call_errors(&client(&first_url)).await {
        assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
        assert!(error.message().contains("gateway loop detected"), "{error}");
    }
}

#[tokio::test]
async fn loop_over_an_older_protocol_version_is_detected() {
    for revision in [ProtocolVersion::V0_1, ProtocolVersion::V0_3, ProtocolVersion::V1Draft] {
        let mut servers = Servers::default();
        let (listener, url) = listen().await;
        let http = HttpClient::new(ClientSettings::default()).unwrap();
        let upstream_client = JsonRpcClient::new(&url, revision, http).unwrap();
        let router =
            a2a_kit_compat::server::jsonrpc(forward(upstream_client), ServerOptions::default());
        servers.serve(listener, router);
        for error in call_errors(&client(&url)).await {
            assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{revision:?}");
            assert!(error.message().contains("gateway loop detected"), "{revision:?}: {error}");
        }
    }
}

#[tokio::test]
async fn excess_parameters_do_not_hide_a_loop() {
    let mut servers = Servers::default();
    let (listener, url) = listen().await;
    servers.serve(listener, a2a_kit_jsonrpc::router(forward(client(&url))));
    let mut call = hello();
    for number in 0..60 {
        call.context.parameters.insert(format!("a2a-{number}"), "x".into());
    }
    let error = client(&url).send_message(call).await.unwrap_err();
    assert!(error.message().contains("gateway loop detected"), "{error}");
}

#[tokio::test]
async fn rejected_gateway_credentials_are_an_internal_error() {
    let mut servers = Servers::default();
    for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
        let refuse = async move || {
            (status, [(WWW_AUTHENTICATE, "Bearer realm=\"upstream\"")], "access denied")
        };
        let (upstream, upstream_url) = listen().await;
        servers.serve(upstream, Router::new().fallback(refuse));
        let over_grpc = a2a_kit_grpc::Client::connect(&upstream_url).unwrap();
        let fronts = [
            a2a_kit_jsonrpc::router(forward(client(&upstream_url))),
            a2a_kit_jsonrpc::router(forward(over_grpc)),
        ];
        for front in fronts {
            let (listener, url) = listen().await;
            servers.serve(listener, front);
            for error in call_errors(&client_with(&url, bearer("Bearer mine"))).await {
                assert_eq!(error.kind(), ErrorKind::Internal, "{status}: {error:?}");
                assert!(error.message().contains("rejected the gateway's credentials"));
                assert!(error.metadata().contains_key("errorId"), "correlates with the log");
                assert_eq!(error.challenge(), None);
            }
        }
    }
}

#[tokio::test]
async fn upstream_agent_receives_only_the_gateway_credentials() {
    let mut servers = Servers::default();
    let received = Arc::new(Mutex::new(Vec::new()));
    let recorder = received.clone();
    let record = middleware::from_fn(move |request: Request, next: Next| {
        let lines = request.headers().get_all(AUTHORIZATION).iter();
        recorder.lock().unwrap().extend(lines.map(|line| line.to_str().unwrap().to_owned()));
        async move { next.run(request).await.into_response() }
    });
    let (upstream, upstream_url) = listen().await;
    servers.serve(upstream, a2a_kit_jsonrpc::router(echo()).layer(record));
    let (front, url) = listen().await;
    let forward = forward(client_with(&upstream_url, bearer("Bearer gateway")));
    servers.serve(front, a2a_kit_jsonrpc::router(forward));
    client_with(&url, bearer("Bearer caller")).send_message(hello()).await.unwrap();
    assert_eq!(*received.lock().unwrap(), ["Bearer gateway"]);
}

/// Counts to three, one step per permit.
struct Counter(Arc<Semaphore>);

impl AgentExecutor for Counter {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        for number in 1..=3 {
            self.0.acquire().await?.forget();
            updates.status(TaskState::Working, number.to_string()).await?;
        }
        updates.complete("counted").await?;
        Ok(())
    }
}

#[tokio::test]
async fn stream_resumes_after_upstream_restart() {
    let mut servers = Servers::default();
    let steps = Arc::new(Semaphore::new(1));
    let engine = Engine::new(AgentCard::new("Counter", "Counts"), Counter(Arc::clone(&steps)));
    let (upstream, upstream_url) = listen().await;
    let address: SocketAddr = upstream.local_addr().unwrap();
    let server = servers.serve(upstream, a2a_kit_jsonrpc::router(engine.clone()));
    let (front, url) = listen().await;
    servers.serve(front, a2a_kit_jsonrpc::router(forward(client(&upstream_url))));
    let caller = client(&url);

    let mut events = caller.send_streaming_message(hello()).await.unwrap().response;
    let opening = events.next().await.unwrap().unwrap();
    let task_id = opening.task().unwrap().id.clone();
    let last = events.next().await.unwrap().unwrap().id();
    server.abort();
    let interrupted = events.next().await.unwrap().unwrap_err();
    assert_eq!(interrupted.kind(), ErrorKind::Unavailable, "{interrupted:?}");
    for error in call_errors(&caller).await {
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.message(), "failed to connect to upstream agent");
    }

    steps.add_permits(2);
    let upstream = a2a_kit_http::bind(&address.to_string()).await.unwrap();
    servers.serve(upstream, a2a_kit_jsonrpc::router(engine));
    let request = SubscribeToTaskRequest { id: task_id, ..SubscribeToTaskRequest::default() };
    let mut call = Call::new(request);
    call.context.last_event_id = last;
    let events = caller.subscribe_to_task(call).await.unwrap().response;
    let rest: Vec<_> = events.map(|event| event.unwrap()).collect().await;
    let positions: Vec<_> = rest.iter().map(|event| event.id().unwrap().get()).collect();
    let first = last.unwrap().get() + 1;
    assert_eq!(positions, (first..first + 3).collect::<Vec<_>>(), "no duplicates, none missing");
    assert_eq!(rest.last().unwrap().state(), Some(TaskState::Completed));
}
