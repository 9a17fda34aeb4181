//! The tokens of `a2a auth login`: where they are stored, which agents they are for, and how they
//! are refreshed.

mod client_secret;
mod credentials;
mod location;
mod lock;
mod oauth;
mod source;
mod store;
mod stored_origin;
mod stored_token;

pub(crate) use client_secret::ClientSecret;
pub(crate) use credentials::{StoredCredentials, for_card};
pub(crate) use oauth::client;
pub(crate) use source::is_unsent;
pub(crate) use store::TokenStore;
pub(crate) use stored_origin::StoredOrigin;
pub(crate) use stored_token::{Flow, StoredToken};
