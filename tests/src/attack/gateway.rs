//! Accessing tasks of another caller of `a2a serve --proxy`, whose upstream agent sees one caller.

use std::sync::{Arc, Mutex};

use a2a_test_servers::Nginx;
use axum::{
    Router,
    body::Bytes,
    extract::State,
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use super::{
    Attack, Environment, Started, Verdict, attacks,
    environment::{at_once, waiting},
    scope,
};

/// The tokens of two callers of a gateway.
const ANN: &str = "token-of-ann-0123456789";
const BOB: &str = "token-of-bob-0123456789";

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "ids of another caller of a gateway", "every operation on every binding in every revision" => ids;
        "ids of another tenant of the upstream agent", "the same with a tenant for each caller" => ids_of_tenants;
        "page tokens of another caller of a gateway", "continuing lists of another caller, and forged page tokens" => pages;
        "idempotency keys of another caller of a gateway", "sending with a key of another caller" => keys;
        "events of another caller of a gateway", "subscribing with Last-Event-ID" => events;
        "context of another caller of a gateway", "sending into a context by its id here and by that upstream" => contexts;
        "ids in messages", "references and webhooks that name a task of another caller" => mentions;
        "tasks begun elsewhere", "ids that the upstream agent has, but no caller began" => elsewhere;
        "ids that leave their place in a URL", "webhooks and tasks beside those that are named, by a proxy that resolves paths" => dots;
        "upstream agent that mixes up callers", "answers with tasks, contexts and references of another caller" => mixed_up;
        "guessing ids of a gateway", "1,000 ids next to one that exists" => guesses;
    }
}

/// A gateway with two callers, and the agent behind it, which has no authentication.
struct Pair {
    gateway: Started,
    upstream: Started,
}

impl Pair {
    async fn start(attacked: &Environment, isolation: &str) -> Result<Self, String> {
        let upstream = Started::with_arguments(attacked, &["--store", "memory"]).await?;
        let to = format!("http://{}/", upstream.env.address);
        Ok(Self { gateway: gateway(attacked, isolation, &to).await?, upstream })
    }

    /// What the agent behind the gateway has of a task.
    async fn behind(&self, id: &str) -> Result<Value, String> {
        let params = json!({"id": id, "historyLength": 10});
        let (_, answer) = self.upstream.env.call("", "GetTask", params).await?;
        let task = answer.get("result").cloned();
        task.ok_or_else(|| format!("the upstream agent has no task {id}: {answer}"))
    }

    /// Sends a message as bob, and returns the task.
    async fn bobs(&self, params: Value) -> Result<Value, String> {
        let (_, answer) = self.gateway.env.call(BOB, "SendMessage", params).await?;
        let task = answer["result"].get("task").cloned();
        task.ok_or_else(|| format!("no task of bob's: {answer}"))
    }
}

/// A gateway with two callers.
async fn gateway(attacked: &Environment, isolation: &str, to: &str) -> Result<Started, String> {
    let mut settings = format!("[proxy]\nto = \"{to}\"\nisolation = \"{isolation}\"\n");
    for (caller, token) in [("ann", ANN), ("bob", BOB)] {
        settings += &format!("[[auth.bearer]]\ncaller = \"{caller}\"\ntoken = \"{token}\"\n");
    }
    let store = ["--store", "memory"];
    let arguments = if isolation == "store" { &store[..] } else { &[] };
    let mut gateway = Started::with_file(attacked, &settings, arguments).await?;
    ANN.clone_into(&mut gateway.env.ann);
    gateway.env.bob = Some(BOB.to_owned());
    Ok(gateway)
}

/// The card of an agent at a place.
fn card(place: &str, binding: &str) -> Value {
    let interface = json!({"url": place, "protocolBinding": binding, "protocolVersion": "1.0"});
    json!({
        "name": "Agent", "description": "", "version": "1", "skills": [],
        "capabilities": {"streaming": true, "pushNotifications": true},
        "supportedInterfaces": [interface],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    })
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap_or_default()
}

async fn ids(env: &Environment) -> Verdict {
    scope::ids(&Pair::start(env, "store").await?.gateway.env).await
}

async fn ids_of_tenants(env: &Environment) -> Verdict {
    scope::ids(&Pair::start(env, "tenant").await?.gateway.env).await
}

async fn pages(env: &Environment) -> Verdict {
    scope::pages(&Pair::start(env, "store").await?.gateway.env).await
}

async fn keys(env: &Environment) -> Verdict {
    scope::keys(&Pair::start(env, "store").await?.gateway.env).await
}

async fn events(env: &Environment) -> Verdict {
    scope::events(&Pair::start(env, "store").await?.gateway.env).await
}

async fn guesses(env: &Environment) -> Verdict {
    scope::guesses(&Pair::start(env, "store").await?.gateway.env).await
}

