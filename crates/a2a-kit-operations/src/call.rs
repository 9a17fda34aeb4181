//! The context of requests and responses, common to all bindings.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
    time::SystemTime,
};

use a2a_core::{
    ExtensionSet, ProtocolVersion,
    well_known::{Struct, Value},
};

use crate::{AgentLabel, EventId};

/// A request with its context.
#[derive(Clone, Debug, Default)]
pub struct Call<T> {
    /// The context of the request.
    pub context: CallContext,
    /// The request itself.
    pub request: T,
}

impl<T> Call<T> {
    /// Creates a call with the default context: version 1.0, anonymous.
    pub fn new(request: T) -> Self {
        Self { context: CallContext::default(), request }
    }

    /// Creates a call from a context and a request.
    pub fn from_parts(context: CallContext, request: T) -> Self {
        Self { context, request }
    }
}

/// A response with its metadata.
#[derive(Clone, Debug, Default)]
pub struct Reply<T> {
    /// The answer itself.
    pub response: T,
    /// The extensions that were used to make it.
    pub activated: ExtensionSet,
}

impl<T> Reply<T> {
    /// Creates a response without activated extensions.
    pub fn new(response: T) -> Self {
        Self { response, activated: ExtensionSet::new() }
    }

    /// Maps the response and keeps the metadata.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reply<U> {
        Reply { response: change(self.response), activated: self.activated }
    }
}

/// The metadata of a request (spec §3.2.6).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallContext {
    /// The protocol version of the caller (`A2A-Version`).
    pub version: ProtocolVersion,
    /// The requested extensions (`A2A-Extensions`).
    pub extensions: ExtensionSet,
    /// Other service parameters and the W3C trace context, forwarded end to end. Keys are lower
    /// case.
    pub parameters: BTreeMap<String, String>,
    /// The caller. Never written to a wire, never forwarded.
    pub caller: Caller,
    /// The address of the client, where a server knows it. Never written to a wire.
    pub client_address: Option<IpAddr>,
    /// The credential to send with this call, in place of the client's own. Set by clients; servers
    /// ignore it.
    pub credential: Option<Credential>,
    /// The last event received by a reader of an interrupted stream (`Last-Event-ID`).
    pub last_event_id: Option<EventId>,
    /// Identifies one send, so that a retry joins the task of the first attempt
    /// (`Idempotency-Key`).
    pub idempotency_key: Option<String>,
    /// The label of the served agent in metrics. Never written to a wire.
    pub metrics_label: AgentLabel,
    /// The size of a response that clients of the binding accept by default, in bytes as protobuf;
    /// `None` for no limit. A page of tasks has fewer tasks rather than exceed it, but at least one.
    /// Set by the binding. Never written to a wire.
    pub max_response_bytes: Option<usize>,
}

/// The authenticated caller.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    subject: Option<Arc<str>>,
    credential: Option<Credential>,
    /// Boxed, as every call has a caller and few have a grant.
    grant: Option<Arc<Grant>>,
    evidence: Evidence,
}

/// What the caller's credential grants.
#[derive(Clone, Default)]
struct Grant {
    scopes: BTreeSet<String>,
    expires: Option<SystemTime>,
    claims: Struct,
}

impl Caller {
    /// An unauthenticated caller.
    pub const ANONYMOUS: Self =
        Self { subject: None, credential: None, grant: None, evidence: Evidence(None) };

    /// Creates a caller that authenticated as `subject`.
    pub fn authenticated(subject: impl Into<Arc<str>>) -> Self {
        Self { subject: Some(subject.into()), ..Self::ANONYMOUS }
    }

    /// The authenticated subject.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Keeps the caller's credential, for a gateway that forwards it. Does not affect identity.
    #[must_use]
    pub fn with_credential(mut self, credential: Credential) -> Self {
        self.credential = Some(credential);
        self
    }

    /// The caller's credential, if a layer kept it.
    pub fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    /// Sets the OAuth 2.0 scopes of the caller's credential.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item: Into<String>>) -> Self {
        self.grant().scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// The scopes of the caller's credential; empty if it has none. They are stored with the work on
    /// a message: a rerun, on this node or another, sees those of the call that began it, even if
    /// they were revoked since.
    pub fn scopes(&self) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.grant.as_ref().map_or(&NONE, |grant| &grant.scopes)
    }

    /// Returns whether the caller's credential grants a scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes().contains(scope)
    }

    /// Sets when the authentication expires.
    #[must_use]
    pub fn with_expiry(mut self, expires: SystemTime) -> Self {
        self.grant().expires = Some(expires);
        self
    }

    /// When the authentication expires, which ends the caller's streams; `None` if it does not
    /// expire. Not stored with the work on a message.
    pub fn expires(&self) -> Option<SystemTime> {
        self.grant.as_ref()?.expires
    }

    /// Sets the verified claims of the caller's token.
    #[must_use]
    pub fn with_claims(mut self, claims: Struct) -> Self {
        if !claims.is_empty() || self.grant.is_some() {
            self.grant().claims = claims;
        }
        self
    }

    /// The verified claims that the verifier was configured to keep, unchanged; empty without a
    /// token. They are not stored with a task: a rerun on another node sees none.
    pub fn claims(&self) -> &Struct {
        static NONE: Struct = Struct { fields: BTreeMap::new() };
        self.grant.as_ref().map_or(&NONE, |grant| &grant.claims)
    }

    /// A verified claim by name.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.claims().get(name)
    }

    /// Attaches data for the authorization layer in front of the agent, which is that of
    /// `a2a-kit-auth`. Does not affect identity.
    #[doc(hidden)]
    #[must_use]
    pub fn with_evidence<E: Any + Send + Sync>(mut self, evidence: Arc<E>) -> Self {
        self.evidence = Evidence(Some(evidence));
        self
    }

    /// Takes the data attached by [`with_evidence`](Self::with_evidence), if it is an `E`.
    #[doc(hidden)]
    pub fn take_evidence<E: Any + Send + Sync>(&mut self) -> Option<Arc<E>> {
        self.evidence.0.take()?.downcast().ok()
    }

    fn grant(&mut self) -> &mut Grant {
        Arc::make_mut(self.grant.get_or_insert_default())
    }
}

