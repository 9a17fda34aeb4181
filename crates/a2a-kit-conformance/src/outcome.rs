//! Outcomes of checks.

use serde::Serialize;

use crate::{exchange::Exchange, transcript::Transcript};

/// The outcome of a check on one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The requirement was measured, and holds.
    Pass,
    /// The requirement is violated.
    Fail(Vec<Finding>),
    /// The requirement does not apply to the agent, and why.
    Skip(String),
    /// The requirement could not be tried, and why.
    NotMeasured(String),
    /// The requirement is violated or could not be tried, which is known, and the reason in the list
    /// of known results.
    Known(String),
}

impl Outcome {
    /// The name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "fail",
            Self::Skip(_) => "skip",
            Self::NotMeasured(_) => "not_measured",
            Self::Known(_) => "known",
        }
    }

    /// Why the check has no result.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Skip(reason) | Self::NotMeasured(reason) | Self::Known(reason) => Some(reason),
            Self::Pass | Self::Fail(_) => None,
        }
    }
}

/// One violation of a requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong, in one sentence.
    pub message: String,
    /// The exchange that proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Transcript>,
}

/// The outcome of a check with the exchanges themselves.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    Pass,
    Fail(Vec<(String, Option<&'a Exchange>)>),
    Skip(String),
    NotMeasured(String),
}

impl Found<'_> {
    /// Writes the exchanges as text, without secrets.
    pub(crate) fn outcome(self, secrets: &[String]) -> Outcome {
        match self {
            Self::Pass => Outcome::Pass,
            Self::Skip(reason) => Outcome::Skip(reason),
            Self::NotMeasured(reason) => Outcome::NotMeasured(reason),
            Self::Fail(findings) => Outcome::Fail(
                findings
                    .into_iter()
                    .map(|(message, exchange)| Finding {
                        message,
                        exchange: exchange.map(|exchange| Transcript::of(exchange, secrets)),
                    })
                    .collect(),
            ),
        }
    }
}
