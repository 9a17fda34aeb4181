//! Traces across process boundaries, as exported to an OTLP receiver.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that can't be set up fails"
)]

mod node;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use a2a_core::{
    AgentCard, Message,
    v1::{SendMessageRequest, TaskPushNotificationConfig},
};
use a2a_kit_client::{Client, MessageRequest, Transport};
use a2a_kit_http::{
    WebhookPolicy, Webhooks,
    client::{ClientSettings, HttpClient},
};
use a2a_kit_operations::{
    AgentExecutor, BoxError, Engine, EngineConfig, Recovery, RequestContext, TaskUpdater, agent_fn,
};
use a2a_kit_store::sqlite::SqliteStore;
use a2a_tests::{
    collector::{Collector, Exported, tree},
    webhook::Receiver,
};
use node::{Node, flushing};
use tracing::Instrument as _;

/// An agent that calls another agent over a given binding.
struct Asks {
    url: String,
    transport: Transport,
}

impl AgentExecutor for Asks {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let client = Client::builder().only([self.transport]).connect(&self.url).await?;
        let answer = client.send_text(context.text()).await?;
        updates.complete(answer).await?;
        Ok(())
    }
}

fn webhooks() -> Webhooks {
    let policy = WebhookPolicy::default().with_allowed("127.0.0.1".parse().unwrap());
    Webhooks::new(policy).unwrap()
}

fn outgoing(hook: &str) -> MessageRequest {
    let webhook = TaskPushNotificationConfig { url: hook.into(), ..Default::default() };
    MessageRequest::from("hello").with_push(webhook)
}

fn delivers(span: &&Exported) -> bool {
    span.name == "deliver push notification"
}

//
#[tokio::test(flavor = "multi_thread")]
async fn client_server_executor_and_webhook_spans_form_one_tree() {
    for transport in Transport::ALL {
        let collector = Collector::start().await;
        let (user, front, back) = (
            Node::new("user", &collector.url),
            Node::new("front", &collector.url),
            Node::new("back", &collector.url),
        );
        let mut hook = Receiver::start(0).await;
        let back_url = back
            .serve(|| {
                let answer = agent_fn(async |text: String| format!("{text} to you"));
                Engine::new(AgentCard::new("Back", "Answers"), answer)
            })
            .await;
        let front_url = front
            .serve(move || {
                let asks = Asks { url: back_url, transport };
                let card = AgentCard::new("Front", "Asks").with_streaming(true);
                Engine::builder(card, asks).push_sender(webhooks()).build()
            })
            .await;
        let hook_url = hook.url.clone();
        user.run(async move {
            let client = Client::builder().only([transport]).connect(&front_url).await.unwrap();
            let sent = async { client.send(outgoing(&hook_url)).await.unwrap() };
            sent.instrument(tracing::info_span!("ask")).await;
        })
        .await;
        // The task as it began, its work and its end.
        let mut calls = Vec::new();
        for _ in 0..3 {
            calls.push(hook.next().await);
        }
        let complete = collector.wait("the spans", |spans| spans.len() >= 10);
        let spans = flushing(&[&user, &front, &back], complete).await;
        let shown = tree(&spans);
        println!("{transport}\n{shown}");
        let expected = "\
user internal ask
  user client SendMessage
    front server SendMessage
      front internal execute
        front client SendMessage
          back server SendMessage
            back internal execute
      front client deliver push notification
      front client deliver push notification
      front client deliver push notification
";
        let sorted = |text: &str| {
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&shown), sorted(expected), "{shown}");
        assert!(
            shown.contains(
                "    front server SendMessage\n      front internal execute\n        \
             front client SendMessage\n          back server SendMessage\n            \
             back internal execute\n"
            ) || shown.contains("deliver push notification\n      front internal execute\n"),
            "{shown}"
        );
        // Each delivery names its span.
        let mut told: Vec<_> = calls
            .iter()
            .map(|call| call.headers["traceparent"].to_str().unwrap().to_owned())
            .collect();
        let deliveries = spans.iter().filter(delivers);
        let mut exported: Vec<_> =
            deliveries.map(|span| format!("00-{}-{}-01", span.trace, span.id)).collect();
        told.sort();
        exported.sort();
        assert_eq!(told, exported);
        let server = spans.iter().find(|span| span.line() == "front server SendMessage").unwrap();
        let system = match transport {
            Transport::JsonRpc => "jsonrpc",
            Transport::Rest => "http_json",
            Transport::Grpc => "grpc",
        };
        for (attribute, value) in [
            ("rpc.system", system),
            ("rpc.service", "lf.a2a.v1.A2AService"),
            ("rpc.method", "SendMessage"),
            ("a2a.binding", transport.as_str()),
            ("a2a.revision", "1.0"),
            ("a2a.outcome", "ok"),
        ] {
            assert_eq!(server.attributes[attribute], value, "{attribute} of {server:?}");
        }
    }
}

