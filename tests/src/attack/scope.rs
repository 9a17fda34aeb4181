//! Accessing tasks of another caller with a valid token.

use serde_json::{Value, json};

use super::{
    Attack, Environment, Verdict, attacks,
    environment::{at_once, waiting},
};
use crate::isolation::{Dialect, Probe, Target};

const UNKNOWN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "ids of another caller", "every operation on every binding in every revision" => ids;
        "tenant hopping", "own tasks through other tenants, and those of tenants without one" => tenants;
        "odd tenants", "tenants that are paths, wildcards, empty and long" => odd_tenants;
        "page tokens of another caller", "continuing lists of another caller, and forged page tokens" => pages;
        "idempotency keys of another caller", "sending with a key of another caller" => keys;
        "events of another caller", "subscribing with Last-Event-ID" => events;
        "context of another caller", "sending into a context of another caller" => contexts;
        "guessing ids", "1,000 ids next to one that exists" => guesses;
    }
}

/// Another caller, if the server has one.
fn other(env: &Environment) -> Option<&str> {
    env.bob.as_deref()
}

pub(super) async fn ids(env: &Environment) -> Verdict {
    let Some(bob) = other(env) else { return Ok("the server has one caller only".to_owned()) };
    let id = env.task("ask").await?;
    let mut asked = 0;
    for dialect in Dialect::ALL {
        for probe in Probe::NAMING {
            if dialect.has_chosen_ids() && matches!(probe, Probe::Send | Probe::Stream) {
                continue;
            }
            let target = |id: &str| Target {
                task: id.to_owned(),
                config: "config".to_owned(),
                webhook: "https://example.com/".to_owned(),
                text: "in".to_owned(),
                ..Target::default()
            };
            let requests =
                dialect.request(probe, &target(&id)).zip(dialect.request(probe, &target(UNKNOWN)));
            let Some((theirs, never)) = requests else { continue };
            let answer = env.execute(&theirs, Some(bob)).await?.with(&id, "<id>");
            let expected = env.execute(&never, Some(bob)).await?.with(UNKNOWN, "<id>");
            if answer != expected || !dialect.is_not_found(&answer) {
                return Err(format!("{probe:?}, {}: {answer:?}", dialect.name()));
            }
            asked += 1;
        }
    }
    Ok(format!("{asked} requests answered as for unknown tasks"))
}

/// The id of a task of ann in a tenant.
async fn in_tenant(env: &Environment, tenant: &str) -> Result<String, String> {
    let mut params = at_once("ask");
    params["tenant"] = json!(tenant);
    let result = env.works("SendMessage", params).await?;
    let id = result["task"]["id"].as_str();
    id.map(str::to_owned).ok_or_else(|| format!("no task: {result}"))
}

/// A task of one tenant is not found in another one.
async fn hidden(env: &Environment, token: &str, tenant: &str, id: &str) -> Result<(), String> {
    let params = json!({"tenant": tenant, "id": id});
    let (_, answer) = env.call(token, "GetTask", params).await?;
    // A name that no tenant can have is refused, whether there is a task or not.
    let is_possible = tenant.len() <= 512 && !tenant.contains('\0');
    match answer["error"]["code"].as_i64() {
        Some(-32001) if is_possible => Ok(()),
        Some(-32602) if !is_possible => Ok(()),
        Some(-31403) => Ok(()),
        _ => Err(format!("in tenant {tenant:?}: {answer}")),
    }
}

async fn tenants(env: &Environment) -> Verdict {
    let acme = in_tenant(env, "acme").await?;
    let none = env.task("ask").await?;
    for (id, tenants) in [
        (&acme, &["", "acme2", "ACME", "acme ", " acme", "acme/", "acme\u{0}", "./acme"][..]),
        (&none, &["acme", " ", "/", "."]),
    ] {
        for tenant in tenants {
            hidden(env, &env.ann, tenant, id).await?;
        }
    }
    Ok("12 ways, all not found".to_owned())
}

async fn odd_tenants(env: &Environment) -> Verdict {
    let id = env.task("ask").await?;
    let long = "t".repeat(100_000);
    for tenant in ["*", "%", "_", "..", "../..", "' OR ''='", "null", &long] {
        hidden(env, &env.ann, tenant, &id).await?;
    }
    let (_, page) = env.call(&env.ann, "ListTasks", json!({"tenant": "%"})).await?;
    match page["result"]["totalSize"].as_i64() {
        Some(0) | None => Ok("nothing in any of them".to_owned()),
        _ => Err(format!("a wildcard lists {page}")),
    }
}

