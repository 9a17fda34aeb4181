//! From a reference to an agent card.

use std::{path::PathBuf, sync::Arc};

use a2a_core::{
    AgentCard, Error, ErrorKind, Validate as _, Violation, card, json, v1::AgentInterface,
};
use a2a_http::{
    client::{ClientSettings, HttpClient},
    parameters,
};
use a2a_operations::CallContext;
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE},
};
use serde::Deserialize;
use url::Url;

use crate::{CardCache, CardReference, cache::Lookup};

/// Why an agent card could not be obtained, or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// The reference names no place.
    #[error("{reference:?} names no agent card: {reason}")]
    Reference {
        /// The reference.
        reference: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file can't be read.
    #[error("the card file {} can't be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Nobody answers at the address, or not in time.
    #[error("no answer from {url}")]
    Unreachable {
        /// The address.
        url: Url,
        /// What the transport says.
        source: Error,
    },
    /// There is nothing at the address.
    #[error("there is no agent card at {0}")]
    NotFound(Url),
    /// The server wants to know who asks.
    #[error("{url} gives its card only to those who authenticate (HTTP {status})")]
    Denied {
        /// The address.
        url: Url,
        /// 401 or 403.
        status: u16,
        /// How to authenticate, where the server says so.
        challenge: Option<String>,
    },
    /// The server answered something else than a card.
    #[error("{url} answered with HTTP {status}")]
    Status {
        /// The address.
        url: Url,
        /// The status of the answer.
        status: u16,
    },
    /// The card is larger than a client takes.
    #[error("the card is larger than {limit} bytes")]
    TooLarge {
        /// The most bytes that are taken.
        limit: usize,
    },
    /// The address answered, but not with a card.
    #[error("the answer is not an agent card: {0}")]
    NotACard(Error),
    /// The card breaks rules of the protocol.
    #[error("the agent card is invalid: {}", Listed(.0))]
    Invalid(Vec<Violation>),
    /// No offered interface is of a binding that this client speaks.
    #[error("the agent offers only {0:?}")]
    NoCommonBinding(Vec<String>),
    /// No offered interface is of a revision that this client speaks.
    #[error("the agent speaks another version: it offers only {0:?}")]
    NoCommonVersion(Vec<String>),
    /// The card came encrypted and names only interfaces in clear, to which credentials are not
    /// sent.
    #[error("credentials are not sent in clear to {0:?}")]
    Exposed(Vec<String>),
    /// The client itself can't be set up.
    #[error("the client can't be set up")]
    Setup(#[source] Error),
}

struct Listed<'a>(&'a [Violation]);

impl std::fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, violation) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{} {}", violation.field, violation.description)?;
        }
        Ok(())
    }
}

/// An agent card with the text it was read from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Document {
    /// The card.
    pub card: Arc<AgentCard>,
    /// Its JSON as it was received: what signatures are over, and what a checker looks at.
    pub json: Bytes,
}

impl Document {
    /// Reads a card. Members that this revision does not know are passed over.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::NotACard`] for text that is not JSON or whose members have wrong types.
    pub fn read(json: Bytes) -> Result<Self, DiscoveryError> {
        let mut card: AgentCard = json::from_slice(&json).map_err(DiscoveryError::NotACard)?;
        // A list reads as the members of a card in their order, and is none.
        if json.trim_ascii_start().first() != Some(&b'{') {
            let error = Error::new(ErrorKind::ParseError, "it is not a JSON object");
            return Err(DiscoveryError::NotACard(error));
        }
        complete_versions(&mut card, &json);
        Ok(Self { card: Arc::new(card), json })
    }

    /// Returns every rule of the protocol that the card breaks.
    pub fn violations(&self) -> Vec<Violation> {
        let mut violations = self.card.violations();
        if self.card.supported_interfaces.is_empty()
            && !violations.iter().any(|violation| violation.field == "supportedInterfaces")
        {
            violations.push(Violation::new("supportedInterfaces", "needs at least one interface"));
        }
        violations
    }

