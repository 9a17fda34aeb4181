//! What the operator says of who may call.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use a2a_core::{AgentCard, Operation, Result, v1::SendMessageRequest};
use a2a_operations::Caller;

use super::{Enforcement, Throttle, TrustedProxy, Verifier, memory::Memory};

pub(super) type SkillOf = dyn Fn(&SendMessageRequest) -> Option<String> + Send + Sync;
pub(super) type Policy = dyn Fn(&Caller, Operation, &str) -> Result<()> + Send + Sync;
pub(super) type Tenants = dyn Fn(&Caller, &str) -> bool + Send + Sync;

/// Who verifies callers by which scheme, and what they may do beyond what the card says.
///
/// [`enforce`](Self::enforce) holds it against a card. Clones share what they remember of failed
/// tries, so that several ports of one agent count together.
#[must_use]
#[derive(Clone, Default)]
pub struct Guard {
    pub(super) verifiers: BTreeMap<String, Arc<dyn Verifier>>,
    pub(super) realm: Option<String>,
    pub(super) skill: Option<Arc<SkillOf>>,
    pub(super) policy: Option<Arc<Policy>>,
    pub(super) tenants: Option<Arc<Tenants>>,
    pub(super) proxies: Vec<TrustedProxy>,
    pub(super) throttle: Throttle,
    pub(super) keeps_credentials: bool,
    pub(super) has_open_extended_card: bool,
    pub(super) has_private_card: bool,
    /// Made once, for all clones.
    memory: Arc<OnceLock<Arc<Memory>>>,
}

/// Why a card can't be enforced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// Nobody verifies callers by a scheme that the card declares.
    #[error("the card declares the security scheme {0:?}, which nothing here verifies")]
    NoVerifier(String),
    /// A scheme is declared in a way that can't be enforced.
    #[error("the security scheme {scheme:?} can't be enforced: {reason}")]
    Unenforceable {
        /// The name of the scheme in the card.
        scheme: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The verifier of a scheme is for schemes of another kind.
    #[error("what is to verify the security scheme {0:?} is for schemes of another kind")]
    Misfit(String),
    /// There is a verifier for a scheme that the card does not declare.
    #[error("the card does not declare the security scheme {0:?}, for which there is a verifier")]
    Undeclared(String),
    /// The card requires a scheme that it does not declare.
    #[error("the card requires the security scheme {0:?}, and does not declare it")]
    UnknownScheme(String),
    /// The card has requirements for a skill, and nothing tells which skill a message is for.
    #[error(
        "the card has security requirements for the skill {0:?}, and nothing tells which skill a message is for"
    )]
    UnknownSkill(String),
    /// The card promises an extended card for authenticated callers, and nobody can authenticate.
    #[error("the card promises an extended card, and declares no security scheme to protect it")]
    OpenExtendedCard,
}

impl Guard {
    /// Creates a guard that verifies nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets who verifies callers by a scheme, by its name in the card.
    pub fn with_verifier(mut self, scheme: impl Into<String>, verifier: impl Verifier) -> Self {
        self.verifiers.insert(scheme.into(), Arc::new(verifier));
        self
    }

    /// Sets what challenges name as the realm. Default: `a2a`.
    pub fn with_realm(mut self, realm: impl Into<String>) -> Self {
        self.realm = Some(realm.into());
        self
    }

    /// Sets how to tell which skill a message is for: the protocol does not say it. Its
    /// requirements hold beside those of the agent.
    pub fn with_skills(
        mut self,
        skill: impl Fn(&SendMessageRequest) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.skill = Some(Arc::new(skill));
        self
    }

    /// Asks for each call that meets the requirements of the card whether this caller may do
    /// this, in this tenant. The peer gets the error, as
    /// [`PermissionDenied`](a2a_core::ErrorKind::PermissionDenied).
    pub fn with_policy(
        mut self,
        policy: impl Fn(&Caller, Operation, &str) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// Sets which tenants a caller may name. Default: any, as each sees in each only what is its
    /// own. Requests without a tenant name the empty one.
    pub fn with_tenants(
        mut self,
        tenants: impl Fn(&Caller, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.tenants = Some(Arc::new(tenants));
        self
    }

    /// Believes a proxy where it says who calls (`X-Forwarded-For`). Default: none.
    pub fn with_trusted_proxy(mut self, proxy: TrustedProxy) -> Self {
        self.proxies.push(proxy);
        self
    }

    /// Sets how failed tries are throttled.
    pub fn with_throttle(mut self, throttle: Throttle) -> Self {
        self.throttle = throttle;
        self.memory = Arc::default();
        self
    }

    /// Keeps what callers authenticate with (`Authorization`) in the [`Caller`], for a gateway
    /// that passes it on. Default: it is forgotten.
    pub fn with_kept_credentials(mut self) -> Self {
        self.keeps_credentials = true;
        self
    }

    /// Gives the extended card to everyone where the card declares no scheme. Without this such
    /// a card does not start.
    pub fn with_open_extended_card(mut self) -> Self {
        self.has_open_extended_card = true;
        self
    }

    /// Shows the public card, too, only to those who meet its own requirements, or who can
    /// authenticate at all where it has none. Callers then have to know beforehand how: an
    /// extended card is the better place for what not everyone may see.
    pub fn with_private_card(mut self) -> Self {
        self.has_private_card = true;
        self
    }

    /// Holds the guard against a card, and returns what enforces it.
    ///
    /// # Errors
    ///
    /// [`GuardError`], which names the scheme that can't be enforced.
    pub fn enforce(&self, card: &AgentCard) -> Result<Enforcement, GuardError> {
        Enforcement::new(self, card)
    }

    pub(super) fn memory(&self) -> Arc<Memory> {
        Arc::clone(self.memory.get_or_init(|| Arc::new(Memory::new(self.throttle.clone()))))
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("verifiers", &self.verifiers)
            .field("proxies", &self.proxies)
            .field("throttle", &self.throttle)
            .finish_non_exhaustive()
    }
}
