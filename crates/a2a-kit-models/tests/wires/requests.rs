//! What is sent.

use a2a_core::{Part, well_known::Value as Data};
use a2a_kit_models::{
    ProviderModel, ProviderSettings, SetupError,
    model::{
        Answer, ChatRequest, ModelErrorKind, Reasoning, ToolCall, ToolDefinition, ToolOutcome, Turn,
    },
};
use serde_json::{Value, json};

use crate::{
    WIRES, answer, asking, assert_file,
    fake::{Fake, events, response},
    model, settings,
};

/// Compares a body with the file of a wire, and with the schema of the provider.
fn assert_body(provider: &str, name: &str, body: &Value) {
    assert_file(&format!("bodies/{provider}.{name}.json"), &format!("{body:#}\n"));
    assert_valid(provider, body);
}

/// Compares a body with the schema that [`schemas/make.py`](schemas/make.py) has made from the types
/// of the provider's client.
fn assert_valid(provider: &str, body: &Value) {
    let schema = match provider {
        "openai" => include_str!("schemas/openai.json"),
        "openai-chat" => include_str!("schemas/openai-chat.json"),
        "anthropic" => include_str!("schemas/anthropic.json"),
        _ => include_str!("schemas/gemini.json"),
    };
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(body).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{provider}: {errors:#?}");
}

fn call(id: &str, arguments: Value) -> Answer {
    Answer::ToolCall(ToolCall { id: id.to_owned(), name: "weather".to_owned(), arguments })
}

fn outcome(id: &str, content: &str, is_error: bool) -> ToolOutcome {
    let (id, content) = (id.to_owned(), content.to_owned());
    ToolOutcome { id, name: "weather".to_owned(), content, is_error }
}

/// A conversation with everything but files.
fn conversation(provider: &str) -> ChatRequest {
    let (thought, signature) = match provider {
        "openai" => (
            json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "c2ln", "summary": []}),
            None,
        ),
        "anthropic" => {
            (json!({"type": "thinking", "thinking": "Rome?", "signature": "c2ln"}), None)
        }
        "gemini" => (
            json!({"text": "I ", "thoughtSignature": "c2ln"}),
            Some(json!({"thoughtSignature": "Y2Fs"})),
        ),
        // Of another provider, or none at all.
        _ => (json!({}), None),
    };
    let mut answer = vec![Answer::Opaque(thought), Answer::Text("I ask.".to_owned())];
    answer.extend(signature.map(Answer::Opaque));
    answer.extend([call("call_1", json!({"city": "Rome"})), call("call_2", json!("{\"city\""))]);
    let mut request = ChatRequest::default();
    request.instructions = Some("Answer in one sentence.".to_owned());
    request.turns = vec![
        Turn::User(vec![Part::text("Hello")]),
        Turn::Assistant(vec![Answer::Text("Hi.".to_owned())]),
        Turn::User(vec![Part::text("Where is it warm?"), Part::data(Data::from("Rome or Oslo"))]),
        Turn::Assistant(answer),
        Turn::ToolResults(vec![
            outcome("call_1", "sunny", false),
            outcome("call_2", "arguments: invalid", true),
        ]),
    ];
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    request.tools = vec![ToolDefinition::new("weather", "The weather in a city", schema)];
    // The newest types of Anthropic's client have none, but older models take it.
    request.temperature = (provider != "anthropic").then_some(0.5);
    request.max_output_tokens = Some(100);
    request.reasoning = Some(Reasoning::High);
    request
}

/// The body that a wire sends, with these settings.
async fn body(provider: &str, request: ChatRequest, extra: Value) -> Value {
    let fake = Fake::start([response(400, "", "{}")]).await;
    let mut settings = settings(&fake);
    settings.extra = extra.as_object().unwrap().clone();
    let model = ProviderModel::new(&format!("{provider}/x-high"), settings).unwrap();
    answer(&model, request).await;
    fake.requests()[0].json()
}

#[tokio::test]
async fn whole_conversation_is_sent() {
    for (provider, _) in WIRES {
        let body = body(provider, conversation(provider), json!({})).await;
        assert_body(provider, "conversation", &body);
    }
}

#[tokio::test]
async fn members_of_the_settings_are_merged_into_the_body() {
    for (provider, _) in WIRES {
        let request = conversation(provider);
        let mut expected = body(provider, request.clone(), json!({})).await;
        expected["seed"] = 7.into();
        expected["nested"] = json!({"a": 1});
        expected.as_object_mut().unwrap().remove("temperature");
        let extra = json!({"seed": 7, "nested": {"a": 1, "b": null}, "temperature": null});
        assert_eq!(body(provider, request, extra).await, expected, "{provider}");
    }
    let extra = json!({"output_config": {"format": null, "a": 1}});
    let mut request = conversation("anthropic");
    request.temperature = Some(0.5);
    let body = body("anthropic", request, extra).await;
    assert_eq!(body["output_config"], json!({"effort": "high", "a": 1}));
    assert_eq!(body["temperature"], 0.5);
}

