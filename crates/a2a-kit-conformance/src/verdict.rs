//! The verdict of a check while it looks at the evidence.

use serde_json::Value;

use crate::{evidence::Evidence, exchange::Exchange, outcome::Found, step::Step};

/// The most findings of one check and interface; more of the same don't help.
const MAX_FINDINGS: usize = 5;

/// What a check has found so far. Without anything measured it does not pass.
#[derive(Debug, Default)]
pub(crate) struct Verdict<'a> {
    findings: Vec<(String, Option<&'a Exchange>)>,
    measured: usize,
    missing: Vec<String>,
    skipped: Option<String>,
}

impl<'a> Verdict<'a> {
    /// The exchange of a step. If there is none, the reason is noted.
    pub(crate) fn take(&mut self, evidence: &'a Evidence, step: Step) -> Option<&'a Exchange> {
        match evidence.get(step) {
            Ok(exchange) => Some(exchange),
            Err(reason) => {
                self.not_measured(reason);
                None
            }
        }
    }

    /// The result of a step; an answer that is none is noted as not measured.
    pub(crate) fn result(
        &mut self,
        evidence: &'a Evidence,
        step: Step,
    ) -> Option<(&'a Exchange, &'a Value)> {
        let exchange = self.take(evidence, step)?;
        match exchange.result() {
            Some(result) => Some((exchange, result)),
            None => {
                self.not_measured(format!(
                    "{} answered {}",
                    exchange.operation,
                    exchange.summary()
                ));
                None
            }
        }
    }

    /// Counts as measured, and is a finding if it does not hold.
    pub(crate) fn require(
        &mut self,
        holds: bool,
        exchange: &'a Exchange,
        message: impl FnOnce() -> String,
    ) {
        self.measured += 1;
        if !holds {
            self.found(Some(exchange), message());
        }
    }

    /// A finding without an exchange, or with one.
    pub(crate) fn found(&mut self, exchange: Option<&'a Exchange>, message: String) {
        self.measured += 1;
        let is_new = !self.findings.iter().any(|(known, _)| *known == message);
        if is_new && self.findings.len() < MAX_FINDINGS {
            self.findings.push((message, exchange));
        }
    }

    /// Something was looked at and is right.
    pub(crate) fn measured(&mut self) {
        self.measured += 1;
    }

    pub(crate) fn not_measured(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.missing.contains(&reason) {
            self.missing.push(reason);
        }
    }

    /// The requirement does not apply to this agent.
    pub(crate) fn skip(&mut self, reason: impl Into<String>) {
        self.skipped = Some(reason.into());
    }

    pub(crate) fn finish(self) -> Found<'a> {
        if !self.findings.is_empty() {
            return Found::Fail(self.findings);
        }
        if let Some(reason) = self.skipped {
            return Found::Skip(reason);
        }
        if self.measured > 0 {
            return Found::Pass;
        }
        let reason = if self.missing.is_empty() {
            "no exchange shows it".to_owned()
        } else {
            self.missing.join("; ")
        };
        Found::NotMeasured(reason)
    }
}
