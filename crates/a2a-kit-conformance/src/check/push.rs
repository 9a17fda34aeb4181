//! Push notification configs.

use a2a_core::ErrorKind;
use serde_json::Value;

use super::definition::Check;
use crate::{
    evidence::Evidence,
    exchange::{Exchange, text},
    expect,
    step::Step,
    verdict::Verdict,
    webhook::TOKEN,
};

pub(super) const CHECKS: &[Check] = &[
    Check::must("R-070", "3.1.7", "A config is stored, gets an id and is returned", created),
    Check::must(
        "R-072",
        "3.1.7",
        "A config for an unknown task gives TaskNotFoundError",
        unknown_task,
    ),
    Check::must("R-073", "3.1.8", "A config can be read", read),
    Check::must("R-074", "3.1.8", "Reading a config that is missing fails", missing),
    Check::must("R-075", "3.1.9", "All configs of a task are listed", listed),
    Check::must("R-077", "3.1.10", "A deleted config is gone", deleted),
    Check::must("R-078", "3.1.10", "Deleting a config is idempotent", idempotent),
    Check::must("R-079", "3.3.4", "Without the capability, configs are refused", not_offered),
    Check::must("R-423", "13.4", "Tokens of webhooks appear in their configs only", no_leak),
];

/// Returns whether the agent has push notifications; else the check is skipped.
fn is_offered(evidence: &Evidence, verdict: &mut Verdict<'_>) -> bool {
    if !evidence.facts.push {
        verdict.skip("the card does not declare push notifications");
    }
    evidence.facts.push
}

fn created<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if !is_offered(evidence, verdict) {
        return;
    }
    let Some(exchange) = verdict.take(evidence, Step::PushCreate) else { return };
    let Some(config) = exchange.result() else {
        return verdict
            .found(Some(exchange), format!("creating a config answered {}", exchange.summary()));
    };
    verdict.require(!text(config, "id").is_empty(), exchange, || {
        "the created config has no `id`".to_owned()
    });
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

fn unknown_task<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if !is_offered(evidence, verdict) {
        return;
    }
    if let Some(exchange) = verdict.take(evidence, Step::PushCreateUnknownTask) {
        expect::error(verdict, exchange, ErrorKind::TaskNotFound);
    }
}

/// The id and URL of the config that was created first.
fn first(evidence: &Evidence) -> Option<(&str, &str)> {
    let config = evidence.get(Step::PushCreate).ok()?.result()?;
    Some((text(config, "id"), text(config, "url")))
}

fn read<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if !is_offered(evidence, verdict) {
        return;
    }
    let Some(exchange) = verdict.take(evidence, Step::PushGet) else { return };
    let Some((id, url)) = first(evidence) else { return };
    match exchange.result() {
        Some(config) => {
            verdict.require(
                text(config, "id") == id && text(config, "url") == url,
                exchange,
                || {
                    format!(
                        "the config {id:?} for {url} is read as {:?} for {}",
                        text(config, "id"),
                        text(config, "url")
                    )
                },
            );
        }
        None => verdict.found(
            Some(exchange),
            format!("reading the config that was created answered {}", exchange.summary()),
        ),
    }
}

fn missing<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if !is_offered(evidence, verdict) {
        return;
    }
    if let Some(exchange) = verdict.take(evidence, Step::PushGetUnknown) {
        expect::error(verdict, exchange, ErrorKind::TaskNotFound);
    }
}

fn ids(exchange: &Exchange) -> Vec<&str> {
    let configs = exchange.result().and_then(|result| result.get("configs"));
    configs.and_then(Value::as_array).into_iter().flatten().map(|one| text(one, "id")).collect()
}

fn listed<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if !is_offered(evidence, verdict) {
        return;
    }
    let Some((exchange, _)) = verdict.result(evidence, Step::PushList) else { return };
    let listed = ids(exchange);
    let created = [Step::PushCreate, Step::PushCreateSecond]
        .into_iter()
        .flat_map(|step| evidence.of_step(step));
    for config in created.filter_map(Exchange::result) {
        let id = text(config, "id");
        verdict.require(listed.contains(&id), exchange, || {
            format!("the list of configs lacks {id:?}, which was created")
        });
    }
}

fn deleted<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if !is_offered(evidence, verdict) {
        return;
    }
    let Some(exchange) = verdict.take(evidence, Step::PushDelete) else { return };
    verdict.require(exchange.succeeded(), exchange, || {
        format!("deleting a config answered {}", exchange.summary())
    });
    if let Some(after) = verdict.take(evidence, Step::PushGetDeleted) {
        verdict.require(!after.succeeded(), after, || "a deleted config can be read".to_owned());
    }
    let Some((id, _)) = first(evidence) else { return };
    if let Ok(list) = evidence.get(Step::PushListAfterDelete) {
        verdict.require(!ids(list).contains(&id), list, || "a deleted config is listed".to_owned());
    }
    if evidence.notifications.iter().any(|one| one.path == "/first") {
        verdict.found(Some(exchange), "the webhook of a deleted config was called".to_owned());
    }
}

fn idempotent<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if !is_offered(evidence, verdict) {
        return;
    }
    let Some(exchange) = verdict.take(evidence, Step::PushDeleteAgain) else { return };
    if !evidence.get(Step::PushDelete).is_ok_and(Exchange::succeeded) {
        return verdict.not_measured("the config could not be deleted");
    }
    verdict.require(exchange.succeeded(), exchange, || {
        format!("deleting a config a second time answered {}", exchange.summary())
    });
}

fn not_offered<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if evidence.facts.push {
        return verdict.skip("the card declares push notifications");
    }
    for step in [Step::PushCreate, Step::PushGet, Step::PushList, Step::PushDelete] {
        if let Some(exchange) = verdict.take(evidence, step) {
            expect::error(verdict, exchange, ErrorKind::PushNotificationNotSupported);
        }
    }
}

fn no_leak<'a>(evidence: &'a Evidence, verdict: &mut Verdict<'a>) {
    if !is_offered(evidence, verdict) {
        return;
    }
    for exchange in evidence.all() {
        if exchange.operation.contains("PushNotificationConfig") && exchange.succeeded() {
            verdict.measured();
            continue;
        }
        let body = String::from_utf8_lossy(&exchange.response.body);
        let leaked = [TOKEN, "a2a-conformance-webhook"].into_iter().find(|one| body.contains(one));
        if leaked.is_some() {
            verdict.found(
                Some(exchange),
                format!("{} shows the token or credentials of a webhook", exchange.operation),
            );
        }
    }
}
