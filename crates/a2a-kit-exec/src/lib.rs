//! Agents made of programs in any language.
//!
//! [`Exec`] is an executor that runs a program for each message. The text of the message is its
//! stdin, and its stdout is the response, passed on as it comes; a program that speaks
//! [JSON lines](Io::JsonLines) can ask its caller, send files and report progress.
//!
//! ```
//! use a2a_kit_exec::Exec;
//! use a2a_kit_operations::Engine;
//!
//! # fn example() -> Result<Engine, a2a_kit_exec::CheckError> {
//! let program = Exec::new("tr").args(["a-z", "A-Z"]);
//! program.check()?;
//! Ok(Engine::new(program.card("Shouter", "Repeats its input, louder"), program))
//! # }
//! ```
//!
//! Input of callers reaches the program through stdin, files and environment variables only. The
//! program learns who calls, but no credential, and inherits the environment variables that are
//! [named](Exec::inherit_env) only.
//!
//! # Logs
//!
//! Each end of a program is an event: `command ended`, `command failed` and `command terminated`, with
//! `task.id` and the exit status. What it writes to stderr is `command stderr`, one event per line.
//!
//! # Shutdown
//!
//! A program whose run is dropped gets SIGTERM, and is killed after 4 s. Call [`Exec::stopped`] once
//! the engine has shut down: it waits for that.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod caller;
mod environment;
mod exec;
mod executor;
mod jsonl;
mod line;
mod output_files;
mod plain;
mod process;
mod run_directory;
mod splitter;
mod stderr;
mod waiting;

pub use exec::{CheckError, Exec, Io};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
