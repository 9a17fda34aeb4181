//! Extensions and the extended card.

use a2a_core::ErrorKind;

use super::definition::{
    Check,
    Feature::{ExtendedCard, RequiredExtension},
    must, should,
};
use crate::{evidence::Evidence, exchange::text, expect, step::Step, verdict::Verdict};

pub(super) const CHECKS: &[Check] = &[
    must("R-181", "3.3.4", "Without a required extension, requests are refused")
        .errors(&[Step::WithoutRequiredExtension], &[ErrorKind::ExtensionSupportRequired])
        .with(RequiredExtension),
    should("R-248", "4.6.3", "Extensions that are not supported are ignored").by(unknown),
    should("R-252", "4.6", "Activated extensions are listed in the answer").by(activated),
    must("R-128", "3.3.4", "Without the capability, the extended card is refused")
        .errors(&[Step::ExtendedCard], &[ErrorKind::UnsupportedOperation])
        .without(ExtendedCard),
    must("R-129", "3.1.11", "The extended card is a card, or is not configured")
        .by(card)
        .with(ExtendedCard),
    must("R-123", "13.3", "The extended card requires authentication")
        .refusals(&[(
            Step::ExtendedCardAnonymous,
            "the extended card is given to a caller without credentials",
        )])
        .with(ExtendedCard),
];

fn unknown(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::UnknownExtension) else { return };
    if !evidence.get(Step::Send).is_ok_and(|sent| sent.succeeded()) {
        return verdict.not_measured("the same message without the extension was refused too");
    }
    verdict.accepted(exchange, "a request for an unknown extension");
}

fn activated(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::KnownExtension) else { return };
    if !exchange.succeeded() {
        return verdict.not_measured(format!("the answer was {}", exchange.summary()));
    }
    let uri = evidence.card.extensions().first().map(|one| one.uri.as_str()).unwrap_or_default();
    let maps = [&exchange.response.headers, &exchange.response.trailers];
    let mut values = maps.iter().flat_map(|map| map.get_all("a2a-extensions"));
    let listed = values.any(|value| value.to_str().unwrap_or_default().contains(uri));
    verdict.require(listed, exchange, || {
        format!("the answer to a request for {uri} does not list it in `A2A-Extensions`")
    });
}

fn card(evidence: &Evidence, verdict: &mut Verdict<'_>) {
    let Some(exchange) = verdict.take(evidence, Step::ExtendedCard) else { return };
    match exchange.result() {
        Some(card) => verdict.require(!text(card, "name").is_empty(), exchange, || {
            "the extended card has no `name`".to_owned()
        }),
        None if exchange.is_error(ErrorKind::Unauthenticated)
            || exchange.is_error(ErrorKind::PermissionDenied)
            || exchange.error().is_some() && matches!(exchange.response.status, 401 | 403) =>
        {
            verdict.not_measured("the extended card needs credentials");
        }
        None => expect::error(verdict, exchange, &[ErrorKind::ExtendedAgentCardNotConfigured]),
    }
}
