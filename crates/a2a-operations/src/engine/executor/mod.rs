//! How an executor runs, and what it does to its task.

mod batch;
mod run;
mod update;

pub(in crate::engine) use self::run::Begins;
