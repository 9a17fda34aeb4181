//! A gateway in front of agents that go down, that refuse it, or that are the gateway itself.
#![allow(
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use a2a_compat::{FrontOptions, back::JsonRpcClient};
use a2a_core::{
    AgentCard, Error, ErrorKind, Message, ProtocolVersion, TaskState,
    v1::{GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest},
};
use a2a_gateway::Forward;
use a2a_http::client::{ClientSettings, HttpClient};
use a2a_operations::{
    Agent, AgentError, AgentExecutor, Call, Engine, RequestContext, TaskUpdater, agent_fn,
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

/// Servers that end with their test.
#[derive(Default)]
struct Servers(JoinSet<()>);

impl Servers {
    fn serve(&mut self, listener: TcpListener, router: Router) -> AbortHandle {
        self.0.spawn(a2a_http::Server::new(router).serve(listener, std::future::pending()))
    }
}

async fn listen() -> (TcpListener, String) {
    let listener = a2a_http::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

fn client(url: &str) -> a2a_jsonrpc::Client {
    a2a_jsonrpc::Client::new(url).unwrap()
}

/// A client that sends a header with every call.
fn client_with(url: &str, headers: HeaderMap) -> a2a_jsonrpc::Client {
    let http = HttpClient::new(ClientSettings::default().with_headers(headers)).unwrap();
    a2a_jsonrpc::Client::with_http(url, http).unwrap()
}

fn bearer(token: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(token))])
}

fn hello() -> Call<SendMessageRequest> {
    let message = Some(Message::user("hello"));
    Call::new(SendMessageRequest { message, ..SendMessageRequest::default() })
}

fn echo() -> Engine {
    let card = AgentCard::new("Echo", "Says what it hears");
    Engine::new(card, agent_fn(async |text: String| text))
}

async fn refusals(agent: &impl Agent) -> [Error; 3] {
    let get = Call::new(GetTaskRequest { id: "t".into(), ..GetTaskRequest::default() });
    [
        agent.send_message(hello()).await.unwrap_err(),
        agent.send_streaming_message(hello()).await.unwrap_err(),
        agent.get_task(get).await.unwrap_err(),
    ]
}

#[tokio::test]
async fn a_gateway_that_points_at_itself_says_so() {
    let mut servers = Servers::default();
    let (listener, url) = listen().await;
    servers.serve(listener, a2a_jsonrpc::router(Forward::new(client(&url))));
    for refused in refusals(&client(&url)).await {
        assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
        assert!(refused.message().contains("goes round"), "{refused}");
    }
}

#[tokio::test]
async fn a_round_of_gateways_over_different_bindings_is_found_too() {
    let mut servers = Servers::default();
    let (first, first_url) = listen().await;
    let (second, second_url) = listen().await;
    let to_second = a2a_grpc::Client::connect(&second_url).unwrap();
    servers.serve(first, a2a_jsonrpc::router(Forward::new(to_second)));
    servers.serve(second, a2a_grpc::router(Forward::new(client(&first_url))));
    for refused in refusals(&client(&first_url)).await {
        assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation);
        assert!(refused.message().contains("goes round"), "{refused}");
    }
}

