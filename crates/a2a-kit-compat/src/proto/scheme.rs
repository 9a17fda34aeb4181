//! Ways to authenticate. OAuth has one flow here as in 1.0, but fewer of them.

use super::{
    AuthorizationCodeOAuthFlow, OAuth2SecurityScheme, OAuthFlows, SecurityScheme,
    convert::{convert, convert_union},
    o_auth_flows, security_scheme,
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
    AuthorizationCodeOAuthFlow:
        same(authorization_url, token_url, refresh_url, scopes),
        optional(),
        lists();
}

convert_union! {
    OAuthFlows.flow: o_auth_flows::Flow {
        AuthorizationCode = AuthorizationCode,
        ClientCredentials = ClientCredentials,
        Implicit = Implicit,
        Password = Password,
    } without DeviceCode
}
