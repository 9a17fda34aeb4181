//! Security schemes of agent cards, and what they require (spec §4.5).

use std::collections::BTreeMap;

use crate::v1::{
    AgentCard, AgentSkill, ApiKeySecurityScheme, AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow, HttpAuthSecurityScheme,
    MutualTlsSecurityScheme, OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme,
    SecurityRequirement, SecurityScheme, StringList, o_auth_flows::Flow, security_scheme::Scheme,
};

impl SecurityScheme {
    /// An API key in a header.
    pub fn api_key_header(name: impl Into<String>) -> Self {
        Self::api_key("header", name.into())
    }

    /// An API key in a parameter of the query.
    pub fn api_key_query(name: impl Into<String>) -> Self {
        Self::api_key("query", name.into())
    }

    /// An API key in a cookie.
    pub fn api_key_cookie(name: impl Into<String>) -> Self {
        Self::api_key("cookie", name.into())
    }

    fn api_key(location: &str, name: String) -> Self {
        let key = ApiKeySecurityScheme { location: location.into(), name, ..Default::default() };
        Scheme::ApiKeySecurityScheme(key).into()
    }

    /// A token in the `Authorization` header (RFC 6750).
    pub fn bearer() -> Self {
        Self::http("bearer")
    }

    /// A name and a password in the `Authorization` header (RFC 7617).
    pub fn basic() -> Self {
        Self::http("basic")
    }

    fn http(scheme: &str) -> Self {
        let http = HttpAuthSecurityScheme { scheme: scheme.into(), ..Default::default() };
        Scheme::HttpAuthSecurityScheme(http).into()
    }

    /// An access token of OAuth 2.0, obtained by a flow.
    pub fn oauth2(flow: Flow) -> Self {
        let flows = Some(OAuthFlows { flow: Some(flow) });
        let oauth2 = OAuth2SecurityScheme { flows, ..Default::default() };
        Scheme::Oauth2SecurityScheme(oauth2).into()
    }

    /// An access token of OAuth 2.0 for programs that act on their own behalf. `scopes` are pairs
    /// of a name and a description.
    pub fn oauth2_client_credentials(
        token_url: impl Into<String>,
        scopes: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        Self::oauth2(Flow::ClientCredentials(ClientCredentialsOAuthFlow {
            token_url: token_url.into(),
            scopes: described(scopes),
            ..Default::default()
        }))
    }

    /// An access token of OAuth 2.0 for users who sign in with a browser, with PKCE (RFC 7636).
    /// `scopes` are pairs of a name and a description.
    pub fn oauth2_authorization_code(
        authorization_url: impl Into<String>,
        token_url: impl Into<String>,
        scopes: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        Self::oauth2(Flow::AuthorizationCode(AuthorizationCodeOAuthFlow {
            authorization_url: authorization_url.into(),
            token_url: token_url.into(),
            scopes: described(scopes),
            pkce_required: true,
            ..Default::default()
        }))
    }

    /// An access token of OAuth 2.0 for users who sign in on another device (RFC 8628). `scopes`
    /// are pairs of a name and a description.
    pub fn oauth2_device_code(
        device_authorization_url: impl Into<String>,
        token_url: impl Into<String>,
        scopes: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        Self::oauth2(Flow::DeviceCode(DeviceCodeOAuthFlow {
            device_authorization_url: device_authorization_url.into(),
            token_url: token_url.into(),
            scopes: described(scopes),
            ..Default::default()
        }))
    }

    /// A token of the issuer that describes itself at `url`
    /// (`…/.well-known/openid-configuration`).
    pub fn open_id_connect(url: impl Into<String>) -> Self {
        let connect =
            OpenIdConnectSecurityScheme { open_id_connect_url: url.into(), ..Default::default() };
        Scheme::OpenIdConnectSecurityScheme(connect).into()
    }

    /// A client certificate.
    pub fn mutual_tls() -> Self {
        Scheme::MtlsSecurityScheme(MutualTlsSecurityScheme::default()).into()
    }
}

fn described(
    scopes: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
) -> BTreeMap<String, String> {
    scopes.into_iter().map(|(name, description)| (name.into(), description.into())).collect()
}

impl From<Scheme> for SecurityScheme {
    fn from(scheme: Scheme) -> Self {
        Self { scheme: Some(scheme) }
    }
}

impl SecurityRequirement {
    /// Requires a scheme of the card.
    pub fn new(scheme: impl Into<String>) -> Self {
        Self::default().and(scheme)
    }

    /// Requires another scheme of the card too.
    #[must_use]
    pub fn and(self, scheme: impl Into<String>) -> Self {
        self.and_scopes(scheme, std::iter::empty::<String>())
    }