#[tokio::test]
async fn shortest_request_has_no_optional_members() {
    for (provider, _) in WIRES {
        let body = body(provider, asking(vec![Part::text("Hello")]), json!({})).await;
        assert_body(provider, "shortest", &body);
    }
}

#[tokio::test]
async fn tools_that_were_called_are_declared_where_the_api_requires_it() {
    for (provider, _) in WIRES {
        let mut request = conversation(provider);
        request.tools.clear();
        let body = body(provider, request, json!({})).await;
        match provider {
            "anthropic" => {
                let tool = json!({"name": "weather", "input_schema": {"type": "object"}});
                assert_eq!(body["tools"], json!([tool]));
                assert_eq!(body["tool_choice"], json!({"type": "none"}));
            }
            _ => assert_eq!(body.get("tools"), None),
        }
    }
}

#[tokio::test]
async fn path_key_and_headers_are_those_of_the_api() {
    for (provider, path) in WIRES {
        let path = path.replace("x-high", "a%2Fb");
        let fake = Fake::start([response(400, "", "{}")]).await;
        let mut settings = settings(&fake);
        settings.base_url = Some(format!("{}/", fake.url));
        settings.headers.insert("x-test-id", "t1".parse().unwrap());
        let model = ProviderModel::new(&format!("{provider}/a/b"), settings).unwrap();
        answer(&model, asking(vec![Part::text("Hello")])).await;
        let request = &fake.requests()[0];
        assert_eq!(request.head.lines().next().unwrap(), format!("POST {path} HTTP/1.1"));
        if provider != "gemini" {
            assert_eq!(request.json()["model"], "a/b");
        }
        let key = match provider {
            "anthropic" => ("x-api-key", "sk-secret"),
            "gemini" => ("x-goog-api-key", "sk-secret"),
            _ => ("authorization", "Bearer sk-secret"),
        };
        let version = (provider == "anthropic").then_some("2023-06-01");
        for (name, expected) in [
            (key.0, Some(key.1)),
            ("anthropic-version", version),
            ("content-type", Some("application/json")),
            ("x-test-id", Some("t1")),
            ("accept-encoding", None),
        ] {
            assert_eq!(request.header(name).as_deref(), expected, "{provider} {name}");
        }
        assert!(!format!("{model:?}").contains("sk-secret"));
    }
}

#[tokio::test]
async fn header_of_the_settings_replaces_the_credential() {
    let fake = Fake::start([response(400, "", "{}")]).await;
    let mut settings = settings(&fake);
    settings.headers.insert("authorization", "Basic sk-other".parse().unwrap());
    let model = ProviderModel::new("openai-chat/m", settings).unwrap();
    answer(&model, asking(vec![Part::text("Hello")])).await;
    assert_eq!(fake.requests()[0].header("authorization").unwrap(), "Basic sk-other");
    assert!(!format!("{model:?}").contains("sk-other"));
}

#[test]
fn members_of_the_wire_cannot_be_set() {
    for (provider, _) in WIRES {
        for member in ["messages", "model", "stream", "tools"] {
            let mut settings = ProviderSettings::default();
            settings.base_url = Some("http://127.0.0.1:1".to_owned());
            settings.extra.insert(member.to_owned(), Value::Null);
            let error = ProviderModel::new(&format!("{provider}/m"), settings).unwrap_err();
            assert!(matches!(error, SetupError::InvalidSetting { .. }), "{error}");
            let expected = format!("invalid model.extra: the member {member:?} can't be set");
            assert_eq!(error.to_string(), expected);
        }
    }
}

