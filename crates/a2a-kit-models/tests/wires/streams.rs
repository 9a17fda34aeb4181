//! What is read.

use std::time::{Duration, Instant};

use a2a_core::Part;
use a2a_kit_models::{ChatModel as _, ProviderModel, model::ModelErrorKind};
use futures_util::StreamExt as _;
use proptest::{prelude::*, test_runner::TestRunner};

use crate::{
    WIRES, answer, asking,
    fake::{Fake, Script, Step, events, head},
    model, settings,
};

/// The events of a stream, and the kind of the error at its end.
async fn read(provider: &str, script: Script) -> (Vec<String>, Option<ModelErrorKind>) {
    let fake = Fake::start([script]).await;
    let (events, error) = answer(&model(provider, &fake), asking(vec![Part::text("a")])).await;
    (events, error.map(|error| error.kind))
}

/// Chunks of a choice: these deltas, then a reason.
fn chunks(deltas: &[&str], reason: &str) -> String {
    let deltas = deltas.iter().map(|delta| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n"
        )
    });
    let deltas: String = deltas.collect();
    format!("{deltas}data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":{reason}}}]}}\n\n")
}

/// An answer of each wire with text, thoughts, two calls and usage.
fn whole(provider: &str) -> String {
    match provider {
        "anthropic" => [
            r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","model":"x-high-1","usage":{"input_tokens":10,"cache_read_input_tokens":20,"cache_creation_input_tokens":3,"output_tokens":1}}}"#,
            r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            "event: ping\ndata: {\"type\":\"ping\"}",
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Rome"}}"#,
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"?"}}"#,
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
            r#"data: {"type":"content_block_stop","index":0}"#,
            r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ"}}"#,
            r#"data: {"type":"content_block_stop","index":1}"#,
            r#"data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
            r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I a\u0073k \"🌦\""}}"#,
            r#"data: {"type":"content_block_stop","index":2}"#,
            r#"data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}"#,
            r#"data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"ci"}}"#,
            r#"data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"ty\":\"Rome\"}"}}"#,
            r#"data: {"type":"content_block_stop","index":3}"#,
            r#"data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{}}}"#,
            r#"data: {"type":"content_block_stop","index":4}"#,
            r#"data: {"type":"of_a_later_version","x":1}"#,
            r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}"#,
            r#"data: {"type":"message_stop"}"#,
            "",
        ]
        .join("\n\n"),
        _ => [
            ": OPENROUTER PROCESSING",
            r#"data: {"id":"chatcmpl-1","model":"x-high-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
            r#"data: {"choices":[{"index":0,"delta":{"reasoning_content":"Rome","reasoning":"Rome"}}]}"#,
            r#"data: {"choices":[{"index":0,"delta":{"reasoning":"?"}}]}"#,
            r#"data: {"choices":[{"index":0,"delta":{"content":"I a\u0073k \"🌦\""}}]}"#,
            r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":""}}]}}]}"#,
            r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"now","arguments":""}}]}}]}"#,
            r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"ci"}}]}}]}"#,
            r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"ty\":\"Rome\"}"}}]}}]}"#,
            r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"data: {"choices":[],"usage":{"prompt_tokens":33,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":3},"completion_tokens_details":{"reasoning_tokens":2},"cost":0.0000123}}"#,
            "data: [DONE]",
            "",
        ]
        .join("\n\n"),
    }
}

/// What is read of [`whole`].
fn expected(provider: &str) -> Vec<String> {
    let lines: &[&str] = match provider {
        "anthropic" => &[
            "started msg_1 x-high-1",
            "thinking \"Rome\"",
            "thinking \"?\"",
            r#"opaque {"signature":"c2ln","thinking":"Rome?","type":"thinking"}"#,
            r#"opaque {"data":"ZGF0YQ","type":"redacted_thinking"}"#,
            "text \"I ask \\\"🌦\\\"\"",
            r#"call toolu_1 weather {"city":"Rome"}"#,
            "call toolu_2 now {}",
            "usage 33 Some(20) Some(3) 7 None None",
            "finished ToolCalls",
        ],
        _ => &[
            "started chatcmpl-1 x-high-1",
            "thinking \"Rome\"",
            "thinking \"?\"",
            "text \"I ask \\\"🌦\\\"\"",
            r#"call call_1 weather {"city":"Rome"}"#,
            "call call_2 now {}",
            "usage 33 Some(20) Some(3) 7 Some(2) Some(12300)",
            "finished ToolCalls",
        ],
    };
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn frames_split_anywhere_give_the_same_events() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (provider, _) in WIRES {
        let text = whole(provider);
        let mut runner = TestRunner::new(ProptestConfig::with_cases(40));
        let cuts = prop::collection::vec(any::<prop::sample::Index>(), 0..30);
        let run = runner.run(&cuts, |cuts| {
            let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            // A chunk without bytes would end the body.
            at.dedup();
            let mut script = vec![head()];
            let frames = at.windows(2).map(|pair| text.as_bytes()[pair[0]..pair[1]].to_vec());
            script.extend(frames.map(Step::Chunk));
            script.push(Step::End);
            let read = runtime.block_on(read(provider, script));
            prop_assert_eq!(read, (expected(provider), None));
            Ok(())
        });
        run.unwrap();
    }
}

