//! What a model is asked, and what it answers, whatever its provider.

use std::{borrow::Cow, fmt, time::Duration};

use a2a_core::Part;
use a2a_kit_operations::BoxError;
use futures_core::stream::BoxStream;
use serde_json::Value;

/// A chat model: something that continues a conversation.
///
/// Laws of an implementation:
///
/// - Dropping the stream aborts the request.
/// - Exactly one [`ModelEvent::Finished`], as the last event. A stream that ends without it was cut.
/// - A [`ModelEvent::ToolCall`] is whole: its arguments are complete.
/// - Errors display no text of the provider, which may quote the user.
pub trait ChatModel: Send + Sync + 'static {
    /// What is known of the model without a request.
    fn info(&self) -> &ModelInfo;

    /// Continues a conversation. Nothing is sent before the stream is polled.
    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;
}

/// What is known of a model without a request.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The provider, such as `openai`: of the same provider are models that read each other's
    /// [opaque parts](ModelEvent::Opaque).
    pub provider: String,
    /// The model, as the provider names it.
    pub name: String,
    /// Host and port of the server; `None` for a model in this process.
    pub server: Option<(String, u16)>,
    /// The media types of files that the model reads besides text.
    pub media_types: Vec<Cow<'static, str>>,
}

/// A conversation to be continued.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The system instructions.
    pub instructions: Option<String>,
    /// The conversation, from old to new. Adjacent turns have different roles.
    pub turns: Vec<Turn>,
    /// The tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// The sampling temperature; `None` for that of the provider.
    pub temperature: Option<f64>,
    /// The limit of tokens of the answer; `None` for that of the provider.
    pub max_output_tokens: Option<u32>,
    /// How much the model thinks before it answers; `None` for the default of the provider.
    pub reasoning: Option<Reasoning>,
}

/// How much a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// As little as possible.
    Low,
    /// More.
    Medium,
    /// As much as is useful.
    High,
}

impl Reasoning {
    /// The name: `low`, `medium` or `high`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A turn of a conversation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Turn {
    /// What the user says: text, data and files.
    User(Vec<Part>),
    /// What a model answered, in order.
    Assistant(Vec<Answer>),
    /// The results of the calls of the turn before, in their order.
    ToolResults(Vec<ToolOutcome>),
}

/// A piece of what a model answered.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Answer {
    /// Text.
    Text(String),
    /// A call of a tool.
    ToolCall(ToolCall),
    /// What only this provider understands, and wants back as it was.
    Opaque(Value),
}

/// A tool, as a model sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name, `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What the tool does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub schema: Value,
}

impl ToolDefinition {
    /// A tool with a name, a description and the JSON Schema of its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: Value) -> Self {
        Self { name: name.into(), description: description.into(), schema }
    }
}

/// A call of a tool by a model.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id of the call, unique within an answer.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, as the model wrote them; not checked.
    pub arguments: Value,
}

/// What came of a call, as the model reads it.
#[derive(Clone, Debug)]
pub struct ToolOutcome {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The result.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
}

/// An event of an answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ModelEvent {
    /// The provider began to answer; at most once, before all others.
    Started {
        /// The id of the response.
        id: Option<String>,
        /// The model that answers, which may be more precise than the one that was asked.
        model: Option<String>,
    },
    /// More text of the answer; never empty.
    Text(String),
    /// More of what the model thinks; never empty.
    Thinking(String),
    /// A whole call.
    ToolCall(ToolCall),
    /// What only this provider understands, and wants back as it was: signatures, encrypted thoughts.
    Opaque(Value),
    /// The tokens so far; each replaces the one before.
    Usage(Usage),
    /// The regular end.
    Finished(StopReason),
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// The answer is complete, or reached a stop sequence.
    End,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The limit of output tokens.
    Length,
    /// A filter of the provider, or the model declined.
    Filter,
    /// The conversation fills the context window of the model.
    ContextWindow,
    /// A reason unknown here.
    Other(String),
}

/// The tokens of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Usage {
    /// The tokens read, those from a cache included.
    pub input: u64,
    /// Of these, read from a cache.
    pub cached_input: Option<u64>,
    /// Of these, written to a cache.
    pub cache_write: Option<u64>,
    /// The tokens written, reasoning included.
    pub output: u64,
    /// Of these, reasoning.
    pub reasoning: Option<u64>,
    /// What the provider charged, in 10⁻⁹ US dollars.
    pub cost: Option<u64>,
}

impl Usage {
    /// The tokens of both calls.
    pub(crate) fn plus(self, other: Option<Self>) -> Self {
        let other = other.unwrap_or_default();
        Self {
            input: self.input.saturating_add(other.input),
            cached_input: sum(self.cached_input, other.cached_input),
            cache_write: sum(self.cache_write, other.cache_write),
            output: self.output.saturating_add(other.output),
            reasoning: sum(self.reasoning, other.reasoning),
            cost: sum(self.cost, other.cost),
        }
    }
}

/// The sum of what is known.
pub(crate) fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).reduce(u64::saturating_add)
}

/// A call of a model that failed.
///
/// Displays no text of the provider.
#[derive(thiserror::Error)]
#[error("{kind}")]
#[non_exhaustive]
pub struct ModelError {
    /// What failed.
    pub kind: ModelErrorKind,
    /// The HTTP status, if there was a response.
    pub status: Option<u16>,
    /// The `code` or `type` of the provider's error.
    pub code: Option<String>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// The wait for which the provider asks.
    pub retry_after: Option<Duration>,
    /// Whether the provider says that a repetition helps (`x-should-retry`).
    pub should_retry: Option<bool>,
    /// For [`File`](ModelErrorKind::File), the text for the caller: which file, and why.
    pub message: Option<String>,
    /// The cause on this side, such as a refused connection.
    #[source]
    pub source: Option<BoxError>,
}

/// Kinds of [`ModelError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// 401, 403.
    Credentials,
    /// 404.
    UnknownModel,
    /// 402, and 429 with `insufficient_quota`.
    Quota,
    /// 429.
    RateLimit,
    /// The conversation doesn't fit the context window.
    TooLong,
    /// Any other 4xx.
    Rejected,
    /// 408, 409, 5xx, no connection, an error within the stream.
    Unavailable,
    /// No byte within the idle time.
    Timeout,
    /// The stream ended before the answer did, or could not be read.
    Cut,
    /// A file that the model can't read; it names the file, and no request was made.
    File,
}

impl fmt::Display for ModelErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Credentials => "the provider refused the credentials",
            Self::UnknownModel => "the model is unknown to the provider",
            Self::Quota => "the quota is used up",
            Self::RateLimit => "too many requests",
            Self::TooLong => "the conversation is too long for the model",
            Self::Rejected => "the provider rejected the request",
            Self::Unavailable => "the provider is unavailable",
            Self::Timeout => "the provider sent nothing for too long",
            Self::Cut => "the answer was cut",
            Self::File => "a file can't be used",
        })
    }
}

a2a_core::debug_as_chain!(ModelError);

impl ModelError {
    /// An error without further facts.
    pub fn new(kind: ModelErrorKind) -> Self {
        Self {
            kind,
            status: None,
            code: None,
            request_id: None,
            retry_after: None,
            should_retry: None,
            message: None,
            source: None,
        }
    }
}
