//! A guard bound to a card.

use std::{collections::BTreeMap, result::Result as StdResult, sync::Arc};

use a2a_core::{AgentCard, Result};
use a2a_kit_http::client_address;
use a2a_kit_operations::{Agent, Caller};
use axum::{Router, middleware};
use http::request::Parts;

use super::{
    Guard, GuardError, audit,
    auth_failure::AuthFailure,
    authenticate,
    authorize::AuthorizingAgent,
    challenge::Challenges,
    enforced_card::{EnforcedCard, Rule},
    request_credentials::CredentialLocation,
    requirement::Requirements,
    verifier::EnforcedScheme,
};

/// Enforces the security requirements of a card, by an HTTP layer and a wrapper around the agent.
/// Both are needed.
///
/// ```
/// use a2a_kit_auth::server::Guard;
/// use a2a_core::AgentCard;
/// use a2a_kit_operations::{Engine, agent_fn};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let card = AgentCard::new("Echo", "Repeats its input");
/// let enforcement = Guard::new().enforce(&card)?;
/// let engine = Engine::new(card, agent_fn(async |text: String| text));
/// // Any router that puts the agent on a wire.
/// let wire = |agent| axum::Router::<()>::new().layer(axum::Extension(agent));
/// let router = enforcement.layer(wire(enforcement.agent(engine)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Enforcement(Arc<EnforcedCard>);

impl Guard {
    /// Checks the guard against a card, and returns its enforcement.
    ///
    /// # Errors
    ///
    /// [`GuardError`], which names the scheme that can't be enforced.
    pub fn enforce(&self, card: &AgentCard) -> StdResult<Enforcement, GuardError> {
        let schemes = self.schemes(card)?;
        let realm = self.realm.as_deref().unwrap_or("a2a");
        let rule = |requirements: Requirements| {
            let unknown = requirements
                .schemes()
                .find(|(name, _)| !schemes.iter().any(|scheme| scheme.name == **name));
            if let Some((name, _)) = unknown {
                return Err(GuardError::UnknownScheme(name.to_string()));
            }
            let challenges = Challenges::of(requirements.schemes(), &schemes, realm);
            Ok(Rule { requirements, challenges })
        };
        let agent = rule(Requirements::of(&card.security_requirements))?;
        let any = rule(Requirements::default())?.challenges;
        let mut skills = BTreeMap::new();
        for skill in card.skills.iter().filter(|skill| !skill.security_requirements.is_empty()) {
            if self.skill.is_none() {
                return Err(GuardError::UnknownSkill(skill.id.clone()));
            }
            let requirements = Requirements::of(&skill.security_requirements);
            skills.insert(skill.id.clone(), rule(requirements)?);
        }
        if card.has_extended_card() && schemes.is_empty() && !self.has_open_extended_card {
            return Err(GuardError::OpenExtendedCard);
        }
        let guard = self.clone();
        Ok(Enforcement(Arc::new(EnforcedCard { schemes, agent, skills, any, guard })))
    }

    /// The schemes of the card with their verifiers, by rank.
    fn schemes(&self, card: &AgentCard) -> StdResult<Vec<EnforcedScheme>, GuardError> {
        if let Some(name) =
            self.verifiers.keys().find(|name| !card.security_schemes.contains_key(*name))
        {
            return Err(GuardError::Undeclared(name.clone()));
        }
        let mut schemes = Vec::new();
        for (name, declared) in &card.security_schemes {
            let unenforceable = |reason| GuardError::Unenforceable { scheme: name.clone(), reason };
            let verifier =
                self.verifiers.get(name).ok_or_else(|| GuardError::NoVerifier(name.clone()))?;
            let (location, rank) = CredentialLocation::of(declared).map_err(unenforceable)?;
            if !declared.scheme.as_ref().is_some_and(|scheme| verifier.supports(scheme)) {
                return Err(GuardError::SchemeMismatch(name.clone()));
            }
            let verifier = Arc::clone(verifier);
            schemes.push(EnforcedScheme { name: name.as_str().into(), location, rank, verifier });
        }
        schemes.sort_by(|a, b| (a.rank, &a.name).cmp(&(b.rank, &b.name)));
        Ok(schemes)
    }
}

impl Enforcement {
    /// Adds the authentication layer to the existing routes.
    pub fn layer(&self, router: Router) -> Router {
        authenticate::layer(router, &self.0)
    }

