//! What a caller sees of an answer: its chunks, its end, and its usage.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and panics where it does not get it"
)]

mod support;

use std::time::Duration;

use a2a_core::{TaskState, v1::SendMessageConfiguration};
use a2a_kit_models::{
    AgentLimits, Disclosure, ModelAgent,
    model::{ModelError, ModelErrorKind, ModelEvent, StopReason, Usage},
    testing::{ScriptedModel, ScriptedTurn},
};
use a2a_kit_operations::extension::UsageExtension;
use support::{card, chunks, engine, get, parts, send, shown, stream, text, turns};

const PAUSE: Duration = Duration::from_millis(100);

fn usage(input: u64, output: u64) -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (input, output);
    usage
}

#[tokio::test]
async fn answer_is_one_artifact_of_one_part_and_the_task_is_completed() {
    let model = ScriptedModel::new(["Oslo is the capital of Norway."]);
    let agent = ModelAgent::with_model(model.clone()).with_instructions("Be brief.");
    let task = send(&engine(agent), text("What is the capital of Norway?")).await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(task.text(), "Oslo is the capital of Norway.");
    assert_eq!(parts(&task).len(), 1);
    assert_eq!(parts(&task)[0].media_type, "text/markdown");
    assert_eq!((task.artifacts[0].artifact_id.as_str(), task.status_message()), ("answer", None));
    let requests = model.requests();
    assert_eq!(requests[0].instructions.as_deref(), Some("Be brief."));
    assert_eq!(turns(&requests[0]), ["user: What is the capital of Norway?"]);
}

#[tokio::test]
async fn answer_is_plain_text_for_a_caller_that_accepts_no_markdown() {
    let cases = [("text/plain", "text/plain"), ("text/*", "text/markdown")];
    for (accepted, expected) in cases {
        let engine = engine(ModelAgent::with_model(ScriptedModel::new(["Oslo"])));
        let mut call = text("capital?");
        call.request.configuration = Some(SendMessageConfiguration {
            accepted_output_modes: vec![accepted.to_owned()],
            ..Default::default()
        });
        let task = send(&engine, call).await;
        assert_eq!(parts(&task)[0].media_type, expected, "{accepted}");
    }
}