/// Ids of webhooks and tasks with which a URL leads elsewhere, once it is decoded and resolved.
async fn dots(env: &Environment) -> Verdict {
    let mut refused = 0;
    for isolation in ["store", "tenant"] {
        let arguments = ["--store", "memory", "--allow-webhook", "127.0.0.1"];
        let upstream = Started::with_arguments(env, &arguments).await?;
        let agent = upstream.env.address;
        let mut place = String::new();
        let nginx = Nginx::start(&[], |port| {
            place = format!("http://127.0.0.1:{port}/");
            let card = card(&place, "HTTP+JSON");
            format!(
                "server {{ listen 127.0.0.1:{port}; \
                 location = /.well-known/agent-card.json {{ \
                 default_type application/json; return 200 '{card}'; }} \
                 location / {{ proxy_pass http://{agent}/; }} }}"
            )
        });
        // Where it is not installed, this attack is not possible.
        let Ok(_nginx) = nginx.await else { return Ok("no nginx to attack by".to_owned()) };
        let pair = Pair { gateway: gateway(env, isolation, &place).await?, upstream };
        let anns = pair.gateway.env.task("ask").await?;
        let webhook = json!({"taskId": anns, "id": "w", "url": "http://127.0.0.1:9/"});
        pair.gateway.env.works("CreateTaskPushNotificationConfig", webhook).await?;
        let bobs = id(&pair.bobs(waiting("ask")).await?).to_owned();
        let mut attempts = Vec::new();
        for theirs in [&*anns, &bobs, "unknown"] {
            for id in [
                format!("../../{theirs}/pushNotificationConfigs/w"),
                format!("../../../tasks/{theirs}"),
                format!("x/..;a/../../{theirs}/pushNotificationConfigs/w"),
                format!(r"..\..\{theirs}\pushNotificationConfigs\w"),
            ] {
                let params = json!({"taskId": bobs, "id": id});
                attempts.push(("GetTaskPushNotificationConfig", params.clone()));
                attempts.push(("DeleteTaskPushNotificationConfig", params));
            }
            for id in [format!("x/../{theirs}"), format!("../tasks/{theirs}")] {
                for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
                    attempts.push((method, json!({"id": id})));
                }
            }
        }
        for (method, params) in attempts {
            let (_, answer) = pair.gateway.env.call(BOB, method, params.clone()).await?;
            if !matches!(answer["error"]["code"].as_i64(), Some(-32602 | -32001)) {
                return Err(format!("{isolation}: {method} of {params}: {answer}"));
            }
            refused += 1;
        }
        let webhooks = json!({"taskId": anns});
        let kept = pair.gateway.env.works("ListTaskPushNotificationConfigs", webhooks).await?;
        if kept["configs"][0]["id"] != "w" {
            return Err(format!("{isolation}: ann's webhook is gone: {kept}"));
        }
    }
    Ok(format!("{refused} requests are refused before they are sent"))
}

async fn contexts(env: &Environment) -> Verdict {
    let pair = Pair::start(env, "store").await?;
    scope::contexts(&pair.gateway.env).await?;
    let anns = pair.gateway.env.works("SendMessage", waiting("echo ann's")).await?["task"].take();
    let mut known = vec![anns["contextId"].clone()];
    for _ in 0..3 {
        // In the end by the ids under which bob's own contexts are known upstream.
        let mut params = waiting("echo bob's");
        params["message"]["contextId"] = known[known.len() - 1].clone();
        let sent = pair.bobs(params.clone()).await?;
        if sent["contextId"] != params["message"]["contextId"] {
            return Err(format!("another context: {sent}"));
        }
        let behind = pair.behind(id(&sent)).await?["contextId"].take();
        if known.contains(&behind) {
            return Err(format!("bob's message is in the context {behind} of {known:?}"));
        }
        known.push(behind);
    }
    Ok("3 messages in 3 contexts of bob's own".to_owned())
}

async fn mentions(env: &Environment) -> Verdict {
    let pair = Pair::start(env, "store").await?;
    let anns = pair.gateway.env.task("ask").await?;
    let mut params = waiting("echo hi");
    params["message"]["referenceTaskIds"] = json!([anns, anns]);
    let sent = pair.bobs(params).await?;
    let behind = pair.behind(id(&sent)).await?.to_string();
    if behind.contains(&anns) {
        return Err(format!("the upstream agent reads {behind}"));
    }
    let mut params = at_once("echo hi");
    params["configuration"]["taskPushNotificationConfig"] =
        json!({"taskId": anns, "url": "https://example.com/"});
    let (_, answer) = pair.gateway.env.call(BOB, "SendMessage", params).await?;
    match answer["error"]["code"].as_i64() {
        Some(-32001) => Ok("the reference is removed, the webhook not found".to_owned()),
        _ => Err(format!("{answer}")),
    }
}

