//! Real processes that are killed, stopped and woken, and clients that notice everything.
//!
//! [`Node`] is `a2a serve` as a process. [`Http`] is a client that sees what is on the wire: the
//! position and the bytes of every event. [`Load`] keeps tasks in flight, each followed by
//! readers at several nodes, and compares all that they see with what the demo agent must have
//! said; [`Tally`] counts what is wrong.

mod hook;
mod http;
mod load;
mod node;
mod reader;
mod story;
mod tally;

pub use hook::{Hooks, Manners};
pub use http::{Event, Http, Problem, Sse};
pub use load::{Load, Webhook};
pub use node::{Node, free_port};
pub use reader::{Ledger, Reader};
pub use story::Story;
pub use tally::Tally;
