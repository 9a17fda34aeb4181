//! The engine of an agent that this server runs, and its card.

use std::{path::Path, sync::Arc};

use a2a_core::{AgentCard, v1::AgentExtension};
use a2a_kit_auth::webhook::WebhookSigner;
use a2a_kit_exec::{self as exec, CheckError, Exec};
use a2a_kit_http::Webhooks;
use a2a_kit_operations::{Engine, EngineBuilder, EngineConfig, Recovery, Store, store::Measured};

use super::{
    access,
    built_in::{self, DemoAgent},
    model::Models,
    options::Options,
};
use crate::{
    failure::Failure,
    settings::serve::{ExecRecovery, Io, Serve},
};

/// Maximum number of reruns of an interrupted run. Scripts continue where they stopped, so many
/// restarts are fine.
const MAX_RERUNS: u64 = 20;

/// Maximum size of the journal of a task whose calls of a model are in it.
const MODEL_JOURNAL_BYTES: usize = 8 << 20;

/// Creates the engine of the configured agent.
/// Errors: a usage failure for an unreadable or invalid card; an internal failure if the webhook
/// client can't be created.
pub(super) fn engine(
    serve: &Serve,
    options: &Options,
    demo: &dyn DemoAgent,
    store: Option<Arc<dyn Store>>,
    signer: Option<WebhookSigner>,
    command: Option<Exec>,
) -> Result<Engine, Failure> {
    let builder = if let Some(command) = command {
        let (name, description) = (serve.agent.name.as_deref(), serve.agent.description.as_deref());
        // The command line may contain secrets.
        let (name, description) =
            (name.unwrap_or("Command agent"), description.unwrap_or("Runs a command"));
        let card = command.card(name, description).with_version(env!("CARGO_PKG_VERSION"));
        with_card(serve, options, card, |card| Engine::builder(card, command))?
    } else if let Some(models) = &options.models {
        with_card(serve, options, Models::card(), |card| models.engine(card))?
    } else {
        let script = options.script.clone();
        with_card(serve, options, script.card(), |card| match serve.is_demo() {
            true => demo.engine(card, script),
            false => Engine::builder(card, script),
        })?
    };
    let builder = if options.push {
        let webhooks = Webhooks::new(options.webhooks.clone())
            .and_then(|webhooks| webhooks.with_tls(&options.trust))
            .map_err(|error| {
                Failure::internal(format!("failed to create the webhook client: {error}"))
            })?
            .with_payload(a2a_kit_compat::webhook::payload);
        let webhooks = match signer {
            Some(signer) => webhooks.with_signer(signer),
            None => webhooks,
        };
        builder.push_sender(webhooks)
    } else {
        builder
    };
    let builder = match store {
        Some(store) => builder.store(Measured::new(store)),
        None => builder,
    };
    Ok(builder.config(engine_config(serve)).build())
}

/// The limits of the tasks that this server keeps.
pub(super) fn engine_config(serve: &Serve) -> EngineConfig {
    let limits = &serve.limits;
    let mut tasks = limits.task();
    if serve.model.name.is_some() {
        tasks = tasks.with_max_journal_bytes(MODEL_JOURNAL_BYTES);
    }
    EngineConfig::default()
        .with_retention(serve.store.retention.map(|retention| retention.0))
        .with_parked_retention(Some(serve.store.parked_retention.0))
        .with_max_reruns(MAX_RERUNS)
        .with_max_list_bytes(serve.limits.max_list_page_bytes.0)
        .with_task_limits(tasks)
        .with_run_limits(limits.run())
        .with_caller_limits(limits.caller())
}

/// Creates an engine with its card.
fn with_card(
    serve: &Serve,
    options: &Options,
    generated: AgentCard,
    builder: impl FnOnce(AgentCard) -> EngineBuilder,
) -> Result<EngineBuilder, Failure> {
    let card = customize_card(serve, options, generated)?;
    let mut card = within_capabilities(serve, card).with_push_notifications(options.push);
    let has_extended = card.has_extended_card();
    for uri in &serve.agent.required_extensions {
        let mut extension = AgentExtension::new(uri, "Required by this agent");
        extension.required = true;
        card = card.with_extension(extension);
    }
    let builder = builder(card.clone());
    Ok(if has_extended { builder.extended_card(built_in::extended_card(&card)) } else { builder })
}