#[tokio::test(start_paused = true)]
async fn first_words_are_sent_at_once_and_the_rest_in_chunks_that_end_at_white_space() {
    let turn = ScriptedTurn::new()
        .event(ModelEvent::Text("Oslo is".to_owned()))
        .pause(PAUSE)
        .event(ModelEvent::Text(" the cap".to_owned()))
        .pause(PAUSE)
        .event(ModelEvent::Text("ital of".to_owned()))
        .event(ModelEvent::Text(" Nor".to_owned()))
        .event(ModelEvent::Text("way".to_owned()))
        .pause(PAUSE)
        .finish(StopReason::End);
    let engine = engine(ModelAgent::with_model(ScriptedModel::new([turn])));
    let (chunks, state) = chunks(&mut stream(&engine, text("capital?")).await).await;
    assert_eq!(shown(&chunks), ["Oslo ", "+is the ", "+capital ", "+of ", "+Norway!"]);
    assert_eq!(state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn text_without_spaces_is_cut_anywhere_and_short_words_are_not() {
    let turn = ScriptedTurn::new()
        .event(ModelEvent::Text("奥斯陆".to_owned()))
        .pause(PAUSE)
        .finish(StopReason::End);
    let model = ScriptedModel::new([turn, "a".into()]);
    let engine = engine(ModelAgent::with_model(model));
    let (seen, _) = chunks(&mut stream(&engine, text("capital?")).await).await;
    assert_eq!(shown(&seen), ["奥斯", "+陆!"]);
    let (seen, _) = chunks(&mut stream(&engine, text("letter?")).await).await;
    assert_eq!(shown(&seen), ["a!"]);
}

#[tokio::test(start_paused = true)]
async fn long_answer_has_few_chunks_and_is_stored_as_one_part() {
    let token = |number: u32| ModelEvent::Text(format!("{number} "));
    let turn = (0..20_000).fold(ScriptedTurn::new(), |turn, number| {
        turn.event(token(number)).pause(Duration::from_millis(10))
    });
    let model = ScriptedModel::new([turn.finish(StopReason::End)]);
    let engine = engine(ModelAgent::with_model(model));
    let (seen, _) = chunks(&mut stream(&engine, text("count")).await).await;
    assert!((500..1_500).contains(&seen.len()), "{} chunks", seen.len());
    let id = &seen[0].task_id;
    let task = get(&engine, id).await;
    let expected: String = (0..20_000).map(|number| format!("{number} ")).collect();
    assert_eq!(parts(&task).len(), 1);
    assert!(task.text() == expected, "the text is as the model wrote it");
}

#[tokio::test(start_paused = true)]
async fn cut_answer_is_asked_for_again_and_its_text_is_replaced() {
    let cut = ScriptedTurn::new().text("Oslo is the cap").pause(PAUSE);
    let model = ScriptedModel::new([cut, "Oslo, of course".into()]);
    let engine = engine(ModelAgent::with_model(model.clone()));
    let (seen, state) = chunks(&mut stream(&engine, text("capital?")).await).await;
    let shown = shown(&seen);
    let replacements = seen.iter().filter(|chunk| !chunk.append).count();
    let ends = seen.iter().filter(|chunk| chunk.last_chunk).count();
    assert_eq!((replacements, ends), (2, 1), "{shown:?}");
    let replaced = seen.iter().rposition(|chunk| !chunk.append).expect("a replacement");
    let text: String =
        shown[replaced..].iter().map(|chunk| chunk.trim_matches(['+', '!'])).collect();
    assert_eq!((text.as_str(), state), ("Oslo, of course", TaskState::Completed));
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn each_stop_reason_ends_the_task_in_its_state_with_its_text() {
    use StopReason::{End, Filter, Length, Other};
    use TaskState::{Completed, Failed, Rejected};
    let limited = "The answer reached its limit of 5 tokens and is incomplete";
    let cases: [(&str, StopReason, TaskState, &str); 7] = [
        ("text", End, Completed, ""),
        ("text", Other("new".to_owned()), Completed, ""),
        ("text", Length, Completed, limited),
        ("", Length, Completed, limited),
        ("text", Filter, Failed, "The model declined to answer"),
        ("", Filter, Rejected, "The model declined to answer"),
        ("", End, Failed, "The model gave an empty answer"),
    ];
    for (answer, stop, state, expected) in cases {
        let turn = || {
            let turn = ScriptedTurn::new().usage(usage(3, 5));
            let turn = if answer.is_empty() { turn } else { turn.text(answer) };
            turn.finish(stop.clone())
        };
        let model = ScriptedModel::new([turn(), turn()]);
        let task = send(&engine(ModelAgent::with_model(model.clone())), text("go")).await;
        let found = (task.state(), task.status_text(), task.text());
        assert_eq!(found, (state, expected.to_owned(), answer.to_owned()), "{stop:?}");
        let retries = usize::from(expected.contains("empty"));
        assert_eq!(model.requests().len(), 1 + retries, "{stop:?}, {answer:?}");
        let report = UsageExtension::read(task.metadata.as_ref()).expect("a report");
        let both = 1 + u64::try_from(retries).expect("a small number");
        assert_eq!((report.input_tokens, report.output_tokens), (3 * both, 5 * both), "{stop:?}");
        assert!(!report.incomplete);
    }
}

#[tokio::test]
async fn model_that_calls_unknown_tools_is_told_and_then_given_up() {
    let call = || {
        let arguments = serde_json::json!({});
        let call = a2a_kit_models::model::ToolCall {
            id: "1".to_owned(),
            name: "shell".to_owned(),
            arguments,
        };
        ScriptedTurn::new().event(ModelEvent::ToolCall(call)).finish(StopReason::ToolCalls)
    };
    let model = ScriptedModel::new([call(), call(), call()]);
    let task = send(&engine(ModelAgent::with_model(model.clone())), text("go")).await;
    let found = (task.state(), task.status_text());
    assert_eq!(found, (TaskState::Failed, "The model kept calling tools wrongly".to_owned()));
    let last = &model.requests()[2];
    assert!(turns(last)[2].contains(r#"unknown tool \"shell\""#), "{:?}", turns(last));
}

#[tokio::test]
async fn texts_of_several_calls_are_separated_by_an_empty_line() {
    let call = a2a_kit_models::model::ToolCall {
        id: "1".to_owned(),
        name: "shell".to_owned(),
        arguments: serde_json::json!({}),
    };
    let first = ScriptedTurn::new()
        .text("One moment.")
        .event(ModelEvent::ToolCall(call))
        .finish(StopReason::ToolCalls);
    let engine = engine(ModelAgent::with_model(ScriptedModel::new([first, "Oslo".into()])));
    let task = send(&engine, text("capital?")).await;
    assert_eq!(task.text(), "One moment.\n\nOslo");
    assert_eq!(parts(&task).len(), 1);
}

#[tokio::test]
async fn usage_is_told_on_request_always_or_never() {
    let cases = [
        (Disclosure::OnRequest, true, true),
        (Disclosure::OnRequest, false, false),
        (Disclosure::Always, false, true),
        (Disclosure::Never, true, false),
    ];
    for (disclosure, is_asked, expected) in cases {
        let turn = ScriptedTurn::new().usage(usage(3, 5)).text("Oslo").finish(StopReason::End);
        let agent = ModelAgent::with_model(ScriptedModel::new([turn])).with_usage(disclosure);
        let engine = engine(agent);
        let is_declared =
            engine.card().extensions().iter().any(|one| one.uri == UsageExtension::URI);
        assert_eq!(is_declared, disclosure != Disclosure::Never, "{disclosure:?}");
        let mut call = text("capital?");
        if !is_asked {
            call.context.extensions = Default::default();
        }
        let task = send(&engine, call).await;
        let report = UsageExtension::read(task.metadata.as_ref());
        assert_eq!(report.is_some(), expected, "{disclosure:?}, asked: {is_asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn usage_is_incomplete_after_a_cut_and_if_the_provider_reports_nothing() {
    let cut = || ScriptedTurn::new().text("Os").pause(PAUSE);
    let refused = || ScriptedTurn::error(ModelErrorKind::RateLimit);
    let whole = || ScriptedTurn::new().usage(usage(3, 5)).text("Oslo").finish(StopReason::End);
    let cases: [(Vec<ScriptedTurn>, bool); 4] = [
        (vec![whole()], false),
        (vec![refused(), whole()], false),
        (vec![cut(), whole()], true),
        (vec!["Oslo".into()], true),
    ];
    for (number, (turns, expected)) in cases.into_iter().enumerate() {
        let engine = engine(ModelAgent::with_model(ScriptedModel::new(turns)));
        let task = send(&engine, text("capital?")).await;
        let report = UsageExtension::read(task.metadata.as_ref()).expect("a report");
        assert_eq!((report.incomplete, report.model_calls), (expected, 1), "case {number}");
    }
}

#[tokio::test]
async fn card_declares_what_the_model_takes_unless_it_says_otherwise() {
    let mut info = a2a_kit_models::ModelInfo::default();
    info.media_types = vec!["image/png".into()];
    let model = || ScriptedModel::with_info(info.clone(), ["a"]);
    let engine = ModelAgent::with_model(model()).engine(card());
    let modes = &engine.card().default_input_modes;
    assert!(modes.iter().any(|mode| mode == "image/png"), "{modes:?}");
    assert_eq!(engine.card().default_output_modes, ["text/markdown", "text/plain"]);
    let own = card().with_input_modes(["text/csv"]).with_output_modes(["text/html"]);
    let engine = ModelAgent::with_model(model()).engine(own);
    assert_eq!(engine.card().default_input_modes, ["text/csv"]);
    assert_eq!(engine.card().default_output_modes, ["text/html"]);
}

#[tokio::test]
async fn file_that_the_model_cannot_read_rejects_the_task_with_its_name() {
    let mut error = ModelError::new(ModelErrorKind::File);
    error.message = Some("The file a.zip (application/zip, 3 KiB) can't be used".to_owned());
    let limits = AgentLimits::default();
    let model = ScriptedModel::new([error]);
    let agent = ModelAgent::with_model(model.clone()).with_limits(limits);
    let task = send(&engine(agent), text("read it")).await;
    let expected = "The file a.zip (application/zip, 3 KiB) can't be used".to_owned();
    assert_eq!((task.state(), task.status_text()), (TaskState::Rejected, expected));
    assert_eq!(model.requests().len(), 1);
}
