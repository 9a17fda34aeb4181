//! What a check is.

use a2a_core::{AgentCard, ErrorKind, ProtocolVersion};
use a2a_kit_client::Transport;
use a2a_kit_lint::{Outcome, Rule, Severity};

use crate::{
    evidence::{CardEvidence, Evidence},
    expect,
    step::Step,
    verdict::Verdict,
};

/// A check of one requirement.
#[derive(Debug)]
pub(crate) struct Check {
    /// The requirement.
    pub(crate) rule: Rule,
    /// The bindings that have the requirement.
    pub(crate) bindings: &'static [Transport],
    /// The revisions that have the requirement.
    pub(crate) versions: &'static [ProtocolVersion],
    /// A feature that the card has to declare, or must not, for the requirement to apply.
    condition: Option<(Feature, bool)>,
    pub(crate) judge: Judge,
}

/// What a check judges.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Judge {
    Card(fn(&CardEvidence, &mut Verdict<'_>)),
    Interface(fn(&Evidence, &mut Verdict<'_>)),
    /// Steps of one interface that have to be answered with an error of one of these kinds. Only
    /// the first has to be there.
    Errors(&'static [Step], &'static [ErrorKind]),
    /// Steps of one interface that must not succeed, with what is wrong if they do.
    Refusals(&'static [(Step, &'static str)]),
    /// All interfaces of 1.0 together.
    Together(fn(&[&Evidence], &mut Verdict<'_>)),
}

/// What a card may declare.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Feature {
    Streaming,
    Push,
    ExtendedCard,
    RequiredExtension,
    Credentials,
}

impl Feature {
    pub(crate) fn is_declared(self, card: &AgentCard) -> bool {
        match self {
            Self::Streaming => card.can_stream(),
            Self::Push => card.can_push(),
            Self::ExtendedCard => card.has_extended_card(),
            Self::RequiredExtension => card.extensions().iter().any(|one| one.required),
            Self::Credentials => {
                let mut requirements = card.security_requirements.iter();
                requirements.len() > 0 && requirements.all(|one| !one.schemes.is_empty())
            }
        }
    }

    /// Why a requirement does not apply: the card lacks the feature, or has it.
    const fn reasons(self) -> [&'static str; 2] {
        match self {
            Self::Streaming => {
                ["the card does not declare streaming", "the card declares streaming"]
            }
            Self::Push => [
                "the card does not declare push notifications",
                "the card declares push notifications",
            ],
            Self::ExtendedCard => {
                ["the card declares no extended card", "the card declares an extended card"]
            }
            Self::RequiredExtension => [
                "the card declares no required extension",
                "the card declares a required extension",
            ],
            Self::Credentials => {
                ["the card requires no credentials", "the card requires credentials"]
            }
        }
    }
}

/// A requirement of 1.0, before it is said how it is judged.
pub(crate) struct Requirement(Rule);

type Text = &'static str;

pub(crate) const fn must(id: Text, section: Text, title: Text) -> Requirement {
    Requirement(Rule::requirement(id, Severity::Error, section, title))
}

pub(crate) const fn should(id: Text, section: Text, title: Text) -> Requirement {
    Requirement(Rule::requirement(id, Severity::Warning, section, title))
}

/// What is left to the server.
pub(crate) const fn may(id: Text, section: Text, title: Text) -> Requirement {
    Requirement(Rule::requirement(id, Severity::Info, section, title))
}

impl Requirement {
    /// A check of an interface.
    pub(crate) const fn by(self, judge: fn(&Evidence, &mut Verdict<'_>)) -> Check {
        self.check(Judge::Interface(judge))
    }

    pub(crate) const fn by_card(self, judge: fn(&CardEvidence, &mut Verdict<'_>)) -> Check {
        self.check(Judge::Card(judge))
    }

    /// A check of all interfaces of 1.0 together.
    pub(crate) const fn by_all(self, judge: fn(&[&Evidence], &mut Verdict<'_>)) -> Check {
        self.check(Judge::Together(judge))
    }

    /// A check that steps are answered with an error of one of these kinds.
    pub(crate) const fn errors(self, steps: &'static [Step], kinds: &'static [ErrorKind]) -> Check {
        self.check(Judge::Errors(steps, kinds))
    }

    /// A check that steps do not succeed.
    pub(crate) const fn refusals(self, steps: &'static [(Step, &'static str)]) -> Check {
        self.check(Judge::Refusals(steps))
    }

    const fn check(self, judge: Judge) -> Check {
        const CURRENT: &[ProtocolVersion] = &[ProtocolVersion::V1_0];
        let bindings = &Transport::ALL;
        Check { rule: self.0, bindings, versions: CURRENT, condition: None, judge }
    }
}

impl Check {
    /// The same for some bindings.
    pub(crate) const fn on(mut self, bindings: &'static [Transport]) -> Self {
        self.bindings = bindings;
        self
    }

    /// The same for other revisions.
    pub(crate) const fn in_versions(mut self, versions: &'static [ProtocolVersion]) -> Self {
        self.versions = versions;
        self
    }

    /// The same for agents whose card declares a feature.
    pub(crate) const fn with(mut self, feature: Feature) -> Self {
        self.condition = Some((feature, true));
        self
    }

    /// The same for agents whose card does not declare a feature.
    pub(crate) const fn without(mut self, feature: Feature) -> Self {
        self.condition = Some((feature, false));
        self
    }

    /// Returns whether an interface has the requirement.
    pub(crate) fn applies(&self, binding: Transport, version: ProtocolVersion) -> bool {
        self.is_of_interface()
            && self.bindings.contains(&binding)
            && self.versions.contains(&version)
    }

    /// Returns whether each interface is judged.
    pub(crate) const fn is_of_interface(&self) -> bool {
        !matches!(self.judge, Judge::Card(_) | Judge::Together(_))
    }

    /// Judges an interface; exchanges in findings are without the secrets.
    pub(crate) fn outcome(&'static self, evidence: &Evidence, secrets: &[String]) -> Outcome {
        if let Some((feature, expected)) = self.condition
            && feature.is_declared(&evidence.card) != expected
        {
            return Outcome::Skip(feature.reasons()[usize::from(!expected)].to_owned());
        }
        let mut verdict = Verdict::new(&self.rule, secrets);
        match self.judge {
            Judge::Interface(judge) => judge(evidence, &mut verdict),
            Judge::Errors(steps, kinds) => {
                for (index, step) in steps.iter().enumerate() {
                    if index > 0 && evidence.get(*step).is_err() {
                        continue;
                    }
                    if let Some(exchange) = verdict.take(evidence, *step) {
                        expect::error_of(evidence.version, &mut verdict, exchange, kinds);
                    }
                }
            }
            Judge::Refusals(steps) => {
                for (step, fault) in steps {
                    if let Some(exchange) = verdict.take(evidence, *step) {
                        verdict.require(!exchange.succeeded(), exchange, || *fault);
                    }
                }
            }
            Judge::Card(_) | Judge::Together(_) => {}
        }
        verdict.finish()
    }
}
