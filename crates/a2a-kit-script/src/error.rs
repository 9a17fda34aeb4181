//! Errors of reading a script.

use std::{fmt, io};

use serde::Serialize;

/// Why a script can't be used.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file can't be read.
    #[error("failed to read {file}")]
    Unreadable {
        /// The path of the file.
        file: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is larger than 1 MiB.
    #[error("{0} is larger than 1 MiB")]
    TooLarge(String),
    /// The file has invalid entries: all of them, in the order of the file.
    #[error("{}", joined(.0))]
    Invalid(Vec<ScriptProblem>),
}

a2a_core::debug_as_chain!(ScriptError);

fn joined(problems: &[ScriptProblem]) -> String {
    problems.iter().map(ScriptProblem::to_string).collect::<Vec<_>>().join("; ")
}

/// An invalid entry of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ScriptProblem {
    /// The file, as it was named for reading.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The key, such as `rule[0].steps[1]`.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, key, message } = self;
        write!(f, "{file}:{line}: {key}: {message}")
    }
}
