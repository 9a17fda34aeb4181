//! Declared capabilities and errors match the behavior.

use std::{
    io,
    sync::{Arc, Mutex},
};

use a2a_core::{AgentCard, Message, Task, card, well_known::Struct};
use a2a_kit::{Revisions, Server};
use a2a_kit_operations::{
    Agent, AgentExecutor, BoxError, Call, CancelContext, Engine, RequestContext, TaskUpdater,
    agent_fn_with,
};
use a2a_tests::{Control, Options, agent::engine, call};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    fixture::Served,
    socket::{Connection, HOST, text},
};

async fn card_at(connection: &mut Connection) -> AgentCard {
    connection.send("GET /.well-known/agent-card.json HTTP/1.1", b"").await;
    let (_, body) = connection.receive(false).await;
    serde_json::from_slice(&body).expect("a card")
}

/// The code of the error in the response, if any.
async fn code_of(connection: &mut Connection, method: &str, params: Value) -> Option<i64> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let head = "POST / HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json";
    connection.send(head, request.to_string().as_bytes()).await;
    let (head, body) = connection.receive(false).await;
    if head.header("content-type") == Some("text/event-stream") {
        return None;
    }
    let answer: Value = serde_json::from_slice(&body).expect("JSON");
    answer["error"]["code"].as_i64()
}

//
#[tokio::test]
async fn declared_capabilities_work_and_others_do_not() {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "stream 1"}]});
    for settings in [
        &[][..],
        &["no-streaming"],
        &["no-push"],
        &["no-extended-card"],
        &["no-streaming", "no-push", "no-extended-card"],
    ] {
        let served = Served::start(settings).await;
        let mut connection = Connection::open(served.address).await;
        let card = card_at(&mut connection).await;
        let send = json!({"message": message});
        let streams = code_of(&mut connection, "SendStreamingMessage", send).await;
        let webhooks = json!({"taskId": "t"});
        let pushes = code_of(&mut connection, "ListTaskPushNotificationConfigs", webhooks).await;
        let extended = code_of(&mut connection, "GetExtendedAgentCard", json!({})).await;
        let expected = [
            (card.can_stream(), streams, -32004),
            (card.can_push(), pushes, -32003),
            (card.has_extended_card(), extended, -32004),
        ];
        for (promised, code, rejection) in expected {
            assert_eq!(promised, code != Some(rejection), "{settings:?}: {code:?}");
        }
    }
}

//
#[tokio::test]
async fn every_interface_of_the_card_works() {
    let server = Server::from(engine(&Options::default(), &Control::default()))
        .with_revisions(Revisions::latest())
        .with_allowed_hosts([HOST]);
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = tokio::spawn(server.serve(listener, std::future::pending()));
    let mut connection = Connection::open(address).await;
    let interfaces = card_at(&mut connection).await.supported_interfaces;
    let bindings: Vec<_> =
        interfaces.iter().map(|interface| interface.protocol_binding.as_str()).collect();
    assert_eq!(bindings, [card::JSONRPC, card::HTTP_JSON, card::GRPC]);
    for interface in interfaces {
        let url = &interface.url;
        let agent: Arc<dyn Agent> = match interface.protocol_binding.as_str() {
            card::JSONRPC => Arc::new(a2a_kit_jsonrpc::Client::new(url).expect("a client")),
            card::HTTP_JSON => Arc::new(a2a_kit_rest::Client::new(url).expect("a client")),
            _ => Arc::new(a2a_kit_grpc::Client::connect(url).expect("a client")),
        };
        assert_eq!(call::message_of(&agent, call::send("message hi")).await.text(), "hi", "{url}");
        let page = agent.list_tasks(Call::new(Default::default())).await.expect("a page");
        assert_eq!(page.response.total_size, 0, "{url}");
    }
    server.abort();
}

/// The captured log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a log").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//
#[tokio::test]
async fn internal_error_is_logged_with_the_id_in_the_response() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::WARN)
        .with_writer(move || writer.clone())
        .finish();
    // This runtime has one thread, so everything of the server is logged here.
    let _guard = tracing::subscriber::set_default(subscriber);
    let served = Served::start(&[""; 0]).await;
    let mut connection = Connection::open(served.address).await;
    let body = json!({
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "leak"}]}
    });
    let head = "POST /message:send HTTP/1.1\nA2A-Version: 1.0";
    connection.send(head, body.to_string().as_bytes()).await;
    let (_, body) = connection.receive(false).await;
    let answer: Value = serde_json::from_slice(&body).expect("JSON");
    let public = answer["task"]["status"]["message"]["parts"][0]["text"].as_str().expect("text");
    assert!(!text(&body).contains("password"), "{}", text(&body));
    let id = public.split("error ").nth(1).expect("an id").trim_end_matches(')');
    let log = text(&log.0.lock().expect("a log"));
    let line = log.lines().find(|line| line.contains("the password is 1234"));
    let line = line.unwrap_or_else(|| panic!("no line has the cause: {log}"));
    assert!(line.contains("ERROR") && line.contains(id), "{line}");
}

