//! Running executors and applying their updates.

mod batch;
mod run;
mod update;

pub(in crate::engine) use self::run::StartMode;
