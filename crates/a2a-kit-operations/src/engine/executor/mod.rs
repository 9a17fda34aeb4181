//! Running executors and applying their updates.

mod batch;
mod run;
mod update;