// Claims can be personal data.
a2a_core::debug_fields!(Grant { scopes, expires, .. });

impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        self.subject == other.subject
            && self.credential == other.credential
            && self.scopes() == other.scopes()
            && self.expires() == other.expires()
            && self.claims() == other.claims()
    }
}

impl Eq for Caller {}

/// Data that one layer attaches to a caller for another.
#[derive(Clone, Default)]
struct Evidence(Option<Arc<dyn Any + Send + Sync>>);

a2a_core::debug_fields!(Evidence(..));

/// The secrets of a call and their places in the request. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(Arc<[(CredentialLocation, Arc<str>)]>);

/// The location of a secret in a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CredentialLocation {
    /// The `Authorization` header; in gRPC the metadata entry of that name.
    Authorization,
    /// Another header, by its name in lower case.
    Header(Arc<str>),
    /// The cookie of this name.
    Cookie(Arc<str>),
    /// The query parameter of this name. gRPC has none.
    Query(Arc<str>),
}

impl Credential {
    /// Creates a credential from the value of `Authorization`, for example `Bearer secret`.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self::at(CredentialLocation::Authorization, value)
    }

    /// Creates a credential for another place.
    pub fn at(place: CredentialLocation, value: impl Into<Arc<str>>) -> Self {
        Self(Arc::new([(place, value.into())]))
    }

    /// The value of `Authorization`, if there is one.
    pub fn authorization(&self) -> Option<&str> {
        self.expose()
            .find(|(place, _)| **place == CredentialLocation::Authorization)
            .map(|(_, value)| value)
    }

    /// The secrets and their places.
    pub fn expose(&self) -> impl Iterator<Item = (&CredentialLocation, &str)> {
        self.0.iter().map(|(place, value)| (place, &**value))
    }
}

impl FromIterator<(CredentialLocation, Arc<str>)> for Credential {
    fn from_iter<I: IntoIterator<Item = (CredentialLocation, Arc<str>)>>(secrets: I) -> Self {
        Self(secrets.into_iter().collect())
    }
}

a2a_core::debug_fields!(Credential(..));

/// The tenant and owner of tasks. Every store call that reads or writes a task has a scope.
///
/// Another caller's task is "not found" by construction, not by a check that could be forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    /// The tenant of the request; empty without one.
    pub tenant: Arc<str>,
    /// The subject of the caller; empty for anonymous callers, who share one scope.
    pub owner: Arc<str>,
}

impl Scope {
    /// Creates the scope of a call.
    pub fn new(tenant: &str, caller: &Caller) -> Self {
        // The empty text is shared, not allocated.
        let tenant = if tenant.is_empty() { Arc::default() } else { tenant.into() };
        Self { tenant, owner: caller.subject.clone().unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caller_has_exactly_the_granted_scopes() {
        let caller = Caller::authenticated("ann").with_scopes(["read", "write", "read"]);
        assert_eq!(caller.scopes().iter().collect::<Vec<_>>(), ["read", "write"]);
        assert!(caller.has_scope("read") && !caller.has_scope("rea") && !caller.has_scope(""));
        assert!(Caller::ANONYMOUS.scopes().is_empty() && Caller::ANONYMOUS.expires().is_none());
        let none: [&str; 0] = [];
        assert_eq!(Caller::authenticated("ann").with_scopes(none), Caller::authenticated("ann"));
    }

    #[test]
    fn granted_scopes_do_not_change_task_ownership() {
        let plain = Caller::authenticated("ann");
        let scoped = plain.clone().with_scopes(["all"]).with_expiry(SystemTime::UNIX_EPOCH);
        assert_eq!(scoped.expires(), Some(SystemTime::UNIX_EPOCH));
        assert_eq!(Scope::new("acme", &plain), Scope::new("acme", &scoped));
    }

    #[test]
    fn claims_are_read_by_name_and_change_no_scope() {
        let claims = Struct::from([("sub", "ann"), ("email", "ann@example.com")]);
        let caller = Caller::authenticated("ann").with_claims(claims);
        assert_eq!(caller.claim("email").and_then(Value::as_str), Some("ann@example.com"));
        assert_eq!((caller.claims().len(), caller.claim("act")), (2, None));
        let plain = Caller::authenticated("ann");
        assert!(plain.claims().is_empty() && plain != caller);
        assert_eq!(plain.clone().with_claims(Struct::default()), plain);
        assert_eq!(Scope::new("acme", &plain), Scope::new("acme", &caller));
    }

    #[test]
    fn evidence_is_taken_once_and_by_type() {
        let mut caller = Caller::authenticated("ann").with_evidence(Arc::new(7_u32));
        assert_eq!(caller, Caller::authenticated("ann"));
        let mut other = caller.clone();
        assert_eq!(caller.take_evidence::<u32>().as_deref(), Some(&7));
        assert_eq!(caller.take_evidence::<u32>(), None);
        assert_eq!(other.take_evidence::<String>(), None);
    }
}
