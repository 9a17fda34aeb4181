//! The HTTP layer that authenticates requests.

use std::{
    convert::Infallible,
    error::Error as StdError,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use a2a_kit_http::{ClientAddress, client_address, error_response as answer, service_parameters};
use a2a_kit_operations::Caller;
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::Response,
    routing::Route,
};
use bytes::Bytes;
use futures_util::future::{BoxFuture, Either};
use http::{HeaderValue, Method, header::CACHE_CONTROL, request::Parts};
use http_body_util::{BodyExt as _, Limited};
use tokio::time::timeout;
use tower::{Service, layer::layer_fn};

use super::{
    Attempt, Rejection, RequestCredential, audit,
    auth_failure::AuthFailure,
    enforced_card::EnforcedCard,
    refused_token,
    request_credentials::{CredentialLocation, bearer},
    requirement::{Revalidation, Verified},
    verifier::EnforcedScheme,
};

/// Maximum body size that is read of a request that failed to authenticate, in bytes: enough to
/// encode the error as the request demands.
const MAX_REJECTED_BYTES: usize = 64 << 10;
const REJECTED_READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The gRPC methods that need no credentials: health and reflection disclose nothing that the
/// public card does not. The whole path is compared, because HTTP+JSON paths begin with a tenant,
/// which may have the name of a service.
const PUBLIC_METHODS: [&str; 5] = [
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/List",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Reasons of a verifier to which a token does not belong.
const FOREIGN: [&str; 4] =
    ["unknown key", "issuer has no key for the algorithm", "invalid signature", "wrong issuer"];

/// The result of authenticating a request, for the wrapper around the agent. The default is for calls
/// that have not passed through the layer.
#[derive(Debug, Default)]
pub(super) struct Authentication {
    pub(super) verified: Vec<Verified>,
    /// The card whose requirements of the agent determined the caller.
    pub(super) card: Option<Arc<EnforcedCard>>,
    pub(super) caller: Caller,
    pub(super) failure: Option<AuthFailure>,
    pub(super) address: Option<IpAddr>,
    /// Whether the wrapper has already rejected the call.
    pub(super) is_rejected: AtomicBool,
}

impl Authentication {
    pub(super) fn audit_context(&self) -> audit::AuditContext<'_> {
        audit::AuditContext { address: self.address, ..audit::AuditContext::default() }
    }
}

/// Authenticates the requests to all routes.
pub(super) fn layer(router: Router, card: &Arc<EnforcedCard>) -> Router {
    let card = Arc::clone(card);
    router.layer(layer_fn(move |route| Authenticate { card: Arc::clone(&card), route }))
}

/// Authenticates the requests to a route.
#[derive(Clone)]
struct Authenticate {
    card: Arc<EnforcedCard>,
    route: Route,
}

type Answer = Result<Response, Infallible>;

impl Service<Request> for Authenticate {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<<Route as Service<Request>>::Future, BoxFuture<'static, Answer>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request>::poll_ready(&mut self.route, cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if PUBLIC_METHODS.contains(&request.uri().path()) {
            return Either::Left(self.route.call(request));
        }
        let (mut parts, body) = request.into_parts();
        if self.card.attach_known(&mut parts) {
            return Either::Left(self.route.call(Request::from_parts(parts, body)));
        }
        let (card, route) = (Arc::clone(&self.card), self.route.clone());
        Either::Right(Box::pin(authenticate(card, parts, body, route)))
    }
}

/// Authenticates a request. Of a request that fails, only a short body is read.
async fn authenticate(
    card: Arc<EnforcedCard>,
    mut parts: Parts,
    body: Body,
    mut route: Route,
) -> Answer {
    // Which operation is called is known to the wrapper only.
    let is_open = card.guard.protects_extended_card_only;
    let authentication = Arc::new(card.authenticate(&parts, !is_open).await);
    card.attach(&mut parts, Arc::clone(&authentication));
    let Some(failure) = authentication.failure.as_ref().filter(|_| !is_open) else {
        return route.call(Request::from_parts(parts, body)).await;
    };
    let error = || failure.error(&card.agent.challenges);
    let Some(body) = read_short(body).await else {
        audit::failed(authentication.audit_context(), failure.reason());
        return Ok(answer::write(&parts, &error()));
    };
    let request = parts.clone();
    let response = route.call(Request::from_parts(parts, Body::from(body))).await?;
    if authentication.is_rejected.load(Ordering::Relaxed) && !card.exposes_card(&response) {
        return Ok(response);
    }
    // Another error came first. Only authenticated callers get to see it.
    audit::failed(authentication.audit_context(), failure.reason());
    Ok(answer::write(&request, &error()))
}

