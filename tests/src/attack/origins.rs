//! Hostile input in older revisions, and the table of ids chosen by clients of 0.1.

use a2a_core::{AgentCard, ProtocolVersion};
use a2a_kit_compat::{ServerOptions, TaskRevisions, server};
use a2a_kit_operations::{
    AgentExecutor, BoxError, Caller, Engine, RequestContext, Scope, TaskUpdater,
};
use axum::{Router, body::Body};
use futures_util::future::join_all;
use http::{Request, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{Attack, Environment, Process, Verdict, attacks};

/// Memory of a debug build beyond the limit of the table: fragmentation, and the caller's own ids.
const SLACK: u64 = 48 << 20;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "filling the table of 0.1 ids", "1,000 tasks of one caller, ids of 1,000 bytes, in a table of 1 MiB" => filling;
        "memory of 0.1 ids", "50,000 ids of 1,000 bytes" => memory;
        "racing sends under one 0.1 id", "16 concurrent tasks/send" => racing;
        "odd ids of 0.1 tasks", "objects, lists, missing, null, 100 kB" => odd_ids;
        "request ids of null", "every method of the older revisions" => null_ids;
        "incomplete messages of 0.3", "missing or mistyped roles, parts and texts" => incomplete;
        "webhooks of 0.3 with hostile members", "authentication of every type, missing URLs" => webhooks;
    }
}

/// Asks what to do, and does it.
struct Curious;

impl AgentExecutor for Curious {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        match context.text().as_str() {
            "ask" => updates.require_input("which?").await?,
            _ => updates.complete("done").await?,
        }
        Ok(())
    }
}

async fn send(router: &Router, caller: &str, id: &str, text: &str) -> Result<Value, String> {
    let message = json!({"role": "user", "parts": [{"type": "text", "text": text}]});
    let params = json!({"id": id, "message": message});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": params});
    let request = Request::post("/")
        .header(CONTENT_TYPE, "application/json")
        .extension(Caller::authenticated(caller))
        .body(Body::from(body.to_string()))
        .map_err(|error| error.to_string())?;
    let Ok(response) = router.clone().oneshot(request).await;
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
    let body = body.map_err(|error| error.to_string())?;
    serde_json::from_slice(&body).map_err(|error| error.to_string())
}

async fn filling(_: &Environment) -> Verdict {
    let origins = TaskRevisions::default().with_max_bytes(1 << 20);
    let options = ServerOptions::default().with_task_revisions(origins.clone());
    let engine = Engine::builder(AgentCard::new("Curious", "Asks"), Curious).build();
    let router = server::jsonrpc(engine, options);
    let first = send(&router, "ann", "order-1", "ask").await?;
    if first["result"]["status"]["state"] != "input-required" {
        return Err(format!("no waiting task: {first}"));
    }
    for index in 0..1_000 {
        let answer = send(&router, "bob", &format!("{index:01000}"), "x").await?;
        if answer["result"]["status"]["state"] != "completed" {
            return Err(format!("send {index}: {answer}"));
        }
    }
    let kept = |owner: &str, id: &str| {
        origins.find(&Scope::new("", &Caller::authenticated(owner)), id).is_some()
    };
    if kept("bob", &format!("{:01000}", 0)) {
        return Err("bob's first id is still stored: his share is unlimited".to_owned());
    }
    let second = send(&router, "ann", "order-1", "x").await?;
    let context = |answer: &Value| answer["result"]["sessionId"].clone();
    if second["result"]["status"]["state"] != "completed" || context(&first) != context(&second) {
        return Err(format!("ann's task was evicted: {second}"));
    }
    Ok("bob's oldest ids are evicted, ann's task continues under its id".to_owned())
}

async fn memory(_: &Environment) -> Verdict {
    let here = Process { id: std::process::id(), log: std::path::PathBuf::new() };
    let Some(before) = here.memory() else {
        return Ok("memory is unavailable on this platform".to_owned());
    };
    let origins = TaskRevisions::default();
    let bob = Scope::new("", &Caller::authenticated("bob"));
    for index in 0..50_000 {
        origins.insert(&bob, &format!("{index:01000}"), ProtocolVersion::V0_1, "task");
    }
    let grown = here.memory().unwrap_or(before).saturating_sub(before);
    if grown > (16 << 20) + SLACK {
        return Err(format!("{} MiB more for one caller", grown >> 20));
    }
    Ok(format!("{} MiB more after 50 MB of ids", grown >> 20))
}

/// Makes a JSON-RPC request of a revision as ann.
async fn post(env: &Environment, version: &str, body: &Value) -> Result<(u16, String), String> {
    let version = match version {
        "" => String::new(),
        version => format!("a2a-version: {version}\r\n"),
    };
    let headers =
        format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n{version}", env.ann);
    let reply = env.request("POST /", &headers, body.to_string().as_bytes()).await?;
    let text = reply.text();
    let status = reply.status().ok_or("no answer")?;
    Ok((status, text.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.into())))
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

