//! No secret appears in the output of servers and clients at the lowest log level, with secrets in
//! all places where callers put them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that can't be set up fails"
)]

use std::{
    io,
    sync::{Arc, Mutex},
};

use a2a_core::{
    AgentCard, Part, ProtocolVersion,
    v1::{AuthenticationInfo, TaskPushNotificationConfig},
};
use a2a_kit_client::{Client, MessageRequest, Transport};
use a2a_kit_http::{
    WebhookPolicy, Webhooks,
    client::{ClientSettings, HttpClient},
};
use a2a_kit_operations::{
    AgentExecutor, BoxError, Engine, EngineConfig, RequestContext, TaskUpdater, store::Measured,
};
use a2a_kit_store::sqlite::SqliteStore;
use a2a_kit_telemetry::{AuditLog, Otlp, Prometheus, Traces, quiet};
use a2a_tests::{collector::Collector, webhook::Receiver};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderName, HeaderValue};
use tracing_subscriber::{
    Layer as _,
    fmt::{self, format::FmtSpan},
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

const BEARER: &str = "bearer-5ecret";
const API_KEY: &str = "apikey-5ecret";
const QUERY_KEY: &str = "query-5ecret";
const COOKIE: &str = "cookie-5ecret";
const PASSWORD: &str = "basic-5ecret";
const PUSH_TOKEN: &str = "pushtoken-5ecret";
const PUSH_CREDENTIALS: &str = "pushcredentials-5ecret";
const USERINFO: &str = "userinfo-5ecret";
const TEXT: &str = "text-5ecret";
const ANSWER: &str = "answer-5ecret";
const BYTES: &str = "bytes-5ecret";
const NAME: &str = "metadata-5ecret";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Completes, or fails in several ways, depending on the message.
struct Answers;

impl AgentExecutor for Answers {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        match context.text() {
            text if text.contains("hang") => std::future::pending().await,
            text if text.contains("fail") => updates.fail(ANSWER).await?,
            text if text.contains("more") => updates.require_input(ANSWER).await?,
            _ => updates.complete(ANSWER).await?,
        }
        Ok(())
    }
}

fn webhook(url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        url: url.into(),
        token: PUSH_TOKEN.into(),
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".into(),
            credentials: PUSH_CREDENTIALS.into(),
        }),
        ..Default::default()
    }
}

fn outgoing(text: &str) -> MessageRequest {
    MessageRequest::from(format!("{TEXT} {text}")).with_part(Part::raw(BYTES.as_bytes().to_vec()))
}

/// Makes calls with all kinds of credentials.
async fn call(url: &str, transport: Transport, revision: ProtocolVersion, hook: &str) {
    let header = |text: String| {
        let mut value = HeaderValue::try_from(text).unwrap();
        value.set_sensitive(true);
        value
    };
    let client = Client::builder()
        .only([transport])
        .version(revision)
        .bearer(BEARER)
        .header(HeaderName::from_static("x-api-key"), header(API_KEY.into()))
        .header(HeaderName::from_static("cookie"), header(format!("session={COOKIE}")))
        .connect(url)
        .await
        .unwrap();
    let sent = client.send(outgoing("hello").with_push(webhook(hook))).await;
    sent.unwrap_or_else(|error| panic!("{transport} {revision}: {error:?}"));
    client.send(outgoing("fail")).await.unwrap();
    let asked = client.send(outgoing("more")).await.unwrap();
    let task = asked.task().unwrap().clone();
    client.get(&task.id).await.unwrap();
    let mut events = client.stream(outgoing("hello")).await.unwrap();
    while let Some(event) = events.next().await {
        event.unwrap();
    }
    let hanging = client.send(outgoing("hang").returning_immediately()).await.unwrap();
    let hanging = hanging.task().unwrap().clone();
    let config = TaskPushNotificationConfig { task_id: hanging.id.clone(), ..webhook(hook) };
    client.create_push_config(config.clone()).await.unwrap();
    // An invalid webhook is rejected, with its address.
    for url in [
        format!("http://{USERINFO}:{USERINFO}@127.0.0.1:1/hook?key={QUERY_KEY}"),
        format!("ftp://{USERINFO}@hooks.example/{QUERY_KEY}"),
        format!("http://10.0.0.1/{QUERY_KEY}"),
    ] {
        let config = TaskPushNotificationConfig { url, ..config.clone() };
        let _either_way = client.create_push_config(config).await;
    }
    client.cancel(&hanging.id).await.unwrap();
    let _ = client.get(&format!("unknown-{}", hanging.id)).await.unwrap_err();
    if revision == ProtocolVersion::LATEST {
        client.list_page(Default::default()).await.unwrap();
    }
}

