//! What callers see of how an answer is made.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

mod support;

use std::time::Duration;

use a2a_core::{TaskState, v1::SendMessageRequest, well_known::Value};
use a2a_kit_models::{
    Disclosure, ModelAgent,
    model::{ModelErrorKind, ModelEvent, StopReason, ToolCall},
    testing::{ScriptedModel, ScriptedTurn},
    tool_fn,
};
use a2a_kit_operations::{
    AgentError, BoxError, Call,
    extension::{ModelEventsExtension, UsageExtension},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use support::{chunks, engine, get, send, shown, stream, text, turns};

const PAUSE: Duration = Duration::from_millis(100);

/// A message that activates the extension.
fn with_events(message: &str) -> Call<SendMessageRequest> {
    let mut call = text(message);
    call.context.extensions.insert(ModelEventsExtension::URI);
    call
}

fn thinking(text: &str) -> ModelEvent {
    ModelEvent::Thinking(text.to_owned())
}

/// A turn that thinks in two chunks, and answers.
fn thoughtful() -> ScriptedTurn {
    ScriptedTurn::new()
        .event(thinking("The user wants"))
        .pause(PAUSE)
        .event(thinking(" a capital."))
        .pause(PAUSE)
        .text("Oslo it is")
        .finish(StopReason::End)
}

#[tokio::test(start_paused = true)]
async fn thinking_is_an_artifact_of_its_own_for_callers_that_ask_for_it() {
    let engine = engine(ModelAgent::with_model(ScriptedModel::new([thoughtful()])));
    let (seen, state) = chunks(&mut stream(&engine, with_events("capital?")).await).await;
    assert_eq!(state, TaskState::Completed);
    let (thoughts, answer): (Vec<_>, Vec<_>) = seen.into_iter().partition(|chunk| {
        let artifact = chunk.artifact.as_ref().expect("an artifact");
        ModelEventsExtension::kind(artifact) == Some("thinking")
    });
    assert_eq!(shown(&thoughts), ["The user ", "+wants a ", "+capital.!"]);
    assert_eq!(shown(&answer).concat().replace(['+', '!'], ""), "Oslo it is");
    let last = answer.last().and_then(|chunk| chunk.artifact.as_ref()).expect("an answer");
    let metadata = last.metadata.as_ref().and_then(|all| all.get(ModelEventsExtension::URI));
    let member = |name: &str| metadata.and_then(|one| one.get(name)).and_then(Value::as_str);
    let members = ["kind", "stop", "model"].map(member);
    assert_eq!(members, [Some("answer"), Some("end"), Some("model")]);
    assert!(last.extensions.is_empty(), "clients hide artifacts that name the extension");
}

#[tokio::test]
async fn events_are_shown_on_request_always_or_never() {
    let cases = [
        (Disclosure::OnRequest, text("a"), 1),
        (Disclosure::OnRequest, with_events("a"), 2),
        (Disclosure::Always, text("a"), 2),
        (Disclosure::Never, with_events("a"), 1),
    ];
    for (disclosure, call, expected) in cases {
        let agent = ModelAgent::with_model(ScriptedModel::new([thoughtful()]));
        let task = send(&engine(agent.with_events(disclosure)), call).await;
        assert_eq!(task.artifacts.len(), expected, "{disclosure:?}");
        let answer = task.artifacts.iter().find(|one| one.artifact_id == "answer");
        assert_eq!(answer.map(|one| one.text()).as_deref(), Some("Oslo it is"));
        let declared =
            engine(ModelAgent::with_model(ScriptedModel::new(["a"])).with_events(disclosure));
        let card = declared.card();
        let is_declared = card.extensions().iter().any(|one| one.uri == ModelEventsExtension::URI);
        assert_eq!(is_declared, disclosure != Disclosure::Never, "{disclosure:?}");
    }
}

#[tokio::test]
async fn thinking_of_an_earlier_task_is_not_remembered() {
    let model = ScriptedModel::new([thoughtful(), "Yes".into()]);
    let engine = engine(ModelAgent::with_model(model.clone()));
    send(&engine, with_events("capital?")).await;
    send(&engine, with_events("sure?")).await;
    let expected = ["user: capital?", "assistant: Oslo it is", "user: sure?"];
    assert_eq!(turns(&model.requests()[1]), expected);
}

#[tokio::test(start_paused = true)]
async fn repeated_call_replaces_its_thinking_and_says_why_it_takes_longer() {
    let cut = ScriptedTurn::new().event(thinking("First I")).pause(PAUSE);
    let model =
        ScriptedModel::new([ScriptedTurn::error(ModelErrorKind::RateLimit), cut, thoughtful()]);
    let task = send(&engine(ModelAgent::with_model(model)), with_events("capital?")).await;
    let artifact = |id: &str| task.artifacts.iter().find(|one| one.artifact_id == id);
    assert_eq!(artifact("thinking").expect("thinking").text(), "The user wants a capital.");
    let notice = artifact("notice").expect("a notice");
    assert_eq!(ModelEventsExtension::kind(notice), Some("notice"));
    let data = notice.parts[0].as_data().and_then(|data| data.get("text")).and_then(Value::as_str);
    let text = data.expect("a text");
    assert!(text.starts_with("The model is asked again in ") && text.ends_with("cut"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn long_thinking_has_few_chunks_and_is_stored_as_one_part() {
    let turn = (0..20_000).fold(ScriptedTurn::new(), |turn, number| {
        turn.event(thinking(&format!("{number} "))).pause(Duration::from_millis(10))
    });
    let model = ScriptedModel::new([turn.text("Done").finish(StopReason::End)]);
    let engine = engine(ModelAgent::with_model(model));
    let (seen, _) = chunks(&mut stream(&engine, with_events("count")).await).await;
    assert!((500..1_500).contains(&seen.len()), "{} chunks", seen.len());
    let task = get(&engine, &seen[0].task_id).await;
    assert!(task.artifacts.iter().all(|artifact| artifact.parts.len() == 1));
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

#[tokio::test]
async fn calls_of_tools_are_shown_and_counted() {
    let call = |city: &str| {
        // Some providers give all calls the same id.
        let (id, name) = ("call".to_owned(), "weather".to_owned());
        ModelEvent::ToolCall(ToolCall { id, name, arguments: json!({"city": city}) })
    };
    let asking = ScriptedTurn::new()
        .event(call("Oslo"))
        .event(call("Atlantis"))
        .finish(StopReason::ToolCalls);
    let answering = ScriptedTurn::new().text("Sunny").finish(StopReason::End);
    let agent = ModelAgent::with_model(ScriptedModel::new([asking, answering]));
    let weather =
        tool_fn("weather", "The weather in a city", async |City { city }: City| match &*city {
            "Atlantis" => Err::<String, BoxError>(AgentError::new("it is under water").into()),
            _ => Ok(format!("sunny in {city}")),
        });
    let engine = engine(agent.with_tool(weather).expect("a tool").with_usage(Disclosure::Always));
    let (seen, state) = chunks(&mut stream(&engine, with_events("weather?")).await).await;
    assert_eq!(state, TaskState::Completed);
    let mut shown: Vec<_> = seen
        .iter()
        .filter_map(|chunk| chunk.artifact.as_ref())
        .filter(|artifact| ModelEventsExtension::kind(artifact) == Some("tool"))
        .map(|artifact| {
            let data = artifact.parts[0].as_data().expect("data").clone();
            let data = serde_json::Value::from(data);
            let line = [&data["status"], &data["arguments"]["city"], &data["result"]];
            (artifact.artifact_id.clone(), line.map(|one| one.as_str().unwrap_or("-").to_owned()))
        })
        .collect();
    shown.sort();
    let line = |id: &str, texts: [&str; 3]| (id.to_owned(), texts.map(str::to_owned));
    let expected = [
        line("tool-0/0", ["done", "Oslo", "sunny in Oslo"]),
        line("tool-0/0", ["running", "Oslo", "-"]),
        line("tool-0/1", ["failed", "Atlantis", "it is under water"]),
        line("tool-0/1", ["running", "Atlantis", "-"]),
    ];
    assert_eq!(shown, expected);
    let task = get(&engine, &seen[0].task_id).await;
    let report = UsageExtension::read(task.metadata.as_ref()).expect("a report");
    assert_eq!((report.model_calls, report.tool_calls), (2, 2));
}
