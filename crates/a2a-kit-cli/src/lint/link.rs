//! The provider and links for people.

use a2a_kit_http::uri;

use super::{Findings, rule::Rule, strings::quote, subject::Subject};

const PROVIDER: Rule = Rule::info(
    "missing-provider",
    "the card names no provider, so users can't tell who runs the agent",
    "add provider.organization and provider.url",
);
const LINK: Rule = Rule::warning(
    "invalid-link",
    "a link for people (provider, documentation, icon) is not an http or https URL",
    "write the complete URL",
);

pub(super) const RULES: &[&Rule] = &[&PROVIDER, &LINK];

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let card = subject.card();
    let provider = card.provider.as_ref();
    if provider.is_none() {
        findings.add(&PROVIDER, "/provider", "the card names no provider");
    }
    for (pointer, link) in [
        ("/provider/url", provider.map_or("", |provider| &provider.url)),
        ("/documentationUrl", card.documentation_url()),
        ("/iconUrl", card.icon_url()),
    ] {
        let is_url = |text: &str| {
            uri::parse(text).is_ok_and(|url| matches!(url.scheme_str(), Some("http" | "https")))
        };
        let is_icon = pointer == "/iconUrl" && link.starts_with("data:image/");
        if !link.is_empty() && !is_icon && !is_url(link) {
            findings.add(&LINK, pointer, format!("{} is not a URL", quote(link)));
        }
    }
}