/// Sends malformed requests with secrets.
async fn send_nonsense(url: &str) {
    let http = HttpClient::new(ClientSettings::default()).unwrap();
    let basic = STANDARD.encode(format!("user:{PASSWORD}"));
    let bodies = [
        format!("{{\"{TEXT}\""),
        format!("{{\"message\":\"{TEXT}\"}}"),
        format!(
            "{{\"message\":{{\"role\":\"{TEXT}\",\"parts\":[{{\"text\":{{\"a\":\"{TEXT}\"}}}}]}}}}"
        ),
        format!(
            "{{\"message\":{{\"messageId\":\"m\",\"role\":\"ROLE_USER\",\"parts\":[{{\"raw\":\"{TEXT}!\"}}],\"metadata\":{{\"{NAME}\":1e999}}}}}}"
        ),
    ];
    for body in bodies {
        let rpc = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SendMessage\",\"params\":{body}}}"
        );
        let older = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"message/send\",\"params\":{body}}}"
        );
        let unknown =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"Send{TEXT}\",\"params\":{body}}}");
        for (path, body) in [
            ("/message:send", &body),
            ("/v1/message:send", &body),
            ("/", &rpc),
            ("/", &older),
            ("/", &unknown),
        ] {
            for version in ["1.0", "0.3", "9.9"] {
                let sent = http::Request::post(format!("{url}{path}?api_key={QUERY_KEY}"))
                    .header("content-type", "application/json")
                    .header("a2a-version", version)
                    .header("authorization", format!("Basic {basic}"))
                    .header("cookie", format!("session={COOKIE}"))
                    .body(body.clone().into())
                    .unwrap();
                let answer = http.send(sent).await.unwrap();
                assert!(!answer.body().is_empty(), "it is answered");
            }
        }
    }
}

//
#[tokio::test(flavor = "multi_thread")]
async fn output_contains_no_secrets_or_message_parts() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start().await;
    let log = Log::default();
    let writer = log.clone();
    let traces = Traces::new(Otlp::to(&collector.url)).unwrap();
    let metrics = Prometheus::install().unwrap();
    let audit_file = folder.path().join("audit.jsonl");
    let audit = AuditLog::to_file(&audit_file).unwrap();
    a2a_kit_telemetry::propagation::install();
    // As the binary with `RUST_LOG=trace`, plus all span fields.
    let told = fmt::layer()
        .with_ansi(false)
        .with_span_events(FmtSpan::FULL)
        .with_writer(move || writer.clone())
        .with_filter(quiet("trace").unwrap());
    tracing_subscriber::registry().with(told).with(traces.layer()).with(audit.layer()).init();

    let mut hook = Receiver::start(1).await;
    let policy = WebhookPolicy::default().with_allowed("127.0.0.1".parse().unwrap());
    let store = SqliteStore::open(folder.path().join("tasks.db")).await.unwrap();
    let card = AgentCard::new("Keeps", "Keeps secrets").with_streaming(true);
    let webhooks = Webhooks::new(policy).unwrap().with_payload(a2a_kit_compat::webhook::payload);
    let mut config = EngineConfig::default();
    config.cancel_grace = std::time::Duration::from_millis(10);
    let engine = Engine::builder(card, Answers)
        .config(config)
        .push_sender(webhooks)
        .store(Measured::new(Arc::new(store)))
        .build();
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = a2a_kit::Server::from(engine.clone());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        server.serve(listener, async { drop(stopped.await) }).await.unwrap();
    });

    for transport in Transport::ALL {
        for revision in [ProtocolVersion::V1_0, ProtocolVersion::V0_3] {
            call(&url, transport, revision, &hook.url).await;
            let delivery = hook.next().await;
            assert!(format!("{:?}", delivery.headers).contains(PUSH_TOKEN));
        }
    }
    send_nonsense(&url).await;
    stop.send(()).unwrap();
    serving.await.unwrap();
    engine.shutdown(std::time::Duration::ZERO).await;
    let rendered = metrics.render();
    tokio::task::spawn_blocking(move || {
        traces.shut_down(std::time::Duration::from_secs(5));
        audit.shut_down();
    })
    .await
    .unwrap();

    let lines = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    let spans = format!("{:#?}", collector.spans());
    let audited = std::fs::read_to_string(&audit_file).unwrap();
    // Each has produced output, otherwise the test would prove nothing.
    for (what, told, has) in [
        ("log", &lines, "DEBUG"),
        ("log", &lines, "execute"),
        ("spans", &spans, "deliver push notification"),
        ("metrics", &rendered, "a2a_operations_total{"),
        ("metrics", &rendered, "a2a_store_call_duration_seconds_bucket{"),
        ("audit log", &audited, "task_state"),
    ] {
        assert!(told.contains(has), "the {what} has no {has:?}");
    }
    let basic = STANDARD.encode(format!("user:{PASSWORD}"));
    let bytes = STANDARD.encode(BYTES);
    for secret in [
        BEARER,
        API_KEY,
        QUERY_KEY,
        COOKIE,
        PASSWORD,
        PUSH_TOKEN,
        PUSH_CREDENTIALS,
        USERINFO,
        TEXT,
        ANSWER,
        BYTES,
        NAME,
        &basic,
        &bytes,
    ] {
        for (what, told) in
            [("log", &lines), ("spans", &spans), ("metrics", &rendered), ("audit log", &audited)]
        {
            let leaks: Vec<_> = told.lines().filter(|line| line.contains(secret)).take(5).collect();
            assert!(leaks.is_empty(), "{secret} is in the {what}:\n{}", leaks.join("\n"));
        }
    }
    // Ids, tenants and subjects are not labels, which bounds the cardinality.
    for line in rendered.lines().filter(|line| !line.starts_with('#')) {
        assert!(!line.contains("0-7000-8") && !line.contains("tenant"), "{line}");
    }
    let names = rendered.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names: Vec<_> = names.filter_map(|line| line.split(' ').next()).collect();
    let documented = include_str!("../../docs/observability.md");
    for name in names {
        assert!(documented.contains(&format!("`{name}`")), "{name} is not documented");
    }
}
