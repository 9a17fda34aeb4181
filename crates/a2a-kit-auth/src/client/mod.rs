//! Client credentials: selected by the agent's card, obtained out of band, cached and renewed.
//!
//! [`Credentials`] holds an application's [`CredentialSource`]s, each of which supports some
//! security schemes (spec §4.5). For an agent, it selects the first alternative of the card's
//! `securityRequirements` whose schemes are all supported, and provides the credentials for each
//! request.
//!
//! ```
//! use a2a_kit_auth::client::{ApiKey, ClientCredentials, Credentials, OAuthClient};
//!
//! # fn example() -> Result<(), a2a_kit_auth::client::CredentialError> {
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
//! Three rules can't be disabled. A secret is only sent to the origin of the interface it was
//! obtained for; if the card comes from another origin, the interface's origin has to be
//! [trusted](Credentials::with_trusted_origin). Secrets are not sent in plaintext to a remote host.
//! And the secret of an [`OAuthClient`] is only sent to authorization servers that the application
//! trusts, not to any that a card names.

mod credentials;
mod error;
mod oauth;
mod origin;
mod scheme_selection;
mod secret;
mod secret_cache;
mod source;
mod static_credentials;

#[doc(hidden)]
pub use credentials::AgentCredentials;
pub use credentials::Credentials;
pub use error::CredentialError;
pub use oauth::{
    AuthorizationCode, AuthorizationRequest, ClientCredentials, DeviceCode, DevicePrompt,
    Endpoints, OAuthClient, RefreshToken, TokenExchange,
};
pub use origin::Origin;
pub use secret::Secret;
pub use source::{CredentialRequest, CredentialSource};
pub use static_credentials::{ApiKey, Basic, Bearer};
