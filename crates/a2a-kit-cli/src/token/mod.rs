//! The tokens of `a2a auth login`: where they are stored, which agents they are for, and how they
//! are refreshed.

mod client_secret;
mod source;
mod store;
mod stored_token;

pub(crate) use client_secret::{ClientSecret, client, read_secret};
pub(crate) use source::{StoredCredentials, for_card, is_unsent};
pub(crate) use store::TokenStore;
pub(crate) use stored_token::{Flow, StoredOrigin, StoredToken};
