//! The agent of `[model]`: a chat model, and how its provider is reached.

use std::{
    fs,
    num::{NonZeroU32, NonZeroU64},
    path::Path,
};

use a2a_core::{AgentCard, v1::AgentSkill};
use a2a_kit_models::{
    AgentLimits, Disclosure, Memory, ModelAgent, Prices, ProviderModel, ProviderSettings,
    SetupError,
    model::{ModelErrorKind, Reasoning},
};
use a2a_kit_operations::EngineBuilder;

use super::{chain, encryption};
use crate::{
    failure::{Code, Failure},
    output::Output,
    settings::{
        Settings,
        serve::{self, Serve},
    },
};

/// The models that are served.
#[derive(Debug)]
pub(super) struct Models {
    first: Named,
    fallbacks: Vec<Named>,
    agent: ModelAgent,
}

/// A model with its name, as it was given.
#[derive(Debug)]
struct Named {
    name: String,
    provider: ProviderModel,
}

impl Models {
    /// Reads the settings; `None` for another agent. Makes no request.
    /// Errors: a usage failure for an unknown provider, an invalid URL, a missing key, instructions or
    /// prices that can't be read, or a cost budget without prices.
    pub(super) fn read(serve: &Serve, settings: &Settings) -> Result<Option<Self>, Failure> {
        let model = &serve.model;
        let Some(name) = &model.name else { return Ok(None) };
        let instructions = match &model.system_file {
            Some(path) => Some(fs::read_to_string(path).map_err(|error| {
                Failure::usage(format!("--system {}: {error}", path.display()))
            })?),
            None => model.system.clone(),
        };
        if let Some(key) = &model.key {
            settings.redaction.add(&key.0);
        }
        let own = of_provider(model, settings)?;
        let mut fallbacks = Vec::new();
        for fallback in &model.fallback {
            // URL and key are those of one provider.
            let settings = match provider_of(fallback) == provider_of(name) {
                true => own.clone(),
                false => {
                    let mut other = ProviderSettings::default();
                    other.client = own.client.clone();
                    other
                }
            };
            fallbacks.push(Named::new(fallback, "--fallback", settings)?);
        }
        let first = Named::new(name, "--model", own)?;
        let agent = ModelAgent::with_model(first.provider.clone());
        let models = fallbacks.iter().map(|one| one.provider.clone());
        let agent = set(models.fold(agent, ModelAgent::with_fallback), model)?;
        let agent = match instructions {
            Some(instructions) => agent.with_instructions(instructions),
            None => agent,
        };
        Ok(Some(Self { first, fallbacks, agent }))
    }

    fn all(&self) -> impl Iterator<Item = &Named> {
        std::iter::once(&self.first).chain(&self.fallbacks)
    }

    /// The lines of the startup message.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&'static str, String)> {
        let labels = std::iter::once("Model").chain(std::iter::repeat("Fallback"));
        labels.zip(self.all()).map(|(label, Named { name, provider })| {
            let key = provider.key_source().unwrap_or("none");
            (label, format!("{name} at {} (key: {key})", provider.base_url()))
        })
    }

    /// Warns about a key that is sent in plaintext beyond the loopback, or rejects it.
    /// Errors: a usage failure with `--production`.
    pub(super) fn check_encryption(&self, serve: &Serve, output: Output) -> Result<(), Failure> {
        for Named { name, provider } in self.all() {
            if provider.exposes_key() {
                let url = provider.base_url();
                let problem = format!("the key of {name} is sent in plaintext to {url}");
                encryption::insecure(serve, &problem, "use an https URL", output)?;
            }
        }
        Ok(())
    }

    /// Sends one request to the provider of each model.
    /// Errors: a failure that says what to change, if a provider can't be reached, or refuses the
    /// key or the model.
    pub(super) async fn check(&self) -> Result<(), Failure> {
        for Named { name, provider } in self.all() {
            let Err(error) = provider.check().await else { continue };
            let (code, hint) = match error.kind {
                ModelErrorKind::Credentials => {
                    (Code::AuthFailed, "check the key, and that it is one of this provider")
                }
                ModelErrorKind::UnknownModel => {
                    (Code::Usage, "check the name of the model against the provider's list")
                }
                _ => (Code::Unreachable, "check --base-url and the network"),
            };
            let text = format!("--check-model: {name}: {}", chain(&error));
            return Err(Failure::new(code, text).with_hint(hint));
        }
        Ok(())
    }

    /// The generated card. It names neither provider nor model.
    pub(super) fn card() -> AgentCard {
        let skill = AgentSkill::new("chat", "Chat", "Answers questions in a conversation")
            .with_tags(["chat"])
            .with_examples(["What is the Agent2Agent protocol?"]);
        AgentCard::new("Assistant", "Answers with a language model")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_skill(skill)
    }

    /// The builder of the engine.
    pub(super) fn engine(&self, card: AgentCard) -> EngineBuilder {
        self.agent.clone().builder(card)
    }
}

