//! Tools: what a model may call.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use a2a_core::{Message, Part};
use a2a_kit_operations::{
    Answer, BoxError, Caller, IntoAnswer, RequestContext, StatusMessage, TaskUpdater,
};
use futures_core::future::BoxFuture;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

#[cfg(feature = "agents")]
use crate::delegations::Delegations;
use crate::model::ToolDefinition;

/// The default timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A function that a model may call: see [`tool_fn`] for one made of a closure.
///
/// Laws of an implementation:
///
/// - The name in its definition does not change. Description and schema may.
/// - The arguments are what a model wrote: untrusted, and not checked against the schema.
/// - Dropping the future stops the call. That happens at a cancel and at the timeout.
pub trait Tool: Send + Sync + 'static {
    /// The tool as a model sees it. The name is `[A-Za-z0-9_-]{1,64}`, the schema that of an object.
    fn definition(&self) -> ToolDefinition;

    /// Does the work of a call. The calls of a turn run concurrently, at most four at a time, unless
    /// one of them [asks](Self::asks) or needs approval.
    ///
    /// # Errors
    ///
    /// The model reads the text of an [`InvalidArguments`], and of an
    /// [`AgentError`](a2a_kit_operations::AgentError); of any other error only an id, under which the
    /// log has the cause. The task goes on.
    fn call(
        &self,
        arguments: Value,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, BoxError>>;

    /// Whether a call may ask the caller of the agent, with [`ToolContext::ask`]. Such a call is
    /// repeated from its start when the answer arrives on another node, so its effects belong into
    /// [`ToolContext::once`]. After a cancel it has 2 s to end.
    fn asks(&self) -> bool {
        false
    }

    /// Whether the caller of the agent has to approve each call.
    fn requires_approval(&self) -> bool {
        false
    }

    /// What happens to a call that a crash has interrupted.
    fn repeat(&self) -> Repeat {
        Repeat::default()
    }

    /// The longest time of a call, after which its future is dropped, and the model reads that it
    /// timed out. The time of tools that [ask](Self::asks) is not limited. Default: 2 min.
    fn timeout(&self) -> Duration {
        TIMEOUT
    }
}

/// What happens to a call of a tool that a crash has interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeat {
    /// The tool is called again, with the same [idempotency key](ToolContext::idempotency_key).
    #[default]
    Always,
    /// The model reads that the call was interrupted, and that its effect is unknown.
    Never,
}

/// The result of a call of a tool: texts and data, which the model reads, and files, which become
/// artifacts of the task, and of which the model reads name, type and size.
///
/// Texts and data are cut in the middle beyond 32 KiB.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The parts, in order.
    pub parts: Vec<Part>,
}

impl ToolResult {
    /// A result of these parts.
    pub fn new(parts: Vec<Part>) -> Self {
        Self { parts }
    }
}

impl<T: Into<Part>> From<T> for ToolResult {
    fn from(part: T) -> Self {
        Self::new(vec![part.into()])
    }
}

/// Arguments that a tool can't take; a model reads the text, and three wrong calls in a row end its
/// task.
#[derive(thiserror::Error)]
#[error("{0}")]
pub struct InvalidArguments(pub String);

a2a_core::debug_as_chain!(InvalidArguments);

impl InvalidArguments {
    /// Reads arguments as a value of a type.
    ///
    /// # Errors
    ///
    /// The member that is missing or wrong, as in `arguments.city: missing field`.
    pub fn check<T: DeserializeOwned>(arguments: Value) -> Result<T, Self> {
        serde_path_to_error::deserialize(arguments).map_err(|error| {
            let path = error.path().to_string();
            let reason = error.into_inner().to_string();
            // Of a missing member the path is that of the object.
            let (name, reason) = match reason.strip_prefix("missing field `") {
                Some(name) => (name.trim_end_matches('`'), "missing field"),
                None => ("", &*reason),
            };
            let path = [&*path, name].map(|part| if part == "." { "" } else { part });
            let path = path.iter().filter(|part| !part.is_empty());
            let path =
                path.fold("arguments".to_owned(), |path, part| match part.starts_with('[') {
                    true => path + part,
                    false => path + "." + part,
                });
            Self(format!("{path}: {reason}"))
        })
    }
}

