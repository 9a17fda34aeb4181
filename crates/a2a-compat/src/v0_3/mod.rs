//! Revisions 0.2 and 0.3 in JSON: `message/send`, objects with `kind` discriminators.
//!
//! Both share methods and types except for a few additions, so one implementation serves both. Each
//! file has types and their conversions to and from [`a2a_core::v1`].

mod card;
mod dialect;
mod event;
mod message;
mod part;
mod push;
mod request;
mod security;
mod task;

pub use card::{read_card, write_card};
pub use dialect::V0_3;
pub use task::write_task;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
