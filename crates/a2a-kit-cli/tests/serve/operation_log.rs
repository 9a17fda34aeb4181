//! The log of a server: one event for each operation, and nothing else with `--log-json`.
#![cfg(unix)]

use crate::common;
use crate::common::Server;
use serde_json::Value;

const LIFECYCLE: [&str; 4] = ["serving", "shutting down", "draining", "stopped"];
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn events(log: &str) -> Vec<Value> {
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn each_operation_of_each_binding_and_revision_is_one_event() {
    let (server, log) = Server::start_and_read(&["--quiet=false", "--log-json"]);
    let mut expected = Vec::new();
    for version in ["1.0", "0.3"] {
        for transport in ["JSONRPC", "HTTP+JSON", "GRPC"] {
            let flag = match transport {
                "JSONRPC" => "jsonrpc",
                "GRPC" => "grpc",
                _ => "rest",
            };
            let same = ["--a2a-version", version, "--transport", flag];
            for (stream, operation) in
                [(&["--async"][..], "SendMessage"), (&["--stream"], "SendStreamingMessage")]
            {
                let sent = server.run(&[&["send", "hello"], &same[..], stream].concat());
                assert_eq!(sent.code, 0, "{sent:?}");
                expected.push((operation, transport, version, "ok"));
            }
            let missing = server.run(&[&["task", "get", "no-such-task"], &same[..]].concat());
            assert_ne!(missing.code, 0, "{missing:?}");
            expected.push(("GetTask", transport, version, "TASK_NOT_FOUND"));
        }
    }
    server.terminate();
    let (code, printed) = server.ended();
    assert_eq!((code, &*printed), (Some(0), ""), "the announcement is an event");
    let events = events(&log.join().unwrap());
    let operations: Vec<_> =
        events.iter().filter(|event| event["target"] == "a2a::operation").collect();
    let text = |event: &'_ Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let seen: Vec<_> = operations
        .iter()
        .map(|event| ["operation", "binding", "revision", "outcome"].map(|name| text(event, name)))
        .collect();
    let expected: Vec<_> =
        expected.iter().map(|(a, b, c, d)| [a, b, c, d].map(|text| (*text).to_owned())).collect();
    assert_eq!(seen, expected);
    for event in operations {
        assert!(!text(event, "task.id").is_empty(), "{event}");
        let has_context = event["outcome"] == "ok";
        assert_eq!(!text(event, "context.id").is_empty(), has_context, "{event}");
        assert_eq!(event["client.address"], "127.0.0.1", "{event}");
        assert!(event["duration_ms"].as_f64().unwrap() > 0.0, "{event}");
        assert_eq!(event["level"], "INFO", "{event}");
    }
    let lifecycle: Vec<_> = events
        .iter()
        .map(|event| text(event, "message"))
        .filter(|message| LIFECYCLE.contains(&&**message))
        .collect();
    assert_eq!(lifecycle, LIFECYCLE);
}

#[tokio::test]
async fn event_names_caller_address_behind_a_proxy_and_trace() {
    for format in [&["--log-json"][..], &[]] {
        let (server, log) = Server::start_and_read_with(
            &[
                &[
                    "--quiet=false",
                    "--require-api-key",
                    "s3cret-key",
                    "--trusted-proxy",
                    "127.0.0.1",
                ],
                format,
            ]
            .concat(),
            &[],
        );
        let request = format!("{}/tasks/none", server.url());
        let traceparent = format!("00-{TRACE}-b7ad6b7169203331-01");
        for key in ["s3cret-key", "another"] {
            let headers = [
                ("a2a-version", "1.0"),
                ("x-forwarded-for", "192.0.2.7"),
                ("traceparent", &*traceparent),
                ("x-api-key", key),
            ];
            common::http("GET", &request, &headers, "").await;
        }
        server.terminate();
        assert_eq!(server.ended().0, Some(0));
        let log = log.join().unwrap();
        let lines: Vec<_> = log.lines().filter(|line| line.contains("a2a::operation")).collect();
        let [accepted, refused] = lines[..] else { panic!("{log}") };
        for field in ["GetTask", "TASK_NOT_FOUND", "192.0.2.7", TRACE, "none"] {
            assert!(accepted.contains(field), "{field}: {accepted}");
        }
        assert!(accepted.contains("caller"), "{accepted}");
        assert!(refused.contains("192.0.2.7") && !refused.contains("caller"), "{refused}");
        assert!(!log.contains("s3cret-key"), "{log}");
    }
}