/// Sets what is not of a provider.
/// Errors: a usage failure for prices that can't be read, and a cost budget without them.
fn set(agent: ModelAgent, model: &serve::Model) -> Result<ModelAgent, Failure> {
    let memory = match model.memory {
        serve::Memory::Context => Memory::context(),
        serve::Memory::Task => Memory::task(),
    };
    let disclosure = |disclosure| match disclosure {
        serve::Disclosure::OnRequest => Disclosure::OnRequest,
        serve::Disclosure::Always => Disclosure::Always,
        serve::Disclosure::Never => Disclosure::Never,
    };
    let reasoning = model.reasoning.map(|effort| match effort {
        serve::Reasoning::Low => Reasoning::Low,
        serve::Reasoning::Medium => Reasoning::Medium,
        serve::Reasoning::High => Reasoning::High,
    });
    let limits = AgentLimits::default()
        .with_max_output_tokens(model.max_output_tokens.map(NonZeroU32::get))
        .with_token_budget(model.token_budget.map(NonZeroU64::get))
        .with_retries(model.retries)
        .with_concurrency(model.concurrency.get())
        .with_max_steps(model.max_steps)
        .with_max_tool_calls(model.max_tool_calls)
        .with_max_retry_wait(model.max_retry_wait.0)
        .with_call_timeout(model.call_timeout.0);
    let agent = agent
        .with_memory(memory.with_tokens(model.memory_tokens.get()))
        .with_temperature(model.temperature.map(|temperature| temperature.0))
        .with_reasoning(reasoning)
        .with_usage(disclosure(model.usage))
        .with_events(disclosure(model.events))
        .with_prices(model.prices_file.as_deref().map_or_else(|| Ok(Prices::default()), prices)?)
        .with_limits(limits);
    let Some(budget) = model.cost_budget else { return Ok(agent) };
    agent.with_cost_budget(budget.0).map_err(|error| {
        let reason = match error {
            SetupError::InvalidSetting { reason, .. } => reason,
            error => chain(&error),
        };
        Failure::usage(format!("--cost-budget: {reason}"))
            .with_hint("--prices needs the price of each model, all in one currency")
    })
}

/// Reads the prices of models.
fn prices(path: &Path) -> Result<Prices, Failure> {
    let invalid = |problem: &str| Failure::usage(format!("--prices {}{problem}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| invalid(&format!(": {error}")))?;
    toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        invalid(&format!(":{line}: {}", error.message()))
    })
}

impl Named {
    fn new(name: &str, flag: &str, settings: ProviderSettings) -> Result<Self, Failure> {
        let has_url = settings.base_url.is_some();
        let invalid = |error: SetupError| {
            Failure::usage(match &error {
                SetupError::MissingKey { model, variable } if flag == "--model" => format!(
                    "{flag} {model} needs an API key: set {variable}, {variable}_FILE or \
                     model.key; a server without keys needs --base-url"
                ),
                SetupError::MissingKey { .. } => format!("{flag} {}", chain(&error)),
                SetupError::InvalidBaseUrl { url, reason } if has_url => {
                    format!("--base-url {url}: {reason}")
                }
                SetupError::InvalidSetting { setting, reason } => format!("{setting}: {reason}"),
                error => format!("{flag}: {}", chain(error)),
            })
        };
        let provider = ProviderModel::new(name, settings).map_err(invalid)?;
        Ok(Self { name: name.to_owned(), provider })
    }
}

/// How the provider of `--model` is reached.
fn of_provider(model: &serve::Model, settings: &Settings) -> Result<ProviderSettings, Failure> {
    let mut provider = ProviderSettings::default();
    provider.base_url.clone_from(&model.base_url);
    provider.key = model.key.as_ref().map(|key| key.0.clone());
    provider.headers = model.headers.iter().map(|header| header.0.clone()).collect();
    provider.client =
        settings.http().with_proxy_from_environment(true).with_idle_timeout(model.idle_timeout.0);
    if let Some(extra) = &model.extra {
        provider.extra = serde_json::to_value(&extra.0)
            .and_then(serde_json::from_value)
            .map_err(|error| Failure::usage(format!("model.extra: {error}")))?;
    }
    Ok(provider)
}

/// The part of a name before the first slash.
fn provider_of(name: &str) -> Option<&str> {
    name.split_once('/').map(|(provider, _)| provider)
}
