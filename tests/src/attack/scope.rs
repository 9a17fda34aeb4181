//! Getting at what somebody else has, with a token of one's own.

use serde_json::{Value, json};

use super::{
    Attack, Scene, Verdict, attacks,
    scene::{at_once, waiting},
};
use crate::isolation::{Dialect, Probe, Target};

const UNKNOWN: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "ids of somebody else", "every operation on every binding in every revision" => ids;
        "tenant hopping", "one's own task by way of other tenants, and theirs by way of none" => tenants;
        "odd tenants", "tenants that are paths, wildcards, nothing and long" => odd_tenants;
        "page tokens of somebody else", "listing on from somebody else's page, and from forged ones" => pages;
        "idempotency keys of somebody else", "sending under a key that somebody else used" => keys;
        "events of somebody else", "subscribing with Last-Event-ID" => events;
        "context of somebody else", "sending into somebody else's conversation" => contexts;
        "guessing ids", "1,000 ids next to one that exists" => guesses;
    }
}

/// Another caller; where the server has one only, somebody who gets in nowhere.
fn other(scene: &Scene) -> Option<&str> {
    scene.bob.as_deref()
}

async fn ids(scene: &Scene) -> Verdict {
    let Some(bob) = other(scene) else { return Ok("has one caller only".to_owned()) };
    let id = scene.task("ask").await?;
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
            let asks = dialect.ask(probe, &target(&id)).zip(dialect.ask(probe, &target(UNKNOWN)));
            let Some((theirs, never)) = asks else { continue };
            let answer = scene.ask(&theirs, Some(bob)).await?.with(&id, "<id>");
            let expected = scene.ask(&never, Some(bob)).await?.with(UNKNOWN, "<id>");
            if answer != expected || !dialect.is_not_found(&answer) {
                return Err(format!("{probe:?}, {}: {answer:?}", dialect.name()));
            }
            asked += 1;
        }
    }
    Ok(format!("{asked} requests answered as for what never existed"))
}

/// The id of a task of ann's in a tenant.
async fn in_tenant(scene: &Scene, tenant: &str) -> Result<String, String> {
    let mut params = at_once("ask");
    params["tenant"] = json!(tenant);
    let result = scene.works("SendMessage", params).await?;
    let id = result["task"]["id"].as_str();
    id.map(str::to_owned).ok_or_else(|| format!("no task: {result}"))
}

/// A task of a tenant is not there in another one.
async fn hidden(scene: &Scene, token: &str, tenant: &str, id: &str) -> Result<(), String> {
    let params = json!({"tenant": tenant, "id": id});
    let (_, answer) = scene.call(token, "GetTask", params).await?;
    match answer["error"]["code"].as_i64() {
        Some(-32001 | -31403) => Ok(()),
        _ => Err(format!("in tenant {tenant:?}: {answer}")),
    }
}

async fn tenants(scene: &Scene) -> Verdict {
    let acme = in_tenant(scene, "acme").await?;
    let none = scene.task("ask").await?;
    for (id, tenants) in [
        (&acme, &["", "acme2", "ACME", "acme ", " acme", "acme/", "acme\u{0}", "./acme"][..]),
        (&none, &["acme", " ", "/", "."]),
    ] {
        for tenant in tenants {
            hidden(scene, &scene.ann, tenant, id).await?;
        }
    }
    Ok("12 ways, all not found".to_owned())
}

async fn odd_tenants(scene: &Scene) -> Verdict {
    let id = scene.task("ask").await?;
    let long = "t".repeat(100_000);
    for tenant in ["*", "%", "_", "..", "../..", "' OR ''='", "null", &long] {
        hidden(scene, &scene.ann, tenant, &id).await?;
    }
    let (_, page) = scene.call(&scene.ann, "ListTasks", json!({"tenant": "%"})).await?;
    match page["result"]["totalSize"].as_i64() {
        Some(0) | None => Ok("nothing in any of them".to_owned()),
        _ => Err(format!("a wildcard lists {page}")),
    }
}