/// Removes the disabled capabilities from a card.
pub(super) fn within_capabilities(serve: &Serve, card: AgentCard) -> AgentCard {
    let streaming = card.can_stream() && serve.agent.streaming;
    let push = card.can_push() && serve.webhooks.enabled;
    let extended = card.has_extended_card() && serve.agent.extended_card;
    card.with_streaming(streaming).with_push_notifications(push).with_extended_card(extended)
}

/// Applies the settings that are common to all agents to a card.
/// Errors: a usage failure for an unreadable card, or one that declares security that is not
/// enforced.
pub(super) fn customize_card(
    serve: &Serve,
    options: &Options,
    generated: AgentCard,
) -> Result<AgentCard, Failure> {
    let mut card = match &serve.agent.card_file {
        Some(path) => read_card(path)?,
        None => generated,
    };
    if let Some(name) = &serve.agent.name {
        card.name.clone_from(name);
    }
    if let Some(description) = &serve.agent.description {
        card.description.clone_from(description);
    }
    match &options.access {
        Some(access) => access.declare(&mut card)?,
        // The upstream agent enforces its own schemes.
        None if serve.proxy.forwards_auth() => {}
        None => access::check_open(&card)?,
    }
    // Signatures of the given card don't cover the interfaces added here.
    card.supported_interfaces.clear();
    card.signatures.clear();
    Ok(card)
}

/// The agent of `[exec]`; `None` for another.
/// Errors: a usage failure if the program is missing; an internal failure if there can be no
/// directory for its files.
pub(super) fn exec_agent(serve: &Serve, options: &Options) -> Result<Option<Exec>, Failure> {
    let exec = &serve.exec;
    let agent = match (&exec.command, exec.program.split_first()) {
        (Some(command), _) => Exec::shell(command),
        (None, Some((program, arguments))) => Exec::new(program).args(arguments),
        (None, None) => return Ok(None),
    };
    let chunk = exec.chunk.as_ref().map(|text| text.replace("\\n", "\n").replace("\\t", "\t"));
    let io = match (exec.io, chunk) {
        (Some(Io::Jsonl), _) => exec::Io::JsonLines { strict: exec.strict },
        (None, Some(delimiter)) if !delimiter.is_empty() => exec::Io::Chunks(delimiter),
        (None, None) if !exec.stream_output => exec::Io::Whole,
        (None, _) => exec::Io::Stream,
    };
    let recovery = match exec.recovery {
        ExecRecovery::Fail => Recovery::Fail,
        ExecRecovery::Rerun => Recovery::Rerun,
    };
    let agent = agent
        .with_io(io)
        .with_timeout(exec.timeout.map(|timeout| timeout.0))
        .with_concurrency(exec.concurrency)
        .with_max_waiting(exec.max_waiting)
        .with_ask_timeout(exec.ask_timeout.0)
        .with_authenticated_callers(options.authenticates())
        .with_recovery(recovery)
        .with_stderr_bytes(exec.log_bytes.0)
        .with_stderr_rate(exec.log_rate.0)
        .with_stderr_exposed(exec.expose_stderr);
    let agent = exec.env.iter().fold(agent, Exec::inherit_env);
    let agent = serve.secret_variables.iter().fold(agent, Exec::withhold_env);
    agent.check().map_err(|error| match error {
        CheckError::NotFound(_) => Failure::usage(format!("--exec: {error}")),
        error => Failure::internal(super::chain(&error)),
    })?;
    Ok(Some(agent))
}

fn read_card(path: &Path) -> Result<AgentCard, Failure> {
    let json = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("failed to read {}: {error}", path.display())))?;
    a2a_kit_compat::card::read(&json).map_err(|error| {
        Failure::usage(format!("{} is not an agent card: {error}", path.display()))
    })
}
