//! Ways to authenticate. OAuth has one flow here as in 1.0, but fewer of them.

use a2a_core::v1::{self, o_auth_flows};

use super::{
    AuthorizationCodeOAuthFlow, OAuth2SecurityScheme, OAuthFlows, SecurityScheme,
    convert::{convert, convert_union},
    security_scheme,
};

convert_union! {
    SecurityScheme.scheme: security_scheme::Scheme {
        ApiKeySecurityScheme = ApiKeySecurityScheme,
        HttpAuthSecurityScheme = HttpAuthSecurityScheme,
        Oauth2SecurityScheme = Oauth2SecurityScheme,
        OpenIdConnectSecurityScheme = OpenIdConnectSecurityScheme,
        MtlsSecurityScheme = MtlsSecurityScheme,
    }
}

convert! {
    OAuth2SecurityScheme:
        same(description, oauth2_metadata_url),
        optional(flows = flows),
        lists();
}

#[expect(deprecated, reason = "cards name the deprecated flows, too")]
impl From<OAuthFlows> for v1::OAuthFlows {
    fn from(flows: OAuthFlows) -> Self {
        use super::o_auth_flows::Flow;
        use o_auth_flows::Flow as Current;
        let flow = flows.flow.map(|flow| match flow {
            Flow::AuthorizationCode(flow) => {
                Current::AuthorizationCode(v1::AuthorizationCodeOAuthFlow {
                    authorization_url: flow.authorization_url,
                    token_url: flow.token_url,
                    refresh_url: flow.refresh_url,
                    scopes: flow.scopes,
                    pkce_required: false,
                })
            }
            Flow::ClientCredentials(flow) => Current::ClientCredentials(flow),
            Flow::Implicit(flow) => Current::Implicit(flow),
            Flow::Password(flow) => Current::Password(flow),
        });
        Self { flow }
    }
}

#[expect(deprecated, reason = "cards name the deprecated flows, too")]
impl From<v1::OAuthFlows> for OAuthFlows {
    fn from(flows: v1::OAuthFlows) -> Self {
        use super::o_auth_flows::Flow;
        use o_auth_flows::Flow as Current;
        let flow = flows.flow.and_then(|flow| match flow {
            Current::AuthorizationCode(flow) => {
                Some(Flow::AuthorizationCode(AuthorizationCodeOAuthFlow {
                    authorization_url: flow.authorization_url,
                    token_url: flow.token_url,
                    refresh_url: flow.refresh_url,
                    scopes: flow.scopes,
                }))
            }
            Current::ClientCredentials(flow) => Some(Flow::ClientCredentials(flow)),
            Current::Implicit(flow) => Some(Flow::Implicit(flow)),
            Current::Password(flow) => Some(Flow::Password(flow)),
            // There was none before 1.0.
            Current::DeviceCode(_) => None,
        });
        Self { flow }
    }
}
