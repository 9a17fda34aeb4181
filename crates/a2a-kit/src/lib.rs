//! The Agent2Agent (A2A) protocol: agents on every binding on one port, and clients that call them.
//!
//! [`serve`] serves an [`Engine`], [`Server`] does the same with settings, and [`Client`] calls
//! agents. Common types are re-exported here and in the [`prelude`]; everything else is in the
//! module named after its crate.
//!
//! ```no_run
//! use a2a_kit::{AgentCard, Engine, agent_fn};
//!
//! # async fn example() -> Result<(), a2a_kit::ServeError> {
//! let card = AgentCard::new("Echo", "Repeats its input");
//! let engine = Engine::new(card, agent_fn(async |text: String| format!("You said: {text}")));
//! a2a_kit::serve(engine, "127.0.0.1:8080").await
//! # }
//! ```
//!
//! # Features
//!
//! The first six are enabled by default.
//!
//! - `client`: discover and call agents.
//! - `server`: serve agents on every enabled binding on one port.
//! - `jsonrpc`, `rest`, `grpc`: the bindings.
//! - `compat`: the older revisions of the protocol.
//! - `auth`: enforce the security requirements of the card, sign cards and webhooks (`auth`).
//! - `telemetry`: logs, traces and metrics (`telemetry`).
//! - `sqlite`: store tasks in a file owned by one process (`store::sqlite`).
//! - `postgres`: store tasks in a database shared by many nodes (`store::postgres`).
//! - `nats`: exchange signals between nodes through NATS (`store::nats`).

#[cfg(feature = "server")]
mod bindings;
#[cfg(feature = "server")]
mod config;
#[cfg(feature = "server")]
mod error;
#[cfg(feature = "server")]
mod extended;
#[cfg(feature = "server")]
mod interface;
#[cfg(feature = "server")]
mod older;
#[cfg(feature = "server")]
mod ready;
#[cfg(feature = "server")]
mod routes;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
mod sites;
#[cfg(all(feature = "auth", feature = "compat", feature = "server"))]
pub mod webhook;

pub use a2a_core as types;
pub use a2a_core::{
    AgentCard, Artifact, Error, ErrorKind, Message, Part, Role, Task, TaskState, v1,
};
#[cfg(feature = "auth")]
pub use a2a_kit_auth as auth;
#[cfg(feature = "client")]
pub use a2a_kit_client as client;
#[cfg(feature = "client")]
pub use a2a_kit_client::{Client, Events, MessageRequest, SendOutcome, WaitOptions, Watch};
#[cfg(feature = "compat")]
pub use a2a_kit_compat as compat;
#[cfg(feature = "compat")]
pub use a2a_kit_compat::{Revisions, TaskOrigins};
#[cfg(feature = "grpc")]
pub use a2a_kit_grpc as grpc;
pub use a2a_kit_http as http;
#[cfg(feature = "jsonrpc")]
pub use a2a_kit_jsonrpc as jsonrpc;
pub use a2a_kit_operations as operations;
pub use a2a_kit_operations::{Agent, Call, Event, EventStream, Reply};
#[cfg(feature = "server")]
pub use a2a_kit_operations::{
    AgentError, AgentExecutor, BoxError, Engine, RequestContext, TaskUpdater, agent_fn,
    agent_fn_with, stream_fn,
};
#[cfg(feature = "rest")]
pub use a2a_kit_rest as rest;
#[cfg(any(feature = "nats", feature = "postgres", feature = "sqlite"))]
pub use a2a_kit_store as store;
#[cfg(feature = "telemetry")]
pub use a2a_kit_telemetry as telemetry;
#[cfg(feature = "server")]
pub use error::ServeError;
#[cfg(feature = "server")]
pub use serve::serve;
#[cfg(feature = "server")]
pub use server::Server;

/// The names that most programs need, for a glob import.
///
/// ```
/// use a2a_kit::prelude::*;
///
/// let card = AgentCard::new("Echo", "Repeats its input");
/// let engine = Engine::new(card, agent_fn(async |text: String| text));
/// ```
pub mod prelude {
    pub use a2a_core::{AgentCard, Artifact, Message, Part, Role, Task, TaskState};
    #[cfg(feature = "client")]
    pub use a2a_kit_client::{Client, SendOutcome};
    pub use a2a_kit_operations::Agent;
    #[cfg(feature = "server")]
    pub use a2a_kit_operations::{
        AgentError, AgentExecutor, BoxError, Engine, RequestContext, TaskUpdater, agent_fn,
        agent_fn_with, stream_fn,
    };

    #[cfg(feature = "server")]
    pub use crate::{ServeError, Server, serve};
}
