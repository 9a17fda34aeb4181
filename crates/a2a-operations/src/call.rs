//! What surrounds a request and an answer, on every binding alike.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::SystemTime,
};

use a2a_core::{
    ExtensionSet, ProtocolVersion,
    well_known::{Struct, Value},
};

use crate::EventId;

/// A request of an operation, with its context.
#[derive(Clone, Debug, Default)]
pub struct Call<T> {
    /// What came with the request.
    pub context: CallContext,
    /// The request itself.
    pub request: T,
}

impl<T> Call<T> {
    /// Creates a call with the context that a fresh client has: version 1.0, anonymous.
    pub fn new(request: T) -> Self {
        Self { context: CallContext::default(), request }
    }

    /// Creates a call with the given context.
    pub fn with_context(context: CallContext, request: T) -> Self {
        Self { context, request }
    }
}

/// An answer of an operation, with what travels beside it.
#[derive(Clone, Debug, Default)]
pub struct Reply<T> {
    /// The answer itself.
    pub response: T,
    /// The extensions that were used to make it.
    pub activated: ExtensionSet,
}

impl<T> Reply<T> {
    /// Creates an answer for which no extension was used.
    pub fn new(response: T) -> Self {
        Self { response, activated: ExtensionSet::new() }
    }

    /// Changes the answer and keeps what travels beside it.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reply<U> {
        Reply { response: change(self.response), activated: self.activated }
    }
}

/// What comes with a request and is not part of it (spec §3.2.6).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallContext {
    /// The revision that the caller speaks (`A2A-Version`).
    pub version: ProtocolVersion,
    /// The extensions that the caller asks for (`A2A-Extensions`).
    pub extensions: ExtensionSet,
    /// Other service parameters and the W3C trace context, passed on end to end. Keys are
    /// lower case.
    pub parameters: BTreeMap<String, String>,
    /// Who calls. Never written to a wire, never forwarded.
    pub caller: Caller,
    /// What the call authenticates with at the agent that is called, in place of what its client
    /// always sends. Clients write it; no server reads anything into it.
    pub credential: Option<Credential>,
    /// The last event that a reader of a cut stream has seen (`Last-Event-ID`).
    pub last_event_id: Option<EventId>,
    /// Names one send, so that a retry joins the task that the first try made
    /// (`Idempotency-Key`).
    pub idempotency_key: Option<String>,
}

/// Who makes a call, as the server established it.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    subject: Option<Arc<str>>,
    credential: Option<Credential>,
    /// In one place, as every call has a caller and few have a grant.
    grant: Option<Arc<Grant>>,
    evidence: Evidence,
}

/// What the caller's credential is good for.
#[derive(Clone, Default)]
struct Grant {
    scopes: BTreeSet<String>,
    expires: Option<SystemTime>,
    claims: Struct,
}

impl Caller {
    /// A caller that has not authenticated.
    pub const ANONYMOUS: Self =
        Self { subject: None, credential: None, grant: None, evidence: Evidence(None) };

    /// Creates a caller that authenticated as `subject`.
    pub fn authenticated(subject: impl Into<Arc<str>>) -> Self {
        Self { subject: Some(subject.into()), ..Self::ANONYMOUS }
    }

    /// The name under which the caller authenticated.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Keeps what the caller authenticated with, for a gateway that passes it on. It makes the
    /// caller no other.
    #[must_use]
    pub fn with_credential(mut self, credential: Credential) -> Self {
        self.credential = Some(credential);
        self
    }