#[tokio::test]
async fn redirect_to_another_origin_is_not_followed() {
    let other = Fake::start([]).await;
    let location = format!("location: {}/chat/completions\r\n", other.url);
    let fake = Fake::start([response(307, &location, "")]).await;
    let (_, error) = answer(&model("openai-chat", &fake), asking(vec![Part::text("a")])).await;
    assert_eq!(error.unwrap().kind, ModelErrorKind::Rejected);
    let fake = Fake::start([
        response(307, "location: /other\r\n", ""),
        events("data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n"),
    ])
    .await;
    let (events, error) = answer(&model("openai-chat", &fake), asking(vec![Part::text("a")])).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(events, ["finished End"]);
    assert!(fake.requests()[1].head.starts_with("POST /other "));
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn files_are_sent_in_the_form_of_the_api() {
    for (provider, _) in WIRES {
        let mut parts = vec![
            Part::text("Look:"),
            Part::file("a.png", "image/png", "png"),
            Part::file("b.csv", "text/csv", "day,city\n1,Oslo\n"),
            Part::file("c.json", "", "{}"),
        ];
        if provider != "openai-chat" {
            parts.push(Part::file("d.pdf", "application/pdf", "pdf"));
        }
        parts.push(match provider {
            "gemini" => Part::file("e.wav", "audio/wav", "wav"),
            _ => Part::url("https://a.example/e.webp").with_media_type("image/webp"),
        });
        let body = body(provider, asking(parts), json!({})).await;
        assert_body(provider, "files", &body);
    }
}

#[tokio::test]
async fn file_that_the_model_cannot_read_is_refused_without_a_request() {
    let url = || Part::url("https://a.example/b");
    for (wires, part, expected) in [
        (
            "",
            Part::file("a.zip", "application/zip", "z"),
            "The file a.zip (application/zip, 1 bytes) can't be used: the model can't read this type.",
        ),
        (
            "openai, openai-chat, anthropic",
            Part::file("a.wav", "audio/wav", "z"),
            "The file a.wav (audio/wav, 1 bytes) can't be used: the model can't read this type.",
        ),
        (
            "openai-chat",
            Part::file("a.pdf", "application/pdf", "z"),
            "The file a.pdf (application/pdf, 1 bytes) can't be used: the model can't read this type.",
        ),
        (
            "",
            Part::file("a.txt", "text/plain", "x".repeat(300 << 10)),
            "The file a.txt (text/plain, 300 KiB) can't be used: text files are limited to 256 KiB.",
        ),
        (
            "",
            Part::file("a.txt", "text/plain; charset=latin1", &b"caf\xe9"[..]),
            "The file a.txt (text/plain, 4 bytes) can't be used: it is not UTF-8.",
        ),
        (
            "",
            url(),
            "The file (unknown type, by URL) can't be used: a file given by URL needs a media type.",
        ),
        (
            "",
            url().with_media_type("application/pdf"),
            "The file (application/pdf, by URL) can't be used: only images can be given by URL.",
        ),
        (
            "gemini",
            Part::url("https://a.example/b").with_media_type("image/png"),
            "The file (image/png, by URL) can't be used: the model can't read files by URL.",
        ),
        (
            "",
            Part::url("file:///a").with_media_type("image/png"),
            "The file (image/png, by URL) can't be used: its URL is neither https nor http.",
        ),
        (
            "",
            Part::file("a\u{1b}[2J.zip", "application/zip", "z"),
            "The file a[2J.zip (application/zip, 1 bytes) can't be used: the model can't read this type.",
        ),
    ] {
        let refuses = |wire: &str| wires.is_empty() || wires.split(", ").any(|one| one == wire);
        for (wire, _) in WIRES.iter().filter(|(wire, _)| refuses(wire)) {
            let fake = Fake::start([]).await;
            let parts = vec![Part::text("Look:"), part.clone()];
            let (events, error) = answer(&model(wire, &fake), asking(parts)).await;
            let error = error.unwrap();
            assert!(events.is_empty() && fake.requests().is_empty(), "{wire} {expected}");
            assert_eq!(error.kind, ModelErrorKind::File, "{wire} {expected}");
            assert_eq!(error.message.as_deref(), Some(expected), "{wire}");
        }
    }
}

#[tokio::test]
async fn list_of_models_tells_whether_the_model_can_be_used() {
    let list = r#"{"data":[{"id":"other"},{"id":"x-high"}]}"#;
    let list_of_gemini = r#"{"models":[{"name":"models/other"},{"name":"models/x-high"}]}"#;
    for (provider, path, list) in [
        ("openai", "/models", list),
        ("openai-chat", "/models", list),
        ("anthropic", "/v1/models?limit=1000", list),
        ("gemini", "/models?pageSize=1000", list_of_gemini),
    ] {
        for (script, expected) in [
            (response(200, "", list), None),
            (response(200, "", r#"{"data":[]}"#), Some(ModelErrorKind::UnknownModel)),
            (response(200, "", "<html>"), Some(ModelErrorKind::Cut)),
            (response(401, "", "{}"), Some(ModelErrorKind::Credentials)),
            (Vec::from([crate::fake::Step::Close]), Some(ModelErrorKind::Unavailable)),
        ] {
            let fake = Fake::start([script]).await;
            let kind = model(provider, &fake).check().await.err().map(|error| error.kind);
            assert_eq!(kind, expected, "{provider}");
            assert!(fake.requests()[0].head.starts_with(&format!("GET {path} ")));
        }
    }
}
