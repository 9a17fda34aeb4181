//! The one bearer scheme of the demo agent: who calls, and what that caller may do.
//!
//! A layer over HTTP says who calls, the same for every binding; [`Bearer::admit`] refuses, and
//! each binding writes that refusal in its own form, with the challenge.

use a2a_core::{
    AgentCard, Error, ErrorKind, Operation, Result,
    v1::{
        HttpAuthSecurityScheme, SecurityRequirement, SecurityScheme, StringList,
        security_scheme::Scheme,
    },
};
use a2a_operations::{CallContext, Caller};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{HeaderMap, header::AUTHORIZATION};

/// A token that is known and allows nothing, for suites that look for 403.
const INSUFFICIENT: &str = "itk-insufficient-token";
/// What the caller of that token is called.
const INSUFFICIENT_CALLER: &str = "insufficient";
/// What every other known caller is called.
const CALLER: &str = "demo";
const CHALLENGE: &str = "Bearer realm=\"a2a\"";

/// The token, and what it is needed for.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    token: String,
    protects: Protects,
}

/// What needs the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protects {
    Everything,
    ExtendedCard,
}

impl Bearer {
    pub(crate) fn new(token: impl Into<String>, protects: Protects) -> Self {
        Self { token: token.into(), protects }
    }

    /// Says in the card what is asked for. What only the extended card needs is no requirement
    /// of the agent.
    pub(crate) fn declare(&self, card: &mut AgentCard) {
        let http =
            HttpAuthSecurityScheme { scheme: "bearer".into(), ..HttpAuthSecurityScheme::default() };
        let scheme = SecurityScheme { scheme: Some(Scheme::HttpAuthSecurityScheme(http)) };
        card.security_schemes.insert("bearer".into(), scheme);
        if self.protects == Protects::Everything {
            let schemes = [("bearer".to_owned(), StringList::default())].into_iter().collect();
            card.security_requirements.push(SecurityRequirement { schemes });
        }
    }

    /// Whether every operation needs the token.
    pub(super) fn is_for_all(&self) -> bool {
        self.protects == Protects::Everything
    }

    /// Admits a call or refuses it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unauthenticated`] with a challenge, or [`ErrorKind::PermissionDenied`].
    pub(super) fn admit(&self, operation: Operation, context: &mut CallContext) -> Result<()> {
        let needed =
            self.protects == Protects::Everything || operation == Operation::GetExtendedAgentCard;
        let admitted = match (needed, context.caller.subject()) {
            (false, _) | (true, Some(CALLER)) => Ok(()),
            (true, Some(_)) => Err(Error::new(
                ErrorKind::PermissionDenied,
                "the token does not allow this operation",
            )),
            (true, None) => {
                let error = Error::new(ErrorKind::Unauthenticated, "a bearer token is needed");
                Err(error.with_challenge(CHALLENGE))
            }
        };
        if self.protects == Protects::ExtendedCard {
            // Tasks belong to nobody here, with the token or without it.
            context.caller = Caller::ANONYMOUS;
        }
        admitted
    }

    fn caller(&self, headers: &HeaderMap) -> Caller {
        let line = headers.get(AUTHORIZATION).and_then(|line| line.to_str().ok());
        let token = line.and_then(|line| {
            let (scheme, token) = line.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        match token {
            Some(token) if token == self.token => Caller::authenticated(CALLER),
            Some(INSUFFICIENT) => Caller::authenticated(INSUFFICIENT_CALLER),
            Some(_) | None => Caller::ANONYMOUS,
        }
    }
}

/// Says who makes a request.
pub(super) async fn identify(
    State(bearer): State<Bearer>,
    mut request: Request,
    next: Next,
) -> Response {
    let caller = bearer.caller(request.headers());
    request.extensions_mut().insert(caller);
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(bearer: &Bearer, line: Option<&str>, operation: Operation) -> Option<ErrorKind> {
        let mut headers = HeaderMap::new();
        if let Some(line) = line {
            headers.insert(AUTHORIZATION, line.parse().unwrap());
        }
        let mut context = CallContext::default();
        context.caller = bearer.caller(&headers);
        bearer.admit(operation, &mut context).err().map(|error| error.kind())
    }

    #[test]
    fn a_missing_token_is_challenged_and_one_that_is_not_enough_is_denied() {
        let all = Bearer::new("good", Protects::Everything);
        let card_only = Bearer::new("good", Protects::ExtendedCard);
        let (get, card) = (Operation::GetTask, Operation::GetExtendedAgentCard);
        for (bearer, line, operation, refused) in [
            (&all, Some("Bearer good"), get, None),
            (&all, Some("bearer good"), get, None),
            (&all, None, get, Some(ErrorKind::Unauthenticated)),
            (&all, Some("Bearer bad"), get, Some(ErrorKind::Unauthenticated)),
            (&all, Some("Basic good"), get, Some(ErrorKind::Unauthenticated)),
            (&all, Some("Bearer itk-insufficient-token"), get, Some(ErrorKind::PermissionDenied)),
            (&card_only, None, get, None),
            (&card_only, None, card, Some(ErrorKind::Unauthenticated)),
            (&card_only, Some("Bearer good"), card, None),
        ] {
            assert_eq!(admit(bearer, line, operation), refused, "{line:?} {operation:?}");
        }
    }
}
