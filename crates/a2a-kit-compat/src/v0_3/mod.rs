//! Revisions 0.2 and 0.3 in JSON: `message/send`, objects with `kind` discriminators.
//!
//! Both share methods and types except for a few additions, so one implementation serves both.

mod card;
mod dialect;

pub use card::{read_card, write_card};
pub use dialect::{V0_3, write_task};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