/// The context of a call of a tool.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub(crate) request: RequestContext,
    pub(crate) updates: TaskUpdater,
    /// The id that the model gave the call.
    pub(crate) call_id: String,
    /// The turn and the position in it, as in `3/0`: the same in each run.
    pub(crate) position: String,
    pub(crate) idempotency_key: String,
    /// Whether the tool may ask.
    pub(crate) asks: bool,
    /// What the calls of the run share that delegate.
    #[cfg(feature = "agents")]
    pub(crate) delegations: Arc<Delegations>,
}

impl ToolContext {
    pub(crate) fn new(
        request: &RequestContext,
        updates: &TaskUpdater,
        call_id: &str,
        position: String,
        asks: bool,
        #[cfg(feature = "agents")] delegations: &Arc<Delegations>,
    ) -> Self {
        let idempotency_key = format!("{}/{position}", request.task_id());
        let (request, updates, call_id) = (request.clone(), updates.clone(), call_id.to_owned());
        Self {
            request,
            updates,
            call_id,
            position,
            idempotency_key,
            asks,
            #[cfg(feature = "agents")]
            delegations: Arc::clone(delegations),
        }
    }

    /// A key for what the call does elsewhere: its own, and the same when a crash repeats it.
    pub fn idempotency_key(&self) -> &str {
        &self.idempotency_key
    }

    /// The id that the model gave the call, unique in its turn.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// The id of the task.
    pub fn task_id(&self) -> &str {
        self.request.task_id()
    }

    /// The id of the context.
    pub fn context_id(&self) -> &str {
        self.request.context_id()
    }

    /// The tenant of the task; empty without one.
    pub fn tenant(&self) -> &str {
        self.request.tenant()
    }

    /// The caller of the agent.
    pub fn caller(&self) -> &Caller {
        &self.request.call().caller
    }

    /// Waits until the client cancels the task.
    pub async fn cancelled(&self) {
        self.request.cancelled().await;
    }

    /// Does something once, however often the call is repeated, and records the result: see
    /// [`TaskUpdater::once`]. The name is unique in the call. Must not contain a question.
    ///
    /// # Errors
    ///
    /// Those of [`TaskUpdater::once`]; the tool does not [ask](Tool::asks), whose results are
    /// recorded whole.
    pub async fn once<T, E>(
        &self,
        name: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, BoxError>
    where
        T: Serialize + DeserializeOwned,
        E: Into<BoxError>,
    {
        self.may_ask()?;
        self.updates.once(&format!("tool/{}/{name}", self.position), work).await
    }

    /// Asks the caller of the agent, and returns the answer, perhaps days later and on another node:
    /// see [`TaskUpdater::ask`]. One question at a time.
    ///
    /// # Errors
    ///
    /// Those of [`TaskUpdater::ask`], which the tool returns in turn; the tool does not
    /// [ask](Tool::asks).
    pub async fn ask(&self, question: impl Into<StatusMessage>) -> Result<Message, BoxError> {
        self.may_ask()?;
        Ok(self.updates.ask(question).await?)
    }

    /// What a call that is recorded whole does inside would be lost in a repetition.
    fn may_ask(&self) -> Result<(), BoxError> {
        if self.asks {
            Ok(())
        } else {
            Err("the tool asks or records, but Tool::asks is false".into())
        }
    }
}

/// Closures of one argument, or of one and a [`ToolContext`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a closure of a tool",
    note = "annotate the types of its arguments: one that implements `Deserialize` and `JsonSchema`, \
            then, if needed, `ToolContext`"
)]
pub trait ToolClosure<Arguments>: Send + Sync + 'static {
    /// The argument, which has the members that a model writes.
    type Argument: DeserializeOwned + JsonSchema;
    /// What the closure returns.
    type Output: Future<Output: IntoAnswer> + Send + 'static;

    /// Calls the closure.
    fn call(&self, argument: Self::Argument, context: ToolContext) -> Self::Output;
}

