//! Deliveries of push notifications to the local webhook.

use serde_json::Value;

use super::definition::{Check, Feature::Push, must, should};
use crate::{
    evidence::{Evidence, Notification},
    exchange::{Exchange, payloads, text},
    step::Step,
    verdict::Verdict,
    webhook::TOKEN,
};

pub(super) const CHECKS: &[Check] = &[
    must("R-080", "3.1.7", "Updates are delivered to the webhook by POST").by(delivered).with(Push),
    must("R-081", "3.5.1", "Notifications are JSON, whatever the binding").by(is_json).with(Push),
    must("R-083", "13.2", "Notifications carry the configured credentials")
        .by(credentials)
        .with(Push),
    must("R-084", "4.3.3", "Each webhook of a task is called").by(each).with(Push),
    should("R-100", "6.6", "Notifications carry the token of the config").by(token).with(Push),
    should("R-102", "4.3.3", "Notifications name the task and its state").by(names_task).with(Push),
];

/// The notifications for the config in a message, with that message.
fn inline<'a>(
    evidence: &'a Evidence,
    verdict: &mut Verdict<'_>,
) -> Option<(&'a Exchange, Vec<&'a Notification>)> {
    let sent = verdict.take(evidence, Step::SendWithPush)?;
    if let Some(error) = sent.error() {
        verdict.not_measured(format!(
            "the agent refused a webhook on loopback ({}): allow it to measure deliveries",
            error.summary()
        ));
        return None;
    }
    if sent.task().is_none() {
        verdict.not_measured("the agent answered without a task");
        return None;
    }
    Some((sent, evidence.notifications.iter().filter(|one| one.path == "/inline").collect()))
}

/// The notifications, if there are any.
fn some<'a>(
    evidence: &'a Evidence,
    verdict: &mut Verdict<'_>,
) -> Option<(&'a Exchange, Vec<&'a Notification>)> {
    let (sent, notifications) = inline(evidence, verdict)?;
    if notifications.is_empty() {
        verdict.not_measured("no notification arrived");
        return None;
    }
    Some((sent, notifications))
}

fn delivered(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((sent, notifications)) = inline(evidence, verdict) else { return };
    verdict.require(!notifications.is_empty(), sent, || {
        "the task has ended or paused, and its webhook was not called".to_owned()
    });
    for one in notifications {
        verdict.require(one.method == "POST", sent, || {
            format!("the webhook was called with {} instead of POST", one.method)
        });
        let Some(value) = one.json() else { continue };
        let count = payloads(&value);
        verdict.require(count == 1, sent, || {
            format!(
                "a notification has {count} of `task`, `message`, `statusUpdate` and \
                 `artifactUpdate`: {}",
                value.to_string().chars().take(200).collect::<String>()
            )
        });
    }
}

fn is_json(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((sent, notifications)) = some(evidence, verdict) else { return };
    for one in notifications {
        verdict.require(one.json().is_some_and(|value| value.is_object()), sent, || {
            "a notification is no JSON object".to_owned()
        });
        let media_type = one.headers.get("content-type").map(String::as_str).unwrap_or_default();
        verdict.require(media_type.contains("json"), sent, || {
            format!(
                "a notification has the content type {media_type:?} instead of application/a2a+json"
            )
        });
    }
}

fn credentials(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((sent, notifications)) = some(evidence, verdict) else { return };
    for one in notifications {
        let value = one.headers.get("authorization").map(String::as_str).unwrap_or_default();
        verdict.require(value == "Bearer a2a-conformance-webhook", sent, || {
            match value.is_empty() {
                true => {
                    "a notification has no `Authorization`, although the config has credentials"
                }
                false => "a notification has another `Authorization` than the config says",
            }
        });
    }
}

fn each(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let created: Vec<_> = evidence
        .of_step(Step::PushCreateSecond)
        .filter(|exchange| {
            exchange.succeeded() && text(&exchange.params, "url").starts_with("http://127.")
        })
        .collect();
    let called = |path: &str| evidence.notifications.iter().any(|one| one.path == path);
    // Only a task that was resumed afterwards has events for them.
    if created.len() < 2 || !evidence.notifications.iter().any(|one| one.path != "/inline") {
        return verdict.not_measured(
            "it needs a task that asks for input (--prompt-for ask=…), and an agent that allows a \
             webhook on loopback",
        );
    }
    for exchange in created {
        let url = text(&exchange.params, "url");
        let path = url.rfind('/').map(|at| &url[at..]).unwrap_or_default();
        verdict.require(called(path), exchange, || {
            format!("one of two webhooks of a task was not called: {path}")
        });
    }
}

fn token(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((sent, notifications)) = some(evidence, verdict) else { return };
    for one in notifications {
        let value = one.headers.get("x-a2a-notification-token").map(String::as_str);
        verdict.require(value == Some(TOKEN), sent, || {
            "a notification lacks the token of the config in `X-A2A-Notification-Token`".to_owned()
        });
    }
}

fn names_task(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((sent, notifications)) = some(evidence, verdict) else { return };
    let id = sent.task().map(|task| text(task, "id")).unwrap_or_default();
    for value in notifications.iter().filter_map(|one| one.json()) {
        let named = value
            .as_object()
            .into_iter()
            .flat_map(|object| object.values())
            .any(|payload: &Value| text(payload, "id") == id || text(payload, "taskId") == id);
        verdict.require(named, sent, || format!("a notification does not name the task {id:?}"));
    }
}
