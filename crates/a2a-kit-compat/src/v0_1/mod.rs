//! Revision 0.1: `tasks/send`, task ids chosen by the client, sessions, and artifacts by index.
//!
//! [`V0_1`] does not change task ids. Servers with their own ids replace them with
//! `AnyRequest::with_task_id` and `print_task_id`.

mod card;
mod dialect;
mod event_splitter;
mod params;
#[cfg(test)]
mod tests;
mod webhook;

pub use card::{read_card, write_card};
pub use dialect::V0_1;
pub(crate) use event_splitter::EventSplitter;
pub(crate) use webhook::print_task_id;
pub use webhook::{read_webhook, write_webhook};
