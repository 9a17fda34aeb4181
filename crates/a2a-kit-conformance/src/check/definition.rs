//! What a check is.

use a2a_core::ProtocolVersion;
use a2a_kit_client::Transport;

use crate::{card_evidence::CardEvidence, evidence::Evidence, level::Level, verdict::Verdict};

/// A check of one requirement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    /// The id of the requirement.
    pub(crate) id: &'static str,
    pub(crate) level: Level,
    /// The section of the specification.
    pub(crate) section: &'static str,
    /// The requirement in one sentence.
    pub(crate) title: &'static str,
    /// The bindings that have the requirement.
    pub(crate) bindings: &'static [Transport],
    /// The revisions that have the requirement.
    pub(crate) versions: &'static [ProtocolVersion],
    pub(crate) judge: Judge,
}

/// What a check judges.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Judge {
    /// The card.
    Card(for<'a> fn(&'a CardEvidence, &mut Verdict<'a>)),
    /// One interface.
    Interface(for<'a> fn(&'a Evidence, &mut Verdict<'a>)),
    /// All interfaces of 1.0 together.
    Together(for<'a> fn(&[&'a Evidence], &mut Verdict<'a>)),
}

const CURRENT: &[ProtocolVersion] = &[ProtocolVersion::V1_0];

impl Check {
    const fn new(
        id: &'static str,
        level: Level,
        section: &'static str,
        title: &'static str,
        judge: Judge,
    ) -> Self {
        Self { id, level, section, title, bindings: &Transport::ALL, versions: CURRENT, judge }
    }

    /// A check of an interface of 1.0, for a requirement with MUST.
    pub(crate) const fn must(
        id: &'static str,
        section: &'static str,
        title: &'static str,
        judge: for<'a> fn(&'a Evidence, &mut Verdict<'a>),
    ) -> Self {
        Self::new(id, Level::Must, section, title, Judge::Interface(judge))
    }

    /// A check of an interface of 1.0, for a requirement with SHOULD.
    pub(crate) const fn should(
        id: &'static str,
        section: &'static str,
        title: &'static str,
        judge: for<'a> fn(&'a Evidence, &mut Verdict<'a>),
    ) -> Self {
        Self::new(id, Level::Should, section, title, Judge::Interface(judge))
    }

    /// A check of an interface of 1.0, for what is left to the server.
    pub(crate) const fn may(
        id: &'static str,
        section: &'static str,
        title: &'static str,
        judge: for<'a> fn(&'a Evidence, &mut Verdict<'a>),
    ) -> Self {
        Self::new(id, Level::May, section, title, Judge::Interface(judge))
    }

    /// A check of the card.
    pub(crate) const fn card(
        id: &'static str,
        level: Level,
        section: &'static str,
        title: &'static str,
        judge: for<'a> fn(&'a CardEvidence, &mut Verdict<'a>),
    ) -> Self {
        Self::new(id, level, section, title, Judge::Card(judge))
    }

    /// A check of all interfaces of 1.0 together.
    pub(crate) const fn together(
        id: &'static str,
        section: &'static str,
        title: &'static str,
        judge: for<'a> fn(&[&'a Evidence], &mut Verdict<'a>),
    ) -> Self {
        Self::new(id, Level::Must, section, title, Judge::Together(judge))
    }

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
}
