//! Real processes that are killed, stopped and resumed, links that stall, databases that fail over,
//! and clients that verify every answer and every event.
//!
//! [`Node`] is `a2a serve` as a process, [`Relay`] the link between it and its database. [`Wire`]
//! is a client of all bindings that sees the position and the content of every event. [`Load`] keeps
//! tasks in flight, each with readers on several nodes; everything that they see is recorded in a
//! [`History`], which [`violations`] judges when the task has ended. [`Work`] keeps executors busy that
//! write journals of their side effects, which [`fenced`] judges. [`Tally`] counts faults.

mod caller;
mod check;
mod event;
mod fault;
mod fence;
mod fold;
mod grpc;
mod history;
mod hook;
mod http;
mod journal;
mod late;
mod load;
mod messages;
mod node;
mod nodes;
mod reader;
mod relay;
mod scenario;
mod tally;
mod webhook;
mod wire;
mod work;

pub use check::{Violation, violations};
pub use fault::Fault;
pub use fence::{Fenced, LEASE, fenced};
pub use history::{History, Record, Seen};
pub use hook::{Behavior, Hooks};
pub use http::{Event, Http, Problem, Sse};
pub use journal::{Cause, Did, Entry, Evidence, Outage, PROGRAM, uptime};
pub use load::Load;
pub use node::{Node, free_port};
pub use nodes::Nodes;
pub use relay::{Link, Relay};
pub use scenario::Scenario;
pub use tally::Tally;
pub use webhook::Webhook;
pub use wire::{Binding, Events, Seat, Wire};
pub use work::{Resumption, Work};
