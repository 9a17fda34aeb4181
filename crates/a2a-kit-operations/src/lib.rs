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
//! | limit callers | [`Quota`] |
//! | wrap or forward an agent | [`Agent`], [`forward_agent!`] |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod agent;
mod call;
mod card;
mod closure;
pub mod engine;
mod event;
mod executor;
pub mod extension;
pub mod metrics;
mod push;
mod quota;
pub mod rate;
mod sharded_map;
pub mod store;
mod stream;
pub mod trace;
mod update_error;
mod updater;

/// The attribute for implementations of [`Agent`], of stores and of extensions.
pub use async_trait::async_trait;
/// The crate of [`Bytes`](bytes::Bytes), which occur in public signatures.
pub use bytes;

#[doc(hidden)]
pub use agent::forward;
pub use agent::{Agent, AgentMethod, ReplyFuture};
pub use call::{Call, CallContext, Caller, Credential, CredentialLocation, Reply, Scope};
pub use card::{CardSignature, CardSigner, CardVerifier};
pub use closure::{
    Answer, ContextFn, Data, FromContext, IntoAnswer, StateFn, agent_fn, agent_fn_with, stream_fn,
    stream_fn_with,
};
pub use engine::{CallerLimits, Engine, EngineConfig, Exchange, RunLimits, TaskLimit, TaskLimits};
pub use event::{Event, EventId, StreamEnd};
pub use executor::{AgentError, AgentExecutor, BoxError, CancelContext, Recovery, RequestContext};
pub use push::{Delivery, PushError, PushSender, PushSigner, Webhook};
pub use quota::{Quota, QuotaConfig};
pub use store::{MemoryStore, Store};
pub use stream::EventStream;
pub use update_error::UpdateError;
pub use updater::{IntoChunk, StatusMessage, TaskUpdater};

/// The pure parts of the engine, for benchmarks.
#[cfg(feature = "testing")]
pub mod testing {
    pub use crate::engine::testing::{EventLog, LiveTask};
}

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
