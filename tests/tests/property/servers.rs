//! A server responds to arbitrary requests with a result or a protocol error.

use a2a_core::{AgentCard, Operation};
use a2a_kit_operations::{Engine, agent_fn};
use axum::{
    Router,
    body::{Body, to_bytes},
};
use http::{Request, Response, header::CONTENT_TYPE};
use proptest::{prelude::*, sample::Index, test_runner::TestCaseResult};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use crate::{arbitrary::sample, runner, text};

fn engine() -> Engine {
    let card = AgentCard::new("Echo", "Says what it hears").with_input_modes(["*/*"]);
    Engine::new(card, agent_fn(async |text: String| text))
}

fn request_name(operation: Operation) -> String {
    match operation {
        Operation::SendStreamingMessage => "SendMessageRequest".to_owned(),
        Operation::CreateTaskPushNotificationConfig => "TaskPushNotificationConfig".to_owned(),
        other => format!("{}Request", other.name()),
    }
}

/// A modification of a request.
fn damage() -> impl Strategy<Value = Vec<(Index, Value)>> {
    let values = vec![
        json!(null),
        json!(true),
        json!(7),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!("x"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"text": "a", "url": "b"}),
    ];
    prop::collection::vec((any::<Index>(), prop::sample::select(values)), 0..3)
}

/// Replaces a value somewhere in the document.
fn replace(value: &mut Value, at: Index, by: &Value) {
    fn count(value: &Value) -> usize {
        let below: usize = match value {
            Value::Array(elements) => elements.iter().map(count).sum(),
            Value::Object(members) => members.values().map(count).sum(),
            _ => 0,
        };
        below + 1
    }
    fn walk(value: &mut Value, left: &mut usize, by: &Value) {
        if *left == 0 {
            *value = by.clone();
        }
        *left = left.wrapping_sub(1);
        match value {
            Value::Array(elements) => elements.iter_mut().for_each(|value| walk(value, left, by)),
            Value::Object(members) => members.values_mut().for_each(|value| walk(value, left, by)),
            _ => {}
        }
    }
    let mut left = at.index(count(value));
    walk(value, &mut left, by);
}

/// Calls a server, and returns the status, whether the response is a stream, and its body.
fn ask(runtime: &Runtime, router: &Router, request: Request<Body>) -> (u16, bool, Vec<u8>) {
    runtime.block_on(async {
        let response: Response<Body> = router.clone().oneshot(request).await.expect("an answer");
        let (head, body) = response.into_parts();
        let streams =
            head.headers.get(CONTENT_TYPE).is_some_and(|name| name == "text/event-stream");
        let limit = std::time::Duration::from_secs(10);
        let body = tokio::time::timeout(limit, to_bytes(body, usize::MAX)).await;
        (head.status.as_u16(), streams, body.expect("the end in time").expect("a body").to_vec())
    })
}

fn check_details(error: &Value, name: &str) -> TestCaseResult {
    let message = error["message"].as_str().unwrap_or_default();
    prop_assert!(!message.is_empty(), "{error}");
    let info = &error[name][0];
    prop_assert_eq!(&info["@type"], "type.googleapis.com/google.rpc.ErrorInfo", "{}", error);
    prop_assert_eq!(&info["domain"], "a2a-protocol.org", "{}", error);
    Ok(())
}

