//! Agents backed by chat models.
//!
//! [`ChatModel`] is a model: of a provider, in this process, or of a test.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod model;

pub use model::{
    Answer, ChatModel, ChatRequest, ModelError, ModelErrorKind, ModelEvent, ModelInfo, Reasoning,
    StopReason, ToolCall, ToolDefinition, ToolOutcome, Turn, Usage,
};
