//! Selection of the security scheme and the OAuth flow of a login.

use a2a_core::{
    AgentCard,
    v1::{o_auth_flows, security_scheme::Scheme},
};
use a2a_kit_client::credentials::Endpoints;

use crate::{agent::scheme_names, failure::Failure, token::Flow};

/// The security scheme to log in for.
#[derive(Debug)]
pub(super) struct LoginScheme {
    pub(super) name: String,
    pub(super) scheme: Scheme,
    /// The scopes that the card requires.
    pub(super) scopes: Vec<String>,
}

/// What the command line says about the login.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) scheme: Option<&'a str>,
    pub(super) flow: Option<Flow>,
    pub(super) has_token_url: bool,
    pub(super) has_device_url: bool,
}

impl LoginScheme {
    /// Selects a scheme of the card: the named one, or the first with the wanted flow, which is the
    /// device flow if none is given, or else the first that a login is possible for.
    /// Errors: a usage failure that names the schemes of the card.
    pub(super) fn select(card: &AgentCard, wanted: Wanted<'_>) -> Result<Self, Failure> {
        let names = scheme_names(card);
        let fits = |name: &&&str| scheme(card, name).is_some_and(|one| wanted.fits(one));
        let preferred = wanted.flow.unwrap_or(Flow::Device);
        let name = match wanted.scheme {
            Some(name) => Some(name).filter(|name| scheme(card, name).is_some()),
            None => {
                let has_preferred = |name: &&&str| {
                    scheme(card, name).is_some_and(|one| flow_of(one) == Some(preferred))
                };
                names.iter().find(has_preferred).or_else(|| names.iter().find(fits)).copied()
            }
        };
        let found = name.and_then(|name| Some((name, scheme(card, name)?)));
        let Some((name, scheme)) = found.filter(|(_, one)| wanted.fits(one)) else {
            return Err(none(card, &names, wanted));
        };
        let required = card.security_requirements.iter().find_map(|one| one.schemes.get(name));
        let scopes = required.map(|scopes| scopes.list.clone()).unwrap_or_default();
        Ok(Self { name: name.to_owned(), scheme: scheme.clone(), scopes })
    }

    /// Returns the flow to use: the wanted one, the one of the scheme, or the first that the
    /// authorization server has an endpoint for.
    /// Errors: a usage failure if the wanted flow has no endpoint.
    pub(super) fn flow(&self, wanted: Wanted<'_>, endpoints: &Endpoints) -> Result<Flow, Failure> {
        let has_device = endpoints.device_authorization().is_some();
        let has_authorization = endpoints.authorization().is_some();
        let flow = wanted.flow.or_else(|| {
            if wanted.has_device_url { Some(Flow::Device) } else { flow_of(&self.scheme) }
        });
        let flow = flow.unwrap_or(match (has_device, has_authorization) {
            (true, _) => Flow::Device,
            (false, true) => Flow::AuthCode,
            (false, false) => Flow::ClientCredentials,
        });
        let missing = |what: &str| {
            Failure::usage(format!("--flow {}: scheme {:?} has no {what}", flow.name(), self.name))
        };
        match flow {
            Flow::Device if !has_device => Err(missing("device authorization URL")
                .with_hint("give it with --device-url, or choose another --flow")),
            Flow::AuthCode if !has_authorization => {
                Err(missing("authorization URL").with_hint("choose another --flow"))
            }
            Flow::Device | Flow::AuthCode | Flow::ClientCredentials => Ok(flow),
        }
    }
}

impl Wanted<'_> {
    /// Returns whether a login is possible for a scheme.
    fn fits(self, scheme: &Scheme) -> bool {
        match scheme {
            Scheme::OpenIdConnectSecurityScheme(_) => true,
            Scheme::Oauth2SecurityScheme(_) => self.has_token_url || flow_of(scheme).is_some(),
            // It names no authorization server.
            Scheme::HttpAuthSecurityScheme(http) => {
                self.has_token_url && http.scheme.eq_ignore_ascii_case("bearer")
            }
            Scheme::ApiKeySecurityScheme(_) | Scheme::MtlsSecurityScheme(_) => false,
        }
    }
}

fn scheme<'a>(card: &'a AgentCard, name: &str) -> Option<&'a Scheme> {
    card.security_schemes.get(name)?.scheme.as_ref()
}

/// The flow of an OAuth 2.0 scheme, if it is supported.
fn flow_of(scheme: &Scheme) -> Option<Flow> {
    let Scheme::Oauth2SecurityScheme(oauth) = scheme else { return None };
    match oauth.flows.as_ref()?.flow.as_ref()? {
        o_auth_flows::Flow::DeviceCode(_) => Some(Flow::Device),
        o_auth_flows::Flow::ClientCredentials(_) => Some(Flow::ClientCredentials),
        o_auth_flows::Flow::AuthorizationCode(_) => Some(Flow::AuthCode),
        #[expect(deprecated, reason = "cards may still have these flows")]
        o_auth_flows::Flow::Implicit(_) | o_auth_flows::Flow::Password(_) => None,
    }
}

fn none(card: &AgentCard, names: &[&str], wanted: Wanted<'_>) -> Failure {
    let kinds = names.iter().filter_map(|name| Some((name, scheme(card, name)?)));
    let declared: Vec<_> = kinds.map(|(name, one)| format!("{name} ({})", kind(one))).collect();
    let message = match (declared.as_slice(), wanted.scheme) {
        ([], _) => {
            "the agent declares no security schemes, so there is nothing to log in for".into()
        }
        (declared, Some(name)) => format!(
            "--scheme {name}: not a scheme that tokens can be obtained for (declared: {})",
            declared.join(", ")
        ),
        (declared, None) => format!(
            "the agent declares no security scheme that tokens can be obtained for (declared: {})",
            declared.join(", ")
        ),
    };
    let failure = Failure::usage(message);
    if declared.is_empty() {
        return failure;
    }
    failure.with_hint(
        "give other credentials with --bearer, --api-key or --basic; for a token of an \
         authorization server that the card does not name, add --token-url",
    )
}

const fn kind(scheme: &Scheme) -> &'static str {
    match scheme {
        Scheme::ApiKeySecurityScheme(_) => "API key",
        Scheme::HttpAuthSecurityScheme(_) => "HTTP authentication",
        Scheme::Oauth2SecurityScheme(_) => "OAuth 2.0",
        Scheme::OpenIdConnectSecurityScheme(_) => "OpenID Connect",
        Scheme::MtlsSecurityScheme(_) => "mutual TLS",
    }
}