pub(super) async fn pages(env: &Environment) -> Verdict {
    let ids = [env.task("ask").await?, env.task("ask").await?];
    let page = env.works("ListTasks", json!({"pageSize": 1})).await?;
    let token = page["nextPageToken"].as_str().unwrap_or_default().to_owned();
    let seen_from = other(env).unwrap_or(&env.ann);
    let tenant = if other(env).is_some() { "" } else { "empty" };
    let mut forged =
        vec![token.clone(), String::from("AAAA"), "\u{0}".to_owned(), "x".repeat(100_000)];
    forged.push(token.chars().rev().collect());
    forged.push(format!("{token}{token}"));
    for token in forged {
        let params = json!({"tenant": tenant, "pageToken": token});
        let (status, answer) = env.call(seen_from, "ListTasks", params).await?;
        if ids.iter().any(|id| answer.to_string().contains(id)) || status >= 500 {
            return Err(format!("HTTP {status} {answer}"));
        }
    }
    Ok("6 tokens list nothing of another caller".to_owned())
}

pub(super) async fn keys(env: &Environment) -> Verdict {
    let send = |key: &str, text: &str| {
        let target =
            Target { idempotency_key: key.to_owned(), text: text.to_owned(), ..Target::default() };
        Dialect::JsonRpc(a2a_core::ProtocolVersion::V1_0).request(Probe::Send, &target)
    };
    let key = a2a_core::fresh_id();
    let (Some(first), Some(again)) = (send(&key, "echo mine"), send(&key, "echo mine")) else {
        return Err("1.0 sends messages".to_owned());
    };
    let mine = env.execute(&first, Some(&env.ann)).await?.text();
    let Some(bob) = other(env) else { return Ok("the server has one caller only".to_owned()) };
    let theirs = env.execute(&again, Some(bob)).await?.text();
    let id = |text: &str| {
        let answer: Value = serde_json::from_str(text).unwrap_or_default();
        answer["result"]["task"]["id"].as_str().map(str::to_owned)
    };
    match (id(&mine), id(&theirs)) {
        (Some(mine), Some(theirs)) if mine != theirs => Ok("created a separate task".to_owned()),
        _ => Err(format!("{mine} and {theirs}")),
    }
}

pub(super) async fn events(env: &Environment) -> Verdict {
    let Some(bob) = other(env) else { return Ok("the server has one caller only".to_owned()) };
    let id = env.task("stream 3 1ms").await?;
    let target =
        |last: u64| Target { task: id.clone(), last_event_id: Some(last), ..Target::default() };
    for last in [0, 1, 2, u64::MAX] {
        for dialect in Dialect::ALL {
            let Some(request) = dialect.request(Probe::Resume, &target(last)) else { continue };
            let answer = env.execute(&request, Some(bob)).await?;
            if !dialect.is_not_found(&answer) {
                return Err(format!("{}: {answer:?}", dialect.name()));
            }
        }
    }
    Ok("not found, on every binding".to_owned())
}

pub(super) async fn contexts(env: &Environment) -> Verdict {
    let Some(bob) = other(env) else { return Ok("the server has one caller only".to_owned()) };
    let secret = "echo ann's secret";
    let mine = env.works("SendMessage", waiting(secret)).await?;
    let context = mine["task"]["contextId"].clone();
    let mut params = waiting("echo what was output?");
    params["message"]["contextId"] = context.clone();
    let (_, theirs) = env.call(bob, "SendMessage", params).await?;
    let (_, listed) =
        env.call(bob, "ListTasks", json!({"contextId": context, "historyLength": 100})).await?;
    if theirs.to_string().contains("secret") || listed.to_string().contains("secret") {
        return Err(format!("{theirs} {listed}"));
    }
    Ok("a separate, empty context with the same id".to_owned())
}

pub(super) async fn guesses(env: &Environment) -> Verdict {
    let id = env.task("ask").await?;
    let token = other(env).unwrap_or(&env.ann);
    let digits = b"0123456789abcdef";
    let mut bytes = id.clone().into_bytes();
    for number in 0..1_000_usize {
        let at = bytes.len() - 1 - number % 3;
        bytes[at] = digits[(number / 3) % 16];
        let guess = String::from_utf8_lossy(&bytes).into_owned();
        if guess == id {
            continue;
        }
        let (_, answer) = env.call(token, "GetTask", json!({"id": guess})).await?;
        if answer.get("result").is_some() {
            return Err(format!("found {answer}"));
        }
    }
    Ok("none found".to_owned())
}
