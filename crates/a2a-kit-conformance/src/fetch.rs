//! Fetching the card, with a record of the exchange.

use std::{path::Path, sync::Arc};

use a2a_core::AgentCard;
use a2a_kit_client::{CardReference, DiscoveryError, Document, Transport};
use a2a_kit_lint::Subject;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Uri};
use serde_json::Value;

use crate::{
    evidence::CardEvidence,
    exchange::{Answer, Exchange, RecordedRequest, RecordedResponse},
    identity::{Credential, Identity},
    interfaces::{self, Interface},
    wire::{MAX_BODY_BYTES, RawHttp},
};

const WELL_KNOWN: &str = "/.well-known/agent-card.json";
const LEGACY: &str = "/.well-known/agent.json";

/// Why a run could not start.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The reference of the card is malformed.
    #[error("{0}")]
    Reference(String),
    /// The agent can't be reached.
    #[error("failed to fetch the agent card from {url}: {reason}")]
    Unreachable {
        /// The URL of the card.
        url: String,
        /// Why the fetch failed.
        reason: String,
    },
    /// There is no card.
    #[error("no agent card at {0}")]
    NotFound(String),
    /// The card requires other credentials.
    #[error("access to the agent card at {url} denied (HTTP {status})")]
    Denied {
        /// The URL of the card.
        url: String,
        /// 401 or 403.
        status: u16,
    },
    /// The card has no interface with the bindings and revisions to check.
    #[error("the card has no such interface; it has {0}")]
    NoInterface(String),
    /// The client can't be set up.
    #[error("failed to set up the client: {0}")]
    Setup(String),
}

a2a_core::debug_as_chain!(RunError);

/// A card, and how it was fetched.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    pub(crate) evidence: CardEvidence,
    /// The card in the form of 1.0; empty if the document is none.
    pub(crate) card: Arc<AgentCard>,
    pub(crate) interfaces: Vec<Interface>,
    /// Scheme and host of the card.
    pub(crate) origin: Option<String>,
}

/// Fetches the card that a reference names.
pub(crate) async fn fetch(
    target: &str,
    http: &RawHttp,
    credentials: &[Credential],
) -> Result<Fetched, RunError> {
    let reference: CardReference =
        target.parse().map_err(|error: DiscoveryError| RunError::Reference(error.to_string()))?;
    match reference {
        CardReference::File(path) => file(&path).await,
        CardReference::Url(url) => remote(&url, http, credentials).await,
        _ => Err(RunError::Reference(format!("{target:?} is no host, URL or file"))),
    }
}

async fn file(path: &Path) -> Result<Fetched, RunError> {
    let name = path.display().to_string();
    let bytes = tokio::task::spawn_blocking({
        let path = path.to_owned();
        move || read_file(&path)
    })
    .await
    .map_err(|error| RunError::Setup(error.to_string()))?
    .map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => RunError::NotFound(name.clone()),
        _ => RunError::Unreachable { url: name.clone(), reason: error.to_string() },
    })?;
    let request = RecordedRequest { line: format!("file {name}"), ..Default::default() };
    let response = RecordedResponse { status: 200, body: bytes, ..Default::default() };
    let mut fetched = read(exchange(request, response, None));
    fetched.evidence.is_file = true;
    Ok(fetched)
}

/// Reads a file within the bound of bodies.
fn read_file(path: &Path) -> std::io::Result<Bytes> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_BODY_BYTES).unwrap_or(u64::MAX);
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

async fn remote(
    url: &Uri,
    http: &RawHttp,
    credentials: &[Credential],
) -> Result<Fetched, RunError> {
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static("application/json"));
    let mut address = url.to_string();
    let mut is_at_legacy_path = false;
    let mut fetched = get(http, &address, headers.clone()).await?;
    if fetched.response.status != 200 && !url.path().ends_with(".json") {
        // The URL of an agent: its card is below.
        let below = format!("{}{WELL_KNOWN}", address.trim_end_matches('/'));
        let at_below = get(http, &below, headers.clone()).await?;
        if at_below.response.status == 200 {
            (address, fetched) = (below, at_below);
        }
    }
    if matches!(fetched.response.status, 404 | 410)
        && let Some(start) = address.strip_suffix(WELL_KNOWN)
    {
        let legacy = format!("{start}{LEGACY}");
        let old = get(http, &legacy, headers.clone()).await?;
        if old.response.status == 200 {
            (address, fetched) = (legacy, old);
            is_at_legacy_path = true;
        }
    }
    if matches!(fetched.response.status, 401 | 403) && !credentials.is_empty() {
        headers.extend(Identity::new(credentials, &AgentCard::default()).headers());
        fetched = get(http, &address, headers.clone()).await?;
    }
    match fetched.response.status {
        404 | 410 => return Err(RunError::NotFound(address)),
        status @ (401 | 403) => return Err(RunError::Denied { url: address, status }),
        _ => {}
    }
    let etag = fetched.response.headers.get("etag").cloned();
    let mut card = read(fetched);
    card.evidence.is_at_legacy_path = is_at_legacy_path;
    if let Some(etag) = etag {
        headers.insert("if-none-match", etag);
        card.evidence.conditional = get(http, &address, headers).await.ok();
    }
    let authority = url.authority().map(ToString::to_string).unwrap_or_default();
    card.origin = Some(format!("{}://{authority}/", url.scheme_str().unwrap_or("http")));
    Ok(card)
}

async fn get(http: &RawHttp, url: &str, headers: HeaderMap) -> Result<Exchange, RunError> {
    let captured = http.send(Method::GET, url, headers, Bytes::new(), None).await;
    match captured.failure {
        Some(reason) if captured.response.status == 0 => {
            Err(RunError::Unreachable { url: url.to_owned(), reason })
        }
        failure => Ok(exchange(captured.request, captured.response, failure)),
    }
}

fn exchange(
    request: RecordedRequest,
    response: RecordedResponse,
    failure: Option<String>,
) -> Exchange {
    let answer = match (failure, serde_json::from_slice(&response.body)) {
        (Some(why), _) => Answer::Unusable(why),
        (None, Ok(document)) => Answer::Result(document),
        (None, Err(error)) => Answer::Unusable(format!("the card is no JSON: {error}")),
    };
    Exchange {
        binding: Transport::Rest,
        operation: "GET of the card",
        params: Value::Null,
        id: None,
        request,
        response,
        answer,
        elapsed: std::time::Duration::ZERO,
    }
}

/// Reads a card of any revision.
fn read(fetch: Exchange) -> Fetched {
    let document = fetch.result().cloned().unwrap_or_default();
    let mut findings = None;
    let (violations, card, interfaces) = match Document::read(fetch.response.body.clone()) {
        Ok(read) => {
            let subject = Subject::new(&read.card, &read.json, read.version, read.violations());
            findings = Some(a2a_kit_lint::check(&subject).into_sorted().0);
            let interfaces = interfaces::of_card(&read.card);
            (read.violations(), read.card, interfaces)
        }
        Err(DiscoveryError::NotACard(error)) => {
            let mut violations = error.violations().to_vec();
            if violations.is_empty() && document.is_object() {
                violations.push(a2a_core::Violation::new("card", error.message()));
            }
            (violations, Arc::default(), Vec::new())
        }
        Err(_) => (Vec::new(), Arc::default(), Vec::new()),
    };
    let evidence = CardEvidence {
        fetch,
        is_file: false,
        is_at_legacy_path: false,
        conditional: None,
        document,
        violations,
        findings,
        probe: None,
    };
    Fetched { evidence, card, interfaces, origin: None }
}
