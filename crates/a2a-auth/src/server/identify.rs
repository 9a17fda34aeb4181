//! The layer that looks at what a request authenticates with.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use a2a_http::{client_address, error_response as answer, service_parameters};
use a2a_operations::Caller;
use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Method, header::CACHE_CONTROL, request::Parts};
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use super::{
    Enforcement, Presented, Rejection, audit,
    enforcement::Inner,
    presented::Place,
    refusal::Refusal,
    requirement::{Judgement, Review, Verified},
};

/// How much is read of a request that is refused anyway, in bytes: enough to answer it in the
/// form that it asks for.
const MAX_REFUSED_BYTES: usize = 64 << 10;
/// How long that may take.
const MAX_REFUSED_TIME: Duration = Duration::from_secs(10);

/// The methods of gRPC that need no credentials: health and reflection tell nothing of the agent
/// that its public card does not. Compared whole, as a path of HTTP+JSON begins with its tenant,
/// which may be called like a service.
const PUBLIC_METHODS: [&str; 5] = [
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/List",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// What the layer found out, for the wrapper around the agent.
#[derive(Debug)]
pub(super) struct Identified {
    pub(super) verified: Vec<Verified>,
    /// Who the request comes from as far as the whole agent is concerned.
    pub(super) caller: Caller,
    pub(super) refusal: Option<Refusal>,
    pub(super) address: Option<IpAddr>,
    /// Whether the wrapper has refused already.
    pub(super) is_answered: AtomicBool,
}

impl Identified {
    /// What is known of a call that came past the layer.
    pub(super) fn nothing() -> Self {
        Self {
            verified: Vec::new(),
            caller: Caller::ANONYMOUS,
            refusal: None,
            address: None,
            is_answered: false.into(),
        }
    }

    pub(super) fn circumstances(&self) -> audit::Circumstances<'_> {
        audit::Circumstances { address: self.address, ..audit::Circumstances::default() }
    }
}

/// Says who makes a request, and holds what can be of no use short.
pub(super) async fn identify(
    State(enforcement): State<Enforcement>,
    request: Request,
    next: Next,
) -> Response {
    let inner = &*enforcement.0;
    if PUBLIC_METHODS.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let identified = Arc::new(inner.identify(&parts).await);
    for scheme in &inner.schemes {
        scheme.place.hide(&mut parts);
    }
    let mut caller = identified.caller.clone();
    if inner.keeps_credentials
        && let Some(credential) = service_parameters::credential(&parts.headers)
    {
        caller = caller.with_credential(credential);
    }
    parts.extensions.insert(caller.with_evidence(Arc::clone(&identified)));
    let Some(refusal) = &identified.refusal else {
        return next.run(Request::from_parts(parts, body)).await;
    };
    let error = || refusal.error(&inner.agent.challenges);
    let Some(body) = short(body).await else {
        audit::failed(identified.circumstances(), refusal.reason());
        return answer::write(&parts, &error());
    };
    let asked = parts.clone();
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    if identified.is_answered.load(Ordering::Relaxed) && !inner.shows_card(&response) {
        return response;
    }
    // Something else was wrong with it, which is for those who may call.
    audit::failed(identified.circumstances(), refusal.reason());
    answer::write(&asked, &error())
}

