//! Agents backed by chat models.
//!
//! [`ModelAgent`] is an executor that lets a model answer each message. [`ChatModel`] is a model: of
//! a provider, in this process, or of a test; what it is asked and answers is in [`model`].
//!
//! ```
//! use a2a_core::{AgentCard, Message, v1::SendMessageRequest};
//! use a2a_kit_models::{ModelAgent, testing::ScriptedModel};
//! use a2a_kit_operations::{Agent as _, Call};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let agent = ModelAgent::with_model(ScriptedModel::new(["Oslo is the capital of Norway."]));
//! let engine = agent.engine(AgentCard::new("Capitals", "Knows the capital of every country"));
//!
//! let message = Some(Message::user("What is the capital of Norway?"));
//! let request = SendMessageRequest { message, ..Default::default() };
//! let reply = engine.send_message(Call::new(request)).await?;
//! # let _ = reply;
//! # Ok::<_, a2a_core::Error>(())
//! # }).unwrap();
//! ```
//!
//! | To | see |
//! |---|---|
//! | serve a model of a provider | [`ModelAgent::new`], [`ProviderModel`] |
//! | serve any other model | [`ChatModel`], [`ModelAgent::with_model`] |
//! | choose what is remembered of a conversation | [`Memory`] |
//! | set retries, timeouts and the pace of chunks | [`AgentLimits`] |
//! | keep tasks in a database | [`ModelAgent::builder`] |
//! | let the model call functions | [`tool_fn`], [`Tool`], [`ModelAgent::with_tool`] |
//! | have callers approve calls | [`ModelAgent::with_approval`] |
//! | go on when a provider fails | [`ModelAgent::with_fallback`] |
//! | show how an answer is made | [`ModelAgent::with_events`] |
//! | know and limit what a task costs | [`Prices`], [`ModelAgent::with_cost_budget`] |
//! | report the tokens that a task used | [`ModelAgent::with_usage`] |
//! | test without a network | [`testing::ScriptedModel`] |
//!
//! # Logs
//!
//! A failed attempt is an event: `model call is retried`, `next model is called`, and, for the last
//! one, `model call failed`, with `task.id`, the provider, the model, the status and the code of the
//! provider's error, but not its message, which may quote the user.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod agent;
mod approval;
mod bounds;
mod call;
mod completed;
mod conversation;
#[cfg(feature = "agents")]
mod delegations;
mod end;
mod events;
mod exchange;
mod gate;
mod memory;
pub mod model;
mod prices;
mod progress;
mod provider;
#[cfg(feature = "agents")]
mod remote;
mod retry;
mod run;
mod settings;
pub mod testing;
mod text_writer;
mod tool;
mod tools;
mod usage;
mod wire;

pub use agent::ModelAgent;
pub use memory::Memory;
pub use model::{ChatModel, ModelError, ModelInfo};
pub use prices::{Price, Prices};
pub use provider::{ProviderSettings, SetupError};
#[cfg(feature = "agents")]
pub use remote::RemoteAgent;
pub use settings::{AgentLimits, Disclosure};
pub use tool::{
    InvalidArguments, Repeat, Tool, ToolClosure, ToolContext, ToolFn, ToolResult, tool_fn,
};
pub use wire::ProviderModel;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