impl<F, A, O> ToolClosure<(A,)> for F
where
    F: Fn(A) -> O + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema,
    O: Future<Output: IntoAnswer> + Send + 'static,
{
    type Argument = A;
    type Output = O;

    fn call(&self, argument: A, _context: ToolContext) -> O {
        self(argument)
    }
}

impl<F, A, O> ToolClosure<(A, ToolContext)> for F
where
    F: Fn(A, ToolContext) -> O + Send + Sync + 'static,
    A: DeserializeOwned + JsonSchema,
    O: Future<Output: IntoAnswer> + Send + 'static,
{
    type Argument = A;
    type Output = O;

    fn call(&self, argument: A, context: ToolContext) -> O {
        self(argument, context)
    }
}

type Called = BoxFuture<'static, Result<ToolResult, BoxError>>;

/// A tool made of a closure: see [`tool_fn`].
#[derive(Clone)]
pub struct ToolFn {
    definition: ToolDefinition,
    call: Arc<dyn Fn(Value, ToolContext) -> Called + Send + Sync>,
    asks: bool,
    requires_approval: bool,
    repeat: Repeat,
    timeout: Duration,
}

/// Creates a tool from a closure of one argument, a struct whose members are what a model writes.
/// Their doc comments describe them to the model.
///
/// The closure returns what one of [`agent_fn`](a2a_kit_operations::agent_fn) does, such as a text,
/// JSON, parts, or a `Result` of these; a second argument gets the [`ToolContext`]. An async closure
/// cannot borrow what it captures.
///
/// ```
/// use a2a_kit_models::{ModelAgent, testing::ScriptedModel, tool_fn};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct City {
///     /// The name of the city, in English.
///     city: String,
/// }
///
/// let weather = tool_fn("weather", "The weather in a city", async |City { city }: City| {
///     format!("sunny in {city}")
/// });
/// let agent = ModelAgent::with_model(ScriptedModel::new(["Sunny"])).with_tool(weather)?;
/// # let _ = agent;
/// # Ok::<_, a2a_kit_models::SetupError>(())
/// ```
pub fn tool_fn<F, Arguments>(
    name: impl Into<String>,
    description: impl Into<String>,
    closure: F,
) -> ToolFn
where
    F: ToolClosure<Arguments>,
{
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings.into_generator().into_root_schema_for::<F::Argument>();
    let call = move |arguments, context| -> Called {
        match InvalidArguments::check(arguments) {
            Ok(argument) => {
                let answer = closure.call(argument, context);
                Box::pin(async move { answer.await.into_answer().map(ToolResult::of_answer) })
            }
            Err(error) => Box::pin(std::future::ready(Err(error.into()))),
        }
    };
    ToolFn {
        definition: ToolDefinition::new(name, description, schema.to_value()),
        call: Arc::new(call),
        asks: false,
        requires_approval: false,
        repeat: Repeat::default(),
        timeout: TIMEOUT,
    }
}

impl ToolFn {
    /// Lets calls [ask](Tool::asks) the caller of the agent.
    #[must_use]
    pub fn asking(mut self) -> Self {
        self.asks = true;
        self
    }

    /// Has the caller of the agent approve each call.
    #[must_use]
    pub fn needs_approval(mut self) -> Self {
        self.requires_approval = true;
        self
    }

    /// Sets what happens to a call that a crash has interrupted. Default: [`Repeat::Always`].
    #[must_use]
    pub fn with_repeat(mut self, repeat: Repeat) -> Self {
        self.repeat = repeat;
        self
    }

    /// Sets the longest time of a call. Default: 2 min.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Tool for ToolFn {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn call(
        &self,
        arguments: Value,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, BoxError>> {
        (self.call)(arguments, context)
    }

    fn asks(&self) -> bool {
        self.asks
    }

    fn requires_approval(&self) -> bool {
        self.requires_approval
    }

    fn repeat(&self) -> Repeat {
        self.repeat
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }
}

impl fmt::Debug for ToolFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolFn").field("name", &self.definition.name).finish_non_exhaustive()
    }
}

impl ToolResult {
    fn of_answer(answer: Answer) -> Self {
        match answer {
            Answer::Artifact(artifact) => Self::new(artifact.parts),
            Answer::Message(message) => Self::new(message.parts),
            _ => Self::default(),
        }
    }
}