/// Shows the card to those who may see it.
pub(super) async fn show_card(
    State(enforcement): State<Enforcement>,
    request: Request,
    next: Next,
) -> Response {
    let inner = &*enforcement.0;
    // Browsers ask without credentials whether they may send some.
    if request.method() == Method::OPTIONS {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let identified = inner.identify(&parts).await;
    let is_nobody = identified.verified.is_empty();
    let refusal = identified.refusal.clone().or_else(|| is_nobody.then_some(Refusal::Missing));
    if let Some(refusal) = refusal {
        audit::failed(identified.circumstances(), refusal.reason());
        let challenges =
            if identified.refusal.is_some() { &inner.agent.challenges } else { &inner.any };
        return answer::write(&parts, &refusal.error(challenges));
    }
    let mut response = next.run(Request::from_parts(parts, body)).await;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// Reads a body that is short and arrives soon; `None` for any other.
async fn short(mut body: Body) -> Option<Bytes> {
    let read = async {
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            // A body that breaks off is answered like one that is too long: nobody reads it.
            let Ok(data) = frame.ok()?.into_data() else { continue };
            if whole.len() + data.len() > MAX_REFUSED_BYTES {
                return None;
            }
            whole.extend_from_slice(&data);
        }
        Some(whole.freeze())
    };
    timeout(MAX_REFUSED_TIME, read).await.ok().flatten()
}

impl Inner {
    /// Returns whether an answer to who was refused is the card all the same: the method of gRPC
    /// in 0.3 gives the public one to those who may not see the other.
    fn shows_card(&self, response: &Response) -> bool {
        self.has_private_card
            && answer::is_grpc(response.headers())
            && !response.headers().contains_key("grpc-status")
    }

    pub(super) async fn identify(&self, request: &Parts) -> Identified {
        let address = client_address(request, &self.proxies);
        let (verified, admitted) = match self.verify(request, address).await {
            Ok(verified) => {
                let admitted = match self.agent.requirements.judge(&verified) {
                    Judgement::Admitted(caller) => Ok(caller),
                    Judgement::Lacking(scopes) => Err(Refusal::Scopes(scopes)),
                    Judgement::Unauthenticated => Err(Refusal::Missing),
                };
                (verified, admitted)
            }
            Err(refusal) => (Vec::new(), Err(refusal)),
        };
        let (caller, refusal) = match admitted {
            Ok(caller) => (caller, None),
            Err(refusal) => (Caller::ANONYMOUS, Some(refusal)),
        };
        Identified { verified, caller, refusal, address, is_answered: AtomicBool::new(false) }
    }

    /// Verifies everything that is presented. What is wrong is not passed over, whatever else
    /// there is: guesses would be free for who has one credential that is right.
    async fn verify(
        &self,
        request: &Parts,
        address: Option<IpAddr>,
    ) -> Result<Vec<Verified>, Refusal> {
        let presented = self.presented(request).inspect_err(|_| self.memory.failed(address))?;
        if presented.is_empty() {
            return Ok(Vec::new());
        }
        let all = || presented.iter().map(|(_, presented)| presented);
        let wait = self.memory.wait(address, all());
        if let Some(wait) = wait
            && presented.iter().any(|(place, _)| !self.has_unguessable(place))
        {
            return Err(Refusal::Throttled(wait));
        }
        let mut verified = Vec::new();
        let mut refusal = None;
        for (place, presented) in &presented {
            match self.verify_at(place, presented, wait.is_some(), &mut verified).await {
                Ok(()) => {}
                Err(Refusal::Invalid) => {
                    let rejected = match wait {
                        Some(wait) => Refusal::Throttled(wait),
                        None => {
                            self.memory.failed(address);
                            Refusal::Invalid
                        }
                    };
                    refusal.get_or_insert(rejected);
                }
                Err(rejected) => {
                    refusal.get_or_insert(rejected);
                }
            }
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        // Only guesses are throttled, and known by what was right before.
        if presented.iter().any(|(place, _)| self.has_guessable(place)) {
            self.memory.was_right(all());
        }
        verified.sort_by_key(|one: &Verified| {
            self.schemes.iter().position(|scheme| scheme.name == one.scheme)
        });
        Ok(verified)
    }

    fn has_guessable(&self, place: &Place) -> bool {
        let mut here = self.schemes.iter().filter(|scheme| scheme.place == *place);
        here.any(|scheme| scheme.verifier.can_be_guessed())
    }

    fn has_unguessable(&self, place: &Place) -> bool {
        let mut here = self.schemes.iter().filter(|scheme| scheme.place == *place);
        here.any(|scheme| !scheme.verifier.can_be_guessed())
    }

    /// Verifies what is presented at one place, by every scheme that looks there. One of them
    /// has to know it. While its address has to wait, schemes that can be guessed do not look:
    /// what they say would be the answer to a guess.
    async fn verify_at(
        &self,
        place: &Place,
        presented: &Presented,
        has_to_wait: bool,
        verified: &mut Vec<Verified>,
    ) -> Result<(), Refusal> {
        let before = verified.len();
        let mut refusal = None;
        let here = self.schemes.iter().filter(|scheme| scheme.place == *place);
        for scheme in here.filter(|scheme| !has_to_wait || !scheme.verifier.can_be_guessed()) {
            let rejected = match scheme.verifier.verify(presented).await {
                Ok(caller) if caller.subject().is_some_and(|subject| !subject.is_empty()) => {
                    let review = scheme.verifier.review_interval().map(|interval| Review {
                        verifier: Arc::clone(&scheme.verifier),
                        presented: presented.clone(),
                        interval,
                    });
                    verified.push(Verified { scheme: Arc::clone(&scheme.name), caller, review });
                    continue;
                }
                Ok(_) => Refusal::Invalid,
                // Peers may have a certificate for other reasons.
                Err(Rejection::Unknown) if *place == Place::Certificate => continue,
                Err(rejection) => {
                    tracing::debug!(scheme = %scheme.name, %rejection, "credentials are refused");
                    refusal_of(&rejection)
                }
            };
            // What may yet turn out to be right is not called wrong.
            refusal = match refusal {
                None | Some(Refusal::Invalid) => Some(rejected),
                known => known,
            };
        }
        match refusal {
            Some(refusal) if verified.len() == before => Err(refusal),
            _ => Ok(()),
        }
    }

    /// Reads each place at which some scheme has its callers present something.
    fn presented(&self, request: &Parts) -> Result<Vec<(&Place, Presented)>, Refusal> {
        let mut found: Vec<(&Place, Presented)> = Vec::new();
        for scheme in &self.schemes {
            let place = &scheme.place;
            if found.iter().any(|(known, _)| *known == place) {
                continue;
            }
            match place.read(request) {
                Ok(None) => {}
                Ok(Some(presented)) => found.push((place, presented)),
                Err(unreadable) => {
                    tracing::debug!(scheme = %scheme.name, reason = unreadable.0, "credentials can't be read");
                    return Err(Refusal::Invalid);
                }
            }
        }
        Ok(found)
    }
}

fn refusal_of(rejection: &Rejection) -> Refusal {
    match rejection {
        Rejection::Invalid(_) | Rejection::Unknown => Refusal::Invalid,
        Rejection::Expired => Refusal::Expired,
        Rejection::Unavailable(error) => {
            tracing::warn!(error, "credentials can't be verified");
            Refusal::Unavailable
        }
        Rejection::Overloaded => Refusal::Overloaded,
    }
}
