//! The bearer scheme of scripted agents and of the extended card.
//!
//! An HTTP layer stores the credentials of a request, the same for every binding.
//! [`Bearer::admit`] verifies them, and each binding encodes the error in its own format, with the
//! challenge.

use std::{result::Result as StdResult, sync::Arc};

use a2a_core::{AgentCard, Error, ErrorKind, Operation, Result, v1::SecurityScheme};
use a2a_kit_auth::server::{BearerTokens, Enforcement, Guard};
use a2a_kit_operations::{CallContext, Caller};
use axum::{extract::Request, middleware::Next, response::Response};
use http::{header::AUTHORIZATION, request::Parts};

use crate::failure::Failure;

/// The subject of authenticated callers.
const CALLER: &str = "demo";
const CHALLENGE: &str = "Bearer realm=\"a2a\"";
const SCHEME: &str = "bearer";

/// The token, and the operations that require it.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    enforcement: Enforcement,
    protects: Protects,
    /// Credentials that are known and allow nothing.
    insufficient: Option<String>,
}

/// The operations that require the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protects {
    Everything,
    ExtendedCard,
}

/// The head of a request with credentials.
struct Head(Parts);

impl Bearer {
    /// `guard` throttles failed attempts and knows the trusted proxies.
    ///
    /// # Errors
    ///
    /// A usage failure if the scheme can't be enforced.
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

    /// Declares the scheme in the card. A token for the extended card only is not a requirement of
    /// the agent.
    pub(crate) fn declare(&self, card: &mut AgentCard) {
        card.security_schemes.insert(SCHEME.into(), SecurityScheme::bearer());
        if self.protects == Protects::Everything {
            card.security_requirements.push(SCHEME.into());
        }
    }

    /// Returns whether every operation requires the token.
    pub(super) fn is_for_all(&self) -> bool {
        self.protects == Protects::Everything
    }

    /// Authenticates a call. Credentials are verified only for operations that require them, so that
    /// no other operation can be used to guess the token.
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
        // Tasks have no owner if only the extended card requires the token.
        context.caller = Caller::ANONYMOUS;
        if self.protects == Protects::ExtendedCard && operation != Operation::GetExtendedAgentCard {
            return Ok(());
        }
        // Not a token of the verifier: a success with a well-known token would reset the throttle.
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

/// Stores the credentials of a request for [`Bearer::admit`].
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
    use a2a_kit_auth::server::Throttle;
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
