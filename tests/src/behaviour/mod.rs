//! The behaviours, by topic.

pub mod card;
pub mod context;
pub mod list;
pub mod push;
pub mod send;
pub mod stream;
pub mod task;
