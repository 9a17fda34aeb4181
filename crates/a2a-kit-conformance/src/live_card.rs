//! A card as it is served, and its interfaces, called: the rules of the linter that need a network.

use std::{
    error::Error,
    sync::{Arc, Mutex, PoisonError},
};

use a2a_core::{AgentCard, ErrorKind, error_chain as chain};
use a2a_kit_client::Client;
use a2a_kit_http::{
    client::{ClientSettings, HttpClient, WireObserver, WirePart},
    content_type,
};
use a2a_kit_lint::{
    Findings, Subject,
    network::{
        ETAG_IGNORED, MEDIA_TYPE, MISSING_CACHE_CONTROL, MISSING_ETAG, MISSING_EXTENDED_CARD,
        REJECTED_VERSION, UNCHECKED, UNREACHABLE, WRONG_BINDING,
    },
    quote,
};
use bytes::Bytes;
use http::{
    HeaderMap, Request, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, EXPIRES, IF_NONE_MATCH, LAST_MODIFIED},
};

/// Maximum number of interfaces that are called.
const MAX_INTERFACES: usize = 32;

/// Calls each interface of a card: asks for a task that does not exist, and for the extended card.
/// `connect` creates the client of the interface with an index.
pub async fn check_interfaces<E: Error + 'static>(
    card: &AgentCard,
    subject: &Subject<'_>,
    connect: impl Fn(usize) -> Result<Client, E>,
    findings: &mut Findings,
) {
    for index in 0..card.supported_interfaces.len() {
        let pointer = subject.interface_pointer(index, "");
        if index >= MAX_INTERFACES {
            let message = format!("only the first {MAX_INTERFACES} interfaces are called");
            findings.add(&UNCHECKED, pointer, message);
            return;
        }
        interface(subject, card, connect(index), index, findings).await;
    }
}

async fn interface(
    subject: &Subject<'_>,
    card: &AgentCard,
    client: Result<Client, impl Error + 'static>,
    index: usize,
    findings: &mut Findings,
) {
    let interface = &card.supported_interfaces[index];
    let name = format!("{} at {}", interface.protocol_binding, quote(&interface.url));
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            let message = format!("{name}: {}", chain(&error));
            findings.add(&UNCHECKED, subject.interface_pointer(index, ""), message);
            return;
        }
    };
    let id = format!("a2a-lint-{}", uuid::Uuid::new_v4());
    let Err(error) = client.get(id).await else { return };
    let (rule, member) = match error.kind() {
        // Answers of an agent that does not have the task.
        ErrorKind::TaskNotFound
        | ErrorKind::InvalidParams
        | ErrorKind::ExtensionSupportRequired => {
            if card.has_extended_card()
                && let Err(error) = client.extended_card().await
                && error.kind() == ErrorKind::ExtendedAgentCardNotConfigured
            {
                let message = format!("{name}: {}", error.message());
                findings.add(&MISSING_EXTENDED_CARD, "/capabilities/extendedAgentCard", message);
            }
            return;
        }
        ErrorKind::VersionNotSupported => (&REJECTED_VERSION, "protocolVersion"),
        ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => (&UNCHECKED, ""),
        ErrorKind::Unavailable | ErrorKind::DeadlineExceeded => (&UNREACHABLE, "url"),
        _ => (&WRONG_BINDING, "protocolBinding"),
    };
    let pointer = subject.interface_pointer(index, member);
    findings.add(rule, pointer, format!("{name}: {}", chain(&error)));
}

/// Observes the responses while a card is fetched, and keeps the last one: how the card is served.
#[derive(Debug, Default)]
pub struct CardResponses {
    last: Mutex<Exchange>,
    next: Option<Arc<dyn WireObserver>>,
}

#[derive(Clone, Debug, Default)]
struct Exchange {
    url: String,
    headers: HeaderMap,
}

impl CardResponses {
    /// Creates an observer that also calls another one.
    pub fn before(next: Option<Arc<dyn WireObserver>>) -> Self {
        Self { next, ..Self::default() }
    }

    /// Checks the last response: its media type, and the headers for caches.
    pub async fn check(&self, settings: ClientSettings, findings: &mut Findings) {
        let card = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = |name| card.headers.get(name).and_then(|value| value.to_str().ok());
        if !content_type::is_json(&card.headers) {
            let media_type = text(CONTENT_TYPE).unwrap_or_default();
            let message = format!("Content-Type is {}", quote(media_type));
            findings.add(&MEDIA_TYPE, "", message);
        }
        if text(CACHE_CONTROL).is_none() && text(EXPIRES).is_none() {
            findings.add(&MISSING_CACHE_CONTROL, "", format!("no Cache-Control at {}", card.url));
        }
        let Some(etag) = text(ETAG) else {
            if text(LAST_MODIFIED).is_none() {
                findings.add(&MISSING_ETAG, "", format!("no ETag at {}", card.url));
            }
            return;
        };
        if status(settings, &card.url, etag).await == Some(StatusCode::OK) {
            let message = format!("200 in response to If-None-Match: {}", quote(etag));
            findings.add(&ETAG_IGNORED, "", message);
        }
    }
}

/// The status of a conditional request; `None` if it failed, which other rules report.
async fn status(settings: ClientSettings, url: &str, etag: &str) -> Option<StatusCode> {
    let request = Request::get(url).header(IF_NONE_MATCH, etag).body(Bytes::new()).ok()?;
    let response = HttpClient::new(settings).ok()?.send(request).await.ok()?;
    Some(response.status())
}

impl WireObserver for CardResponses {
    fn observe(&self, exchange: u64, part: WirePart<'_>) {
        if let Some(next) = &self.next {
            next.observe(exchange, part);
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match part {
            WirePart::Request { url, .. } => url.clone_into(&mut last.url),
            WirePart::Response { headers, .. } => last.headers.clone_from(headers),
            _ => {}
        }
    }
}
