//! Tools to test agents and their callers. Failures are panics that say what happened.
//!
//! | To test | Use |
//! |---|---|
//! | an executor, without sockets | [`client`], [`client_as`], [`collect`] |
//! | the laws that every executor has to keep | [`check`], [`Check`] |
//! | an agent over all bindings | [`TestServer`] |
//! | code that calls an agent | [`TestAgent`], with queued responses or those of a [`Script`] |
//! | clients that survive faulty responses | [`TestServer`] of a [`Script`] |
//! | webhooks | `WebhookReceiver`, with the feature `auth` |
//!
//! ```
//! use a2a_kit::{AgentCard, Engine, TaskState, agent_fn, testing};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), a2a_kit::Error> {
//! let echo = || agent_fn(async |text: String| format!("You said: {text}"));
//! let client = testing::client(&Engine::new(AgentCard::new("Echo", "Repeats"), echo()));
//! let events = testing::collect(client.stream("hi").await?).await;
//! events.assert_text("You said: hi");
//!
//! testing::check(echo).await;
//! # Ok(())
//! # }
//! ```
//!
//! [`Script`]: crate::script::Script
//!
//! # Time
//!
//! Everything that waits gives up after [`DEFAULT_TIMEOUT`], by tokio's clock. With paused time
//! (`#[tokio::test(start_paused = true)]`) use the tools that need no socket: the clock jumps while
//! a socket is waited for.

#![allow(clippy::panic, reason = "a test fails by panicking")]

mod check;
mod laws;
mod server;
mod transcript;
#[cfg(feature = "auth")]
mod webhook;

use std::time::Duration;

use a2a_core::{Operation, Request, Result};
use a2a_kit_operations::{Agent, AgentMethod, Call, Caller, Engine, Reply, intercept_agent};

pub use a2a_kit_script::{ReceivedCall, TestAgent};
pub use check::{Check, Law, Violation};
pub use laws::check;
pub use server::TestServer;
pub use transcript::{Transcript, collect};
#[cfg(feature = "auth")]
pub use webhook::WebhookReceiver;

use crate::Client;

/// How long the tools wait for the next event, response or delivery.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Creates a client of an engine in this process.
pub fn client(engine: &Engine) -> Client {
    Client::from_agent(engine.clone(), engine.card().clone())
}

/// Creates a client of an engine in this process, as `caller`: a server would have authenticated it.
pub fn client_as(engine: &Engine, caller: Caller) -> Client {
    Client::from_agent(As { engine: engine.clone(), caller }, engine.card().clone())
}

/// An engine for one caller.
struct As {
    engine: Engine,
    caller: Caller,
}

impl As {
    async fn call<R: Request, T: 'static>(
        &self,
        _: Operation,
        mut call: Call<R>,
        method: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        call.context.caller = self.caller.clone();
        method(&self.engine, call).await
    }
}

impl Agent for As {
    intercept_agent!(call);
}