async fn elsewhere(env: &Environment) -> Verdict {
    let pair = Pair::start(env, "store").await?;
    let direct = pair.upstream.env.task("ask").await?;
    for (method, params) in [
        ("GetTask", json!({"id": direct})),
        ("CancelTask", json!({"id": direct})),
        ("SubscribeToTask", json!({"id": direct})),
        ("ListTaskPushNotificationConfigs", json!({"taskId": direct})),
    ] {
        let (_, answer) = pair.gateway.env.call(BOB, method, params).await?;
        if answer["error"]["code"] != -32001 {
            return Err(format!("{method}: {answer}"));
        }
    }
    let (_, listed) = pair.gateway.env.call(BOB, "ListTasks", json!({})).await?;
    match listed["result"]["totalSize"].as_i64() {
        Some(0) => Ok("not found, and in no list".to_owned()),
        _ => Err(format!("{listed}")),
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");

/// The method that an agent answers now, and its results: one for each event.
type Results = Arc<Mutex<(String, Vec<Value>)>>;

async fn answer(State((place, results)): State<(String, Results)>, body: Bytes) -> Response {
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return ([JSON], card(&place, "JSONRPC").to_string()).into_response();
    };
    let (method, results) = results.lock().map(|results| results.clone()).unwrap_or_default();
    if request["method"] != method {
        // The gateway also asks for tasks that are not finished.
        let error = json!({"code": -32601, "message": "unknown method"});
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
        return ([JSON], answer.to_string()).into_response();
    }
    let answers = results.into_iter();
    let mut answers =
        answers.map(|result| json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    if request["method"] == "SendStreamingMessage" {
        let events: String = answers.map(|answer| format!("data: {answer}\n\n")).collect();
        return ([("content-type", "text/event-stream")], events).into_response();
    }
    let answer = answers.next().unwrap_or_default().to_string();
    ([JSON], answer).into_response()
}

/// A gateway, and the results of the agent behind it.
struct Mixed {
    gateway: Started,
    results: Results,
}

impl Mixed {
    /// Calls a method, which the agent answers with these results.
    async fn call(
        &self,
        token: &str,
        method: &str,
        params: Value,
        answers: &[&Value],
    ) -> Result<Value, String> {
        let answers = answers.iter().map(|answer| (*answer).clone()).collect();
        if let Ok(mut results) = self.results.lock() {
            *results = (method.to_owned(), answers);
        }
        self.gateway.env.call(token, method, params).await.map(|(_, answer)| answer)
    }
}

/// An agent that answers with what is of another caller.
async fn mixed_up(env: &Environment) -> Verdict {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let (place, results) = (format!("http://{address}/"), Results::default());
    let router = Router::new().fallback(answer).with_state((place.clone(), Arc::clone(&results)));
    let mut servers = JoinSet::new();
    servers.spawn(async move { axum::serve(listener, router).await });
    let mixed = Mixed { gateway: gateway(env, "store", &place).await?, results };
    let task = |id: &str, context: &str| {
        let status = json!({"state": "TASK_STATE_WORKING"});
        json!({"task": {"id": id, "contextId": context, "status": status}})
    };
    let update = json!({"statusUpdate": {
        "taskId": "ann-2", "contextId": "ann-b", "status": {"state": "TASK_STATE_WORKING"},
    }});
    let anns = [task("ann-1", "ann-a"), task("ann-2", "ann-b")];
    mixed.call(ANN, "SendMessage", at_once("one"), &[&anns[0]]).await?;
    mixed
        .call(BOB, "SendStreamingMessage", at_once("two"), &[&task("bob-1", "bob-a"), &update])
        .await?;
    let sent = mixed.call(ANN, "SendMessage", at_once("three"), &[&anns[1]]).await?;
    if sent["result"]["task"]["id"] != "ann-2" {
        return Err(format!("bob's stream has taken ann's task: {sent}"));
    }
    let got = mixed.call(BOB, "GetTask", json!({"id": "ann-2"}), &[&anns[1]["task"]]).await?;
    if got["error"]["code"] != -32001 {
        return Err(format!("bob reads ann's task: {got}"));
    }
    let message = json!({"message": {
        "messageId": "m", "contextId": "ann-a", "role": "ROLE_AGENT", "parts": [{"text": "hi"}],
    }});
    for answer in [&anns[0], &task("bob-2", "ann-a"), &task("", "bob-a"), &message] {
        let sent = mixed.call(BOB, "SendMessage", at_once("four"), &[answer]).await?;
        if sent["error"]["code"] != -32006 {
            return Err(format!("bob gets {sent}"));
        }
    }
    let mut mentions = task("bob-1", "bob-a");
    let mut said = message["message"].clone();
    said["taskId"] = json!("ann-1");
    said["referenceTaskIds"] = json!(["ann-1", "ann-2"]);
    mentions["task"]["status"]["message"] = said.clone();
    mentions["task"]["history"] = json!([said]);
    let got = mixed.call(BOB, "GetTask", json!({"id": "bob-1"}), &[&mentions["task"]]).await?;
    if got["result"]["id"] != "bob-1" || got.to_string().contains("ann-") {
        return Err(format!("bob reads {got}"));
    }
    Ok("another caller's tasks and contexts are invalid, its references removed".to_owned())
}
