//! Callers without credentials, and the tasks of other callers.

use a2a_core::ErrorKind;
use a2a_kit_client::Transport;
use serde_json::Value;

use super::definition::{Check, Feature::Credentials, must, should};
use crate::{evidence::Evidence, exchange::text, step::Step, verdict::Verdict};

pub(super) const CHECKS: &[Check] = &[
    must("R-157", "3.3.2", "Requests without credentials are refused")
        .by(credentials)
        .with(Credentials),
    should("R-158", "3.3.2", "A refusal names the scheme in `WWW-Authenticate`")
        .by(challenge)
        .with(Credentials)
        .on(&[Transport::JsonRpc, Transport::Rest]),
    must("R-047", "3.1.4", "Lists have tasks of the caller only").by(list),
    must("R-418", "13.1", "Tasks of other callers can't be reached").by(tasks),
    must("R-161", "3.3.2", "Tasks of other callers are as if they did not exist")
        .errors(&[Step::GetByOther, Step::CancelByOther], &[ErrorKind::TaskNotFound]),
];

fn credentials(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::Anonymous) else { return };
    let is_refused = matches!(exchange.response.status, 401 | 403)
        || exchange.is_error(ErrorKind::Unauthenticated);
    verdict.require(is_refused, exchange, || {
        format!("a request without credentials was answered with {}", exchange.summary())
    });
}

fn challenge(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::Anonymous) else { return };
    if exchange.response.status != 401 {
        return verdict.not_measured(format!("the HTTP status was {}", exchange.response.status));
    }
    verdict.require(exchange.response.header("www-authenticate").is_some(), exchange, || {
        "HTTP 401 without `WWW-Authenticate`".to_owned()
    });
}

fn list(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some((exchange, result)) = verdict.result(evidence, Step::ListByOther) else { return };
    let mine: Vec<_> = evidence
        .all()
        .filter(|sent| sent.operation == "SendMessage")
        .filter_map(|sent| sent.task())
        .map(|task| text(task, "id"))
        .collect();
    verdict.measured();
    for task in result.get("tasks").and_then(Value::as_array).into_iter().flatten() {
        let id = text(task, "id");
        verdict.require(!mine.contains(&id), exchange, || {
            format!("the list of the second caller has the task {id:?} of the first")
        });
    }
}

fn tasks(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    for step in [Step::GetByOther, Step::CancelByOther, Step::SubscribeByOther, Step::PushByOther] {
        let Some(exchange) = verdict.take(evidence, step) else { continue };
        verdict.require(!exchange.succeeded(), exchange, || {
            format!("{} of the second caller reaches a task of the first", exchange.operation)
        });
    }
}
