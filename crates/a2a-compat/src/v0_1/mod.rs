//! Revision 0.1: `tasks/send`, ids of tasks that the client chooses, sessions, and artifacts by
//! index.
//!
//! [`V0_1`] reads and writes the ids of tasks as they are given. Where the server has ids of its
//! own, [`chosen_id`], [`with_task_id`] and [`print_task_id`] exchange the two.

mod card;
mod dialect;
mod event;
mod id;
mod params;
mod part;
#[cfg(test)]
mod tests;
mod types;
mod unfold;
mod webhook;

pub use card::{read_card, write_card};
pub use dialect::V0_1;
pub(crate) use id::message_of;
pub use id::{chosen_id, print_task_id, with_task_id};
pub use unfold::Unfolding;
pub use webhook::{read_webhook, write_webhook};