/// Lists the referenced tasks of a message and those of its context.
struct Librarian;

impl AgentExecutor for Librarian {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let ids = |tasks: Vec<Arc<Task>>| {
            let mut ids: Vec<_> = tasks.iter().map(|task| task.id.clone()).collect();
            ids.retain(|id| id != context.task_id());
            ids.sort();
            ids.join(",")
        };
        let named = ids(context.referenced_tasks().await?);
        let around = ids(context.tasks_in_context().await?);
        updates.complete(format!("{named};{around}")).await?;
        Ok(())
    }
}

//
#[tokio::test]
async fn executor_sees_referenced_tasks_and_those_of_the_context() {
    let engine = Engine::new(AgentCard::new("Librarian", "Knows what was"), Librarian);
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = tokio::spawn(Server::from(engine).serve(listener, std::future::pending()));
    let agent: Arc<dyn Agent> = Arc::new(a2a_kit_jsonrpc::Client::new(&url).expect("a client"));
    let first = call::task_of(&agent, call::send("a")).await;
    let second = call::task_of(&agent, call::send("b")).await;
    let mut message = Message::user("c").with_context_id(&second.context_id);
    message.reference_task_ids = vec![first.id.clone(), "never-was".into()];
    let third = call::task_of(&agent, call::with(message)).await;
    let said = third.status.and_then(|status| status.message).expect("a message").text();
    assert_eq!(said, format!("{};{}", first.id, second.id));
    assert_eq!(third.context_id, second.context_id);
    server.abort();
}

//
#[tokio::test]
async fn agents_on_one_host_have_separate_paths_and_cards() {
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut router = axum::Router::new();
    for name in ["left", "right"] {
        let said = Arc::new(format!("I am {name}"));
        let answer = agent_fn_with(said, |said: Arc<String>, _: String| async move {
            Message::agent(said.as_str())
        });
        let server = Server::from(Engine::new(AgentCard::new(name, "One of two"), answer))
            .without_grpc()
            .with_allowed_hosts([HOST])
            .with_public_url(format!("http://{address}/{name}"));
        let agent = server.mount(address, std::future::pending()).expect("a router");
        router = router.nest(&format!("/{name}"), agent.router());
    }
    let server = a2a_kit_http::HttpServer::new(router).serve(listener, std::future::pending());
    let server = tokio::spawn(server);
    let mut connection = Connection::open(address).await;
    for name in ["left", "right"] {
        let path = format!("GET /{name}/.well-known/agent-card.json HTTP/1.1");
        connection.send(&path, b"").await;
        let (_, body) = connection.receive(false).await;
        let card: AgentCard = serde_json::from_slice(&body).expect("a card");
        assert_eq!(card.name, name);
        for interface in card.supported_interfaces {
            let url = &interface.url;
            let agent: Arc<dyn Agent> = match interface.protocol_binding.as_str() {
                card::JSONRPC => Arc::new(a2a_kit_jsonrpc::Client::new(url).expect("a client")),
                _ => Arc::new(a2a_kit_rest::Client::new(url).expect("a client")),
            };
            let said = call::message_of(&agent, call::send("who are you?")).await.text();
            assert_eq!(said, format!("I am {name}"), "{url}");
        }
    }
    server.abort();
}

/// Runs until canceled, and passes on the metadata of the cancel.
struct Patient(mpsc::UnboundedSender<Option<Struct>>);

impl AgentExecutor for Patient {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        context.cancelled().await;
        Ok(())
    }

    async fn cancel(&self, context: CancelContext) {
        let _ = self.0.send(context.metadata().cloned());
    }
}

#[tokio::test]
async fn cancel_metadata_reaches_the_executor() {
    let (sender, mut told) = mpsc::unbounded_channel();
    let engine = Engine::new(AgentCard::new("Patient", "Works on"), Patient(sender));
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let server = tokio::spawn(Server::from(engine).serve(listener, std::future::pending()));
    for agent in [
        Arc::new(a2a_kit_jsonrpc::Client::new(&url).expect("a client")) as Arc<dyn Agent>,
        Arc::new(a2a_kit_rest::Client::new(&url).expect("a client")),
        Arc::new(a2a_kit_grpc::Client::connect(&url).expect("a client")),
    ] {
        let task = call::task_of(&agent, call::at_once(call::send("work"))).await;
        let mut cancel = call::cancel(&task.id);
        cancel.request.metadata = Some([("why", "enough")].into());
        agent.cancel_task(cancel).await.expect("canceled");
        assert_eq!(told.recv().await.expect("a cancel"), Some([("why", "enough")].into()));
    }
    server.abort();
}
