//! The agent: an executor that lets a model answer.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use a2a_core::AgentCard;
use a2a_kit_operations::{
    AgentExecutor, BoxError, Engine, EngineBuilder, EngineConfig, Recovery, RequestContext,
    TaskLimits, TaskUpdater,
    extension::{Amount, Delegation, ModelEventsExtension, UsageExtension},
};

use crate::{
    AgentLimits, ChatModel, Disclosure, Memory, ModelInfo, Prices, ProviderModel, ProviderSettings,
    SetupError, Tool, end::End, model::Reasoning, run::Run, settings::Settings,
};

/// Media types of texts, which every model reads.
const TEXTS: [&str; 5] =
    ["text/plain", "text/*", "application/json", "application/xml", "application/yaml"];
const ANSWERS: [&str; 2] = ["text/markdown", "text/plain"];
/// How long a tool that asks may go on after a cancel.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
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
pub struct ModelAgent(Settings);

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
        Self(Settings::new(Arc::new(model)))
    }

    /// Sets the system instructions of each conversation. Callers can't change them, but the model
    /// may reveal them.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.0.instructions = Some(instructions.into());
        self
    }

    /// Adds a model that is called if the ones before it are unavailable, refuse the credentials of
    /// the agent, or want it to wait for too long: for the rest of the task.
    #[must_use]
    pub fn with_fallback(mut self, model: impl ChatModel) -> Self {
        self.0.add(Arc::new(model));
        self
    }

    /// Sets the sampling temperature. Default: that of the provider.
    #[must_use]
    pub fn with_temperature(mut self, temperature: impl Into<Option<f64>>) -> Self {
        self.0.temperature = temperature.into();
        self
    }

    /// Sets how much the model thinks before it answers. Default: that of the provider.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: impl Into<Option<Reasoning>>) -> Self {
        self.0.reasoning = reasoning.into();
        self
    }

    /// Sets what the agent remembers of a conversation. Default: [`Memory::context`].
    #[must_use]
    pub fn with_memory(mut self, memory: Memory) -> Self {
        self.0.memory = memory;
        self
    }

    /// Sets limits.
    #[must_use]
    pub fn with_limits(mut self, limits: AgentLimits) -> Self {
        self.0.limits = limits;
        self
    }

    /// Adds a tool that the model may call: see [`tool_fn`](crate::tool_fn).
    ///
    /// # Errors
    ///
    /// [`SetupError::InvalidTool`] for a name that is not `[A-Za-z0-9_-]{1,64}` or that another tool
    /// has, a schema that is not that of an object, and for more than 64 tools.
    pub fn with_tool(mut self, tool: impl Tool) -> Result<Self, SetupError> {
        self.0.add_tool(Arc::new(tool))?;
        Ok(self)
    }

    /// Adds another agent as a tool, which the model may send messages to: see
    /// [`RemoteAgent`](crate::RemoteAgent).
    ///
    /// # Errors
    ///
    /// As [`with_tool`](Self::with_tool).
    #[cfg(feature = "agents")]
    pub fn with_agent(
        self,
        name: impl Into<String>,
        client: a2a_kit_client::Client,
    ) -> Result<Self, SetupError> {
        self.with_tool(crate::RemoteAgent::new(name, client))
    }

    /// Has callers approve each call of a tool: of that with this name, of those whose names begin
    /// like this, if it ends with `*`, or of all with `*`. Adds to what tools [require
    /// themselves](Tool::requires_approval).
    ///
    /// The task is INPUT_REQUIRED until the caller answers, with a text such as `yes`, or with data:
    /// `{"approve": true}`. Any other answer refuses the call, and is what the model reads.
    #[must_use]
    pub fn with_approval(mut self, pattern: impl Into<String>) -> Self {
        self.0.approvals.push(pattern.into());
        self
    }

    /// Sets which callers get the token usage of their tasks: see [`UsageExtension`].
    #[must_use]
    pub fn with_usage(mut self, usage: Disclosure) -> Self {
        self.0.usage = usage;
        self
    }

    /// Sets which callers see how an answer is made, in artifacts beside it: see
    /// [`ModelEventsExtension`].
    #[must_use]
    pub fn with_events(mut self, events: Disclosure) -> Self {
        self.0.events = events;
        self
    }

    /// Sets what models cost, for the usage report and for budgets. Default: only what a provider
    /// itself reports.
    #[must_use]
    pub fn with_prices(mut self, prices: Prices) -> Self {
        self.0.prices = prices;
        self
    }

    /// Sets what a task may cost, with its delegated tasks: what is estimated to exceed it is not
    /// sent, and the task fails. Set prices and fallbacks before.
    ///
    /// # Errors
    ///
    /// [`SetupError::InvalidSetting`] if a model has no price, or one in another currency than the
    /// first.
    pub fn with_cost_budget(mut self, budget: Amount) -> Result<Self, SetupError> {
        let mut currency = None;
        for model in &self.0.models {
            let ModelInfo { provider, name, .. } = model.info();
            let price = self.0.prices.of(provider, name).map(|price| &price.currency);
            if price.is_none() || currency.is_some_and(|known| Some(known) != price) {
                let problem = if price.is_none() { "no price" } else { "another currency" };
                let reason = format!("there is {problem} for {provider}/{name}");
                return Err(SetupError::InvalidSetting { setting: "model.cost_budget", reason });
            }
            currency = price;
        }
        self.0.cost_budget = Some(budget);
        Ok(self)
    }

    /// A builder of an engine, with a card that declares what the model takes and gives, unless it
    /// has media types other than `text/plain`, and with a [journal] of up to 8 MiB per task, which
    /// has its answers. [`EngineBuilder::config`] replaces that limit.
    ///
    /// [journal]: TaskLimits::max_journal_bytes
    pub fn builder(self, mut card: AgentCard) -> EngineBuilder {
        if card.default_input_modes == [PLAIN] {
            // What only a fallback reads would fail with the first model, so it decides.
            let files = self.0.models[0].info().media_types.iter().map(|one| one.to_string());
            let texts = TEXTS.map(str::to_owned).into_iter();
            card.default_input_modes = texts.chain(files).collect();
        }
        if card.default_output_modes == [PLAIN] {
            card.default_output_modes = ANSWERS.map(str::to_owned).to_vec();
        }
        let limits = TaskLimits::default().with_max_journal_bytes(8 << 20);
        let config = EngineConfig::default().with_task_limits(limits);
        let (usage, events) = (self.0.usage, self.0.events);
        let delegation = Delegation::new(self.0.limits.max_depth);
        let mut builder = Engine::builder(card, self).config(config).extension(delegation);
        if usage != Disclosure::Never {
            builder = builder.extension(UsageExtension);
        }
        if events != Disclosure::Never {
            builder = builder.extension(ModelEventsExtension);
        }
        builder
    }

    /// An engine that keeps its tasks in memory: see [`builder`](Self::builder).
    pub fn engine(self, card: AgentCard) -> Engine {
        self.builder(card).build()
    }
}

impl AgentExecutor for ModelAgent {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let asking = AtomicBool::new(false);
        let mut run = Run::new(&self.0, &context, &updates, &asking);
        let stopped = async {
            context.cancelled().await;
            if asking.load(Ordering::Relaxed) {
                tokio::time::sleep(CANCEL_GRACE).await;
            }
        };
        // Dropping the work aborts the request before the task ends.
        let end = tokio::select! {
            biased;
            () = stopped => End::canceled(),
            end = run.work() => match end {
                Err(_) if context.is_cancelled() => End::canceled(),
                end => end?,
            },
        };
        run.end(end).await
    }

    fn recovery(&self) -> Recovery {
        Recovery::Rerun
    }
}

impl fmt::Debug for ModelAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models: Vec<_> = self.0.models.iter().map(|model| model.info()).collect();
        f.debug_struct("ModelAgent").field("models", &models).finish_non_exhaustive()
    }
}
