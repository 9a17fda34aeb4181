//! What surrounds a request and an answer, on every binding alike.

use std::{collections::BTreeMap, fmt, sync::Arc};

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
}

impl Caller {
    /// A caller that has not authenticated.
    pub const ANONYMOUS: Self = Self { subject: None, credential: None };

    /// Creates a caller that authenticated as `subject`.
    pub fn authenticated(subject: impl Into<Arc<str>>) -> Self {
        Self { subject: Some(subject.into()), credential: None }
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