    /// Authenticates a request as the [layer](Self::layer) does, if it has a token that was verified
    /// before and no other credentials are possible; returns `false`, without a trace, if it has not.
    pub fn authenticate_known(&self, request: &mut Parts) -> bool {
        self.0.attach_known(request)
    }

    /// Returns whether the guard makes the public card private.
    pub fn has_private_card(&self) -> bool {
        self.0.guard.has_private_card
    }

    /// Protects the routes of the public card, if the guard makes it private.
    pub fn card_layer(&self, router: Router) -> Router {
        if !self.0.guard.has_private_card {
            return router;
        }
        router.layer(middleware::from_fn_with_state(self.0.clone(), authenticate::authorize_card))
    }

    /// Verifies the credentials of a request with the throttling and the audit log of the guard,
    /// but without its requirements: for programs that decide themselves which calls need them.
    /// `None` if the request has no credentials.
    ///
    /// # Errors
    ///
    /// [`Unauthenticated`](a2a_core::ErrorKind::Unauthenticated) for invalid or ambiguous
    /// credentials, and [`ResourceExhausted`](a2a_core::ErrorKind::ResourceExhausted) after too
    /// many failures.
    pub async fn authenticate(&self, request: &Parts) -> Result<Option<Caller>> {
        let authentication = self.0.authenticate(request, true).await;
        if let Some(failure) = &authentication.failure
            && *failure != AuthFailure::Missing
        {
            audit::failed(authentication.audit_context(), failure.reason());
            return Err(failure.error(&self.0.any));
        }
        let mut verified = authentication.verified.iter();
        Ok(verified.next().map(|verified| verified.caller.clone()))
    }

    /// Returns whether the credentials of a request are sufficient for the agent, for programs that
    /// have to read a body before they know its agent. It obeys the throttling, but neither logs nor
    /// records a failure, as the credentials may be those of another agent: if no agent admits the
    /// request, [`record_failure`](Self::record_failure) does.
    ///
    /// # Errors
    ///
    /// As [`authenticate`](Self::authenticate).
    pub async fn admits(&self, request: &Parts) -> Result<bool> {
        match self.0.authenticate(request, false).await.failure {
            None => Ok(true),
            Some(AuthFailure::Missing | AuthFailure::InsufficientScope(_)) => Ok(false),
            Some(failure) => Err(failure.error(&self.0.any)),
        }
    }

    /// Records that a request failed to authenticate.
    pub fn record_failure(&self, request: &Parts) {
        self.0.guard.auth_history().record_failure(client_address(request, &self.0.guard.proxies));
    }

    /// Wraps an agent so that only authorized calls reach it. Without the layer, all calls that
    /// require authentication are rejected.
    pub fn agent(&self, agent: impl Agent) -> Arc<dyn Agent> {
        Arc::new(AuthorizingAgent { card: self.0.clone(), agent: Arc::new(agent) })
    }
}

#[cfg(test)]
mod tests {
    use a2a_core::{
        ErrorKind,
        v1::{GetTaskRequest, SecurityScheme},
    };
    use a2a_kit_operations::{Call, Engine, agent_fn};

    use super::{super::ApiKeys, *};

    #[tokio::test]
    async fn caller_whom_the_layer_of_another_card_admits_has_to_meet_the_requirements() {
        let open = AgentCard::new("Echo", "Repeats its input");
        let closed = open
            .clone()
            .with_security_scheme("key", SecurityScheme::api_key_header("x-key"))
            .requiring("key");
        let layer_of_open = Guard::new().enforce(&open).unwrap();
        let keys = ApiKeys::new().with_key("secret", Caller::authenticated("ann"));
        let closed = Guard::new().with_verifier("key", keys).enforce(&closed).unwrap();
        let agent = closed.agent(Engine::new(open, agent_fn(async |text: String| text)));
        let request = http::Request::builder().header("x-key", "secret").body(()).unwrap();
        let (request, ()) = request.into_parts();
        for (layer, kind) in
            [(&layer_of_open, ErrorKind::Unauthenticated), (&closed, ErrorKind::TaskNotFound)]
        {
            let authentication = Arc::new(layer.0.authenticate(&request, true).await);
            let mut call = Call::new(GetTaskRequest { id: "t".into(), ..Default::default() });
            call.context.caller = Caller::ANONYMOUS.with_evidence(authentication);
            assert_eq!(agent.get_task(call).await.unwrap_err().kind(), kind);
        }
    }
}
