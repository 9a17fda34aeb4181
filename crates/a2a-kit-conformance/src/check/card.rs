//! The agent card and its delivery.

use a2a_core::host;
use http::Uri;
use serde_json::Value;

use super::definition::Check;
use crate::{
    card_evidence::CardEvidence,
    exchange::text,
    level::Level::{Must, Should},
    verdict::Verdict,
};

pub(super) const CHECKS: &[Check] = &[
    Check::card("R-337", Must, "8.1", "The agent publishes a card", is_published),
    Check::card("R-338", Must, "14.3", "The well-known URI returns an Agent Card", is_a_card),
    Check::card("R-340", Must, "8.3", "The card declares its interfaces properly", interfaces),
    Check::card(
        "R-348",
        Must,
        "4.4.6",
        "URLs of interfaces are absolute, and HTTPS beyond loopback",
        urls,
    ),
    Check::card("R-350", Must, "4.5", "URLs of OAuth use TLS", oauth_urls),
    Check::card("R-145", Should, "3.6", "Versions in the card have no patch number", no_patch),
    Check::card(
        "R-355",
        Should,
        "8.6.1",
        "The card has `Cache-Control` with `max-age`",
        cache_control,
    ),
    Check::card("R-356", Should, "8.6.1", "The card has an `ETag`", etag),
    Check::card(
        "R-354",
        Should,
        "8.6",
        "A conditional request for an unchanged card gets 304",
        conditional,
    ),
];

fn is_published<'a>(card: &'a CardEvidence, verdict: &mut Verdict<'a>) {
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
            .to_owned()
    });
}

fn is_a_card<'a>(card: &'a CardEvidence, verdict: &mut Verdict<'a>) {
    let fetch = &card.fetch;
    if !card.document.is_object() {
        return verdict.found(Some(fetch), "the document is no JSON object".to_owned());
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
        verdict.found(Some(fetch), format!("`{}` {}", violation.field, violation.description));
    }
    if card.is_current() {
        for member in [
            "name",
            "description",
            "version",
            "capabilities",
            "defaultInputModes",
            "defaultOutputModes",
            "skills",
        ] {
            verdict.require(
                card.document.get(member).is_some_and(|value| !value.is_null()),
                fetch,
                || format!("the card lacks `{member}`, which is REQUIRED"),
            );
        }
    }
}

fn interfaces<'a>(card: &'a CardEvidence, verdict: &mut Verdict<'a>) {
    let fetch = &card.fetch;
    if let Some(probe) = &card.probe {
        let speaks = probe.error().is_some_and(|error| {
            crate::expect::is(error, probe.binding, a2a_core::ErrorKind::TaskNotFound)
        });
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

fn urls<'a>(card: &'a CardEvidence, verdict: &mut Verdict<'a>) {
    for (index, interface) in card.interfaces().enumerate() {
        let url = text(interface, "url");
        // An address of gRPC may be host and port.
        let is_bare = text(interface, "protocolBinding") == "GRPC" && !url.contains("://");
        if is_bare {
            verdict.measured();
            continue;
        }
        let parsed: Option<Uri> = url.parse().ok().filter(|url: &Uri| url.host().is_some());
        let Some(parsed) = parsed.filter(|url| url.scheme().is_some()) else {
            let message =
                format!("`supportedInterfaces[{index}].url`, {url:?}, is no absolute URL");
            verdict.found(Some(&card.fetch), message);
            continue;
        };
        let is_exposed = matches!(parsed.scheme_str(), Some("http" | "grpc"))
            && !parsed.host().is_some_and(host::is_loopback);
        verdict.require(!is_exposed, &card.fetch, || {
            format!("`supportedInterfaces[{index}].url`, {url}, is plaintext and not on loopback")
        });
    }
}

fn oauth_urls<'a>(card: &'a CardEvidence, verdict: &mut Verdict<'a>) {
    let mut urls = Vec::new();
    for (name, scheme) in
        card.document.get("securitySchemes").and_then(Value::as_object).into_iter().flatten()
    {
        let Some(scheme) = scheme.get("oauth2SecurityScheme") else { continue };
        collect_urls(scheme, &mut urls, name);
    }
    if urls.is_empty() {
        return verdict.skip("the card declares no OAuth scheme");
    }
    for (name, url) in urls {
        let is_local =
            url.parse::<Uri>().is_ok_and(|url| url.host().is_some_and(host::is_loopback));
        verdict.require(url.starts_with("https://") || is_local, &card.fetch, || {
            format!("the OAuth scheme {name:?} has the URL {url} without TLS")
        });
    }
}

fn collect_urls(value: &Value, urls: &mut Vec<(String, String)>, scheme: &str) {
    let Some(members) = value.as_object() else { return };
    for (name, member) in members {
        match member {
            Value::String(url) if name.ends_with("Url") => {
                urls.push((scheme.to_owned(), url.clone()));
            }
            other if name != "scopes" => collect_urls(other, urls, scheme),
            _ => {}
        }
    }
}

fn no_patch<'a>(card: &'a CardEvidence, verdict: &mut Verdict<'a>) {
    for interface in card.interfaces() {
        let version = text(interface, "protocolVersion");
        verdict.require(version.matches('.').count() <= 1, &card.fetch, || {
            format!(
                "an interface has the version {version:?}, which should be major and minor only"
            )
        });
    }
}

fn cache_control<'a>(card: &'a CardEvidence, verdict: &mut Verdict<'a>) {
    if card.is_file {
        return verdict.not_measured("the card is a file");
    }
    let value = card.fetch.response.header("cache-control").unwrap_or_default();
    verdict.require(value.contains("max-age"), &card.fetch, || {
        format!("the card has `Cache-Control` {value:?}, without `max-age`")
    });
}

fn etag<'a>(card: &'a CardEvidence, verdict: &mut Verdict<'a>) {
    if card.is_file {
        return verdict.not_measured("the card is a file");
    }
    let has_etag = card.fetch.response.header("etag").is_some();
    verdict.require(has_etag, &card.fetch, || "the card has no `ETag`".to_owned());
}

fn conditional<'a>(card: &'a CardEvidence, verdict: &mut Verdict<'a>) {
    match &card.conditional {
        Some(exchange) => verdict.require(exchange.response.status == 304, exchange, || {
            format!("`If-None-Match` with the card's ETag gave HTTP {}", exchange.response.status)
        }),
        None => verdict.not_measured("the card has no `ETag`"),
    }
}
