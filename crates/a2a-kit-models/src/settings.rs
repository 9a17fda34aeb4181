//! The settings of a [`ModelAgent`](crate::ModelAgent).

use std::{sync::Arc, time::Duration};

use a2a_kit_operations::{CallContext, extension::UsageExtension};
use derive_setters::Setters;

use crate::{
    ChatModel, Memory,
    gate::Gate,
    model::{ChatRequest, Reasoning, Turn},
};

/// The models of an agent, and how they are called.
#[derive(Clone)]
pub(crate) struct Settings {
    /// The model, and those that follow if it fails. Never empty.
    pub(crate) models: Vec<Arc<dyn ChatModel>>,
    /// The gate of each.
    pub(crate) gates: Vec<Arc<Gate>>,
    pub(crate) instructions: Option<String>,
    pub(crate) temperature: Option<f64>,
    pub(crate) reasoning: Option<Reasoning>,
    pub(crate) memory: Memory,
    pub(crate) limits: AgentLimits,
    pub(crate) usage: Disclosure,
}

impl Settings {
    pub(crate) fn new(model: Arc<dyn ChatModel>) -> Self {
        Self {
            gates: vec![Gate::of(model.info())],
            models: vec![model],
            instructions: None,
            temperature: None,
            reasoning: None,
            memory: Memory::default(),
            limits: AgentLimits::default(),
            usage: Disclosure::default(),
        }
    }

    /// Adds a model that follows if those before it fail.
    pub(crate) fn add(&mut self, model: Arc<dyn ChatModel>) {
        self.gates.push(Gate::of(model.info()));
        self.models.push(model);
    }

    /// The request that continues a conversation.
    pub(crate) fn request(&self, turns: Vec<Turn>) -> ChatRequest {
        ChatRequest {
            instructions: self.instructions.clone(),
            turns,
            tools: Vec::new(),
            temperature: self.temperature,
            max_output_tokens: self.limits.max_output_tokens,
            reasoning: self.reasoning,
        }
    }
}

/// Limits of a [`ModelAgent`](crate::ModelAgent).
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct AgentLimits {
    /// Maximum number of tokens of an answer. Default: that of the provider.
    #[setters(into)]
    pub max_output_tokens: Option<u32>,
    /// How often a call is repeated that failed for a transient reason, with each model. Default: 3.
    pub retries: u32,
    /// The longest wait before a retry that a provider may ask for; beyond it, the next model is
    /// called, or the task fails. Default: 60 s.
    pub max_retry_wait: Duration,
    /// Timeout of a call, with all its attempts and their retry waits, but without the time that it
    /// waits for its turn. Default: 10 min.
    pub call_timeout: Duration,
    /// Maximum number of calls in progress at a provider, at least one: of this agent and of others
    /// in the process, by host and port of the provider. Further calls wait; the caller with the
    /// fewest is next. Default: 16.
    pub concurrency: usize,
    /// The time between two chunks of the answer, which grows for long answers, up to 400 ms; zero
    /// sends each text as it arrives. Default: 50 ms.
    pub flush: Duration,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            max_output_tokens: None,
            retries: 3,
            max_retry_wait: Duration::from_secs(60),
            call_timeout: Duration::from_secs(600),
            concurrency: 16,
            flush: Duration::from_millis(50),
        }
    }
}

/// Which callers get a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disclosure {
    /// Callers that activate its extension.
    #[default]
    OnRequest,
    /// All callers.
    Always,
    /// None.
    Never,
}

impl Disclosure {
    /// Whether a caller gets the usage report.
    pub(crate) fn applies_to(self, call: &CallContext) -> bool {
        match self {
            Self::OnRequest => call.extensions.contains(UsageExtension::URI),
            Self::Always => true,
            Self::Never => false,
        }
    }
}
