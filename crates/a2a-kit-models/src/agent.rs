//! The agent: an executor that lets a model answer.

use std::{fmt, sync::Arc, time::Duration};

use a2a_core::AgentCard;
use a2a_kit_operations::{
    AgentExecutor, BoxError, CallContext, Engine, EngineBuilder, EngineConfig, Recovery,
    RequestContext, TaskLimits, TaskUpdater, extension::UsageExtension,
};
use derive_setters::Setters;

use crate::{
    ChatModel, Memory, ProviderModel, ProviderSettings, SetupError,
    end::End,
    model::{ChatRequest, Reasoning, Turn},
    run::Run,
};

/// Media types of texts, which every model reads.
const TEXTS: [&str; 5] =
    ["text/plain", "text/*", "application/json", "application/xml", "application/yaml"];
const ANSWERS: [&str; 2] = ["text/markdown", "text/plain"];
const PLAIN: &str = "text/plain";

/// An agent whose messages a chat model answers.
///
/// The answer is the artifact `answer`, sent in chunks as the model writes. A task ends COMPLETED
/// when the model has answered; otherwise its status has a text that says why, without text of the
/// provider.
///
/// A completed call of the model is stored before the task goes on, and never repeated. A call that
/// a crash has cut is made again, by this node or another one, and its text replaces what was sent.
/// A cancel aborts the request to the provider.
///
/// ```
/// use a2a_core::AgentCard;
/// use a2a_kit_models::{ModelAgent, testing::ScriptedModel};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let agent = ModelAgent::with_model(ScriptedModel::new(["Oslo"]))
///     .with_instructions("Answer in one word.");
/// let engine = agent.engine(AgentCard::new("Capitals", "Knows the capital of every country"));
/// # let _ = engine;
/// # });
/// ```
#[derive(Clone)]
pub struct ModelAgent {
    pub(crate) models: Vec<Arc<dyn ChatModel>>,
    instructions: Option<String>,
    temperature: Option<f64>,
    reasoning: Option<Reasoning>,
    pub(crate) memory: Memory,
    pub(crate) limits: AgentLimits,
    pub(crate) usage: Disclosure,
}

/// Limits of a [`ModelAgent`].
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
    /// Timeout of a call, with all its attempts and waits. Default: 10 min.
    pub call_timeout: Duration,
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
            flush: Duration::from_millis(50),
        }
    }
}

/// To whom something is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disclosure {
    /// To callers that activate its extension.
    #[default]
    OnRequest,
    /// To all callers.
    Always,
    /// To nobody.
    Never,
}

impl Disclosure {
    /// Whether the usage is told to a caller.
    pub(crate) fn applies_to(self, call: &CallContext) -> bool {
        match self {
            Self::OnRequest => call.extensions.contains(UsageExtension::URI),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

impl ModelAgent {
    /// An agent with a model of a provider, by its name, such as `openai/gpt-x`: see
    /// [`ProviderModel`]. Makes no request.
    ///
    /// # Errors
    ///
    /// [`SetupError`] for an unknown provider and a missing or invalid key; see
    /// [`ProviderModel::new`], which also has settings.
    pub fn new(name: &str) -> Result<Self, SetupError> {
        ProviderModel::new(name, ProviderSettings::default()).map(Self::with_model)
    }

    /// An agent with a model.
    pub fn with_model(model: impl ChatModel) -> Self {
        Self {
            models: vec![Arc::new(model)],
            instructions: None,
            temperature: None,
            reasoning: None,
            memory: Memory::default(),
            limits: AgentLimits::default(),
            usage: Disclosure::default(),
        }
    }

    /// Sets what the agent is told to be, before each conversation. Callers can't change it; that
    /// the model tells them can't be excluded.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a model that is called if the ones before it are unavailable, refuse the credentials of
    /// the agent, or want it to wait for too long: for the rest of the task.
    #[must_use]
    pub fn with_fallback(mut self, model: impl ChatModel) -> Self {
        self.models.push(Arc::new(model));
        self
    }

    /// Sets the sampling temperature. Default: that of the provider.
    #[must_use]
    pub fn with_temperature(mut self, temperature: impl Into<Option<f64>>) -> Self {
        self.temperature = temperature.into();
        self
    }

    /// Sets how much the model thinks before it answers. Default: that of the provider.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: impl Into<Option<Reasoning>>) -> Self {
        self.reasoning = reasoning.into();
        self
    }

    /// Sets what the agent remembers of a conversation. Default: [`Memory::context`].
    #[must_use]
    pub fn with_memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Sets limits.
    #[must_use]
    pub fn with_limits(mut self, limits: AgentLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets who is told the tokens that a task used: see [`UsageExtension`].
    #[must_use]
    pub fn with_usage(mut self, usage: Disclosure) -> Self {
        self.usage = usage;
        self
    }

    /// A builder of an engine, with a card that declares what the model takes and gives, unless it
    /// has media types other than `text/plain`, and limits of tasks that are large enough for
    /// answers of models.
    pub fn builder(self, mut card: AgentCard) -> EngineBuilder {
        if card.default_input_modes == [PLAIN] {
            // What only a fallback reads would fail with the first model, so it decides.
            let files = self.models[0].info().media_types.iter().map(|one| one.to_string());
            let texts = TEXTS.map(str::to_owned).into_iter();
            card.default_input_modes = texts.chain(files).collect();
        }
        if card.default_output_modes == [PLAIN] {
            card.default_output_modes = ANSWERS.map(str::to_owned).to_vec();
        }
        let limits = TaskLimits::default().with_max_journal_bytes(8 << 20);
        let config = EngineConfig::default().with_task_limits(limits);
        let discloses = self.usage != Disclosure::Never;
        let builder = Engine::builder(card, self).config(config);
        if discloses { builder.extension(UsageExtension) } else { builder }
    }

    /// An engine that keeps its tasks in memory: see [`builder`](Self::builder).
    pub fn engine(self, card: AgentCard) -> Engine {
        self.builder(card).build()
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

impl AgentExecutor for ModelAgent {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let mut run = Run::new(self, &context, &updates);
        // Dropping the work aborts the request before the task ends.
        let end = tokio::select! {
            biased;
            () = context.cancelled() => End::CANCELED,
            end = run.work() => end?,
        };
        run.end(end).await
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

impl fmt::Debug for ModelAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models: Vec<_> = self.models.iter().map(|model| model.info()).collect();
        f.debug_struct("ModelAgent").field("models", &models).finish_non_exhaustive()
    }
}
