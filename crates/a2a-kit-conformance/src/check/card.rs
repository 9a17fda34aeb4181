//! The agent card and its delivery.

use serde_json::Value;

use super::definition::{Check, must, should};
use crate::{evidence::CardEvidence, exchange::text, verdict::Verdict};

pub(super) const CHECKS: &[Check] = &[
    must("R-337", "8.1", "The agent publishes a card").by_card(is_published),
    must("R-338", "14.3", "The well-known URI returns an Agent Card").by_card(is_a_card),
    must("R-340", "8.3", "The card declares its interfaces properly").by_card(interfaces),
    must("R-348", "4.4.6", "URLs of interfaces are absolute, and HTTPS beyond loopback")
        .by_card(urls),
    must("R-350", "4.5", "URLs of OAuth use TLS").by_card(oauth_urls),
    should("R-145", "3.6", "Versions in the card have no patch number").by_card(no_patch),
    should("R-355", "8.6.1", "The card has `Cache-Control` with `max-age`").by_card(cache_control),
    should("R-356", "8.6.1", "The card has an `ETag`").by_card(etag),
    should("R-354", "8.6", "A conditional request for an unchanged card gets 304")
        .by_card(conditional),
];

fn is_published(card: &CardEvidence, verdict: &mut Verdict<'_>) {
    if card.is_file {
        return verdict.not_measured("the card is a file");
    }
    let fetch = &card.fetch;
    verdict.require(fetch.response.status == 200, fetch, || {
        format!("the card has HTTP status {} instead of 200", fetch.response.status)
    });
    let is_old = text(&card.document, "protocolVersion").starts_with("0.2")
        || card.document.get("authentication").is_some();
    verdict.require(!card.is_at_legacy_path || is_old, fetch, || {
        "the card is at /.well-known/agent.json only, the path before 0.3, instead of \
         /.well-known/agent-card.json"
    });
}

fn is_a_card(card: &CardEvidence, verdict: &mut Verdict<'_>) {
    let fetch = &card.fetch;
    if !card.document.is_object() {
        return verdict.found(fetch, "the document is no JSON object");
    }
    if !card.is_file {
        let media_type = fetch.response.media_type();
        let is_json = matches!(media_type.as_str(), "application/json" | "application/a2a+json");
        verdict.require(is_json, fetch, || {
            format!("the card has the content type {media_type:?} instead of application/json")
        });
    }
    let mut members = card.violations.iter().peekable();
    if members.peek().is_none() {
        verdict.measured();
    }
    for violation in members {
        verdict.found(fetch, format!("`{}` {}", violation.field, violation.description));
    }
    if card.is_current() {
        const REQUIRED: &str = "name description version capabilities defaultInputModes \
            defaultOutputModes skills";
        for member in REQUIRED.split(' ') {
            let is_present = card.document.get(member).is_some_and(|value| !value.is_null());
            verdict.require(is_present, fetch, || {
                format!("the card lacks `{member}`, which is REQUIRED")
            });
        }
    }
}

fn interfaces(card: &CardEvidence, verdict: &mut Verdict<'_>) {
    let fetch = &card.fetch;
    if let Some(probe) = &card.probe {
        let speaks = probe.is_error(a2a_core::ErrorKind::TaskNotFound);
        verdict.require(!speaks || card.is_current(), probe, || {
            "the agent speaks 1.0, but the card has no `supportedInterfaces`".to_owned()
        });
    }
    if !card.is_current() {
        let legacy =
            ["url", "protocolVersion"].iter().any(|name| card.document.get(name).is_some());
        verdict.require(legacy, fetch, || {
            "the card has no `supportedInterfaces`, so that no client can call the agent".to_owned()
        });
        return;
    }
    verdict.require(card.interfaces().next().is_some(), fetch, || {
        "`supportedInterfaces` is empty: it needs at least one interface".to_owned()
    });
    for (index, interface) in card.interfaces().enumerate() {
        for member in ["url", "protocolBinding", "protocolVersion"] {
            verdict.require(!text(interface, member).is_empty(), fetch, || {
                format!("`supportedInterfaces[{index}]` lacks `{member}`, which is REQUIRED")
            });
        }
    }
}

/// Adopts the findings of rules of `a2a card lint`.
fn lint(card: &CardEvidence, verdict: &mut Verdict<'_>, rules: &[&str]) {
    let Some(findings) = &card.findings else {
        return verdict.not_measured("the card can't be read");
    };
    for finding in findings.iter().filter(|finding| rules.contains(&finding.rule.id)) {
        verdict.adopt(&card.fetch, finding);
    }
    if card.interfaces().next().is_some() {
        verdict.measured();
    }
}

fn urls(card: &CardEvidence, verdict: &mut Verdict<'_>) {
    lint(card, verdict, &["invalid-url", "unroutable-url", "plaintext-url"]);
}

fn oauth_urls(card: &CardEvidence, verdict: &mut Verdict<'_>) {
    let schemes = card.document.get("securitySchemes").and_then(Value::as_object);
    let mut schemes = schemes.into_iter().flat_map(|schemes| schemes.values());
    if !schemes.any(|scheme| scheme.get("oauth2SecurityScheme").is_some()) {
        return verdict.skip("the card declares no OAuth scheme");
    }
    lint(card, verdict, &["oauth-endpoint-without-tls"]);
}

fn no_patch(card: &CardEvidence, verdict: &mut Verdict<'_>) {
    lint(card, verdict, &["version-with-patch", "version-format"]);
}

fn cache_control(card: &CardEvidence, verdict: &mut Verdict<'_>) {
    if card.is_file {
        return verdict.not_measured("the card is a file");
    }
    let value = card.fetch.response.header("cache-control").unwrap_or_default();
    verdict.require(value.contains("max-age"), &card.fetch, || {
        format!("the card has `Cache-Control` {value:?}, without `max-age`")
    });
}

fn etag(card: &CardEvidence, verdict: &mut Verdict<'_>) {
    if card.is_file {
        return verdict.not_measured("the card is a file");
    }
    let has_etag = card.fetch.response.header("etag").is_some();
    verdict.require(has_etag, &card.fetch, || "the card has no `ETag`");
}

fn conditional(card: &CardEvidence, verdict: &mut Verdict<'_>) {
    match &card.conditional {
        Some(exchange) => verdict.require(exchange.response.status == 304, exchange, || {
            format!("`If-None-Match` with the card's ETag gave HTTP {}", exchange.response.status)
        }),
        None => verdict.not_measured("the card has no `ETag`"),
    }
}
