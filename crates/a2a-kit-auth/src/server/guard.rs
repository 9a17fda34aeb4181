//! Configuration of authentication and authorization.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use a2a_core::{Operation, Result, v1::SendMessageRequest};
use a2a_kit_operations::Caller;
use derive_setters::Setters;

use super::{SchemeVerifier, Throttle, TrustedProxy, auth_history::AuthHistory};

pub(super) type SkillResolver = dyn Fn(&SendMessageRequest) -> Option<String> + Send + Sync;
pub(super) type Policy = dyn Fn(&Caller, Operation, &str) -> Result<()> + Send + Sync;
pub(super) type Tenants = dyn Fn(&Caller, &str) -> bool + Send + Sync;

/// The verifiers of security schemes, and authorization rules beyond those of the card.
///
/// [`enforce`](Self::enforce) checks it against a card. Clones share the record of failed attempts,
/// so that all ports of an agent count together.
#[must_use]
#[derive(Clone, Default, Setters)]
#[setters(prefix = "with_", generate = false)]
pub struct Guard {
    pub(super) verifiers: BTreeMap<String, Arc<dyn SchemeVerifier>>,
    /// Sets the realm of challenges. Default: `a2a`.
    #[setters(generate, into, strip_option)]
    pub(super) realm: Option<String>,
    pub(super) skill: Option<Arc<SkillResolver>>,
    pub(super) policy: Option<Arc<Policy>>,
    pub(super) tenants: Option<Arc<Tenants>>,
    pub(super) proxies: Vec<TrustedProxy>,
    pub(super) throttle: Throttle,
    /// Keeps the `Authorization` header in the [`Caller`], for a gateway that forwards it. Default:
    /// it is dropped.
    #[setters(generate, bool, rename = "with_credential_passthrough")]
    pub(super) passes_credentials_on: bool,
    /// Serves the extended card to anonymous callers if the card declares no scheme. Without this,
    /// such a card is an error.
    #[setters(generate, bool, rename = "with_open_extended_card")]
    pub(super) has_open_extended_card: bool,
    /// Authenticates callers of the extended card only, for a card that declares schemes and requires
    /// none. The credentials of other calls are ignored: these callers are anonymous, and wrong
    /// credentials don't count as failed attempts.
    #[setters(generate, bool, rename = "with_extended_card_only")]
    pub(super) protects_extended_card_only: bool,
    /// Restricts the public card to callers who meet its requirements, or to any authenticated
    /// caller if it has none. Clients then have to know the schemes beforehand: prefer an extended
    /// card for confidential content.
    #[setters(generate, bool, rename = "with_private_card")]
    pub(super) has_private_card: bool,
    /// Created once, shared by all clones.
    auth_history: Arc<OnceLock<AuthHistory>>,
}

/// Why a card can't be enforced.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// A declared scheme has no verifier.
    #[error("no verifier for the security scheme {0:?} of the card")]
    NoVerifier(String),
    /// A declared scheme is malformed or unsupported.
    #[error("cannot enforce security scheme {scheme:?}: {reason}")]
    Unenforceable {
        /// The name of the scheme in the card.
        scheme: String,
        /// The reason.
        reason: &'static str,
    },
    /// The verifier does not support this type of scheme.
    #[error("the verifier for security scheme {0:?} does not support that scheme type")]
    SchemeMismatch(String),
    /// A verifier is registered for a scheme that the card does not declare.
    #[error("verifier for security scheme {0:?}, which the card does not declare")]
    Undeclared(String),
    /// The card requires a scheme that it does not declare.
    #[error("the card requires security scheme {0:?}, but does not declare it")]
    UnknownScheme(String),
    /// A skill has requirements, but there is no skill resolver.
    #[error("skill {0:?} of the card has security requirements, but no skill resolver is set")]
    UnknownSkill(String),
    /// The card announces an extended card, but no scheme to protect it.
    #[error("the card announces an extended card, but declares no security scheme to protect it")]
    OpenExtendedCard,
}

a2a_core::debug_as_chain!(GuardError);

impl Guard {
    /// Creates a guard without verifiers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the verifier of a scheme, by the scheme's name in the card.
    pub fn with_verifier(self, name: impl Into<String>, verifier: impl SchemeVerifier) -> Self {
        self.with_shared_verifier(name, Arc::new(verifier))
    }

    /// Sets a verifier that is shared with the application or with other guards.
    pub fn with_shared_verifier(
        mut self,
        name: impl Into<String>,
        verifier: Arc<dyn SchemeVerifier>,
    ) -> Self {
        self.verifiers.insert(name.into(), verifier);
        self
    }

    /// Sets the function that returns the id of the skill that a message invokes, which is not part
    /// of the protocol. The skill's requirements apply in addition to the agent's.
    pub fn with_skill_resolver(
        mut self,
        skill: impl Fn(&SendMessageRequest) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.skill = Some(Arc::new(skill));
        self
    }

    /// Sets a policy that decides on each call which meets the requirements of the card, by caller,
    /// operation and tenant. The peer gets the error, as
    /// [`PermissionDenied`](a2a_core::ErrorKind::PermissionDenied).
    pub fn with_policy(
        mut self,
        policy: impl Fn(&Caller, Operation, &str) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// Sets which tenants a caller may use. Default: any, as callers only see their own tasks in
    /// each. Requests without a tenant use the empty one.
    pub fn with_tenants(
        mut self,
        tenants: impl Fn(&Caller, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.tenants = Some(Arc::new(tenants));
        self
    }

    /// Trusts the client address that a proxy reports (`X-Forwarded-For`). Default: none.
    pub fn with_trusted_proxy(mut self, proxy: TrustedProxy) -> Self {
        self.proxies.push(proxy);
        self
    }

    /// Sets the throttling of failed attempts.
    pub fn with_throttle(mut self, throttle: Throttle) -> Self {
        self.throttle = throttle;
        self.auth_history = Arc::default();
        self
    }

    pub(super) fn auth_history(&self) -> &AuthHistory {
        self.auth_history.get_or_init(|| AuthHistory::new(self.throttle.clone()))
    }
}

a2a_core::debug_fields!(Guard { verifiers, proxies, throttle, .. });