//
#[tokio::test(flavor = "multi_thread")]
async fn stream_span_lasts_until_the_end() {
    let collector = Collector::start().await;
    let node = Node::new("node", &collector.url);
    let url = node
        .serve(|| {
            let card = AgentCard::new("Echo", "Echoes").with_streaming(true);
            Engine::new(card, agent_fn(async |text: String| text))
        })
        .await;
    node.run(async move {
        for transport in Transport::ALL {
            let client = Client::builder().only([transport]).connect(&url).await.unwrap();
            let read = async {
                let mut events = client.stream("hello").await.unwrap();
                while events.next().await.is_some() {}
            };
            read.instrument(tracing::info_span!("read")).await;
        }
    })
    .await;
    let complete = collector.wait("the spans", |spans| spans.len() >= 12);
    let spans = flushing(&[&node], complete).await;
    for root in spans.iter().filter(|span| span.parent.is_empty()) {
        let trace: Vec<_> = spans.iter().filter(|span| span.trace == root.trace).cloned().collect();
        let expected = "\
node internal read
  node client SendStreamingMessage
    node server SendStreamingMessage
      node internal execute
";
        assert_eq!(tree(&trace), expected);
    }
}

/// Hangs until its node stops, and completes on the rerun.
#[derive(Clone, Default)]
struct Hangs {
    begun: Arc<AtomicBool>,
}

impl AgentExecutor for Hangs {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        if context.is_rerun() {
            updates.complete("at last").await?;
            return Ok(());
        }
        updates.start().await?;
        self.begun.store(true, Ordering::Relaxed);
        std::future::pending().await
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

//
#[tokio::test(flavor = "multi_thread")]
async fn takeover_continues_the_trace() {
    let collector = Collector::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.db");
    let mut hook = Receiver::start(0).await;
    let begun = Arc::new(AtomicBool::new(false));

    let build = {
        let begun = Arc::clone(&begun);
        move |store: SqliteStore| {
            Engine::builder(AgentCard::new("Slow", "Hangs"), Hangs { begun: Arc::clone(&begun) })
                .store(store)
                .push_sender(webhooks())
                .config(EngineConfig::default())
                .build()
        }
    };
    let mut first = Node::new("first", &collector.url);
    let (path, engine, hook_url) = (file.clone(), build.clone(), hook.url.clone());
    first
        .run(async move {
            let store = SqliteStore::open(&path).await.unwrap();
            let engine = engine(store);
            let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let server = a2a_kit::Server::from(engine.clone());
            let serving =
                tokio::spawn(async move { server.serve(listener, std::future::pending()).await });
            let client = Client::connect(&url).await.unwrap();
            let send = client.send(outgoing(&hook_url).returning_immediately());
            send.instrument(tracing::info_span!("ask")).await.unwrap();
            while !begun.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
            }
            serving.abort();
            engine.shutdown(std::time::Duration::ZERO).await;
        })
        .await;
    first.stop();
    let second = Node::new("second", &collector.url);
    let path = file.clone();
    let engine = second
        .run(async move {
            loop {
                // The first node holds the file lock until it is dropped.
                if let Ok(store) = SqliteStore::open(&path).await {
                    return build(store);
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        })
        .await;
    let last = loop {
        let call = hook.next().await;
        if call.body.to_string().contains("TASK_STATE_COMPLETED") {
            break call;
        }
    };
    let complete = collector.wait("the last delivery", |spans| {
        let is_told = |span: &Exported| {
            delivers(&span) && last.headers["traceparent"].to_str().unwrap().contains(&span.id)
        };
        spans.iter().any(is_told)
            && spans.iter().any(|span| span.line() == "second internal execute")
            && spans.iter().any(|span| span.line() == "first internal execute")
            && spans.iter().any(|span| span.name == "ask")
    });
    let spans = flushing(&[&first, &second], complete).await;
    let shown = tree(&spans);
    println!("{shown}");
    for line in [
        "    first server SendMessage\n",
        "      first internal execute\n",
        "      second internal execute\n",
        "      second client deliver push notification\n",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    drop(engine);
}

//
#[tokio::test(flavor = "multi_thread")]
async fn malformed_trace_context_starts_a_new_trace() {
    let collector = Collector::start().await;
    let node = Node::new("node", &collector.url);
    let url = node
        .serve(|| Engine::new(AgentCard::new("Echo", "Echoes"), agent_fn(async |t: String| t)))
        .await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let http = HttpClient::new(ClientSettings::default()).unwrap();
    let large = format!("a={}", "x".repeat(2_000));
    let cases = [
        (parent, "a=1,b=2", true),
        (parent, &*large, true),
        (parent, "=;,=\u{7f}", true),
        ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", "", false),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", "", false),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "", false),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", "", false),
        ("nonsense", "a=1", false),
        ("", "", false),
    ];
    for (number, (traceparent, tracestate, is_child)) in cases.into_iter().enumerate() {
        let request = SendMessageRequest {
            message: Some(Message { message_id: "m".into(), ..Message::user("hello") }),
            ..Default::default()
        };
        let sent = http::Request::post(format!("{url}/message:send"))
            .header("content-type", "application/json")
            .header("a2a-version", "1.0")
            .header("traceparent", traceparent)
            .header("tracestate", tracestate.replace('\u{7f}', "?"))
            .body(serde_json::to_vec(&request).unwrap().into())
            .unwrap();
        assert_eq!(http.send(sent).await.unwrap().status(), 200, "{traceparent}");
        let complete = collector.wait("its spans", |spans| spans.len() >= 2 * (number + 1));
        let spans = flushing(&[&node], complete).await;
        let server = spans.iter().rfind(|span| span.kind == "server").unwrap();
        let is_in = server.trace == parent[3..35] && server.parent == parent[36..52];
        assert_eq!(is_in, is_child, "{traceparent}: {server:?}");
        assert_eq!(server.parent.is_empty(), !is_child, "{traceparent}: {server:?}");
    }
}
