//! Real processes that are killed, stopped and resumed, and clients that verify every event.
//!
//! [`Node`] is `a2a serve` as a process. [`Http`] is a raw client that sees the position and the
//! bytes of every event. [`Load`] keeps tasks in flight, each with readers on several nodes, and
//! compares their events with the expected output of the demo agent; [`Tally`] counts faults.

mod hook;
mod http;
mod load;
mod node;
mod reader;
mod scenario;
mod tally;

pub use hook::{Behavior, Hooks};
pub use http::{Event, Http, Problem, Sse};
pub use load::{Load, Webhook};
pub use node::{Node, free_port};
pub use reader::{Ledger, Reader};
pub use scenario::Scenario;
pub use tally::Tally;