    /// Requires a scheme of the card too, with scopes of OAuth 2.0.
    #[must_use]
    pub fn and_scopes(
        mut self,
        scheme: impl Into<String>,
        scopes: impl IntoIterator<Item: Into<String>>,
    ) -> Self {
        let list = scopes.into_iter().map(Into::into).collect();
        self.schemes.insert(scheme.into(), StringList { list });
        self
    }
}

/// Requires the scheme of this name.
impl From<&str> for SecurityRequirement {
    fn from(scheme: &str) -> Self {
        Self::new(scheme)
    }
}

impl AgentCard {
    /// Declares a security scheme under a name.
    ///
    /// ```
    /// use a2a_core::{AgentCard, v1::{SecurityRequirement, SecurityScheme}};
    ///
    /// let card = AgentCard::new("Echo", "Repeats its input")
    ///     .with_security_scheme("key", SecurityScheme::api_key_header("X-API-Key"))
    ///     .with_security_scheme("login", SecurityScheme::bearer())
    ///     .requiring("key")
    ///     .requiring(SecurityRequirement::default().and_scopes("login", ["echo"]));
    /// assert_eq!(card.security_requirements.len(), 2);
    /// ```
    #[must_use]
    pub fn with_security_scheme(
        mut self,
        name: impl Into<String>,
        scheme: impl Into<SecurityScheme>,
    ) -> Self {
        self.security_schemes.insert(name.into(), scheme.into());
        self
    }

    /// Adds one alternative of what callers need: the scheme of a name, or a
    /// [`SecurityRequirement`] of several schemes together.
    #[must_use]
    pub fn requiring(mut self, requirement: impl Into<SecurityRequirement>) -> Self {
        self.security_requirements.push(requirement.into());
        self
    }
}

impl AgentSkill {
    /// Adds one alternative of what callers of this skill need beyond what the agent requires.
    #[must_use]
    pub fn requiring(mut self, requirement: impl Into<SecurityRequirement>) -> Self {
        self.security_requirements.push(requirement.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemes_have_the_json_of_the_specification() {
        let json = |scheme: SecurityScheme| serde_json::to_value(scheme).unwrap();
        for (scheme, expected) in [
            (
                SecurityScheme::api_key_cookie("session"),
                json!({ "apiKeySecurityScheme": { "location": "cookie", "name": "session" } }),
            ),
            (SecurityScheme::basic(), json!({ "httpAuthSecurityScheme": { "scheme": "basic" } })),
            (
                SecurityScheme::open_id_connect("https://issuer.example/x"),
                json!({ "openIdConnectSecurityScheme": {
                    "openIdConnectUrl": "https://issuer.example/x",
                } }),
            ),
            (
                SecurityScheme::oauth2_client_credentials(
                    "https://issuer.example/token",
                    [("read", "Read tasks")],
                ),
                json!({ "oauth2SecurityScheme": { "flows": { "clientCredentials": {
                    "tokenUrl": "https://issuer.example/token",
                    "scopes": { "read": "Read tasks" },
                } } } }),
            ),
            (
                SecurityScheme::oauth2_authorization_code(
                    "https://issuer.example/authorize",
                    "https://issuer.example/token",
                    [("read", "Read tasks")],
                ),
                json!({ "oauth2SecurityScheme": { "flows": { "authorizationCode": {
                    "authorizationUrl": "https://issuer.example/authorize",
                    "tokenUrl": "https://issuer.example/token",
                    "scopes": { "read": "Read tasks" },
                    "pkceRequired": true,
                } } } }),
            ),
            (
                SecurityScheme::oauth2_device_code(
                    "https://issuer.example/device",
                    "https://issuer.example/token",
                    [("read", "Read tasks")],
                ),
                json!({ "oauth2SecurityScheme": { "flows": { "deviceCode": {
                    "deviceAuthorizationUrl": "https://issuer.example/device",
                    "tokenUrl": "https://issuer.example/token",
                    "scopes": { "read": "Read tasks" },
                } } } }),
            ),
            (SecurityScheme::mutual_tls(), json!({ "mtlsSecurityScheme": {} })),
        ] {
            assert_eq!(json(scheme), expected);
        }
    }

    #[test]
    fn requirements_are_alternatives_of_schemes_and_scopes() {
        let both = SecurityRequirement::new("key").and_scopes("login", ["read", "write"]);
        let card = AgentCard::new("Echo", "Repeats").requiring(both).requiring("certificate");
        let requirements = serde_json::to_value(&card.security_requirements).unwrap();
        let expected = json!([
            { "schemes": { "key": { "list": [] }, "login": { "list": ["read", "write"] } } },
            { "schemes": { "certificate": { "list": [] } } },
        ]);
        let (given, expected) = (requirements.to_string(), expected.to_string());
        // Whether an empty list is written is the codec's affair.
        assert_eq!(given.replace("{\"list\":[]}", "{}"), expected.replace("{\"list\":[]}", "{}"));
    }
}
