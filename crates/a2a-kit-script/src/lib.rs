//! Agents that a file describes, for tests of clients.
//!
//! A [`Script`] says which messages an agent knows, how it answers each, and which of its responses
//! are faulty on purpose. It is an executor: an engine runs it, and every binding serves that.
//!
//! ```
//! use a2a_core::{Message, v1::SendMessageRequest};
//! use a2a_kit_operations::{Agent, Call};
//! use a2a_kit_script::Script;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = Script::parse(
//!     "weather.toml",
//!     r#"
//!     [[rule]]
//!     when = { word = "weather" }
//!     steps = [{ message = "Sunny in {argument|Rome}." }]
//!
//!     [[fault]]
//!     on = ["SendMessage"]
//!     calls = { to = 1 }
//!     inject = { error = { name = "UNAVAILABLE" } }
//!     "#,
//! )?;
//! let agent = script.agent();
//! let call = || {
//!     let message = Some(Message::user("weather Oslo"));
//!     Call::new(SendMessageRequest { message, ..SendMessageRequest::default() })
//! };
//! assert!(agent.send_message(call()).await.is_err());
//! assert!(format!("{:?}", agent.send_message(call()).await?.response).contains("Sunny in Oslo."));
//! # Ok(())
//! # }
//! ```
//!
//! The keys of a script are described in `docs/scripts.md` of the project.
//!
//! | To | See |
//! |---|---|
//! | read a script | [`Script::read`], [`Script::parse`] |
//! | answer calls in the same process | [`Script::agent`] |
//! | serve it | [`Script::engine`] |
//! | choose the store and the limits of the agent | [`Script`] as an executor, [`Script::card`] |
//! | serve faulty HTTP responses too | [`Script::faults`], [`Faults`] |
//! | queue the responses in code, and see the calls | [`TestAgent`] |
//! | let a step run code | [`Builtins`] |
//! | let a waiting task go on | [`Script::authorize`] |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod authorize;
mod card;
mod error;
mod executor;
mod fault;
mod fault_layer;
mod rule;
mod schedule;
mod script;
mod step;
mod template;
mod test_agent;

pub use error::{ScriptError, ScriptProblem};
pub use fault_layer::Faults;
pub use script::Script;
pub use step::Builtins;
pub use test_agent::{ReceivedCall, TestAgent};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
