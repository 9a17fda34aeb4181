//! The front door to A2A: agents on every binding on one port, and clients that call them.
//!
//! Start here. [`serve`] puts an [`Engine`] on the wire, [`Server`] does the same with settings,
//! and [`Client`] calls agents. What is said daily is at this root; the rest is in the modules
//! named like the crates they come from.
//!
//! ```no_run
//! use a2a::{AgentCard, Engine, agent_fn};
//!
//! # async fn example() -> Result<(), a2a::ServeError> {
//! let card = AgentCard::new("Echo", "Says what it hears");
//! let engine = Engine::new(card, agent_fn(async |text: String| format!("You said: {text}")));
//! a2a::serve(engine, "127.0.0.1:8080").await
//! # }
//! ```
//!
//! # Features
//!
//! The first two are on by default.
//!
//! - `client`: discover agents and call them.
//! - `server`: serve agents on every binding on one port.
//! - `auth`: let in only those who may, as the card says (`auth`).
//! - `sqlite`: keep tasks in a file that one process owns (`store::sqlite`).
//! - `postgres`: keep tasks in a database that many nodes share (`store::postgres`).
//! - `nats`: let nodes hear of each other through NATS (`store::nats`).

#[cfg(feature = "server")]
mod extended;
#[cfg(feature = "server")]
mod interface;
#[cfg(feature = "server")]
mod origin;
#[cfg(feature = "server")]
mod ready;
#[cfg(feature = "server")]
mod routes;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "auth")]
pub mod webhook;

#[cfg(feature = "auth")]
pub use a2a_auth as auth;
#[cfg(feature = "client")]
pub use a2a_client as client;
#[cfg(feature = "client")]
pub use a2a_client::{Client, Events, MessageRequest, SendOutcome, WaitOptions, Watch};
pub use a2a_compat as compat;
pub use a2a_compat::{Revisions, TaskOrigins};
pub use a2a_core as core;
pub use a2a_core::{
    AgentCard, Artifact, Error, ErrorKind, Message, Part, Role, Task, TaskState, v1,
};
pub use a2a_grpc as grpc;
pub use a2a_http as http;
pub use a2a_jsonrpc as jsonrpc;
pub use a2a_operations as operations;
pub use a2a_operations::{
    Agent, AgentError, AgentExecutor, Call, Engine, Event, EventStream, Reply, RequestContext,
    TaskUpdater, agent_fn, agent_fn_with, stream_fn,
};
pub use a2a_rest as rest;
#[cfg(any(feature = "nats", feature = "postgres", feature = "sqlite"))]
pub use a2a_store as store;
#[cfg(feature = "server")]
pub use server::{ServeError, Server, serve};
