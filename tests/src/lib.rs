//! The behaviour of agents, written once and run at every seat.
//!
//! A behaviour is a function of a [`Seat`]: it asks for an agent there and calls it through
//! `Arc<dyn Agent>`. `tests/behaviour.rs` runs each behaviour at each seat.
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what it expects, and panics where it does not get it"
)]
#![allow(missing_docs, reason = "the names of behaviours are their documentation")]

pub mod agent;
pub mod attack;
pub mod behaviour;
pub mod call;
pub mod chaos;
pub mod collector;
pub mod isolation;
pub mod kept;
mod repertoire;
pub mod seat;
pub mod webhook;

pub use agent::{Control, Options};
pub use seat::{Fixture, Seat};

/// Runs behaviours at a seat: each becomes a test of its name, in a module of the seat's.
#[macro_export]
macro_rules! at_seat {
    ($name:ident $seat:ident: $($module:ident::$behaviour:ident,)*) => {
        mod $name {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $behaviour() {
                    let behaviour = $crate::behaviour::$module::$behaviour;
                    $crate::seat::run(behaviour, $crate::Seat::$seat).await;
                }
            )*
        }
    };
}
