//! The one bearer scheme of scripted agents: who calls, and what that caller may do.
//!
//! A layer over HTTP keeps what a request authenticates with, the same for every binding;
//! [`Bearer::admit`] verifies it and refuses, and each binding writes that refusal in its own form,
//! with the challenge.

use std::{result::Result as StdResult, sync::Arc};

use a2a_auth::server::{BearerTokens, Enforcement, Guard};
use a2a_core::{AgentCard, Error, ErrorKind, Operation, Result, v1::SecurityScheme};
use a2a_operations::{CallContext, Caller};
use axum::{extract::Request, middleware::Next, response::Response};
use http::{header::AUTHORIZATION, request::Parts};

use crate::failure::Failure;

/// What every known caller is called.
const CALLER: &str = "demo";
const CHALLENGE: &str = "Bearer realm=\"a2a\"";
const SCHEME: &str = "bearer";

/// The token, and what it is needed for.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    enforcement: Enforcement,
    protects: Protects,
    /// The credentials of a caller that is known and may do nothing.
    insufficient: Option<String>,
}

/// What needs the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protects {
    Everything,
    ExtendedCard,
}

/// The head of a request that carries credentials, for operations that need them.
struct Head(Parts);

impl Bearer {
    /// `guard` says how guesses are throttled, and which proxies say where callers are.
    ///
    /// # Errors
    ///
    /// A usage failure where the scheme can't be enforced.
    pub(crate) fn new(token: &str, protects: Protects, guard: Guard) -> StdResult<Self, Failure> {
        let tokens = BearerTokens::new().with_token(token, Caller::authenticated(CALLER));
        let card = AgentCard::default().with_security_scheme(SCHEME, SecurityScheme::bearer());
        let enforcement = guard.with_verifier(SCHEME, tokens).enforce(&card);
        let enforcement = enforcement.map_err(|error| Failure::usage(super::chain(&error)))?;
        Ok(Self { enforcement, protects, insufficient: None })
    }

    /// Sets a token that is known and allows nothing: 403 instead of 401.
    pub(crate) fn with_insufficient(mut self, token: Option<&str>) -> Self {
        self.insufficient = token.map(|token| format!("Bearer {token}"));
        self
    }

    fn is_insufficient(&self, head: &Head) -> bool {
        let credentials = head.0.headers.get(AUTHORIZATION);
        self.insufficient.as_ref().is_some_and(|known| credentials.is_some_and(|it| it == known))
    }

    /// Says in the card what is asked for. What only the extended card needs is no requirement
    /// of the agent.
    pub(crate) fn declare(&self, card: &mut AgentCard) {
        card.security_schemes.insert(SCHEME.into(), SecurityScheme::bearer());
        if self.protects == Protects::Everything {
            card.security_requirements.push(SCHEME.into());
        }
    }

    /// Whether every operation needs the token.
    pub(super) fn is_for_all(&self) -> bool {
        self.protects == Protects::Everything
    }

    /// Admits a call or refuses it. Credentials are verified only for operations that need them, so
    /// that no other answers a guess.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unauthenticated`] with a challenge, [`ErrorKind::PermissionDenied`], or
    /// [`ErrorKind::ResourceExhausted`] after too many wrong tokens.
    pub(super) async fn admit(
        &self,
        operation: Operation,
        context: &mut CallContext,
    ) -> Result<()> {
        let head = context.caller.take_evidence::<Head>();
        // Tasks belong to nobody where only the extended card needs the token.
        context.caller = Caller::ANONYMOUS;
        if self.protects == Protects::ExtendedCard && operation != Operation::GetExtendedAgentCard {
            return Ok(());
        }
        // Not a token of the verifier: one that everybody knows would end the pause of those who
        // guess.
        if head.as_ref().is_some_and(|head| self.is_insufficient(head)) {
            let message = "the token does not allow this operation";
            return Err(Error::new(ErrorKind::PermissionDenied, message));
        }
        let caller = match head {
            Some(head) => self.enforcement.authenticate(&head.0).await,
            None => Ok(None),
        };
        let caller = match caller {
            Ok(caller) => caller,
            Err(error) if error.kind() == ErrorKind::Unauthenticated => None,
            Err(error) => return Err(error),
        };
        if caller.is_none() {
            let error = Error::new(ErrorKind::Unauthenticated, "a bearer token is needed");
            return Err(error.with_challenge(CHALLENGE));
        }
        if self.protects == Protects::Everything {
            context.caller = caller.unwrap_or_default();
        }
        Ok(())
    }
}

