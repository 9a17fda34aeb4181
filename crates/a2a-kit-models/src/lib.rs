//! Agents backed by chat models.
//!
//! [`ChatModel`] is a model: of a provider, in this process, or of a test. What it is asked and
//! answers is in [`model`].

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod model;
mod provider;

pub use model::{ChatModel, ModelError, ModelInfo};
pub use provider::{ProviderSettings, SetupError};
