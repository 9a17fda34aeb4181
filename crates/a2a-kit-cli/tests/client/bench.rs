//! `a2a bench`: counts, latencies, limits, and what it refuses.

use std::{
    collections::BTreeSet,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::common::foreign::{Answer, Foreign, Then};
use crate::common::{Run, Server, command};
use axum::{Router, routing::get};
use serde_json::{Value, json};
use tokio::sync::Notify;

fn task(state: &str) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}})
}

/// Runs a measurement without a warmup, one request at a time.
fn bench(agent: &Foreign, arguments: &[&str]) -> Run {
    let fixed = ["bench", "--warmup", "0", "--concurrency", "1"];
    agent.run(&[&fixed[..], arguments].concat())
}

fn report(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

fn bucket_sum(distribution: &Value) -> u64 {
    let buckets = distribution["buckets"].as_array().unwrap();
    buckets.iter().map(|bucket| bucket["count"].as_u64().unwrap()).sum()
}

#[test]
fn requests_errors_and_latencies_are_counted() {
    let answers = || {
        vec![
            Answer::Error(-32603, "out of order"),
            Answer::Status(503),
            Answer::Result(json!({"task": task("FAILED")})),
            Answer::Result(json!({"task": task("COMPLETED")})),
        ]
    };
    let agent = Foreign::start(false, &[("SendMessage", answers())]);
    let run = bench(&agent, &["--requests", "20", "--max-errors", "15"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report_of_run = report(&run);
    let result = &report_of_run["results"][0];
    assert_eq!(result["requests"], 20, "{result:#}");
    assert_eq!(result["errors"], 3, "{result:#}");
    let codes = json!({"InternalError": 1, "A2ACLI_ERR_UNREACHABLE": 1, "TASK_STATE_FAILED": 1});
    assert_eq!(result["errorsByCode"], codes, "{result:#}");
    assert_eq!(result["latencyMicros"]["count"], 17, "{result:#}");
    assert_eq!(bucket_sum(&result["latencyMicros"]), 17, "{result:#}");
    assert_eq!(result["firstEventMicros"], Value::Null);
    for bytes in ["bytesSent", "bytesReceived"] {
        assert!(result[bytes].as_u64().unwrap() > 20 * 64, "{result:#}");
    }
    let agent = Foreign::start(false, &[("SendMessage", answers())]);
    let run = bench(&agent, &["--requests", "20", "--max-errors", "14.9"]);
    assert_eq!((run.code, &report(&run)["passed"]), (1, &json!(false)), "{run:?}");
}

#[test]
fn warmup_is_not_counted() {
    let completed = Answer::Result(json!({"task": task("COMPLETED")}));
    let answers = vec![Answer::Status(503), Answer::Status(503), completed];
    let agent = Foreign::start(false, &[("SendMessage", answers)]);
    let run = agent.run(&["bench", "--warmup", "2", "--requests", "5", "--concurrency", "1"]);
    assert_eq!((run.code, &report(&run)["results"][0]["errors"]), (0, &json!(0)), "{run:?}");
}

#[test]
fn streams_are_read_to_their_end_and_have_a_time_to_the_first_event() {
    let events = vec![
        json!({"task": task("WORKING")}),
        json!({"statusUpdate": {"taskId": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_COMPLETED"}}}),
    ];
    let agent =
        Foreign::start(true, &[("SendStreamingMessage", vec![Answer::Events(events, Then::End)])]);
    let run = bench(&agent, &["--op", "stream", "--requests", "7"]);
    assert_eq!(run.code, 0, "{run:?}");
    let result = &report(&run)["results"][0];
    assert_eq!((&result["requests"], &result["errors"]), (&json!(7), &json!(0)), "{result:#}");
    assert_eq!(result["firstEventMicros"]["count"], 7, "{result:#}");
    // A stream that is lost before its task has settled is an error.
    let lost = vec![json!({"task": task("WORKING")})];
    let agent =
        Foreign::start(true, &[("SendStreamingMessage", vec![Answer::Events(lost, Then::End)])]);
    let run = bench(&agent, &["--op", "stream", "--requests", "3"]);
    assert_eq!((run.code, &report(&run)["results"][0]["errors"]), (1, &json!(3)), "{run:?}");
    let agent = Foreign::start(false, &[]);
    let run = bench(&agent, &["--op", "stream"]);
    assert_eq!(run.lines()[0]["error"]["code"], "UnsupportedOperationError", "{run:?}");
}

#[test]
fn every_binding_of_a_server_is_measured_with_every_operation() {
    let server = Server::start(&["--echo"]);
    for operation in ["send", "stream", "get", "list"] {
        let fixed = ["bench", "--requests", "20", "--warmup", "2", "-o", "json"];
        let run = server.run(&[&fixed[..], &["--op", operation]].concat());
        assert_eq!(run.code, 0, "{operation}: {run:?}");
        let report = report(&run);
        let results = report["results"].as_array().unwrap();
        let bindings: BTreeSet<_> =
            results.iter().map(|result| result["binding"].as_str().unwrap()).collect();
        assert_eq!(bindings, ["GRPC", "HTTP+JSON", "JSONRPC"].into(), "{operation}");
        for result in results {
            assert_eq!(result["requests"], 20, "{operation}: {result:#}");
            assert!(result["bytesReceived"].as_u64().unwrap() > 0, "{operation}: {result:#}");
        }
    }
    let card = ["bench", "--op", "card", "--requests", "5", "-o", "json"];
    let card = server.run(&card);
    assert_eq!((card.code, &report(&card)["results"][0]["requests"]), (0, &json!(5)), "{card:?}");
    let order = ["bench", "--requests", "5", "--transport", "grpc,jsonrpc", "-o", "json"];
    let results = report(&server.run(&order))["results"].clone();
    assert_eq!(
        (&results[0]["binding"], &results[1]["binding"]),
        (&json!("GRPC"), &json!("JSONRPC"))
    );
    let text = server.run(&["bench", "--requests", "5", "--transport", "jsonrpc"]);
    assert!(text.field("JSONRPC 1.0").contains("requests/s, p50"), "{text:?}");
    assert_eq!(text.field("Passed"), "yes");
}

/// A change of one result of a baseline.
type Change = fn(&mut Value);

#[test]
fn regression_beyond_the_limit_fails() {
    let completed = Answer::Result(json!({"task": task("COMPLETED")}));
    let agent = Foreign::start(false, &[("SendMessage", vec![completed])]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("baseline.json");
    let baseline = report(&bench(&agent, &["--requests", "10"]));
    let against = |change: Change, more: &[&str]| {
        let mut changed = baseline.clone();
        change(&mut changed["results"][0]);
        std::fs::write(&path, changed.to_string()).unwrap();
        let fixed = ["--requests", "10", "--baseline", path.to_str().unwrap()];
        bench(&agent, &[&fixed[..], more].concat())
    };
    let slow = |result: &mut Value| {
        result["requestsPerSecond"] = json!(0.001);
        result["latencyMicros"]["p50"] = json!(1e12);
        result["latencyMicros"]["p99"] = json!(1e12);
    };
    let run = against(slow, &[]);
    assert_eq!((run.code, &report(&run)["regressions"]), (0, &json!([])), "{run:?}");
    let fast: [(&str, Change); 3] = [
        ("requestsPerSecond", |result| {
            result["requestsPerSecond"] = json!(1e12);
            result["latencyMicros"]["p50"] = json!(1e12);
            result["latencyMicros"]["p99"] = json!(1e12);
        }),
        ("p50", |result| {
            result["requestsPerSecond"] = json!(0.001);
            result["latencyMicros"]["p50"] = json!(0.001);
            result["latencyMicros"]["p99"] = json!(1e12);
        }),
        ("p99", |result| {
            result["requestsPerSecond"] = json!(0.001);
            result["latencyMicros"]["p50"] = json!(1e12);
            result["latencyMicros"]["p99"] = json!(0.001);
        }),
    ];
    for (metric, change) in fast {
        let run = against(change, &["--max-regress", "50"]);
        assert_eq!(run.code, 1, "{metric}: {run:?}");
        let regressions = report(&run)["regressions"].clone();
        assert_eq!(regressions[0]["metric"], metric, "{regressions:#}");
        assert_eq!(regressions.as_array().unwrap().len(), 1, "{regressions:#}");
    }
    let other = bench(&agent, &["--requests", "11", "--baseline", path.to_str().unwrap()]);
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.stderr.contains("other settings"), "{other:?}");
}

#[test]
fn remote_targets_are_refused_before_they_are_called() {
    let folder = tempfile::tempdir().unwrap();
    let card = json!({
        "name": "A", "description": "d", "version": "1", "capabilities": {},
        "supportedInterfaces": [{"url": "https://agent.example", "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0"}],
        "defaultInputModes": [], "defaultOutputModes": [], "skills": [],
    });
    std::fs::write(folder.path().join("card.json"), card.to_string()).unwrap();
    for arguments in [
        &["-a", "https://agent.example"][..],
        &["-a", "agent.example", "--op", "card"],
        &["-e", "https://agent.example", "--transport", "jsonrpc"],
        &["-a", "./card.json"],
    ] {
        let run = Run::of(command().arg("bench").args(arguments).current_dir(folder.path()));
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
        assert!(run.stderr.contains("--i-own-this-agent"), "{arguments:?}: {run:?}");
    }
}

#[test]
fn schema_of_the_report_is_stable() {
    let completed = Answer::Result(json!({"task": task("COMPLETED")}));
    let agent = Foreign::start(false, &[("SendMessage", vec![completed])]);
    let report = report(&bench(&agent, &["--requests", "3"]));
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&report),
        ["interrupted", "passed", "regressions", "results", "settings", "tool"]
    );
    assert_eq!(keys(&report["tool"]), ["name", "version"]);
    assert_eq!(
        report["settings"],
        json!({"operation": "send", "requests": 3, "durationSeconds": null, "concurrency": 1,
            "rate": null, "warmup": 0, "payloadBytes": 64})
    );
    assert_eq!(
        keys(&report["results"][0]),
        [
            "binding",
            "bytesReceived",
            "bytesSent",
            "elapsedSeconds",
            "errorPercent",
            "errors",
            "errorsByCode",
            "firstEventMicros",
            "latencyMicros",
            "requests",
            "requestsPerSecond",
            "unsent",
            "url",
            "version"
        ]
    );
    let latency = &report["results"][0]["latencyMicros"];
    assert_eq!(
        keys(latency),
        ["buckets", "count", "max", "mean", "min", "p50", "p90", "p99", "p999"]
    );
    assert_eq!(keys(&latency["buckets"][0]), ["count", "upTo"]);
}

/// An agent whose sends the test controls.
struct Controlled {
    address: String,
    received: Arc<AtomicUsize>,
    arrived: Arc<Notify>,
}

impl Controlled {
    /// Starts an agent. It holds back the first response until it has received `release_at`
    /// messages.
    async fn start(release_at: usize) -> Self {
        let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let card = json!({
            "name": "A", "description": "d", "version": "1", "capabilities": {},
            "supportedInterfaces": [{"url": format!("http://{address}/rpc"),
                "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "defaultInputModes": [], "defaultOutputModes": [], "skills": [],
        });
        let received = Arc::new(AtomicUsize::new(0));
        let (arrived, released) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (count, notify) = (Arc::clone(&received), Arc::clone(&arrived));
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(async move || card.to_string()))
            .fallback(async move |body: String| {
                let request: Value = serde_json::from_str(&body).unwrap();
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                notify.notify_one();
                if number == release_at {
                    released.notify_one();
                }
                if number == 1 {
                    released.notified().await;
                }
                let result = json!({"task": task("COMPLETED")});
                let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
                ([(http::header::CONTENT_TYPE, "application/json")], response.to_string())
            });
        let server = a2a_kit_http::HttpServer::new(router);
        tokio::spawn(server.serve(listener, std::future::pending()));
        Self { address, received, arrived }
    }

    fn bench(&self, arguments: &[&str]) -> tokio::process::Child {
        let mut command = tokio::process::Command::from(command());
        command.args(["bench", "--warmup", "0", "-o", "json", "-a", &self.address]);
        command.args(arguments).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_loop_keeps_its_rate_while_a_request_stalls() {
    let agent = Controlled::start(20).await;
    let child = agent.bench(&["--requests", "20", "--rate", "100", "--concurrency", "2"]);
    let output = child.wait_with_output().await.unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &report["results"][0];
    assert_eq!(result["requests"], 20, "{result:#}");
    // The first one waited for the last one, which was due 190 ms later.
    assert!(result["latencyMicros"]["max"].as_u64().unwrap() >= 185_000, "{result:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupt_prints_what_was_measured() {
    let agent = Controlled::start(1).await;
    let child = agent.bench(&["--duration", "1h", "--concurrency", "1"]);
    while agent.received.load(Ordering::SeqCst) < 20 {
        agent.arrived.notified().await;
    }
    let id = i32::try_from(child.id().unwrap()).unwrap();
    let id = rustix::process::Pid::from_raw(id).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["interrupted"], &report["passed"]), (&json!(true), &json!(false)));
    // The last one may have been on its way.
    assert!(report["results"][0]["requests"].as_u64().unwrap() >= 19, "{report:#}");
}
