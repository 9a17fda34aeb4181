//! OAuth 2.0 and OpenID Connect.

mod authorization_code;
mod client;
mod client_credentials;
mod device_code;
mod endpoints;
mod loopback_redirect;
mod mix_up;
mod pkce;
mod provider_metadata;
mod refresh_token;
mod token_exchange;
mod token_request;

pub use authorization_code::{AuthorizationCode, AuthorizationRequest};
pub use client::OAuthClient;
pub use client_credentials::ClientCredentials;
pub use device_code::{DeviceCode, DevicePrompt};
pub use endpoints::Endpoints;
pub use refresh_token::RefreshToken;
pub use token_exchange::TokenExchange;
