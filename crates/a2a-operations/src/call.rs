//! What surrounds a request and an answer, on every binding alike.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::SystemTime,
};

use a2a_core::{ExtensionSet, ProtocolVersion};

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
    /// What the call authenticates with at the agent that is called (`Authorization`), in place
    /// of what its client always sends. Clients write it; no server reads anything into it.
    pub credential: Option<Credential>,
    /// The last event that a reader of a cut stream has seen (`Last-Event-ID`).
    pub last_event_id: Option<EventId>,
    /// Names one send, so that a retry joins the task that the first try made
    /// (`Idempotency-Key`).
    pub idempotency_key: Option<String>,
}

/// Who makes a call, as the server established it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    subject: Option<Arc<str>>,
    credential: Option<Credential>,
    scopes: Option<Arc<BTreeSet<String>>>,
    expires: Option<SystemTime>,
}

impl Caller {
    /// A caller that has not authenticated.
    pub const ANONYMOUS: Self =
        Self { subject: None, credential: None, scopes: None, expires: None };

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
        let scopes: BTreeSet<String> = scopes.into_iter().map(Into::into).collect();
        self.scopes = (!scopes.is_empty()).then(|| Arc::new(scopes));
        self
    }

    /// The scopes of what the caller authenticated with; none where it has no scopes.
    pub fn scopes(&self) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.scopes.as_deref().unwrap_or(&NONE)
    }

    /// Returns whether the caller's credential is good for a scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes().contains(scope)
    }

    /// Says until when the caller is who it says.
    #[must_use]
    pub fn with_expiry(mut self, expires: SystemTime) -> Self {
        self.expires = Some(expires);
        self
    }

    /// When the caller has to authenticate anew: what streams to it ends then. `None` for what
    /// does not expire.
    pub fn expires(&self) -> Option<SystemTime> {
        self.expires
    }
}

/// The value of an `Authorization` header. It is a secret: nothing prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(Arc<str>);

impl Credential {
    /// Creates a credential of a whole value, for example `Bearer secret`.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self(value.into())
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.0
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
}