#[tokio::test]
async fn a_round_of_gateways_over_an_older_revision_is_found_too() {
    for revision in [ProtocolVersion::V0_1, ProtocolVersion::V0_3, ProtocolVersion::V1Draft] {
        let mut servers = Servers::default();
        let (listener, url) = listen().await;
        let http = HttpClient::new(ClientSettings::default()).unwrap();
        let back = JsonRpcClient::new(&url, revision, http).unwrap();
        let front = a2a_compat::front::jsonrpc(Forward::new(back), FrontOptions::default());
        servers.serve(listener, front);
        for refused in refusals(&client(&url)).await {
            assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation, "{revision:?}");
            assert!(refused.message().contains("goes round"), "{revision:?}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_caller_can_not_hide_the_way_that_its_call_has_come() {
    let mut servers = Servers::default();
    let (listener, url) = listen().await;
    servers.serve(listener, a2a_jsonrpc::router(Forward::new(client(&url))));
    let mut call = hello();
    for number in 0..60 {
        call.context.parameters.insert(format!("a2a-{number}"), "x".into());
    }
    let refused = client(&url).send_message(call).await.unwrap_err();
    assert!(refused.message().contains("goes round"), "{refused}");
}

#[tokio::test]
async fn credentials_that_the_agent_refuses_are_the_gateways_affair() {
    let mut servers = Servers::default();
    for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
        let refuse =
            async move || (status, [(WWW_AUTHENTICATE, "Bearer realm=\"inside\"")], "no entry");
        let (upstream, upstream_url) = listen().await;
        servers.serve(upstream, Router::new().fallback(refuse));
        let over_grpc = a2a_grpc::Client::connect(&upstream_url).unwrap();
        let fronts = [
            a2a_jsonrpc::router(Forward::new(client(&upstream_url))),
            a2a_jsonrpc::router(Forward::new(over_grpc)),
        ];
        for front in fronts {
            let (listener, url) = listen().await;
            servers.serve(listener, front);
            for refused in refusals(&client_with(&url, bearer("Bearer mine"))).await {
                assert_eq!(refused.kind(), ErrorKind::Internal, "{status}: {refused:?}");
                assert!(refused.message().contains("refused the gateway's credentials"));
                assert!(refused.metadata().contains_key("errorId"), "the log has the rest");
                assert_eq!(refused.challenge(), None);
            }
        }
    }
}

#[tokio::test]
async fn the_agent_sees_the_credentials_of_the_gateway_and_no_others() {
    let mut servers = Servers::default();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = seen.clone();
    let note = middleware::from_fn(move |request: Request, next: Next| {
        let lines = request.headers().get_all(AUTHORIZATION).iter();
        notes.lock().unwrap().extend(lines.map(|line| line.to_str().unwrap().to_owned()));
        async move { next.run(request).await.into_response() }
    });
    let (upstream, upstream_url) = listen().await;
    servers.serve(upstream, a2a_jsonrpc::router(echo()).layer(note));
    let (front, url) = listen().await;
    let forward = Forward::new(client_with(&upstream_url, bearer("Bearer gateway")));
    servers.serve(front, a2a_jsonrpc::router(forward));
    client_with(&url, bearer("Bearer caller")).send_message(hello()).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["Bearer gateway"]);
}

/// Counts as far as it is let.
struct Counter(Arc<Semaphore>);

impl AgentExecutor for Counter {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), AgentError> {
        for number in 1..=3 {
            self.0.acquire().await?.forget();
            updates.status(TaskState::Working, number.to_string()).await?;
        }
        updates.complete("counted").await?;
        Ok(())
    }
}

#[tokio::test]
async fn a_stream_survives_an_agent_that_dies_and_comes_back() {
    let mut servers = Servers::default();
    let steps = Arc::new(Semaphore::new(1));
    let engine = Engine::new(AgentCard::new("Counter", "Counts"), Counter(Arc::clone(&steps)));
    let (upstream, upstream_url) = listen().await;
    let address: SocketAddr = upstream.local_addr().unwrap();
    let life = servers.serve(upstream, a2a_jsonrpc::router(engine.clone()));
    let (front, url) = listen().await;
    servers.serve(front, a2a_jsonrpc::router(Forward::new(client(&upstream_url))));
    let caller = client(&url);

    let mut events = caller.send_streaming_message(hello()).await.unwrap().response;
    let opening = events.next().await.unwrap().unwrap();
    let task_id = opening.task().unwrap().id.clone();
    let last = events.next().await.unwrap().unwrap().id();
    life.abort();
    let cut = events.next().await.unwrap().unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::Unavailable, "{cut:?}");
    for refused in refusals(&caller).await {
        assert_eq!(refused.kind(), ErrorKind::Unavailable);
        assert_eq!(refused.message(), "the upstream agent can't be reached");
    }

    steps.add_permits(2);
    let upstream = a2a_http::bind(&address.to_string()).await.unwrap();
    servers.serve(upstream, a2a_jsonrpc::router(engine));
    let request = SubscribeToTaskRequest { id: task_id, ..SubscribeToTaskRequest::default() };
    let mut call = Call::new(request);
    call.context.last_event_id = last;
    let events = caller.subscribe_to_task(call).await.unwrap().response;
    let rest: Vec<_> = events.map(|event| event.unwrap()).collect().await;
    let positions: Vec<_> = rest.iter().map(|event| event.id().unwrap().get()).collect();
    let first = last.unwrap().get() + 1;
    assert_eq!(positions, (first..first + 3).collect::<Vec<_>>(), "none twice, none missing");
    assert_eq!(rest.last().unwrap().state(), Some(TaskState::Completed));
}
