//! Load tests of agents: throughput and latencies of an operation.
//!
//! A [`Load`] makes requests to a [`Target`], and adds up a [`Summary`]: in a closed loop, or at a
//! rate, where latencies count from the intended starts.
//!
//! ```
//! use std::time::Duration;
//!
//! use a2a_kit_bench::{Amount, Load, Stop, Target};
//! use a2a_kit_client::Client;
//! use a2a_kit_operations::agent_fn;
//! # use a2a_core::AgentCard;
//! # use a2a_kit_operations::Engine;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let card = AgentCard::new("Echo", "Repeats what it is told");
//! # let echo = agent_fn(async |text: String| text);
//! # let engine = Engine::builder(card.clone(), echo).build();
//! let target = Target::from(Client::from_agent(engine, card)).prepare().await?;
//! let summary = Load::new(Amount::Requests(100)).run(target, &Stop::default()).await;
//! assert_eq!((summary.requests, summary.errors), (100, 0));
//! assert!(summary.latency(0.5) < Duration::from_secs(1));
//! # Ok(())
//! # }
//! ```
//!
//! | To | See |
//! |---|---|
//! | choose how many requests are made, and when | [`Load`], [`Amount`] |
//! | measure a client, or an agent in the same process | [`Target::from`] |
//! | measure with many connections, and count bytes | [`Target::of_interface`] |
//! | measure the server of a card | [`Target::of_card`] |
//! | choose the operation | [`Operation`] |
//! | end a run before its time | [`Stop`] |
//! | read latencies and error rates | [`Summary`] |
//! | fail if figures have become worse | [`Baseline`], [`Regression`] |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod baseline;
mod load;
mod measurement;
mod summary;
mod target;
mod traffic;

pub use baseline::{Baseline, BaselineError, BenchSettings, Regression};
pub use load::{Amount, Load, MAX_CONCURRENCY, Stop};
pub use summary::Summary;
pub use target::{Operation, PrepareError, Target};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
