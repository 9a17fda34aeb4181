//! Credentials of those who call agents: chosen by the agent's card, obtained out of band, kept
//! and renewed.
//!
//! [`Credentials`] holds what an application has to authenticate with: any number of
//! [`CredentialSource`]s, of which each knows how to meet some security schemes (spec §4.5). For
//! an agent, it takes the first alternative of the card's `securityRequirements` of which every
//! scheme can be met, and gives what goes with each request.
//!
//! ```
//! use a2a_auth::client::{ApiKey, ClientCredentials, Credentials, OAuthClient};
//!
//! # fn example() -> Result<(), a2a_auth::client::CredentialError> {
//! let client = OAuthClient::confidential("my-app", "its secret")?
//!     .with_trusted("https://login.example")?;
//! let credentials = Credentials::new()
//!     .with(ClientCredentials::new(client))
//!     .with_named("partner-key", ApiKey::new("secret"));
//! # let _ = credentials;
//! # Ok(())
//! # }
//! ```
//!
//! Three rules can't be turned off. A secret goes to no origin but that of the interface it is
//! for: where the card comes from elsewhere, the interface's origin has to be
//! [named](Credentials::with_origin). None goes in clear to another machine. And a card does not
//! choose who gets the secret of an [`OAuthClient`]: servers that issue tokens are trusted by
//! name.

mod cache;
mod choice;
mod credentials;
mod error;
mod fixed;
mod oauth;
mod origin;
mod secret;
mod source;

pub use credentials::{AgentCredentials, Credentials};
pub use error::CredentialError;
pub use fixed::{ApiKey, Basic, Bearer};
pub use oauth::{
    AuthorizationCode, AuthorizationRequest, ClientCredentials, DeviceCode, DevicePrompt,
    Endpoints, OAuthClient, RefreshToken, TokenExchange,
};
pub use origin::{Origin, UnknownOrigin};
pub use secret::Secret;
pub use source::{CredentialSource, Demand};
