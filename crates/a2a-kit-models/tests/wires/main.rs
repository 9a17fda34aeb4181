//! The wires of providers: requests, files, streams and errors, against a scripted provider.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

#[path = "../fake/mod.rs"]
mod fake;

mod errors;
mod requests;
mod streams;

use std::path::Path;

use a2a_core::Part;
use a2a_kit_models::{
    ChatModel as _, ModelError, ProviderModel, ProviderSettings,
    model::{ChatRequest, ModelEvent, Turn},
};
use fake::Fake;
use futures_util::StreamExt as _;

/// The wires, by a provider each, with the path that is appended to the origin of a fake.
const WIRES: [(&str, &str); 4] = [
    ("openai", "/responses"),
    ("openai-chat", "/chat/completions"),
    ("anthropic", "/v1/messages"),
    ("gemini", "/models/x-high:streamGenerateContent?alt=sse"),
];

/// Compares a text with a file beside this one; `BLESS=1` writes it.
fn assert_file(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wires").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, expected, "{}", file.display());
}

fn settings(fake: &Fake) -> ProviderSettings {
    let mut settings = ProviderSettings::default();
    settings.base_url = Some(fake.url.clone());
    settings.key = Some("sk-secret".to_owned());
    settings
}

fn model(provider: &str, fake: &Fake) -> ProviderModel {
    ProviderModel::new(&format!("{provider}/x-high"), settings(fake)).unwrap()
}

/// A request with one message of the user.
fn asking(parts: Vec<Part>) -> ChatRequest {
    let mut request = ChatRequest::default();
    request.turns = vec![Turn::User(parts)];
    request
}

/// All events of an answer, one line each, and how it ended.
async fn answer(model: &ProviderModel, request: ChatRequest) -> (Vec<String>, Option<ModelError>) {
    let mut events = Vec::new();
    let mut stream = model.stream(request);
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(shown(&event)),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an event after an error");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

fn shown(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Started { id, model } => {
            format!("started {} {}", id.as_deref().unwrap_or("-"), model.as_deref().unwrap_or("-"))
        }
        ModelEvent::Text(text) => format!("text {text:?}"),
        ModelEvent::Thinking(text) => format!("thinking {text:?}"),
        ModelEvent::ToolCall(call) => format!("call {} {} {}", call.id, call.name, call.arguments),
        ModelEvent::Opaque(part) => format!("opaque {part}"),
        ModelEvent::Usage(usage) => format!(
            "usage {} {:?} {:?} {} {:?} {:?}",
            usage.input,
            usage.cached_input,
            usage.cache_write,
            usage.output,
            usage.reasoning,
            usage.cost
        ),
        ModelEvent::Finished(stop) => format!("finished {stop:?}"),
        other => format!("{other:?}"),
    }
}