/// Authorizes a request for a private card.
pub(super) async fn authorize_card(
    State(card): State<Arc<EnforcedCard>>,
    request: Request,
    next: Next,
) -> Response {
    // CORS preflight requests carry no credentials.
    if request.method() == Method::OPTIONS {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let authentication = card.authenticate(&parts, true).await;
    let is_anonymous = authentication.verified.is_empty();
    let failure =
        authentication.failure.clone().or_else(|| is_anonymous.then_some(AuthFailure::Missing));
    if let Some(failure) = failure {
        audit::failed(authentication.audit_context(), failure.reason());
        let challenges =
            if authentication.failure.is_some() { &card.agent.challenges } else { &card.any };
        return answer::write(&parts, &failure.error(challenges));
    }
    let mut response = next.run(Request::from_parts(parts, body)).await;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// Reads a body; `None` if it is too long, too slow or incomplete.
async fn read_short(body: Body) -> Option<Bytes> {
    let read = Limited::new(body, MAX_REJECTED_BYTES).collect();
    Some(timeout(REJECTED_READ_TIMEOUT, read).await.ok()?.ok()?.to_bytes())
}

impl EnforcedCard {
    /// Returns whether the response to a rejected request is the card nevertheless: the gRPC method
    /// of 0.3 falls back to the public card.
    fn exposes_card(&self, response: &Response) -> bool {
        self.guard.has_private_card
            && answer::is_grpc(response.headers())
            && !response.headers().contains_key("grpc-status")
    }

    /// Attaches the authentication to a request, in place of its credentials.
    fn attach(&self, parts: &mut Parts, authentication: Arc<Authentication>) {
        for scheme in &self.schemes {
            scheme.location.strip(parts);
        }
        let mut caller = match self.guard.protects_extended_card_only {
            true => Caller::ANONYMOUS,
            false => authentication.caller.clone(),
        };
        if self.guard.passes_credentials_on
            && let Some(credential) = service_parameters::credential(&parts.headers)
        {
            caller = caller.with_credential(credential);
        }
        if let Some(address) = authentication.address {
            parts.extensions.insert(ClientAddress(address));
        }
        parts.extensions.insert(caller.with_evidence(authentication));
    }

    /// Attaches the authentication to a request with a [known](Self::known) token, and returns whether
    /// it has one.
    pub(super) fn attach_known(self: &Arc<Self>, parts: &mut Parts) -> bool {
        let Some(authentication) = self.known(parts) else { return false };
        self.attach(parts, Arc::new(authentication));
        true
    }

    /// The result of [`authenticate`](Self::authenticate) for a request with a token that was verified
    /// before, if bearer tokens of one issuer are the only credentials.
    fn known(self: &Arc<Self>, request: &Parts) -> Option<Authentication> {
        let [EnforcedScheme { name, location: CredentialLocation::Bearer, verifier, .. }] =
            &*self.schemes
        else {
            return None;
        };
        if verifier.is_guessable() || verifier.revalidation_interval().is_some() {
            return None;
        }
        let caller = verifier.known(bearer(&request.headers).ok()??)?;
        caller.subject().filter(|subject| !subject.is_empty())?;
        let verified = vec![Verified { scheme: Arc::clone(name), caller, revalidation: None }];
        let caller = self.agent.requirements.evaluate(&verified).ok()?;
        let address = client_address(request, &self.guard.proxies);
        let card = Some(Arc::clone(self));
        Some(Authentication { verified, card, caller, address, ..Authentication::default() })
    }

    /// Authenticates a request, and with `records` records its failure.
    pub(super) async fn authenticate(
        self: &Arc<Self>,
        request: &Parts,
        records: bool,
    ) -> Authentication {
        let address = client_address(request, &self.guard.proxies);
        let (verified, decision) = match self.verify(request, address, records).await {
            Ok(verified) => {
                let decision = self.agent.requirements.evaluate(&verified);
                (verified, decision)
            }
            Err(failure) => (Vec::new(), Err(failure)),
        };
        let (caller, failure) = match decision {
            Ok(caller) => (caller, None),
            Err(failure) => (Caller::ANONYMOUS, Some(failure)),
        };
        let card = Some(Arc::clone(self));
        Authentication { verified, card, caller, failure, address, ..Authentication::default() }
    }

    /// Verifies all credentials of a request. One invalid credential fails the request, even if
    /// others are valid: otherwise the holder of one could guess others for free.
    async fn verify(
        &self,
        request: &Parts,
        address: Option<IpAddr>,
        records: bool,
    ) -> Result<Vec<Verified>, AuthFailure> {
        let record_failure = || {
            if records {
                self.guard.auth_history().record_failure(address);
            }
        };
        let credentials = self.credentials(request).inspect_err(|_| record_failure())?;
        if credentials.is_empty() {
            return Ok(Vec::new());
        }
        let history = self.guard.auth_history();
        // Only guessable credentials are throttled.
        let is_guessable = credentials.iter().any(|(location, _)| self.has_scheme(location, true));
        let digest = is_guessable.then(|| history.digest(credentials.iter().map(|(_, one)| one)));
        let digest = digest.flatten();
        let was_verified = digest.as_ref().is_some_and(|digest| history.was_verified(digest));
        let attempt = Attempt::Request { client: address, was_verified };
        let backoff = history.backoff(address).filter(|_| !was_verified);
        if let Some(backoff) = backoff
            && credentials.iter().any(|(location, _)| !self.has_scheme(location, false))
        {
            return Err(AuthFailure::Throttled(backoff));
        }
        let mut verified = Vec::new();
        let mut failure = None;
        for (location, credential) in &credentials {
            let is_throttled = backoff.is_some();
            let verifying =
                self.verify_at(location, credential, attempt, is_throttled, &mut verified);
            let Err(mut rejected) = verifying.await else { continue };
            if matches!(rejected, AuthFailure::Invalid(_)) {
                match backoff {
                    Some(backoff) => rejected = AuthFailure::Throttled(backoff),
                    None => record_failure(),
                }
            }
            failure.get_or_insert(rejected);
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        if let Some(digest) = digest {
            history.record_verified(digest);
        }
        verified.sort_by_key(|one: &Verified| {
            self.schemes.iter().position(|scheme| scheme.name == one.scheme)
        });
        Ok(verified)
    }

    /// Returns whether a location has a scheme whose credentials are guessable, or one whose aren't.
    fn has_scheme(&self, location: &CredentialLocation, is_guessable: bool) -> bool {
        let mut here = self.schemes.iter().filter(|scheme| scheme.location == *location);
        here.any(|scheme| scheme.verifier.is_guessable() == is_guessable)
    }

    /// Verifies a credential with each scheme of its location, of which one has to accept it. While
    /// the address is throttled, guessable schemes are skipped: their result would answer a guess.
    async fn verify_at(
        &self,
        location: &CredentialLocation,
        credential: &RequestCredential,
        attempt: Attempt,
        is_throttled: bool,
        verified: &mut Vec<Verified>,
    ) -> Result<(), AuthFailure> {
        let before = verified.len();
        let mut failure = None;
        let here = self.schemes.iter().filter(|scheme| scheme.location == *location);
        for scheme in here.filter(|scheme| !is_throttled || !scheme.verifier.is_guessable()) {
            let rejected = match scheme.verifier.verify(credential, attempt).await {
                Ok(caller) if caller.subject().is_some_and(|subject| !subject.is_empty()) => {
                    let revalidation =
                        scheme.verifier.revalidation_interval().map(|interval| Revalidation {
                            verifier: Arc::clone(&scheme.verifier),
                            credential: credential.clone(),
                            interval,
                        });
                    verified.push(Verified {
                        scheme: Arc::clone(&scheme.name),
                        caller,
                        revalidation,
                    });
                    continue;
                }
                Ok(_) => AuthFailure::Invalid("missing or invalid subject"),
                // A client certificate may have another purpose.
                Err(Rejection::Unknown) if *location == CredentialLocation::Certificate => continue,
                Err(rejection) => {
                    tracing::debug!(scheme = %scheme.name, %rejection, "credentials rejected");
                    if let Rejection::Unavailable(error) = &rejection {
                        let error = &**error as &(dyn StdError + 'static);
                        tracing::warn!(error, "credential verification failed");
                    }
                    rejection.into()
                }
            };
            // A credential that could not be verified may be valid: don't report it as invalid. Of
            // several issuers, the one whose key verified a token says more than the others.
            failure = match (failure, rejected) {
                (None, rejected) => Some(rejected),
                (Some(AuthFailure::Invalid(known)), AuthFailure::Invalid(reason)) => {
                    let is_foreign = FOREIGN.contains(&known);
                    Some(AuthFailure::Invalid(if is_foreign { reason } else { known }))
                }
                (Some(AuthFailure::Invalid(_)), rejected) => Some(rejected),
                (known, _) => known,
            };
        }
        match failure {
            Some(failure) if verified.len() == before => {
                refused_token::log(&failure, credential);
                Err(failure)
            }
            _ => Ok(()),
        }
    }

    /// Extracts the credentials from the locations of all schemes.
    fn credentials(
        &self,
        request: &Parts,
    ) -> Result<Vec<(&CredentialLocation, RequestCredential)>, AuthFailure> {
        let mut found: Vec<(&CredentialLocation, RequestCredential)> = Vec::new();
        for scheme in &self.schemes {
            let location = &scheme.location;
            if found.iter().any(|(known, _)| *known == location) {
                continue;
            }
            match location.read(request) {
                Ok(None) => {}
                Ok(Some(credential)) => found.push((location, credential)),
                Err(reason) => {
                    tracing::debug!(scheme = %scheme.name, reason, "malformed credentials");
                    return Err(AuthFailure::Invalid(reason));
                }
            }
        }
        Ok(found)
    }
}
