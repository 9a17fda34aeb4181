//! The Agent2Agent (A2A) protocol: agents on every binding on one port, and clients that call them.
//!
//! [`serve`] serves an [`Engine`], [`Server`] does the same with settings, [`Agents`] serves several
//! on one port, and [`Client`] calls agents. Common types are re-exported here and in the [`prelude`]; everything else is in the
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
//! A client:
//!
//! ```no_run
//! use a2a_kit::Client;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("localhost:8080").await?;
//! println!("{}", client.send_text("Hello!").await?);
//!
//! let mut events = client.stream("Count to five").await?;
//! while let Some(event) = events.next().await {
//!     print!("{}", event?.text());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! An agent that asks its caller, and streams the response of a model:
//!
//! ```
//! use a2a_kit::prelude::*;
//! # use futures_util::{Stream, stream};
//! # fn complete(prompt: String) -> impl Stream<Item = std::io::Result<String>> + Send {
//! #     stream::iter([Ok(prompt)])
//! # }
//!
//! struct Planner;
//!
//! impl AgentExecutor for Planner {
//!     async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
//!         updates.start().await?;
//!         let date = updates.ask("When do you want to travel?").await?;
//!         let prompt = format!("Plan {} for {}", context.text(), date.text());
//!         updates.stream("plan", complete(prompt)).await?;
//!         updates.complete("Have a good trip!").await?;
//!         Ok(())
//!     }
//! }
//! ```
//!
//! An agent whose answers are those of a chat model, with the feature `models`; the key is that in
//! `OPENAI_API_KEY`:
//!
//! ```no_run
//! # #[cfg(feature = "models")]
//! # mod example {
//! use a2a_kit::{AgentCard, models::ModelAgent};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = ModelAgent::new("openai/gpt-5.2")?.with_instructions("Answer in one sentence.");
//! let engine = agent.engine(AgentCard::new("Chat", "Answers questions"));
//! a2a_kit::serve(engine, "127.0.0.1:8080").await?;
//! # Ok(())
//! # }
//! # }
//! ```
//!
//! | To | see |
//! |---|---|
//! | write an agent as a closure | [`agent_fn`], [`stream_fn`] |
//! | write an agent as a type | [`AgentExecutor`], [`TaskUpdater`] |
//! | serve with TLS, limits, own routes and layers | `Server` |
//! | serve several agents on one port | `Agents` |
//! | serve in an application of axum | `Server::mount` |
//! | serve one binding only | [`jsonrpc`], [`rest`], [`grpc`] |
//! | call an agent, or test one without a socket | `Client` |
//! | choose credentials, bindings and retries of a client | `client::ClientBuilder` |
//! | serve a program in another language | `exec::Exec` |
//! | serve a chat model | `models::ModelAgent` |
//! | authenticate callers | `auth::server::Guard` |
//! | send webhooks | `Webhooks` |
//! | receive webhooks | `webhook::receiver` |
//! | test agents and their callers | `testing` |
//! | test a client against an agent that a file describes | `script::Script` |
//! | keep tasks in a database | `store` |
//! | support older revisions | [`Revisions`], [`compat`] |
//! | wrap or forward an agent | [`Agent`] |
//! | read and write protocol types | [`v1`], [`types`] |
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
//! - `exec`: agents made of programs in any language (`exec`).
//! - `models`: agents backed by chat models (`models`).
//! - `telemetry`: logs, traces and metrics (`telemetry`).
//! - `sqlite`: store tasks in a file owned by one process (`store::sqlite`).
//! - `postgres`: store tasks in a database shared by many nodes (`store::postgres`).
//! - `testing`: test agents and their callers (`testing`, `script`).
//! - `nats`: exchange signals between nodes through NATS (`store::nats`).
//! - `aws-lc-rs`: cryptography of TLS by AWS-LC instead of ring.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "server")]
mod agents;
#[cfg(feature = "server")]
mod bindings;
#[cfg(feature = "server")]
mod config;
#[cfg(feature = "server")]
mod direct;
#[cfg(feature = "server")]
mod error;
#[cfg(feature = "server")]
mod extended;
#[cfg(feature = "server")]
mod interface;
#[cfg(feature = "server")]
mod mount;
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
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(all(feature = "auth", feature = "compat", feature = "server"))]
pub mod webhook;

pub use a2a_core as types;
#[doc(no_inline)]
pub use a2a_core::{
    AgentCard, Artifact, Error, ErrorKind, EventPayload, Message, Part, PartContent, Result, Role,
    Task, TaskState, v1,
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
pub use a2a_kit_compat::{Revisions, TaskRevisions};
#[cfg(feature = "exec")]
pub use a2a_kit_exec as exec;
#[cfg(feature = "grpc")]
pub use a2a_kit_grpc as grpc;
pub use a2a_kit_http as http;
#[cfg(feature = "server")]
pub use a2a_kit_http::{Webhooks, bind};
#[cfg(feature = "jsonrpc")]
pub use a2a_kit_jsonrpc as jsonrpc;
#[cfg(feature = "models")]
pub use a2a_kit_models as models;
pub use a2a_kit_operations as operations;
pub use a2a_kit_operations::{
    Agent, Call, CallContext, Caller, Event, EventStream, Reply, async_trait, bytes,
};
#[cfg(feature = "server")]
pub use a2a_kit_operations::{
    AgentError, AgentExecutor, AgentLabel, BoxError, Data, Engine, EngineConfig, MemoryStore,
    Recovery, RequestContext, RunLimits, TaskUpdater, UpdateError, agent_fn, agent_fn_with,
    stream_fn, stream_fn_with,
};
#[cfg(feature = "rest")]
pub use a2a_kit_rest as rest;
#[cfg(feature = "testing")]
pub use a2a_kit_script as script;
#[cfg(any(feature = "nats", feature = "postgres", feature = "sqlite"))]
pub use a2a_kit_store as store;
#[cfg(feature = "telemetry")]
pub use a2a_kit_telemetry as telemetry;
#[cfg(feature = "server")]
pub use agents::Agents;
#[cfg(feature = "server")]
pub use error::ServeError;
#[cfg(feature = "server")]
pub use mount::Mounted;
#[cfg(feature = "server")]
pub use ready::{PROBES, ReadinessCheck};
#[cfg(feature = "server")]
pub use serve::serve;
#[cfg(feature = "server")]
pub use server::{Server, Shutdown};

/// The names that most programs need, for a glob import.
///
/// ```
/// use a2a_kit::prelude::*;
///
/// let card = AgentCard::new("Echo", "Repeats its input");
/// let engine = Engine::new(card, agent_fn(async |text: String| text));
/// ```
pub mod prelude {
    #[doc(no_inline)]
    pub use a2a_core::{AgentCard, Artifact, Message, Part, Role, Task, TaskState};
    #[cfg(feature = "client")]
    #[doc(no_inline)]
    pub use a2a_kit_client::{Client, MessageRequest, SendOutcome};
    #[doc(no_inline)]
    pub use a2a_kit_operations::{Agent, Caller, Event, async_trait};
    #[cfg(feature = "server")]
    #[doc(no_inline)]
    pub use a2a_kit_operations::{
        AgentError, AgentExecutor, BoxError, Engine, EngineConfig, Recovery, RequestContext,
        RunLimits, TaskUpdater, UpdateError, agent_fn, agent_fn_with, stream_fn, stream_fn_with,
    };

    #[cfg(feature = "server")]
    #[doc(no_inline)]
    pub use crate::{Agents, ServeError, Server, serve};
}

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
