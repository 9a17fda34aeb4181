//! What was recorded of the card and of one interface, which the checks judge.

use std::{collections::BTreeMap, sync::Arc};

use a2a_core::{AgentCard, ProtocolVersion, Violation};
use a2a_kit_client::Transport;
use a2a_kit_lint::Finding;
use serde_json::Value;

use crate::{exchange::Exchange, step::Step};

/// What was recorded of one interface.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) binding: Transport,
    pub(crate) version: ProtocolVersion,
    pub(crate) url: String,
    /// The card in the form of 1.0.
    pub(crate) card: Arc<AgentCard>,
    steps: Vec<(Step, Exchange)>,
    missing: BTreeMap<Step, String>,
    /// Notifications that the local webhook received.
    pub(crate) notifications: Vec<Notification>,
}

/// One notification that the local webhook received.
#[derive(Clone, Debug)]
pub(crate) struct Notification {
    /// The path, which names the config that it belongs to.
    pub(crate) path: String,
    pub(crate) method: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Notification {
    /// The body as JSON, or nothing.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

impl Evidence {
    pub(crate) fn new(
        binding: Transport,
        version: ProtocolVersion,
        url: impl Into<String>,
        card: Arc<AgentCard>,
    ) -> Self {
        Self {
            binding,
            version,
            url: url.into(),
            card,
            steps: Vec::new(),
            missing: BTreeMap::new(),
            notifications: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, step: Step, exchange: Exchange) {
        self.steps.push((step, exchange));
    }

    /// Records why a step was not done.
    pub(crate) fn note_missing(&mut self, step: Step, reason: impl Into<String>) {
        self.missing.entry(step).or_insert_with(|| reason.into());
    }

    /// The first exchange of a step, or why there is none.
    pub(crate) fn get(&self, step: Step) -> Result<&Exchange, &str> {
        let found = self.steps.iter().find(|(of, _)| *of == step);
        found.map(|(_, exchange)| exchange).ok_or_else(|| {
            self.missing.get(&step).map_or("an earlier step gave nothing to try it with", |why| why)
        })
    }

    /// Every exchange of a step.
    pub(crate) fn of_step(&self, step: Step) -> impl Iterator<Item = &Exchange> {
        self.steps.iter().filter(move |(of, _)| *of == step).map(|(_, exchange)| exchange)
    }

    /// Every exchange of some steps, in the order of the steps.
    pub(crate) fn of_steps(&self, steps: &[Step]) -> impl Iterator<Item = &Exchange> {
        steps.iter().flat_map(|step| self.of_step(*step))
    }

    /// Every exchange.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Exchange> {
        self.steps.iter().map(|(_, exchange)| exchange)
    }

    /// Every exchange with its step.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (Step, &Exchange)> {
        self.steps.iter().map(|(step, exchange)| (*step, exchange))
    }

    /// Returns whether a binding is one with JSON bodies.
    pub(crate) fn is_json(&self) -> bool {
        self.binding != Transport::Grpc
    }
}

/// What was recorded of the agent card.
#[derive(Clone, Debug)]
pub(crate) struct CardEvidence {
    /// The fetch; of a file, the document alone.
    pub(crate) fetch: Exchange,
    /// Whether the card was read from a file.
    pub(crate) is_file: bool,
    /// Whether the card is at the path of revisions before 0.3 only.
    pub(crate) is_at_legacy_path: bool,
    /// A second fetch with `If-None-Match`, if the first had an `ETag`.
    pub(crate) conditional: Option<Exchange>,
    /// The document; null if it is no JSON.
    pub(crate) document: Value,
    /// Violations of the schema.
    pub(crate) violations: Vec<Violation>,
    /// The findings of `a2a card lint`; nothing if it is no card.
    pub(crate) findings: Option<Vec<Finding>>,
    /// A request of 1.0 to the URL of a card without an interface of 1.0.
    pub(crate) probe: Option<Exchange>,
}

impl CardEvidence {
    /// Returns whether the card has the members of 1.0.
    pub(crate) fn is_current(&self) -> bool {
        self.document.get("supportedInterfaces").is_some()
    }

    /// The entries of `supportedInterfaces`.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = &Value> {
        self.document.get("supportedInterfaces").and_then(Value::as_array).into_iter().flatten()
    }
}
