//! The verdict of a check while it looks at the evidence.

use a2a_kit_lint::{Finding, Outcome, Rule};
use serde_json::Value;

use crate::{evidence::Evidence, exchange::Exchange, step::Step, transcript};

/// The most findings of one check and interface; more of the same don't help.
const MAX_FINDINGS: usize = 5;

/// What a check has found so far. Without anything measured it does not pass.
#[derive(Debug)]
pub(crate) struct Verdict<'a> {
    rule: &'static Rule,
    /// What is replaced in exchanges.
    secrets: &'a [String],
    findings: Vec<Finding>,
    measured: usize,
    missing: Vec<String>,
    skipped: Option<String>,
}

impl<'a> Verdict<'a> {
    pub(crate) fn new(rule: &'static Rule, secrets: &'a [String]) -> Self {
        let (findings, measured, missing, skipped) = Default::default();
        Self { rule, secrets, findings, measured, missing, skipped }
    }

    /// The exchange of a step. If there is none, the reason is noted.
    pub(crate) fn take<'e>(&mut self, evidence: &'e Evidence, step: Step) -> Option<&'e Exchange> {
        evidence.get(step).map_err(|reason| self.not_measured(reason)).ok()
    }

    /// The result of a step; an answer that is none is noted as not measured.
    pub(crate) fn result<'e>(
        &mut self,
        evidence: &'e Evidence,
        step: Step,
    ) -> Option<(&'e Exchange, &'e Value)> {
        let exchange = self.take(evidence, step)?;
        let result = exchange.result();
        if result.is_none() {
            self.not_measured(format!("{} answered {}", exchange.operation, exchange.summary()));
        }
        Some((exchange, result?))
    }

    /// Counts as measured, and is a finding if it does not hold.
    pub(crate) fn require<M: Into<String>>(
        &mut self,
        holds: bool,
        exchange: &Exchange,
        message: impl FnOnce() -> M,
    ) {
        self.measured += 1;
        if !holds {
            self.found(exchange, message());
        }
    }

    /// Adds a finding with the exchange that proves it.
    pub(crate) fn found(&mut self, exchange: &Exchange, message: impl Into<String>) {
        self.add(exchange, Finding::new(self.rule, message));
    }

    /// Requires the content type of a response.
    pub(crate) fn media_type(&mut self, exchange: &Exchange, what: &str, expected: &str) {
        let given = exchange.response.media_type();
        self.require(given == expected, exchange, || {
            format!("{what} has the content type {given:?} instead of {expected}")
        });
    }

    /// Requires that a request succeeded.
    pub(crate) fn accepted(&mut self, exchange: &Exchange, what: &str) {
        let answer = || format!("{what} was answered with {}", exchange.summary());
        self.require(exchange.succeeded(), exchange, answer);
    }

    /// Adds a finding that `what` was answered with something else than it should be.
    pub(crate) fn wrong_answer(&mut self, exchange: &Exchange, what: &str) {
        self.found(exchange, format!("{what} answered {}", exchange.summary()));
    }

    /// Adds the finding of another rule as one of this.
    pub(crate) fn adopt(&mut self, exchange: &Exchange, finding: &Finding) {
        let mut own = Finding::new(self.rule, finding.message.as_str());
        own.pointer.clone_from(&finding.pointer);
        self.add(exchange, own);
    }

    fn add(&mut self, exchange: &Exchange, mut finding: Finding) {
        self.measured += 1;
        let is_same = |known: &Finding| {
            (&known.message, &known.pointer) == (&finding.message, &finding.pointer)
        };
        if self.findings.len() < MAX_FINDINGS && !self.findings.iter().any(is_same) {
            finding.exchange = Some(transcript::of(exchange, self.secrets));
            self.findings.push(finding);
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

    pub(crate) fn finish(self) -> Outcome {
        match self.skipped {
            _ if !self.findings.is_empty() => Outcome::Fail(self.findings),
            Some(reason) => Outcome::Skip(reason),
            None if self.measured > 0 => Outcome::Pass,
            None if self.missing.is_empty() => {
                Outcome::NotMeasured("no exchange shows it".to_owned())
            }
            None => Outcome::NotMeasured(self.missing.join("; ")),
        }
    }
}
