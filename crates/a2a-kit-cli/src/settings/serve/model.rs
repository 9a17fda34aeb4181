//! The section `[model]`.

use std::{
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    path::PathBuf,
};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    section::section,
    types::{Amount, Duration, Header, Metadata, Secret, Temperature},
};

section! {
    /// Model as agent
    model: Model {
        /// Answer with a chat model, as provider/model, such as openai/gpt-x; providers:
        /// openai, openai-chat, anthropic, gemini, ollama, openrouter; see docs/guide/models.md
        name: String, "--model <NAME>";
        /// Base URL of the model provider or of a compatible server [default: that of the provider]
        base_url: String, "--base-url <URL>";
        /// Key of the model provider; sent to base_url only [default: the variable of the provider,
        /// such as OPENAI_API_KEY, unless base_url is set]
        key: Secret;
        /// Instructions for the model
        system: String;
        /// File with the instructions for the model, read once
        system_file: PathBuf, "--system <FILE>";
        /// Send one request to the provider before serving, which checks key and model
        check: bool = false, "--check-model";
        /// Model that answers if those before it are unavailable, as provider/model; repeatable.
        /// Those of the same provider as --model use its URL, key, headers and extra
        fallback: Vec<String> = [], "--fallback <NAME>";
        /// Temperature [default: that of the model]
        temperature: Temperature, "--temperature <NUMBER>";
        /// Max tokens of an answer [default: that of the model; 8192 where the provider requires
        /// one]
        max_output_tokens: NonZeroU32, "--max-output-tokens";
        /// Effort of reasoning [default: that of the model]
        reasoning: Reasoning, "--reasoning <EFFORT>";
        /// JSON object that is merged into the body of each request to the provider
        extra: Metadata;
        /// Additional header of each request to the provider, as `name: value`
        headers: Vec<Header> = [];
        /// What the model remembers: the tasks of the context, or the messages of the task only
        memory: Memory = "context", "--memory <SCOPE>";
        /// Max tokens of earlier messages in a request, as an estimate
        memory_tokens: NonZeroU32 = 32_000, "--memory-tokens";
        /// When tasks report the tokens that they used: to callers that activate the extension, to
        /// all, or to none
        usage: Disclosure = "on-request", "--usage <WHEN>";
        /// When tasks show thoughts and calls of tools beside the answer: to callers that activate
        /// the extension, to all, or to none
        events: Disclosure = "on-request", "--events <WHEN>";
        /// Max turns of a task in which the model calls tools
        max_steps: u32 = 16, "--max-steps";
        /// Max calls of tools in a task
        max_tool_calls: u32 = 64, "--max-tool-calls";
        /// Max tokens of a task, read and written, with those of delegated tasks
        token_budget: NonZeroU64, "--token-budget";
        /// Max cost of a task, with that of delegated tasks, in the currency of the prices
        cost_budget: Amount, "--cost-budget";
        /// TOML file with the prices of models, for usage reports and budgets
        prices_file: PathBuf, "--prices";
        /// Max concurrent requests to a provider; further ones wait, fairly by caller
        concurrency: NonZeroUsize = 16, "--model-concurrency";
        /// Max retries of a request that failed for a transient reason
        retries: u32 = 3;
        /// Longest wait for a retry that the provider may ask for; above it, the task fails
        max_retry_wait: Duration = "60s";
        /// Timeout for the next byte from the provider
        idle_timeout: Duration = "3m";
        /// Timeout of a request, with its retries
        call_timeout: Duration = "10m";
    }
}

/// How much effort goes into reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reasoning {
    Low,
    Medium,
    High,
}

/// What a model remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Memory {
    Context,
    Task,
}

/// Which callers get the data of an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Disclosure {
    OnRequest,
    Always,
    Never,
}
