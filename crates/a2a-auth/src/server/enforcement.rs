//! A guard that has been held against a card.

use std::{collections::BTreeMap, fmt, result::Result as StdResult, sync::Arc};

use a2a_core::{AgentCard, Result};
use a2a_operations::{Agent, Caller};
use axum::{Router, middleware};
use http::request::Parts;

use super::{
    Guard, GuardError, TrustedProxy,
    admit::Admitting,
    audit,
    challenge::Challenges,
    guard::{Policy, SkillOf, Tenants},
    identify,
    memory::Memory,
    refusal::Refusal,
    requirement::Requirements,
    scheme::{self, Enforced},
};

/// What enforces a card: a layer over HTTP, and a wrapper around the agent. Both are needed, and
/// belong together; clones are the same.
///
/// ```
/// use a2a_auth::server::Guard;
/// use a2a_core::AgentCard;
/// use a2a_operations::{Engine, agent_fn};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let card = AgentCard::new("Echo", "Says what it hears");
/// let enforcement = Guard::new().enforce(&card)?;
/// let engine = Engine::new(card, agent_fn(async |text: String| text));
/// // Any router that puts the agent on a wire.
/// let wire = |agent| axum::Router::<()>::new().layer(axum::Extension(agent));
/// let router = enforcement.layer(wire(enforcement.agent(engine)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Enforcement(pub(super) Arc<Inner>);

pub(super) struct Inner {
    /// In the order of their rank.
    pub(super) schemes: Vec<Enforced>,
    pub(super) agent: Rule,
    /// By the id of the skill.
    pub(super) skills: BTreeMap<String, Rule>,
    /// What is asked for where some scheme is needed and any will do.
    pub(super) any: Challenges,
    pub(super) skill: Option<Arc<SkillOf>>,
    pub(super) policy: Option<Arc<Policy>>,
    pub(super) tenants: Option<Arc<Tenants>>,
    pub(super) proxies: Vec<TrustedProxy>,
    pub(super) keeps_credentials: bool,
    pub(super) has_private_card: bool,
    pub(super) memory: Arc<Memory>,
}

/// Requirements, and what is answered to who does not meet them.
pub(super) struct Rule {
    pub(super) requirements: Requirements,
    pub(super) challenges: Challenges,
}

impl Enforcement {
    pub(super) fn new(guard: &Guard, card: &AgentCard) -> StdResult<Self, GuardError> {
        let schemes = schemes(guard, card)?;
        let realm = guard.realm.as_deref().unwrap_or("a2a");
        let rule = |requirements: Requirements| {
            let unknown = requirements
                .schemes()
                .find(|(name, _)| !schemes.iter().any(|scheme| scheme.name == **name));
            if let Some((name, _)) = unknown {
                return Err(GuardError::UnknownScheme(name.to_string()));
            }
            let challenges = Challenges::of(&requirements, &schemes, realm);
            Ok(Rule { requirements, challenges })
        };
        let agent = rule(Requirements::of(&card.security_requirements))?;
        let any = rule(Requirements::default())?.challenges;
        let mut skills = BTreeMap::new();
        for skill in card.skills.iter().filter(|skill| !skill.security_requirements.is_empty()) {
            if guard.skill.is_none() {
                return Err(GuardError::UnknownSkill(skill.id.clone()));
            }
            let requirements = Requirements::of(&skill.security_requirements);
            skills.insert(skill.id.clone(), rule(requirements)?);
        }
        let promises_extended = card
            .capabilities
            .as_ref()
            .is_some_and(|capabilities| capabilities.extended_agent_card());
        if promises_extended && schemes.is_empty() && !guard.has_open_extended_card {
            return Err(GuardError::OpenExtendedCard);
        }
        Ok(Self(Arc::new(Inner {
            schemes,
            agent,
            skills,
            any,
            skill: guard.skill.clone(),
            policy: guard.policy.clone(),
            tenants: guard.tenants.clone(),
            proxies: guard.proxies.clone(),
            keeps_credentials: guard.keeps_credentials,
            has_private_card: guard.has_private_card,
            memory: guard.memory(),
        })))
    }

    /// Puts the layer that identifies callers around the routes that there are.
    pub fn layer(&self, router: Router) -> Router {
        router.layer(middleware::from_fn_with_state(self.clone(), identify::identify))
    }

    /// Protects the routes of the public card, where the guard has a private one.
    pub fn card_layer(&self, router: Router) -> Router {
        if !self.0.has_private_card {
            return router;
        }
        router.layer(middleware::from_fn_with_state(self.clone(), identify::show_card))
    }

    /// Verifies what a request presents, for programs that decide themselves which calls need it:
    /// with the throttling and the audit log of the guard, and without its requirements. `None`
    /// where nothing is presented.
    ///
    /// # Errors
    ///
    /// [`Unauthenticated`](a2a_core::ErrorKind::Unauthenticated) for what is wrong or can be read
    /// in two ways, and [`ResourceExhausted`](a2a_core::ErrorKind::ResourceExhausted) after too
    /// many failures.
    pub async fn authenticate(&self, request: &Parts) -> Result<Option<Caller>> {
        let identified = self.0.identify(request).await;
        if let Some(refusal) = &identified.refusal
            && *refusal != Refusal::Missing
        {
            audit::failed(identified.circumstances(), refusal.reason());
            return Err(refusal.error(&self.0.any));
        }
        let mut verified = identified.verified.iter();
        Ok(verified.next().map(|verified| verified.caller.clone()))
    }

    /// Wraps an agent so that it is reached by those who may. Without the layer nobody may for
    /// whom anything is required.
    pub fn agent(&self, agent: impl Agent) -> Arc<dyn Agent> {
        Arc::new(Admitting::new(self.clone(), Arc::new(agent)))
    }
}

/// The schemes of the card with their verifiers, those that name callers best first.
fn schemes(guard: &Guard, card: &AgentCard) -> StdResult<Vec<Enforced>, GuardError> {
    if let Some(name) =
        guard.verifiers.keys().find(|name| !card.security_schemes.contains_key(*name))
    {
        return Err(GuardError::Undeclared(name.clone()));
    }
    let mut schemes = Vec::new();
    for (name, declared) in &card.security_schemes {
        let unenforceable = |reason| GuardError::Unenforceable { scheme: name.clone(), reason };
        let verifier =
            guard.verifiers.get(name).ok_or_else(|| GuardError::NoVerifier(name.clone()))?;
        let (place, rank) = scheme::place(declared).map_err(unenforceable)?;
        if !declared.scheme.as_ref().is_some_and(|scheme| verifier.fits(scheme)) {
            return Err(GuardError::Misfit(name.clone()));
        }
        let verifier = Arc::clone(verifier);
        schemes.push(Enforced { name: name.as_str().into(), place, rank, verifier });
    }
    schemes.sort_by(|a, b| (a.rank, &a.name).cmp(&(b.rank, &b.name)));
    Ok(schemes)
}

impl fmt::Debug for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enforcement").field("schemes", &self.0.schemes).finish_non_exhaustive()
    }
}
