//! The artifacts of a task as files: parts become files, whose names are safe whatever the agent sent.
//!
//! ```
//! use a2a_core::{Artifact, Part, Task};
//! use a2a_kit_artifacts::Download;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("a2a-{}", std::process::id()));
//! let report = Part::text("a,b\n1,2\n").with_filename("../../report.csv");
//! let task = Task { artifacts: vec![Artifact::new("report", report)], ..Task::default() };
//! let saved = Download::into(&directory)?.save(&task, &[]).await?.saved;
//! assert_eq!(saved[0].path, directory.join("report.csv").display().to_string());
//! # std::fs::remove_dir_all(&directory)?;
//! # Ok(())
//! # }
//! ```
//!
//! | To | See |
//! |---|---|
//! | save artifacts | [`Download`], [`Downloaded`], [`SavedFile`] |
//! | fetch the files that artifacts refer to by URL | [`Fetcher`], [`Download::with_fetcher`] |
//! | know why nothing was saved | [`SaveError`], [`FetchError`] |
//! | join the chunks of one text or file | [`joined_parts`] |
//! | make a name of a peer safe for a file | [`safe_file_name`] |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod download;
mod error;
mod fetch;
mod file_name;
mod part_run;
mod plan;

pub use download::{Download, Downloaded, SavedFile, SkippedUrl};
pub use error::{FetchError, SaveError};
pub use fetch::Fetcher;
pub use file_name::safe_file_name;
pub use part_run::joined_parts;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
