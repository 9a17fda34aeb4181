//! Models of providers, over HTTP.
//!
//! An API is a [`kind::Wire`]: its paths and headers, the body of its requests, and a decoder of its
//! events. Everything else is shared.

mod anthropic;
mod body;
mod endpoint;
mod failure;
mod gemini;
mod kind;
mod openai_chat;
mod output;
mod part;
mod provider_model;
mod responses;

pub use provider_model::ProviderModel;
