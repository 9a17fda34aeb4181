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
    model::{ModelErrorKind, ModelEvent, StopReason},
    testing::{ScriptedModel, ScriptedTurn},
};
use a2a_kit_operations::{Call, extension::ModelEventsExtension};
use support::{chunks, engine, send, shown, stream, text, turns};

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
    let task = support::get(&engine, &seen[0].task_id).await;
    assert!(task.artifacts.iter().all(|artifact| artifact.parts.len() == 1));
}
