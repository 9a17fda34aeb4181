//! Models of providers, over HTTP.
//!
//! An API is a variant of [`kind::Wire`]: its paths and headers, the body of its requests, and a
//! decoder of its events. Everything else is shared.

mod anthropic;
mod endpoint;
mod failure;
mod kind;
mod openai_chat;
mod output;
mod part;
mod provider_model;

pub use provider_model::ProviderModel;