async fn pages(scene: &Scene) -> Verdict {
    let ids = [scene.task("ask").await?, scene.task("ask").await?];
    let page = scene.works("ListTasks", json!({"pageSize": 1})).await?;
    let token = page["nextPageToken"].as_str().unwrap_or_default().to_owned();
    let seen_from = other(scene).unwrap_or(&scene.ann);
    let tenant = if other(scene).is_some() { "" } else { "empty" };
    let mut forged =
        vec![token.clone(), String::from("AAAA"), "\u{0}".to_owned(), "x".repeat(100_000)];
    forged.push(token.chars().rev().collect());
    forged.push(format!("{token}{token}"));
    for token in forged {
        let params = json!({"tenant": tenant, "pageToken": token});
        let (status, answer) = scene.call(seen_from, "ListTasks", params).await?;
        if ids.iter().any(|id| answer.to_string().contains(id)) || status >= 500 {
            return Err(format!("HTTP {status} {answer}"));
        }
    }
    Ok("6 tokens lead to nothing of somebody else's".to_owned())
}

async fn keys(scene: &Scene) -> Verdict {
    let send = |key: &str, text: &str| {
        let target =
            Target { idempotency_key: key.to_owned(), text: text.to_owned(), ..Target::default() };
        Dialect::JsonRpc(a2a_core::ProtocolVersion::V1_0).ask(Probe::Send, &target)
    };
    let key = a2a_core::fresh_id();
    let (Some(first), Some(again)) = (send(&key, "echo mine"), send(&key, "echo mine")) else {
        return Err("1.0 sends messages".to_owned());
    };
    let mine = scene.ask(&first, Some(&scene.ann)).await?.text();
    let Some(bob) = other(scene) else { return Ok("has one caller only".to_owned()) };
    let theirs = scene.ask(&again, Some(bob)).await?.text();
    let id = |text: &str| {
        let answer: Value = serde_json::from_str(text).unwrap_or_default();
        answer["result"]["task"]["id"].as_str().map(str::to_owned)
    };
    match (id(&mine), id(&theirs)) {
        (Some(mine), Some(theirs)) if mine != theirs => Ok("made a task of their own".to_owned()),
        _ => Err(format!("{mine} and {theirs}")),
    }
}

async fn events(scene: &Scene) -> Verdict {
    let Some(bob) = other(scene) else { return Ok("has one caller only".to_owned()) };
    let id = scene.task("stream 3 1ms").await?;
    let target =
        |last: u64| Target { task: id.clone(), last_event_id: Some(last), ..Target::default() };
    for last in [0, 1, 2, u64::MAX] {
        for dialect in Dialect::ALL {
            let Some(ask) = dialect.ask(Probe::Resume, &target(last)) else { continue };
            let answer = scene.ask(&ask, Some(bob)).await?;
            if !dialect.is_not_found(&answer) {
                return Err(format!("{}: {answer:?}", dialect.name()));
            }
        }
    }
    Ok("not found, on every binding".to_owned())
}

async fn contexts(scene: &Scene) -> Verdict {
    let Some(bob) = other(scene) else { return Ok("has one caller only".to_owned()) };
    let secret = "echo ann's secret";
    let mine = scene.works("SendMessage", waiting(secret)).await?;
    let context = mine["task"]["contextId"].clone();
    let mut params = waiting("echo what was said?");
    params["message"]["contextId"] = context.clone();
    let (_, theirs) = scene.call(bob, "SendMessage", params).await?;
    let (_, listed) =
        scene.call(bob, "ListTasks", json!({"contextId": context, "historyLength": 100})).await?;
    if theirs.to_string().contains("secret") || listed.to_string().contains("secret") {
        return Err(format!("{theirs} {listed}"));
    }
    Ok("a conversation of the same name, with nothing in it".to_owned())
}

async fn guesses(scene: &Scene) -> Verdict {
    let id = scene.task("ask").await?;
    let token = other(scene).unwrap_or(&scene.ann);
    let digits = b"0123456789abcdef";
    let mut bytes = id.clone().into_bytes();
    for number in 0..1_000_usize {
        let at = bytes.len() - 1 - number % 3;
        bytes[at] = digits[(number / 3) % 16];
        let guess = String::from_utf8_lossy(&bytes).into_owned();
        if guess == id {
            continue;
        }
        let (_, answer) = scene.call(token, "GetTask", json!({"id": guess})).await?;
        if answer.get("result").is_some() {
            return Err(format!("found {answer}"));
        }
    }
    Ok("none found".to_owned())
}