    /// Returns the card if it breaks no rule.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::NoCommonVersion`] for a card of a revision before 1.0, and
    /// [`DiscoveryError::Invalid`] with every rule that a card of 1.0 breaks.
    pub fn valid(self) -> Result<Arc<AgentCard>, DiscoveryError> {
        if self.card.supported_interfaces.is_empty() {
            let older = OlderForm::read(&self.json);
            if let (true, Some(version)) = (older.is_some(), older.protocol_version.as_str()) {
                let transport = older.preferred_transport.as_str().unwrap_or(card::JSONRPC);
                let offered = vec![format!("{transport} {version}")];
                return Err(DiscoveryError::NoCommonVersion(offered));
            }
        }
        let violations = self.violations();
        if violations.is_empty() { Ok(self.card) } else { Err(DiscoveryError::Invalid(violations)) }
    }

    #[cfg(test)]
    pub(crate) fn for_tests(name: &str) -> Self {
        let card = AgentCard::new(name, "for tests");
        Self { card: Arc::new(card), json: Bytes::new() }
    }
}

/// Members that cards had at their root before 1.0.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OlderForm {
    url: serde_json::Value,
    preferred_transport: serde_json::Value,
    protocol_version: serde_json::Value,
}

impl OlderForm {
    fn read(json: &[u8]) -> Self {
        serde_json::from_slice(json).unwrap_or_default()
    }

    fn is_some(&self) -> bool {
        [&self.url, &self.preferred_transport, &self.protocol_version]
            .into_iter()
            .any(|member| !member.is_null())
    }
}

/// Examples of the specification leave out the version of an interface. It is that of the card
/// where the card is of an older form, and 1.0 elsewhere (C-45).
fn complete_versions(card: &mut AgentCard, json: &[u8]) {
    let lacks_version = |interface: &&mut AgentInterface| interface.protocol_version.is_empty();
    let mut lacking = card.supported_interfaces.iter_mut().filter(lacks_version).peekable();
    if lacking.peek().is_none() {
        return;
    }
    let version = if OlderForm::read(json).is_some() { "0.3" } else { "1.0" };
    for interface in lacking {
        interface.protocol_version = version.to_owned();
    }
}

/// Reads agent cards, and keeps them by the rules of HTTP.
#[derive(Clone, Debug)]
pub struct Discovery {
    http: HttpClient,
    cache: Option<CardCache>,
    max_bytes: usize,
}

/// The largest card that is taken, in bytes.
pub(crate) const MAX_CARD_BYTES: usize = 1 << 20;

impl Discovery {
    /// Creates one that waits, and sends headers, as `settings` say. It takes cards of up to
    /// 1 MiB.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::Setup`] where the settings can't be used.
    pub fn new(settings: ClientSettings) -> Result<Self, DiscoveryError> {
        let max_bytes = settings.max_response_bytes.min(MAX_CARD_BYTES);
        let settings = settings.with_max_response_bytes(max_bytes);
        let http = HttpClient::new(settings).map_err(DiscoveryError::Setup)?;
        Ok(Self { http, cache: Some(CardCache::new()), max_bytes })
    }

    /// Shares a cache, or keeps nothing.
    #[must_use]
    pub fn with_cache(mut self, cache: impl Into<Option<CardCache>>) -> Self {
        self.cache = cache.into();
        self
    }

    /// Reads a card and checks it.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`], with every violation where the card breaks rules.
    pub async fn discover(&self, reference: &str) -> Result<Arc<AgentCard>, DiscoveryError> {
        self.fetch(&reference.parse()?).await?.valid()
    }

    /// Reads a card without checking more than its form.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] where there is none.
    pub async fn fetch(&self, reference: &CardReference) -> Result<Document, DiscoveryError> {
        match reference {
            CardReference::File(path) => self.read_file(path.clone()).await,
            CardReference::Url(url) => self.get(url).await,
        }
    }

    async fn read_file(&self, path: PathBuf) -> Result<Document, DiscoveryError> {
        let file = |source| DiscoveryError::File { path: path.clone(), source };
        let length = tokio::fs::metadata(&path).await.map_err(file)?.len();
        if usize::try_from(length).map_or(true, |length| length > self.max_bytes) {
            return Err(DiscoveryError::TooLarge { limit: self.max_bytes });
        }
        Document::read(tokio::fs::read(&path).await.map_err(file)?.into())
    }

