//! The agent interface, and an engine that implements it.
//!
//! [`Agent`] is the protocol's eleven operations (spec §3.1) as a trait: servers expose one,
//! clients are one. To write an agent, implement [`AgentExecutor`] or pass a closure to
//! [`agent_fn`], and give it to an [`Engine`]; to write a binding, start at [`Agent`].

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

#[doc(hidden)]
pub use agent::forward;
pub use agent::{Agent, AgentMethod, ReplyFuture};
pub use call::{Call, CallContext, Caller, Credential, CredentialLocation, Reply, Scope};
pub use card::{CardSignature, CardSigner, CardVerifier};
pub use closure::{Answer, IntoAnswer, agent_fn, agent_fn_with, stream_fn};
pub use engine::{CallerLimits, Engine, EngineConfig, Exchange, RunLimits, TaskLimit, TaskLimits};
pub use event::{Event, EventId, StreamEnd};
pub use executor::{AgentError, AgentExecutor, BoxError, CancelContext, Recovery, RequestContext};
pub use push::{Delivery, PushError, PushSender, PushSigner, Webhook};
pub use quota::{Quota, QuotaConfig};
pub use store::{MemoryStore, Store};
pub use stream::EventStream;
pub use update_error::UpdateError;
pub use updater::{StatusMessage, TaskUpdater};

/// The pure parts of the engine, for benchmarks.
#[cfg(feature = "testing")]
pub mod testing {
    pub use crate::engine::testing::{EventLog, LiveTask};
}

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