#[tokio::test]
async fn end_of_an_answer_is_recognized() {
    let text = r#"{"content":"a"}"#;
    let call = r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}"#;
    let done = "data: [DONE]\n\n";
    for (name, stream, last) in [
        ("stop", chunks(&[text], "\"stop\"") + done, "finished End"),
        ("no mark after a reason", chunks(&[text], "\"stop\""), "finished End"),
        ("empty reasons, then the mark", chunks(&[text], "\"\"") + done, "finished End"),
        ("length", chunks(&[text], "\"length\"") + done, "finished Length"),
        ("filter", chunks(&[], "\"content_filter\"") + done, "finished Filter"),
        ("refusal", chunks(&[r#"{"refusal":"no"}"#], "\"stop\"") + done, "finished Filter"),
        ("unknown", chunks(&[text], "\"odd\"") + done, "finished Other(\"odd\")"),
        ("calls, whatever the reason", chunks(&[call], "\"stop\"") + done, "finished ToolCalls"),
    ] {
        let (events, error) = read("openai-chat", events(&stream)).await;
        assert_eq!(error, None, "{name}");
        assert_eq!(events.last().unwrap(), last, "{name}");
    }
    for (reason, last) in [
        ("end_turn", "finished End"),
        ("stop_sequence", "finished End"),
        ("max_tokens", "finished Length"),
        ("model_context_window_exceeded", "finished ContextWindow"),
        ("refusal", "finished Filter"),
        ("pause_turn", "finished Other(\"pause_turn\")"),
    ] {
        let stream = format!(
            "data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}}}}\n\n\
             data: {{\"type\":\"message_stop\"}}\n\n"
        );
        let (events, error) = read("anthropic", events(&stream)).await;
        assert_eq!((events, error), (vec![last.to_owned()], None), "{reason}");
    }
}

#[tokio::test]
async fn answer_without_an_end_was_cut() {
    let json = r#"{"id":"1","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    for (provider, _) in WIRES {
        let text = whole(provider);
        let first = text.find("\n\n").unwrap() + 2;
        let part = text.as_bytes()[..text.len() / 2].to_vec();
        for (name, script) in [
            ("clean end", vec![head(), Step::Chunk(part.clone()), Step::End]),
            ("lost connection", vec![head(), Step::Chunk(part.clone()), Step::Close]),
            ("broken event", events(&format!("{}data: {{\"choices\": [}}\n\n", &text[..first]))),
            (
                "JSON in place of a stream",
                vec![head(), Step::Chunk(json.as_bytes().to_vec()), Step::End],
            ),
        ] {
            let (_, error) = read(provider, script).await;
            assert_eq!(error, Some(ModelErrorKind::Cut), "{provider}: {name}");
        }
    }
}

#[tokio::test]
async fn calls_of_odd_servers_are_assembled() {
    let call = |index: &str, id: &str, name: &str, arguments: &str| {
        format!(
            "{{\"tool_calls\":[{{{index}\"id\":{id},\
             \"function\":{{\"name\":{name},\"arguments\":{arguments}}}}}]}}"
        )
    };
    for (name, deltas, expected) in [
        (
            "all calls have one index",
            vec![
                call("\"index\":0,", "\"a\"", "\"f\"", "\"{}\""),
                call("\"index\":0,", "\"b\"", "\"g\"", "\"[1]\""),
            ],
            vec!["call a f {}", "call b g [1]"],
        ),
        (
            "no index",
            vec![
                call("", "\"a\"", "\"f\"", "\"[\""),
                call("", "null", "null", "\"1]\""),
                call("", "\"b\"", "\"g\"", "null"),
            ],
            vec!["call a f [1]", "call b g {}"],
        ),
        (
            "another id with each piece",
            vec![
                call("\"index\":0,", "\"a\"", "\"f\"", "\"[\""),
                call("\"index\":0,", "\"b\"", "null", "\"1]\""),
            ],
            vec!["call a f [1]"],
        ),
        (
            "no id, and arguments that are not JSON",
            vec![call("\"index\":0,", "\"\"", "\"f\"", "\"{\"")],
            vec!["call call_1 f \"{\""],
        ),
    ] {
        let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
        let (events, error) = read("openai-chat", events(&chunks(&deltas, "\"stop\""))).await;
        assert_eq!(error, None, "{name}");
        assert_eq!(events[..events.len() - 1], expected, "{name}");
    }
}

#[tokio::test]
async fn usage_is_absent_if_the_provider_reports_none() {
    let stream = chunks(&[r#"{"content":"a"}"#], "\"stop\"");
    let (events, _) = read("openai-chat", events(&stream)).await;
    assert_eq!(events, ["text \"a\"", "finished End"]);
}

#[tokio::test]
async fn answer_beyond_a_bound_was_cut() {
    let delta = |text: &str| format!("{{\"content\":\"{text}\"}}");
    let long = delta(&"x".repeat(700 << 10));
    let half = "x".repeat(200 << 10);
    let arguments = |index: u32, text: &str| {
        format!(
            "{{\"tool_calls\":[{{\"index\":{index},\
             \"function\":{{\"name\":\"f\",\"arguments\":\"{text}\"}}}}]}}"
        )
    };
    let calls: Vec<String> = (0..65).map(|index| arguments(index, "{}")).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    for (name, stream) in [
        ("an event of 2 MiB", format!("data: {}", "x".repeat(2 << 20))),
        ("text of 1.4 MiB", chunks(&[&long, &long], "\"stop\"")),
        ("arguments of 400 KiB", chunks(&[&arguments(0, &half), &arguments(0, &half)], "\"stop\"")),
        ("65 calls", chunks(&calls, "\"stop\"")),
    ] {
        let (_, error) = read("openai-chat", events(&stream)).await;
        assert_eq!(error, Some(ModelErrorKind::Cut), "{name}");
    }
    let (events, error) = read("openai-chat", events(&chunks(&calls[1..], "\"stop\""))).await;
    assert_eq!((events.len(), error), (65, None));
}

/// Text of a provider is in no error.
#[tokio::test]
async fn malformed_event_is_not_quoted() {
    let fake = Fake::start([events("data: {\"choices\":\"secret\"}\n\n")]).await;
    let (_, error) = answer(&model("openai-chat", &fake), asking(vec![Part::text("a")])).await;
    let error = error.unwrap();
    let shown = format!("{error} {}", a2a_core::error_chain(&error));
    assert!(!shown.contains("secret") && shown.contains("malformed JSON at line 1"), "{shown}");
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
}

#[tokio::test]
async fn dropped_answer_closes_the_connection() {
    let text = Step::Chunk(chunks(&[r#"{"content":"a"}"#], "null").into_bytes());
    for (name, script, reads) in [
        ("before the head", vec![Step::Silence], false),
        ("in the body", vec![head(), text, Step::Silence], true),
    ] {
        let fake = Fake::start([script]).await;
        let mut stream = model("openai-chat", &fake).stream(asking(vec![Part::text("a")]));
        if reads {
            stream.next().await.unwrap().unwrap();
        } else {
            tokio::select! {
                event = stream.next() => panic!("{event:?}"),
                () = fake.wait(|requests| requests.len() == 1) => {}
            }
        }
        let dropped = Instant::now();
        drop(stream);
        fake.wait(|requests| requests[0].closed.is_some()).await;
        let closed = fake.requests()[0].closed.unwrap();
        assert!(closed - dropped < Duration::from_millis(250), "{name}");
    }
}

#[tokio::test]
async fn pings_keep_an_answer_alive_and_silence_ends_it() {
    let idle = Duration::from_secs(1);
    let ping = || Step::Chunk(b": ping\n\n".to_vec());
    let mut script = vec![head()];
    for _ in 0..20 {
        script.extend([Step::Pause(idle / 10), ping()]);
    }
    script.push(Step::Silence);
    for (name, script, alive) in
        [("silence after pings", script, idle * 2), ("no head", vec![Step::Silence], idle / 2)]
    {
        let fake = Fake::start([script]).await;
        let mut settings = settings(&fake);
        settings.client.idle_timeout = Some(idle);
        let model = ProviderModel::new("openai-chat/m", settings).unwrap();
        let started = Instant::now();
        let (_, error) = answer(&model, asking(vec![Part::text("a")])).await;
        assert_eq!(error.unwrap().kind, ModelErrorKind::Timeout, "{name}");
        assert!(started.elapsed() > alive, "{name}: {:?}", started.elapsed());
        fake.wait(|requests| requests[0].closed.is_some()).await;
    }
}
