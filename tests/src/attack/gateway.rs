//! Accessing tasks of another caller of `a2a serve --proxy`, whose upstream agent sees one caller.

use serde_json::{Value, json};

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
        let address = upstream.env.address;
        let mut settings =
            format!("[proxy]\nto = \"http://{address}/\"\nisolation = \"{isolation}\"\n");
        for (caller, token) in [("ann", ANN), ("bob", BOB)] {
            settings += &format!("[[auth.bearer]]\ncaller = \"{caller}\"\ntoken = \"{token}\"\n");
        }
        let store = ["--store", "memory"];
        let arguments = if isolation == "store" { &store[..] } else { &[] };
        let mut gateway = Started::with_file(attacked, &settings, arguments).await?;
        ANN.clone_into(&mut gateway.env.ann);
        gateway.env.bob = Some(BOB.to_owned());
        Ok(Self { gateway, upstream })
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