/// Keeps what a request authenticates with for [`Bearer::admit`].
pub(super) async fn keep_head(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    if parts.headers.contains_key(AUTHORIZATION) {
        let caller = Caller::ANONYMOUS.with_evidence(Arc::new(Head(parts.clone())));
        parts.extensions.insert(caller);
    }
    next.run(Request::from_parts(parts, body)).await
}

#[cfg(test)]
mod tests {
    use a2a_auth::server::Throttle;
    use axum::extract::ConnectInfo;

    use super::*;

    fn bearer(protects: Protects) -> Bearer {
        let throttle = Throttle::default().with_failures_allowed(3);
        let bearer = Bearer::new("good", protects, Guard::new().with_throttle(throttle)).unwrap();
        bearer.with_insufficient(Some("limited"))
    }

    async fn admit(bearer: &Bearer, lines: &[&str], operation: Operation) -> Option<ErrorKind> {
        let mut request = http::Request::builder();
        for line in lines {
            request = request.header(AUTHORIZATION, *line);
        }
        let mut parts = request.body(()).unwrap().into_parts().0;
        let peer: std::net::SocketAddr = ([192, 0, 2, 1], 1).into();
        parts.extensions.insert(ConnectInfo(peer));
        let mut context = CallContext::default();
        context.caller = Caller::ANONYMOUS.with_evidence(Arc::new(Head(parts)));
        bearer.admit(operation, &mut context).await.err().map(|error| error.kind())
    }

    const GET: Operation = Operation::GetTask;
    const CARD: Operation = Operation::GetExtendedAgentCard;

    #[tokio::test]
    async fn a_missing_token_is_challenged_and_one_that_is_not_enough_is_denied() {
        let (all, card_only) = (bearer(Protects::Everything), bearer(Protects::ExtendedCard));
        for (bearer, lines, operation, refused) in [
            (&all, &["Bearer good"][..], GET, None),
            (&all, &["bearer good"], GET, None),
            (&all, &[], GET, Some(ErrorKind::Unauthenticated)),
            (&all, &["Bearer bad"], GET, Some(ErrorKind::Unauthenticated)),
            (&all, &["Basic good"], GET, Some(ErrorKind::Unauthenticated)),
            (&all, &["Bearer limited"], GET, Some(ErrorKind::PermissionDenied)),
            (&card_only, &[], GET, None),
            (&card_only, &["Bearer bad"], GET, None),
            (&card_only, &[], CARD, Some(ErrorKind::Unauthenticated)),
            (&card_only, &["Bearer limited"], CARD, Some(ErrorKind::PermissionDenied)),
            (&card_only, &["Bearer good", "Bearer bad"], CARD, Some(ErrorKind::Unauthenticated)),
            (&card_only, &["Bearer good"], CARD, None),
        ] {
            assert_eq!(admit(bearer, lines, operation).await, refused, "{lines:?} {operation:?}");
        }
    }

    #[tokio::test]
    async fn guesses_are_throttled_and_calls_that_need_no_token_are_not() {
        let bearer = bearer(Protects::ExtendedCard);
        for number in 0..20 {
            assert_eq!(admit(&bearer, &["Bearer bad"], GET).await, None);
            let refused = admit(&bearer, &["Bearer bad"], CARD).await;
            let expected = match number {
                0..4 => ErrorKind::Unauthenticated,
                _ => ErrorKind::ResourceExhausted,
            };
            assert_eq!(refused, Some(expected), "{number}");
        }
        assert_eq!(
            admit(&bearer, &["Bearer good"], CARD).await,
            Some(ErrorKind::ResourceExhausted),
            "the right token is no answer to a guess"
        );
        assert_eq!(admit(&bearer, &["Bearer good"], GET).await, None);
    }
}
