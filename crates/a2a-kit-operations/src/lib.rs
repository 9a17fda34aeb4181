//! The agent interface, and an engine that implements it.
//!
//! [`Agent`] is the protocol's eleven operations (spec §3.1) as a trait: servers expose one,
//! clients are one. To write an agent, implement [`AgentExecutor`] or pass a closure to
//! [`agent_fn`], and give it to an [`Engine`]; to write a binding, start at [`Agent`].
//!
//! ```
//! use a2a_core::{AgentCard, Message, v1::SendMessageRequest};
//! use a2a_kit_operations::{
//!     Agent, AgentExecutor, BoxError, Call, Engine, RequestContext, TaskUpdater,
//! };
//!
//! struct Greeter;
//!
//! impl AgentExecutor for Greeter {
//!     async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
//!         updates.start().await?;
//!         updates.complete(format!("Hello, {}!", context.text())).await?;
//!         Ok(())
//!     }
//! }
//!
//! # async fn example() -> a2a_core::Result<()> {
//! let engine = Engine::new(AgentCard::new("Greeter", "Greets people"), Greeter);
//! let request = SendMessageRequest { message: Some(Message::user("Ann")), ..Default::default() };
//! let reply = engine.send_message(Call::new(request)).await?;
//! # let _ = reply;
//! # Ok(())
//! # }
//! ```
//!
//! | To | see |
//! |---|---|
//! | write an agent as a closure | [`agent_fn`], [`stream_fn`] |
//! | write an agent as a type | [`AgentExecutor`] |
//! | stream, ask, fail, cancel, send files | [`TaskUpdater`] |
//! | set limits and timeouts of tasks | [`EngineConfig`] |
//! | keep tasks, or write a store | [`store`] |
//! | add metadata to requests and events | [`extension`] |
//! | limit callers | [`Quota`], [`Slots`] |
//! | wrap or forward an agent | [`Agent`], [`forward_agent!`] |
//!
//! # Features
//!
//! Both are enabled by default. Without them, the crate has the types that clients and bindings share.
//!
//! - `engine`: the engine, its stores and quotas.
//! - `metrics`: metrics of calls, recorded with the `metrics` crate.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "engine"),
    allow(dead_code, reason = "the engine uses more of the shared types")
)]

mod agent;
mod agent_label;
mod call;
#[cfg(feature = "engine")]
mod caller_counts;
mod card;
#[cfg(feature = "engine")]
mod closure;
#[cfg(feature = "engine")]
mod engine;
mod event;
#[cfg(feature = "engine")]
mod executor;
pub mod extension;
mod log_limit;
#[cfg(feature = "metrics")]
#[doc(hidden)]
pub mod metrics;
mod page;
mod push;
#[cfg(feature = "engine")]
mod quota;
#[cfg(feature = "engine")]
pub mod rate;
#[cfg(feature = "engine")]
mod sharded_map;
#[cfg(feature = "engine")]
mod slots;
#[cfg(feature = "engine")]
pub mod store;
mod stream;
pub mod trace;
#[cfg(feature = "engine")]
mod update_error;
#[cfg(feature = "engine")]
mod updater;

/// The attribute for implementations of [`Agent`], of stores and of extensions.
pub use async_trait::async_trait;
/// The crate of [`Bytes`](bytes::Bytes), which occur in public signatures.
pub use bytes;

#[doc(hidden)]
pub use agent::forward;
pub use agent::{Agent, AgentMethod, ReplyFuture};
pub use agent_label::AgentLabel;
pub use call::{Call, CallContext, Caller, Reply, Scope};
#[doc(hidden)]
pub use call::{Credential, CredentialLocation};
pub use card::{CardSignature, CardSigner, CardVerifier};
#[cfg(feature = "engine")]
pub use closure::{
    Answer, Data, FromContext, IntoAnswer, agent_fn, agent_fn_with, stream_fn, stream_fn_with,
};
#[cfg(feature = "engine")]
#[doc(hidden)]
pub use closure::{ContextFn, StateFn};
#[cfg(feature = "engine")]
pub use engine::{
    CallerLimits, DirectReply, Engine, EngineBuilder, EngineConfig, ExceededLimit, LogLimits,
    PushConfig, RunLimits, TaskLimits, list_stored,
};
#[doc(hidden)]
pub use event::StreamEnd;
pub use event::{Event, EventId};
#[cfg(feature = "engine")]
pub use executor::{AgentError, AgentExecutor, BoxError, CancelContext, Recovery, RequestContext};
#[doc(hidden)]
pub use log_limit::LogLimit;
pub use page::list_tasks_within;
pub use push::{Delivery, PushError, PushSender, PushSigner, Webhook};
#[cfg(feature = "engine")]
pub use quota::{Quota, QuotaConfig};
#[cfg(feature = "engine")]
pub use slots::{Slot, Slots};
#[cfg(feature = "engine")]
#[doc(no_inline)]
pub use store::{MemoryStore, Store};
pub use stream::EventStream;
#[cfg(feature = "engine")]
pub use update_error::UpdateError;
#[cfg(feature = "engine")]
#[doc(hidden)]
pub use updater::IntoChunk;
#[cfg(feature = "engine")]
pub use updater::{StatusMessage, StreamedArtifact, TaskUpdater};

/// The pure parts of the engine, for benchmarks.
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing {
    pub use crate::engine::testing::{EventLog, LiveTask};
}

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
