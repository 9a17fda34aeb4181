//! The settings of a [`ModelAgent`](crate::ModelAgent).

use std::{sync::Arc, time::Duration};

use a2a_kit_operations::{CallContext, extension::Amount};
use derive_setters::Setters;

use crate::{
    ChatModel, Memory, Prices, SetupError, Tool,
    gate::Gate,
    model::{ChatRequest, Reasoning, ToolDefinition, Turn},
};

/// Maximum number of tools of an agent.
const MAX_TOOLS: usize = 64;
/// Maximum length of the name of a tool, in bytes.
const MAX_TOOL_NAME: usize = 64;

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
    /// The tools, by name, in the order in which they were added.
    pub(crate) tools: Vec<(String, Arc<dyn Tool>)>,
    /// The names of tools whose calls need approval, perhaps with `*` at the end.
    pub(crate) approvals: Vec<String>,
    pub(crate) events: Disclosure,
    pub(crate) prices: Prices,
    pub(crate) cost_budget: Option<Amount>,
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
            tools: Vec::new(),
            approvals: Vec::new(),
            events: Disclosure::default(),
            prices: Prices::default(),
            cost_budget: None,
        }
    }

    /// Adds a model that follows if those before it fail.
    pub(crate) fn add(&mut self, model: Arc<dyn ChatModel>) {
        self.gates.push(Gate::of(model.info()));
        self.models.push(model);
    }

    pub(crate) fn add_tool(&mut self, tool: Arc<dyn Tool>) -> Result<(), SetupError> {
        let ToolDefinition { name, schema, .. } = tool.definition();
        let is_allowed = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '-';
        let reason =
            if name.is_empty() || name.len() > MAX_TOOL_NAME || !name.chars().all(is_allowed) {
                "a name has 1 to 64 letters, digits, underscores and hyphens"
            } else if self.tool(&name).is_some() {
                "another tool has this name"
            } else if self.tools.len() == MAX_TOOLS {
                "an agent has at most 64 tools"
            } else if schema["type"] != "object" {
                "its argument is not a struct: the schema has to be that of an object"
            } else {
                self.tools.push((name, tool));
                return Ok(());
            };
        Err(SetupError::InvalidTool { name, reason })
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|(known, _)| known == name).map(|(_, tool)| tool)
    }

    /// Whether the caller has to approve the calls of a tool.
    pub(crate) fn requires_approval(&self, name: &str, tool: &dyn Tool) -> bool {
        let matches = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        };
        tool.requires_approval() || self.approvals.iter().any(matches)
    }

    /// The request that continues a conversation.
    pub(crate) fn request(&self, turns: Vec<Turn>, offers_tools: bool) -> ChatRequest {
        let tools = if offers_tools { &self.tools[..] } else { &[] };
        ChatRequest {
            instructions: self.instructions.clone(),
            turns,
            tools: tools.iter().map(|(_, tool)| tool.definition()).collect(),
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
    /// Maximum number of tokens of a task, read and written, with those of delegated tasks: what is
    /// estimated to exceed it is not sent. Default: none.
    #[setters(into)]
    pub token_budget: Option<u64>,
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
    /// Maximum number of turns in which the model calls tools. It is asked once more without tools
    /// then, and the status says so. Default: 16.
    pub max_steps: u32,
    /// Maximum number of calls of tools, with the same end. Default: 64.
    pub max_tool_calls: u32,
    /// How often a request may be delegated from agent to agent, 1 to 64: see
    /// [`Delegation`](a2a_kit_operations::extension::Delegation). Default: 8.
    pub max_depth: u32,
    /// The time between two chunks of the answer, which grows for long answers, up to 400 ms; zero
    /// sends each text as it arrives. Default: 50 ms.
    pub flush: Duration,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            max_output_tokens: None,
            token_budget: None,
            retries: 3,
            max_retry_wait: Duration::from_secs(60),
            call_timeout: Duration::from_secs(600),
            concurrency: 16,
            max_steps: 16,
            max_tool_calls: 64,
            max_depth: 8,
            flush: Duration::from_millis(50),
        }
    }
}

/// Which callers get the data of an extension.
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
    /// Whether a caller gets the data of the extension with a URI.
    pub(crate) fn applies_to(self, call: &CallContext, uri: &str) -> bool {
        match self {
            Self::OnRequest => call.extensions.contains(uri),
            Self::Always => true,
            Self::Never => false,
        }
    }
}
