//! From a reference to an agent card.

use std::{path::PathBuf, sync::Arc};

use a2a_auth::client::CredentialError;
use a2a_compat::card::DRAFT;
use a2a_core::{
    AgentCard, Error, ErrorKind, ProtocolVersion, Validate as _, Violation, v1::AgentInterface,
};
use a2a_http::{
    client::{ClientSettings, HttpClient},
    service_parameters,
};
use a2a_operations::{CallContext, CardSignature};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE},
};
use serde::Deserialize;
use url::Url;

use crate::{CardCache, CardReference, SignaturePolicy, cache::Lookup, reference::WELL_KNOWN};

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
    /// There is nothing to authenticate with at any interface, or it may not go there.
    #[error("no credentials for the agent")]
    Credentials(#[source] CredentialError),
    /// The card is not signed by somebody who is trusted.
    #[error("the agent card is not trusted: its signature is {0}")]
    Signature(CardSignature),
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
    /// The revision in whose form it is written.
    pub form: ProtocolVersion,
    /// Whether it was found only where cards were before 0.3.
    pub is_at_older_address: bool,
    /// What is known of its signatures; `None` where nobody looked at them.
    pub signature: Option<CardSignature>,
}

impl Document {
    /// Reads a card of any revision. Members that its revision does not know are passed over.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::NotACard`] for text that is not JSON or whose members have wrong types.
    pub fn read(json: Bytes) -> Result<Self, DiscoveryError> {
        let (mut card, form) =
            a2a_compat::card::read_form(&json).map_err(DiscoveryError::NotACard)?;
        complete_versions(&mut card, form, &json);
        Ok(Self { card: Arc::new(card), json, form, is_at_older_address: false, signature: None })
    }

    /// Notes what is known of the signatures. Where one is good, the card is read anew from what
    /// it is over: somebody else may have put members beside.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::NotACard`] where what is signed is no card.
    pub(crate) fn with_signature(self, signature: CardSignature) -> Result<Self, DiscoveryError> {
        let mut document = match &signature {
            CardSignature::Verified { covered, .. } => {
                let signed = Self::read(covered.clone())?;
                let mut card = Arc::unwrap_or_clone(signed.card);
                card.signatures.clone_from(&self.card.signatures);
                Self { card: Arc::new(card), form: signed.form, ..self }
            }
            _ => self,
        };
        document.signature = Some(signature);
        Ok(document)
    }

    /// Returns every rule of the protocol that the card breaks. A card of an older form is held
    /// to what its revision asks for.
    pub fn violations(&self) -> Vec<Violation> {
        let mut violations = self.card.violations();
        if self.card.supported_interfaces.is_empty()
            && !violations.iter().any(|violation| violation.field == "supportedInterfaces")
        {
            violations.push(Violation::new("supportedInterfaces", "needs at least one interface"));
        }
        if self.form == ProtocolVersion::V0_1 {
            violations.retain(|violation| !is_optional_at_first(&violation.field));
        }
        violations
    }

    /// Returns the card if it breaks no rule.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::Invalid`] with every rule that the card breaks.
    pub fn valid(self) -> Result<Arc<AgentCard>, DiscoveryError> {
        let violations = self.violations();
        if violations.is_empty() { Ok(self.card) } else { Err(DiscoveryError::Invalid(violations)) }
    }

    #[cfg(test)]
    pub(crate) fn for_tests(name: &str) -> Self {
        let card = AgentCard::new(name, "for tests");
        Self {
            card: Arc::new(card),
            json: Bytes::new(),
            form: ProtocolVersion::LATEST,
            is_at_older_address: false,
            signature: None,
        }
    }
}

