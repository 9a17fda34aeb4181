//! What is read.

use std::time::{Duration, Instant};

use a2a_core::Part;
use a2a_kit_models::{ChatModel as _, ProviderModel, model::ModelErrorKind};
use futures_util::StreamExt as _;
use proptest::{prelude::*, test_runner::TestRunner};

use crate::{
    WIRES, answer, asking, assert_file,
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
fn whole(provider: &str) -> &'static str {
    match provider {
        "openai" => include_str!("frames/openai.sse"),
        "openai-chat" => include_str!("frames/openai-chat.sse"),
        "anthropic" => include_str!("frames/anthropic.sse"),
        _ => include_str!("frames/gemini.sse"),
    }
}

#[tokio::test]
async fn whole_answer_is_read() {
    for (provider, _) in WIRES {
        let (events, error) = read(provider, events(whole(provider))).await;
        assert_eq!(error, None, "{provider}");
        assert_file(&format!("frames/{provider}.txt"), &(events.join("\n") + "\n"));
    }
}

#[test]
fn frames_split_anywhere_give_the_same_events() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for (provider, _) in WIRES {
        let text = whole(provider);
        let expected = runtime.block_on(read(provider, events(text)));
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
            prop_assert_eq!(&read, &expected);
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
    let call = r#"data: {"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}"#;
    for (before, end, last) in [
        ("", "null", "finished End"),
        (call, "null", "finished ToolCalls"),
        (r#"data: {"type":"response.refusal.delta","delta":"no"}"#, "null", "finished Filter"),
        ("", r#"{"reason":"max_output_tokens"}"#, "finished Length"),
        ("", r#"{"reason":"content_filter"}"#, "finished Filter"),
        ("", r#"{"reason":"odd"}"#, "finished Other(\"odd\")"),
    ] {
        let name = if end == "null" { "completed" } else { "incomplete" };
        let stream = format!(
            "{before}\n\ndata: {{\"type\":\"response.{name}\",\
             \"response\":{{\"incomplete_details\":{end}}}}}\n\n"
        );
        let (events, error) = read("openai", events(&stream)).await;
        assert_eq!((events.last().unwrap().as_str(), error), (last, None), "{end}");
    }
    let call = r#"{"functionCall":{"name":"f"}}"#;
    for (part, reason, last) in [
        ("", "STOP", "finished End"),
        ("", "MAX_TOKENS", "finished Length"),
        ("", "SAFETY", "finished Filter"),
        ("", "PROHIBITED_CONTENT", "finished Filter"),
        ("", "MALFORMED_FUNCTION_CALL", "finished Other(\"MALFORMED_FUNCTION_CALL\")"),
        (call, "STOP", "finished ToolCalls"),
        (call, "MAX_TOKENS", "finished ToolCalls"),
    ] {
        let stream = format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{part}]}},\
             \"finishReason\":\"{reason}\"}}]}}\n\n"
        );
        let (events, error) = read("gemini", events(&stream)).await;
        assert_eq!((events.last().unwrap().as_str(), error), (last, None), "{reason}");
    }
    let blocked = "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n";
    let (events, error) = read("gemini", events(blocked)).await;
    assert_eq!((events, error), (vec!["finished Filter".to_owned()], None));
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
    let chat = chunks(&[r#"{"content":"a"}"#], "\"stop\"");
    let responses = [
        r#"data: {"type":"response.output_text.delta","delta":"a"}"#,
        r#"data: {"type":"response.completed","response":{"usage":null}}"#,
        "",
    ];
    let messages = [
        r#"data: {"type":"content_block_start","content_block":{"type":"text","text":"a"}}"#,
        r#"data: {"type":"message_stop"}"#,
        "",
    ];
    let content = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\
        \"finishReason\":\"STOP\"}]}\n\n";
    for (provider, stream) in [
        ("openai", responses.join("\n\n")),
        ("openai-chat", chat),
        ("anthropic", messages.join("\n\n")),
        ("gemini", content.to_owned()),
    ] {
        let (events, _) = read(provider, events(&stream)).await;
        assert_eq!(events, ["text \"a\"", "finished End"], "{provider}");
    }
}

#[tokio::test]
async fn what_is_collected_beyond_a_bound_was_cut() {
    let half = "x".repeat(700 << 10);
    let arguments = |index: u32, size: usize| {
        let text = "1".repeat(size);
        format!(
            "{{\"tool_calls\":[{{\"index\":{index},\
             \"function\":{{\"name\":\"f\",\"arguments\":\"{text}\"}}}}]}}"
        )
    };
    let calls: Vec<String> = (0..65).map(|index| arguments(index, 1)).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let large = arguments(0, 200 << 10);
    let block = |kind: &str, member: &str, text: &str| {
        format!("data: {{\"type\":\"content_block_{kind}\",{member}:{text}}}\n\n")
    };
    let thinking = block("start", "\"content_block\"", r#"{"type":"thinking"}"#);
    let delta = |kind: &str, member: &str| {
        let text = format!("{{\"type\":\"{kind}\",\"{member}\":\"{half}\"}}");
        block("delta", "\"delta\"", &text)
    };
    let (text, signature) =
        (delta("thinking_delta", "thinking"), delta("signature_delta", "signature"));
    let call = |size: usize| {
        format!(
            "data: {{\"type\":\"response.output_item.done\",\"item\":\
             {{\"type\":\"function_call\",\"arguments\":\"{}\"}}}}\n\n",
            "1".repeat(size)
        )
    };
    let function = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":\
         {{\"args\":{{\"a\":\"{}\"}}}}}}]}}}}]}}\n\n",
        "1".repeat(300 << 10)
    );
    for (provider, name, stream) in [
        ("openai", "an event of 5 MiB", format!("data: {}", "x".repeat(5 << 20))),
        ("openai-chat", "an event of 2 MiB", format!("data: {}", "x".repeat(2 << 20))),
        ("openai-chat", "arguments of 400 KiB", chunks(&[&large, &large], "\"stop\"")),
        ("openai-chat", "65 calls", chunks(&calls, "\"stop\"")),
        ("anthropic", "thoughts of 1.4 MiB", format!("{thinking}{text}{text}")),
        ("anthropic", "a signature of 1.4 MiB", format!("{thinking}{signature}{signature}")),
        ("openai", "arguments of 300 KiB", call(300 << 10)),
        ("gemini", "arguments of 300 KiB", function),
    ] {
        let (_, error) = read(provider, events(&stream)).await;
        assert_eq!(error, Some(ModelErrorKind::Cut), "{provider}: {name}");
    }
    let (events, error) = read("openai-chat", events(&chunks(&calls[1..], "\"stop\""))).await;
    assert_eq!((events.len(), error), (65, None));
}

/// The end of the answer repeats all of it.
#[tokio::test]
async fn end_of_responses_may_be_larger_than_other_events() {
    let stream = format!(
        "data: {{\"type\":\"response.completed\",\"response\":{{\"output\":\"{}\"}}}}\n\n",
        "x".repeat(3 << 20)
    );
    assert_eq!(read("openai", events(&stream)).await, (vec!["finished End".to_owned()], None));
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
