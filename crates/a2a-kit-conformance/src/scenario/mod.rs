//! What is sent to an interface, and in which order.

mod cancel;
mod conversation;
mod listing;
mod push;
mod refusal;
mod run;
mod sending;

pub(crate) use run::{run, run_legacy};
