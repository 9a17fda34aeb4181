//! A local OTLP receiver, and trees of the received spans.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value,
};
use prost::Message as _;

/// An exported span.
#[derive(Clone, Debug)]
pub struct Exported {
    pub service: String,
    pub name: String,
    pub kind: &'static str,
    pub trace: String,
    pub id: String,
    /// Empty for a root.
    pub parent: String,
    pub attributes: BTreeMap<String, String>,
    pub events: Vec<String>,
    pub start: u64,
}

impl Exported {
    /// A line of the tree.
    pub fn line(&self) -> String {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        format!("{} {} {}", self.service, self.kind, name)
    }
}

type Spans = Arc<Mutex<Vec<Exported>>>;

/// Listens for OTLP over HTTP.
#[derive(Debug)]
pub struct Collector {
    pub url: String,
    spans: Spans,
}

impl Collector {
    pub async fn start() -> Self {
        let spans = Spans::default();
        let router =
            Router::new().route("/v1/traces", post(receive)).with_state(Arc::clone(&spans));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, spans }
    }

    /// All received spans.
    pub fn spans(&self) -> Vec<Exported> {
        let mut spans = self.spans.lock().unwrap().clone();
        spans.sort_by_key(|span| span.start);
        spans
    }

    /// Waits until the received spans satisfy the condition.
    pub async fn wait(&self, what: &str, holds: impl Fn(&[Exported]) -> bool) -> Vec<Exported> {
        let waiting = async {
            loop {
                let spans = self.spans();
                if holds(&spans) {
                    return spans;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(30), waiting).await {
            Ok(spans) => spans,
            Err(_) => panic!("{what}: {:#?}", self.spans()),
        }
    }
}

async fn receive(State(spans): State<Spans>, body: Bytes) -> StatusCode {
    let Ok(request) = ExportTraceServiceRequest::decode(body) else {
        return StatusCode::BAD_REQUEST;
    };
    let mut spans = spans.lock().unwrap();
    for resource in request.resource_spans {
        let attributes = resource.resource.map(|resource| resource.attributes);
        let service = texts(attributes.unwrap_or_default()).remove("service.name");
        for span in resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            spans.push(Exported {
                service: service.clone().unwrap_or_default(),
                name: span.name,
                kind: ["?", "internal", "server", "client", "producer", "consumer"]
                    [usize::try_from(span.kind).unwrap()],
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                attributes: texts(span.attributes),
                events: span
                    .events
                    .into_iter()
                    .map(|event| format!("{} {:?}", event.name, texts(event.attributes)))
                    .collect(),
                start: span.start_time_unix_nano,
            });
        }
    }
    StatusCode::OK
}

fn texts(
    attributes: Vec<opentelemetry_proto::tonic::common::v1::KeyValue>,
) -> BTreeMap<String, String> {
    let text = |value: Option<Value>| match value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(is)) => is.to_string(),
        other => format!("{other:?}"),
    };
    attributes
        .into_iter()
        .map(|attribute| (attribute.key, text(attribute.value.and_then(|value| value.value))))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The spans of a trace as indented lines, children below their parents.
///
/// Panics unless they form one tree with one root.
pub fn tree(spans: &[Exported]) -> String {
    let roots: Vec<_> = spans.iter().filter(|span| span.parent.is_empty()).collect();
    assert_eq!(roots.len(), 1, "one root: {spans:#?}");
    for span in spans {
        assert_eq!(span.trace, roots[0].trace, "one trace: {spans:#?}");
        let has_parent = spans.iter().any(|other| other.id == span.parent);
        assert!(span.parent.is_empty() || has_parent, "{span:?} has no parent in {spans:#?}");
    }
    let mut lines = String::new();
    grow(spans, roots[0], 0, &mut lines);
    assert_eq!(lines.lines().count(), spans.len(), "every span is in the tree: {spans:#?}");
    lines
}

fn grow(spans: &[Exported], span: &Exported, depth: usize, lines: &mut String) {
    lines.push_str(&format!("{}{}\n", "  ".repeat(depth), span.line()));
    for child in spans.iter().filter(|other| other.parent == span.id) {
        grow(spans, child, depth + 1, lines);
    }
}
