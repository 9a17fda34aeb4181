//! The HTTP+JSON binding of A2A (spec §11): a server router and a client.
//!
//! [`router`] serves any [`Agent`](operations::Agent), and [`Client`] is a remote one. This crate
//! and `a2a-core` are sufficient to serve an agent over HTTP+JSON only:
//!
//! ```no_run
//! use a2a_core::AgentCard;
//! use a2a_kit_rest::operations::{Engine, agent_fn};
//!
//! # async fn example() -> Result<(), a2a_kit_rest::BindError> {
//! let card = AgentCard::new("Echo", "Repeats messages");
//! let engine = Engine::new(card, agent_fn(async |text: String| format!("You said: {text}")));
//! a2a_kit_rest::serve(engine, "127.0.0.1:8080").await
//! # }
//! ```
//!
//! and to call one:
//!
//! ```no_run
//! use a2a_core::{Message, v1::SendMessageRequest};
//! use a2a_kit_rest::{Client, operations::{Agent as _, Call}};
//!
//! # async fn example() -> a2a_core::Result<()> {
//! let agent = Client::new("http://127.0.0.1:8080")?;
//! let message = Message::user("Hello");
//! let request = SendMessageRequest { message: Some(message), ..Default::default() };
//! let reply = agent.send_message(Call::new(request)).await?;
//! # drop(reply);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! Both are enabled by default.
//!
//! - `client`: call agents.
//! - `server`: serve agents, with the engine of `a2a-kit-operations`.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
mod name;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use a2a_kit_http::client::{ClientSettings, HttpClient};
#[cfg(feature = "server")]
pub use a2a_kit_http::{BindError, BindingOptions, Limits, VersionPolicy};
pub use a2a_kit_operations as operations;
#[cfg(feature = "client")]
pub use client::Client;
#[doc(hidden)]
pub use name::{camel_case, fill_path};
#[cfg(feature = "server")]
#[doc(hidden)]
pub use server::handler;
#[cfg(feature = "server")]
pub use server::{router, router_with, serve};

/// The OpenAPI 3.1 document of this binding, as JSON.
pub const OPENAPI: &str = include_str!("../schema/openapi.json");

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