    /// What the caller authenticated with, where a layer in front kept it.
    pub fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    /// Says what the caller's credential is good for: OAuth 2.0 scopes, each a word.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item: Into<String>>) -> Self {
        self.grant().scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// The scopes of what the caller authenticated with; none where it has no scopes.
    pub fn scopes(&self) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.grant.as_ref().map_or(&NONE, |grant| &grant.scopes)
    }

    /// Returns whether the caller's credential is good for a scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes().contains(scope)
    }

    /// Says until when the caller is who it says.
    #[must_use]
    pub fn with_expiry(mut self, expires: SystemTime) -> Self {
        self.grant().expires = Some(expires);
        self
    }

    /// When the caller has to authenticate anew: what streams to it ends then. `None` for what
    /// does not expire.
    pub fn expires(&self) -> Option<SystemTime> {
        self.grant.as_ref()?.expires
    }

    /// Keeps claims of the token that the caller authenticated with, after they were verified.
    #[must_use]
    pub fn with_claims(mut self, claims: Struct) -> Self {
        if !claims.is_empty() || self.grant.is_some() {
            self.grant().claims = claims;
        }
        self
    }

    /// The verified claims of the caller's token that the verifier was told to keep, as the issuer
    /// wrote them; empty without a token. They are not kept with a task: an executor that is run
    /// again on another node sees none.
    pub fn claims(&self) -> &Struct {
        static NONE: Struct = Struct { fields: BTreeMap::new() };
        self.grant.as_ref().map_or(&NONE, |grant| &grant.claims)
    }

    /// A verified claim of the caller's token, by its name.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.claims().get(name)
    }

    /// Leaves something for whoever admits the call, in front of the agent: the layer that
    /// identifies a caller knows more than a caller is. It makes the caller no other.
    #[must_use]
    pub fn with_evidence<E: Any + Send + Sync>(mut self, evidence: Arc<E>) -> Self {
        self.evidence = Evidence(Some(evidence));
        self
    }

    /// Takes what was left by [`with_evidence`](Self::with_evidence), where it is an `E`.
    pub fn take_evidence<E: Any + Send + Sync>(&mut self) -> Option<Arc<E>> {
        self.evidence.0.take()?.downcast().ok()
    }

    fn grant(&mut self) -> &mut Grant {
        Arc::make_mut(self.grant.get_or_insert_default())
    }
}

// Claims can be personal data.
impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("scopes", &self.scopes)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

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

/// What one layer leaves in a caller for another.
#[derive(Clone, Default)]
struct Evidence(Option<Arc<dyn Any + Send + Sync>>);

impl fmt::Debug for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Evidence(..)")
    }
}

/// What a call authenticates with: secrets, and where each goes. Nothing prints the secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(Arc<[(Place, Arc<str>)]>);

/// Where in a request a secret goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The `Authorization` header, in gRPC the metadata of that name.
    Authorization,
    /// Another header, by its name in lower case.
    Header(Arc<str>),
    /// The cookie of this name.
    Cookie(Arc<str>),
    /// The parameter of the query of this name. gRPC has no query.
    Query(Arc<str>),
}

impl Credential {
    /// Creates a credential of the whole value of `Authorization`, for example `Bearer secret`.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self::at(Place::Authorization, value)
    }

    /// Creates a credential that goes elsewhere.
    pub fn at(place: Place, value: impl Into<Arc<str>>) -> Self {
        Self(Arc::new([(place, value.into())]))
    }

    /// The value of `Authorization`, if there is one.
    pub fn authorization(&self) -> Option<&str> {
        self.expose().find(|(place, _)| **place == Place::Authorization).map(|(_, value)| value)
    }

    /// The secrets themselves, and where they go.
    pub fn expose(&self) -> impl Iterator<Item = (&Place, &str)> {
        self.0.iter().map(|(place, value)| (place, &**value))
    }
}

impl FromIterator<(Place, Arc<str>)> for Credential {
    fn from_iter<I: IntoIterator<Item = (Place, Arc<str>)>>(secrets: I) -> Self {
        Self(secrets.into_iter().collect())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(..)")
    }
}

/// Whose tasks a store may touch: every read and write of a task carries one.
///
/// Another caller's task is "not found" by construction, not by a check that can be forgotten.
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
        Self { tenant: tenant.into(), owner: caller.subject.clone().unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_has_the_scopes_it_was_given_and_no_other() {
        let caller = Caller::authenticated("ann").with_scopes(["read", "write", "read"]);
        assert_eq!(caller.scopes().iter().collect::<Vec<_>>(), ["read", "write"]);
        assert!(caller.has_scope("read") && !caller.has_scope("rea") && !caller.has_scope(""));
        assert!(Caller::ANONYMOUS.scopes().is_empty() && Caller::ANONYMOUS.expires().is_none());
        let none: [&str; 0] = [];
        assert_eq!(Caller::authenticated("ann").with_scopes(none), Caller::authenticated("ann"));
    }

    #[test]
    fn what_a_caller_may_do_changes_nothing_about_what_is_its_own() {
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
    fn evidence_is_taken_once_and_only_as_what_it_is() {
        let mut caller = Caller::authenticated("ann").with_evidence(Arc::new(7_u32));
        assert_eq!(caller, Caller::authenticated("ann"));
        let mut other = caller.clone();
        assert_eq!(caller.take_evidence::<u32>().as_deref(), Some(&7));
        assert_eq!(caller.take_evidence::<u32>(), None);
        assert_eq!(other.take_evidence::<String>(), None);
    }
}