/// Returns whether 0.1 does without a member that every later revision asks for.
fn is_optional_at_first(field: &str) -> bool {
    let in_skill = field.strip_prefix("skills[").and_then(|rest| rest.split_once("]."));
    match in_skill {
        Some((_, member)) => matches!(member, "description" | "tags"),
        None => matches!(field, "description" | "defaultInputModes" | "defaultOutputModes"),
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
/// where the card is of an older form, and 1.0 elsewhere (C-45). The draft is called that, as it
/// has the number of 1.0.
fn complete_versions(card: &mut AgentCard, form: ProtocolVersion, json: &[u8]) {
    if form == ProtocolVersion::V1Draft {
        for interface in &mut card.supported_interfaces {
            if interface.protocol_version == ProtocolVersion::V1Draft.as_str() {
                DRAFT.clone_into(&mut interface.protocol_version);
            }
        }
    }
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
    signatures: SignaturePolicy,
    max_bytes: usize,
}

/// Where the card of a server was before 0.3.
const OLDER_PATH: &str = "/.well-known/agent.json";

/// The other address of a card that is asked for at the well-known one.
fn older_address(url: &Url) -> Option<Url> {
    if url.path() != WELL_KNOWN {
        return None;
    }
    let mut older = url.clone();
    older.set_path(OLDER_PATH);
    Some(older)
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
        let signatures = SignaturePolicy::Off;
        Ok(Self { http, cache: Some(CardCache::new()), signatures, max_bytes })
    }

    /// Shares a cache, or keeps nothing.
    #[must_use]
    pub fn with_cache(mut self, cache: impl Into<Option<CardCache>>) -> Self {
        self.cache = cache.into();
        self
    }

    /// Sets what is asked of the signatures of cards. Default: nothing.
    ///
    /// They are checked each time that a card is asked for, as a key may have expired since the
    /// card came into the cache.
    #[must_use]
    pub fn with_signatures(mut self, policy: SignaturePolicy) -> Self {
        self.signatures = policy;
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

    /// Reads a card without checking more than its form, and its signatures where that is asked
    /// for.
    ///
    /// Where there is none at the well-known address, the one that it had before 0.3 is tried.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] where there is none.
    pub async fn fetch(&self, reference: &CardReference) -> Result<Document, DiscoveryError> {
        self.signatures.apply(self.find(reference).await?).await
    }

    async fn find(&self, reference: &CardReference) -> Result<Document, DiscoveryError> {
        match reference {
            CardReference::File(path) => self.read_file(path.clone()).await,
            CardReference::Url(url) => match (self.get(url).await, older_address(url)) {
                (Err(DiscoveryError::NotFound(missing)), Some(older)) => {
                    match self.get(&older).await {
                        Ok(document) => Ok(Document { is_at_older_address: true, ..document }),
                        // What was asked for is what is missing.
                        Err(DiscoveryError::NotFound(_)) => Err(DiscoveryError::NotFound(missing)),
                        Err(error) => Err(error),
                    }
                }
                (answer, _) => answer,
            },
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
        service_parameters::write(&CallContext::default(), &mut headers);
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
    fn a_card_of_each_revision_is_read_and_names_where_it_is_spoken() {
        use ProtocolVersion::{V0_1, V0_2, V0_3, V1_0, V1Draft};
        let members = r#""name": "a", "description": "b", "version": "1",
            "capabilities": {"streaming": true}, "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"]}]"#;
        let url = "https://a.example/rpc";
        for (form, extra, interfaces) in [
            (
                V1_0,
                r#""supportedInterfaces": [{"url": "https://a.example/rpc",
                    "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]"#,
                vec![("JSONRPC", url, "1.0")],
            ),
            (
                V1Draft,
                r#""protocolVersion": "1.0", "supportedInterfaces": [
                    {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC"}]"#,
                vec![("JSONRPC", url, "draft")],
            ),
            (
                V0_3,
                r#""protocolVersion": "0.3.0", "url": "https://a.example/rpc",
                    "preferredTransport": "JSONRPC", "additionalInterfaces": [
                    {"url": "https://a.example/rpc", "transport": "JSONRPC"},
                    {"url": "https://a.example/rest", "transport": "HTTP+JSON"}]"#,
                vec![("JSONRPC", url, "0.3"), ("HTTP+JSON", "https://a.example/rest", "0.3")],
            ),
            (
                V0_2,
                r#""protocolVersion": "0.2.6", "url": "https://a.example/rpc""#,
                vec![("JSONRPC", url, "0.2")],
            ),
            (
                V0_1,
                r#""url": "https://a.example/rpc", "authentication": {"schemes": ["Bearer"]}"#,
                vec![("JSONRPC", url, "0.1")],
            ),
        ] {
            let document = read(&format!("{{{members}, {extra}}}"));
            assert_eq!(document.form, form);
            let found: Vec<_> = document
                .card
                .supported_interfaces
                .iter()
                .map(|one| {
                    let binding = one.protocol_binding.as_str();
                    (binding, one.url.as_str(), one.protocol_version.as_str())
                })
                .collect();
            assert_eq!(found, interfaces, "{form:?}");
            assert!(document.card.can_stream(), "{form:?}");
            let card = document.valid().unwrap();
            let selected = crate::Preference::default().select(&card).unwrap();
            assert_eq!(selected[0].version, form);
        }
    }

    #[test]
    fn a_card_of_the_oldest_form_needs_no_more_than_that_form_asks_for() {
        let document = read(
            r#"{"name": "a", "url": "https://a", "version": "1", "capabilities": {},
                "authentication": {"schemes": []}, "skills": [{"id": "s", "name": "S"}]}"#,
        );
        assert_eq!(document.form, ProtocolVersion::V0_1);
        assert!(document.violations().is_empty(), "{:?}", document.violations());
    }

    #[test]
    fn what_is_no_card_is_told_apart_from_a_bad_card() {
        for json in ["<html>", "", "[]", r#"{"name": 7}"#] {
            let error = Document::read(Bytes::from_static(json.as_bytes())).unwrap_err();
            assert!(matches!(error, DiscoveryError::NotACard(_)), "{json}: {error}");
        }
    }
}
