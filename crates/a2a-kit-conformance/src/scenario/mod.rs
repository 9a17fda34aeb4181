//! What is sent to an interface, and in which order.

mod access;
mod cancel;
mod conversation;
mod current;
mod errors;
mod legacy;
mod listing;
mod push;
mod sending;
mod streaming;

pub(crate) use current::run;
pub(crate) use legacy::run_legacy;
