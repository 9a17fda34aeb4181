//! Tokens of OAuth 2.0 and OpenID Connect.

mod authorization_code;
mod client;
mod client_credentials;
mod device_code;
mod endpoints;
mod exchange;
mod grant;
mod metadata;
mod pkce;
mod redirect;
mod refresh;

pub use authorization_code::{AuthorizationCode, AuthorizationRequest};
pub use client::OAuthClient;
pub use client_credentials::ClientCredentials;
pub use device_code::{DeviceCode, DevicePrompt};
pub use endpoints::Endpoints;
pub use exchange::TokenExchange;
pub use refresh::RefreshToken;