//
#[test]
fn arbitrary_json_rpc_request_gets_one_result_or_error() {
    let runtime = Runtime::new().expect("a runtime");
    let router = runtime.block_on(async { a2a_kit_jsonrpc::router(engine()) });
    for operation in Operation::ALL {
        let strategy = (sample(&request_name(operation)), damage());
        let outcome = runner(48).run(&strategy, |(message, damage)| {
            let params = serde_json::to_value(&message.0).expect("JSON");
            let mut body =
                json!({"jsonrpc": "2.0", "id": "a", "method": operation.name(), "params": params});
            for (at, by) in &damage {
                replace(&mut body["params"], *at, by);
            }
            let request =
                Request::post("/").header("a2a-version", "1.0").body(body.to_string().into());
            let (status, streams, answer) = ask(&runtime, &router, request.expect("a request"));
            prop_assert_eq!(status, 200, "{}", text(&answer));
            let answers: Vec<Value> = if streams {
                let events = text(&answer);
                let data = events.lines().filter_map(|line| line.strip_prefix("data: "));
                data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
            } else {
                vec![serde_json::from_slice(&answer)?]
            };
            prop_assert!(!answers.is_empty());
            for answer in answers {
                prop_assert_eq!(&answer["jsonrpc"], "2.0");
                prop_assert_eq!(&answer["id"], "a");
                let members = answer.as_object().expect("an object");
                prop_assert_eq!(members.len(), 3, "{}", answer);
                if let Some(error) = members.get("error") {
                    prop_assert_ne!(&error["code"], &json!(-32603), "{}", error);
                    check_details(error, "data")?;
                } else {
                    prop_assert!(members.contains_key("result"), "{}", answer);
                }
            }
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{operation:?}: {error}"));
    }
}

//
#[test]
fn arbitrary_bytes_are_parsed_or_rejected_as_json_rpc() {
    let runtime = Runtime::new().expect("a runtime");
    let router = runtime.block_on(async { a2a_kit_jsonrpc::router(engine()) });
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        "[\\[{\":,}\\]0-9a-z .]{0,40}".prop_map(String::into_bytes),
    ];
    let outcome = runner(512).run(&bytes, |bytes| {
        let request = Request::post("/").header("a2a-version", "1.0").body(bytes.into());
        let (status, _, answer) = ask(&runtime, &router, request.expect("a request"));
        prop_assert_eq!(status, 200);
        let answer: Value = serde_json::from_slice(&answer)?;
        let code = answer["error"]["code"].as_i64();
        prop_assert!(matches!(code, Some(-32700 | -32600)), "{}", answer);
        Ok(())
    });
    outcome.expect("an error each time");
}

//
#[test]
fn arbitrary_http_json_request_gets_a_result_or_an_error_body() {
    let runtime = Runtime::new().expect("a runtime");
    let router = runtime.block_on(async { a2a_kit_rest::router(engine()) });
    let methods = prop::sample::select(vec!["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS"]);
    let segment = prop_oneof![
        Just("tasks".to_owned()),
        Just("message:send".to_owned()),
        Just("message:stream".to_owned()),
        Just("pushNotificationConfigs".to_owned()),
        Just("extendedAgentCard".to_owned()),
        "(%[0-9A-F]{2}|[a-z:.~]){0,5}(:cancel|:subscribe)?",
    ];
    let path = prop::collection::vec(segment, 0..5).prop_map(|path| format!("/{}", path.join("/")));
    let query = "((pageSize|status|historyLength|tenant|id|a2a-version|x[.]y)=(%[0-9A-F]{2}|[a-z0-9,+]){0,4}&?){0,3}";
    let body = (sample("SendMessageRequest"), damage());
    let strategy = (methods, path, query, body);
    let outcome = runner(1_000).run(&strategy, |(method, path, query, (message, damage))| {
        let mut body = serde_json::to_value(&message.0).expect("JSON");
        for (at, by) in &damage {
            replace(&mut body, *at, by);
        }
        let request = Request::builder()
            .method(method)
            .uri(format!("{path}?{query}"))
            .header("a2a-version", "1.0")
            .body(body.to_string().into());
        let (status, streams, answer) = ask(&runtime, &router, request.expect("a request"));
        prop_assert!(status < 500, "{status}: {}", text(&answer));
        if method == "HEAD" {
            prop_assert!(answer.is_empty(), "{}", text(&answer));
        } else if status == 200 {
            prop_assert!(streams || serde_json::from_slice::<Value>(&answer).is_ok());
        } else {
            let answer: Value = serde_json::from_slice(&answer)?;
            prop_assert_eq!(&answer["error"]["code"], &json!(status), "{}", answer);
            prop_assert!(answer["error"]["status"].is_string(), "{}", answer);
            check_details(&answer["error"], "details")?;
        }
        Ok(())
    });
    outcome.expect("an answer of the contract each time");
}