async fn racing(env: &Environment) -> Verdict {
    let total = async || -> Result<i64, String> {
        let page = env.works("ListTasks", json!({"pageSize": 1})).await?;
        page["totalSize"].as_i64().ok_or_else(|| format!("no total: {page}"))
    };
    let before = total().await?;
    let id = format!("race-{}", std::process::id());
    let message = json!({"role": "user", "parts": [{"type": "text", "text": "ask"}]});
    let body = request("tasks/send", &json!({"id": id, "message": message}));
    let answers = join_all((0..16).map(|_| post(env, "", &body))).await;
    for answer in &answers {
        let (status, text) = answer.as_ref().map_err(Clone::clone)?;
        if *status != 200 || !text.contains(&id) && !text.contains("\"error\"") {
            return Err(format!("HTTP {status} {text}"));
        }
    }
    match total().await? - before {
        1 => Ok("16 sends, one task".to_owned()),
        made => Err(format!("16 sends created {made} tasks")),
    }
}

async fn odd_ids(env: &Environment) -> Verdict {
    let message = json!({"role": "user", "parts": [{"type": "text", "text": "x"}]});
    let long = "i".repeat(100_000);
    let mut rejected = 0;
    for id in [json!({}), json!([]), json!(null), json!(true), json!(1.5), json!(long)] {
        for (method, params) in [
            ("tasks/send", json!({"id": id, "message": message})),
            ("tasks/sendSubscribe", json!({"id": id, "message": message})),
        ] {
            let (status, text) = post(env, "", &request(method, &params)).await?;
            if status >= 500 || !text.contains("-32602") {
                return Err(format!("{method}: HTTP {status} {text:.200}"));
            }
            rejected += 1;
        }
    }
    Ok(format!("{rejected} requests rejected with -32602"))
}

async fn null_ids(env: &Environment) -> Verdict {
    let mut asked = 0;
    for (method, versions) in [
        ("tasks/get", &["", "0.2", "0.3"][..]),
        ("tasks/cancel", &["", "0.2", "0.3"]),
        ("tasks/resubscribe", &["", "0.2", "0.3"]),
        ("tasks/pushNotification/get", &[""]),
        ("tasks/pushNotificationConfig/get", &["", "0.2", "0.3"]),
        ("tasks/pushNotificationConfig/list", &["", "0.3"]),
    ] {
        for version in versions {
            let mut body = request(method, &json!({"id": "none"}));
            body["id"] = Value::Null;
            let (status, text) = post(env, version, &body).await?;
            if status != 200 || !text.contains("\"id\":null") || text.contains("-32600") {
                return Err(format!("{method} {version}: HTTP {status} {text}"));
            }
            asked += 1;
        }
    }
    Ok(format!("{asked} responses with the id null"))
}

async fn incomplete(env: &Environment) -> Verdict {
    let whole = json!({"kind": "message", "messageId": "m", "role": "user",
        "parts": [{"kind": "text", "text": "x"}]});
    let mut rejected = 0;
    for (member, values) in [
        ("role", json!([null, "", "system", "ROLE_UNSPECIFIED", 7, {}, []])),
        ("messageId", json!([null, "", 7, {}])),
        (
            "parts",
            json!([null, [], {}, "x", [{}], [null], [[]], [{"kind": "text"}],
            [{"kind": "data"}], [{"kind": "file"}], [{"kind": "file", "file": {}}],
            [{"kind": "file", "file": {"bytes": "YQ==", "uri": "https://a"}}],
            [{"kind": "file", "file": {"bytes": "%"}}], [{"kind": "tool", "text": "x"}]]),
        ),
    ] {
        for value in values.as_array().into_iter().flatten() {
            let mut message = whole.clone();
            message[member] = value.clone();
            for method in ["message/send", "message/stream"] {
                let body = request(method, &json!({"message": message}));
                let (status, text) = post(env, "0.3", &body).await?;
                if status != 200 || !text.contains("-32602") || !text.contains("message") {
                    return Err(format!("{method}, {member} {value}: HTTP {status} {text}"));
                }
                rejected += 1;
            }
        }
    }
    Ok(format!("{rejected} messages rejected with -32602"))
}

async fn webhooks(env: &Environment) -> Verdict {
    let id = env.task("ask").await?;
    let mut asked = 0;
    for (webhook, is_taken) in [
        (json!({}), false),
        (json!({"url": null}), false),
        (json!({"url": ""}), false),
        (json!({"url": 7}), false),
        (json!({"url": "https://example.com/", "authentication": []}), false),
        (json!({"url": "https://example.com/", "authentication": "Bearer"}), false),
        (json!({"url": "https://example.com/", "authentication": {"schemes": {}}}), false),
        (json!({"url": "https://example.com/", "authentication": {"credentials": "c"}}), false),
        (json!({"url": "file:///etc/passwd", "authentication": {}}), false),
    ] {
        let params = json!({"taskId": id, "pushNotificationConfig": webhook});
        let body = request("tasks/pushNotificationConfig/set", &params);
        let (status, text) = post(env, "0.3", &body).await?;
        if status != 200 || text.contains("\"result\"") != is_taken {
            return Err(format!("{webhook}: HTTP {status} {text}"));
        }
        asked += 1;
    }
    Ok(format!("{asked} webhooks rejected"))
}