    async fn get(&self, url: &Url) -> Result<Document, DiscoveryError> {
        // What is answered to somebody is not for everybody.
        let anonymous = !self.http.settings().headers.contains_key(AUTHORIZATION);
        let cache = self.cache.as_ref().filter(|_| anonymous);
        let (known, conditions) = match cache.map(|cache| cache.look_up(url)) {
            Some(Lookup::Fresh(document)) => return Ok(document),
            Some(Lookup::Stale(document, conditions)) => (Some(document), conditions),
            Some(Lookup::Absent) | None => (None, Vec::new()),
        };
        let mut headers = HeaderMap::from_iter(conditions);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        parameters::write(&CallContext::default(), &mut headers);
        let unreachable = |source| DiscoveryError::Unreachable { url: url.clone(), source };
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(url.as_str())
            .body(Bytes::new())
            .map_err(|error| unreachable(Error::internal(error)))?;
        *request.headers_mut() = headers;
        let response = self.http.send(request).await.map_err(|error| match error.kind() {
            ErrorKind::InvalidAgentResponse => DiscoveryError::TooLarge { limit: self.max_bytes },
            _ => unreachable(error),
        })?;
        let (head, body) = response.into_parts();
        match (head.status, known) {
            (StatusCode::NOT_MODIFIED, Some(document)) => {
                if let Some(cache) = cache {
                    cache.confirm(url, &head.headers);
                }
                Ok(document)
            }
            (status, _) if status.is_success() => {
                let document = Document::read(body)?;
                if let Some(cache) = cache {
                    cache.store(url, &head.headers, &document);
                }
                Ok(document)
            }
            (StatusCode::NOT_FOUND | StatusCode::GONE, _) => {
                Err(DiscoveryError::NotFound(url.clone()))
            }
            (status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN), _) => {
                let challenge = head.headers.get(WWW_AUTHENTICATE);
                let challenge = challenge.and_then(|line| line.to_str().ok()).map(str::to_owned);
                Err(DiscoveryError::Denied { url: url.clone(), status: status.as_u16(), challenge })
            }
            (status, _) => {
                Err(DiscoveryError::Status { url: url.clone(), status: status.as_u16() })
            }
        }
    }
}

/// Reads the card that `reference` names and checks it, with everything at its default.
///
/// # Errors
///
/// [`DiscoveryError`].
pub async fn discover(reference: &str) -> Result<Arc<AgentCard>, DiscoveryError> {
    Discovery::new(ClientSettings::default())?.discover(reference).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Document {
        Document::read(Bytes::copy_from_slice(json.as_bytes())).unwrap()
    }

    #[test]
    fn a_card_is_read_with_members_that_nobody_knows_and_checked_for_those_it_needs() {
        let document = read(
            r#"{"name": "a", "futureMember": {"x": 1}, "supportedInterfaces": [
                {"url": "", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "x": 1}],
                "skills": [{"id": "s"}]}"#,
        );
        let fields: Vec<_> =
            document.violations().into_iter().map(|violation| violation.field).collect();
        for field in ["version", "capabilities", "supportedInterfaces[0].url", "skills[0].name"] {
            assert!(fields.iter().any(|broken| broken == field), "{field} in {fields:?}");
        }
        assert!(matches!(document.valid(), Err(DiscoveryError::Invalid(_))));
    }

    #[test]
    fn an_interface_without_a_version_is_of_the_cards_form() {
        let version = |json| read(json).card.supported_interfaces[0].protocol_version.clone();
        let plain = r#"{"supportedInterfaces": [{"url": "https://a", "protocolBinding": "GRPC"}]}"#;
        assert_eq!(version(plain), "1.0");
        let older = r#"{"url": "https://a", "supportedInterfaces": [{"url": "https://a"}]}"#;
        assert_eq!(version(older), "0.3");
    }

    #[test]
    fn a_card_of_an_older_revision_is_of_another_version_and_not_invalid() {
        let document = read(
            r#"{"protocolVersion": "0.3.0", "name": "a", "url": "https://a",
                "preferredTransport": "GRPC", "skills": []}"#,
        );
        let error = document.valid().unwrap_err();
        let DiscoveryError::NoCommonVersion(offered) = error else { panic!("{error}") };
        assert_eq!(offered, ["GRPC 0.3.0"]);
    }

    #[test]
    fn what_is_no_card_is_told_apart_from_a_bad_card() {
        for json in ["<html>", "", "[]", r#"{"name": 7}"#] {
            let error = Document::read(Bytes::from_static(json.as_bytes())).unwrap_err();
            assert!(matches!(error, DiscoveryError::NotACard(_)), "{json}: {error}");
        }
    }
}
