//! Push notification configs.

use a2a_core::ErrorKind;
use serde_json::Value;

use super::definition::{Check, Feature::Push, must};
use crate::{
    evidence::Evidence,
    exchange::{Exchange, text},
    step::Step,
    verdict::Verdict,
    webhook::TOKEN,
};

pub(super) const CHECKS: &[Check] = &[
    must("R-070", "3.1.7", "A config is stored, gets an id and is returned").by(created).with(Push),
    must("R-072", "3.1.7", "A config for an unknown task gives TaskNotFoundError")
        .errors(&[Step::PushCreateUnknownTask], &[ErrorKind::TaskNotFound])
        .with(Push),
    must("R-073", "3.1.8", "A config can be read").by(read).with(Push),
    must("R-074", "3.1.8", "Reading a config that is missing fails")
        .errors(&[Step::PushGetUnknown], &[ErrorKind::TaskNotFound])
        .with(Push),
    must("R-075", "3.1.9", "All configs of a task are listed").by(listed).with(Push),
    must("R-077", "3.1.10", "A deleted config is gone").by(deleted).with(Push),
    must("R-078", "3.1.10", "Deleting a config is idempotent").by(idempotent).with(Push),
    must("R-079", "3.3.4", "Without the capability, configs are refused")
        .errors(
            &[Step::PushCreate, Step::PushGet, Step::PushList, Step::PushDelete],
            &[ErrorKind::PushNotificationNotSupported],
        )
        .without(Push),
    must("R-423", "13.4", "Tokens of webhooks appear in their configs only").by(no_leak).with(Push),
];

fn created(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::PushCreate) else { return };
    let Some(config) = exchange.result() else {
        return verdict.wrong_answer(exchange, "creating a config");
    };
    verdict.require(!text(config, "id").is_empty(), exchange, || "the created config has no `id`");
    for member in ["url", "taskId"] {
        let (asked, given) = (text(&exchange.params, member), text(config, member));
        verdict.require(asked == given, exchange, || {
            format!("the created config has the `{member}` {given:?} instead of {asked:?}")
        });
    }
    let (Ok(get), Ok(list)) = (evidence.get(Step::PushGet), evidence.get(Step::PushList)) else {
        return;
    };
    let is_lost = get.error().is_some() && list.result().is_some() && ids(list).is_empty();
    verdict.require(!is_lost, get, || {
        "the created config can be neither read nor listed: it was not stored".to_owned()
    });
}

/// The id and URL of the config that was created first.
fn first(evidence: &Evidence) -> Option<(&str, &str)> {
    let config = evidence.get(Step::PushCreate).ok()?.result()?;
    Some((text(config, "id"), text(config, "url")))
}

fn read(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::PushGet) else { return };
    let Some((id, url)) = first(evidence) else { return };
    match exchange.result() {
        Some(config) => {
            let (read, read_url) = (text(config, "id"), text(config, "url"));
            verdict.require((read, read_url) == (id, url), exchange, || {
                format!("the config {id:?} for {url} is read as {read:?} for {read_url}")
            });
        }
        None => verdict.wrong_answer(exchange, "reading the config that was created"),
    }
}

fn ids(exchange: &Exchange) -> Vec<&str> {
    let configs = exchange.result().and_then(|result| result.get("configs"));
    configs.and_then(Value::as_array).into_iter().flatten().map(|one| text(one, "id")).collect()
}

fn listed(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((exchange, _)) = verdict.result(evidence, Step::PushList) else { return };
    let listed = ids(exchange);
    let created = evidence.of_steps(&[Step::PushCreate, Step::PushCreateSecond]);
    for config in created.filter_map(Exchange::result) {
        let id = text(config, "id");
        verdict.require(listed.contains(&id), exchange, || {
            format!("the list of configs lacks {id:?}, which was created")
        });
    }
}

fn deleted(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::PushDelete) else { return };
    verdict.accepted(exchange, "deleting a config");
    if let Some(after) = verdict.take(evidence, Step::PushGetDeleted) {
        verdict.require(!after.succeeded(), after, || "a deleted config can be read");
    }
    let Some((id, _)) = first(evidence) else { return };
    if let Ok(list) = evidence.get(Step::PushListAfterDelete) {
        verdict.require(!ids(list).contains(&id), list, || "a deleted config is listed");
    }
    if evidence.notifications.iter().any(|one| one.path == "/first") {
        verdict.found(exchange, "the webhook of a deleted config was called");
    }
}

fn idempotent(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::PushDeleteAgain) else { return };
    if !evidence.get(Step::PushDelete).is_ok_and(Exchange::succeeded) {
        return verdict.not_measured("the config could not be deleted");
    }
    verdict.accepted(exchange, "deleting a config a second time");
}

fn no_leak(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for exchange in evidence.all() {
        if exchange.operation.contains("PushNotificationConfig") && exchange.succeeded() {
            verdict.measured();
            continue;
        }
        let body = String::from_utf8_lossy(&exchange.response.body);
        if [TOKEN, "a2a-conformance-webhook"].iter().any(|one| body.contains(one)) {
            let message =
                format!("{} shows the token or credentials of a webhook", exchange.operation);
            verdict.found(exchange, message);
        }
    }
}
