//! The agent under test: the first word of a message is a command; it waits at gates that the test
//! opens.

use std::{sync::Arc, time::Duration};

use a2a_core::{
    Artifact, Message, Part, TaskState,
    v1::{AgentCard, AgentExtension},
    well_known::{Struct, Value},
};
use a2a_kit_http::{WebhookPolicy, Webhooks};
use a2a_kit_operations::{
    AgentError, AgentExecutor, BoxError, Engine, EngineConfig, MemoryStore, PushConfig,
    RequestContext, Store, TaskUpdater,
};
use tokio::sync::Semaphore;

/// The optional extension that the agent offers.
pub const EXTENSION: &str = "urn:example:optional";

/// The configuration of the agent.
#[derive(Clone, Debug)]
pub struct Options {
    pub streaming: bool,
    pub push: bool,
    /// Whether webhooks use the revision in which they were registered instead of 1.0.
    pub webhooks_of_all_revisions: bool,
    pub extended_card: ExtendedCard,
    pub required_extension: Option<&'static str>,
    pub config: EngineConfig,
}

/// The extended card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendedCard {
    Absent,
    PromisedOnly,
    Present,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            streaming: true,
            push: true,
            webhooks_of_all_revisions: false,
            extended_card: ExtendedCard::Present,
            required_extension: None,
            config: EngineConfig::default()
                .with_cancel_grace(Duration::from_millis(100))
                .with_push(PushConfig::default().with_backoff(Duration::from_millis(20))),
        }
    }
}

/// Opens the gates of the agent.
#[derive(Clone, Debug)]
pub struct Control(Arc<Semaphore>);

impl Default for Control {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl Control {
    /// Opens the next gate, or the one at which an executor waits.
    pub fn open(&self) {
        self.0.add_permits(1);
    }

    async fn pass(&self) {
        self.0.acquire().await.expect("never closed").forget();
    }
}

/// Creates the agent with a memory store.
pub fn engine(options: &Options, control: &Control) -> Engine {
    engine_on(options, control, Arc::new(MemoryStore::new()))
}

/// Creates the agent with a store.
pub fn engine_on(options: &Options, control: &Control, store: Arc<dyn Store>) -> Engine {
    let optional = AgentExtension::new(EXTENSION, "does nothing");
    let mut card = AgentCard::new("Test", "An agent under test")
        .with_input_modes(["text/plain", "application/json", "image/*", "application/octet-stream"])
        .with_streaming(options.streaming)
        .with_push_notifications(false)
        .with_extension(optional);
    if let Some(uri) = options.required_extension {
        let required = AgentExtension { required: true, ..AgentExtension::new(uri, "needed") };
        card = card.with_extension(required);
    }
    card = card.with_extended_card(options.extended_card == ExtendedCard::PromisedOnly);
    let extended = AgentCard::new("Test", "An agent under test, with more to tell");
    // Clients would generate keys, which fixtures could not contain.
    let mut builder = Engine::builder(card, Scripted(control.clone()))
        .shared_store(store)
        .without_idempotency_key();
    if options.extended_card == ExtendedCard::Present {
        builder = builder.extended_card(extended);
    }
    if options.push {
        let loopback = "127.0.0.1/8".parse().expect("an address range");
        let policy = WebhookPolicy::default().with_allowed(loopback).with_http(true);
        let webhooks = Webhooks::new(policy).expect("a sender");
        builder = builder.push_sender(match options.webhooks_of_all_revisions {
            true => webhooks.with_payload(a2a_kit_compat::webhook::payload),
            false => webhooks,
        });
    }
    builder.config(options.config.clone()).build()
}

#[derive(Debug)]
struct Scripted(Control);

impl AgentExecutor for Scripted {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let text = context.text();
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        match word {
            "message" => updates.reply(rest.to_owned()).await?,
            "parts" => {
                let parts = context.message().parts[1..].to_vec();
                let artifact = Artifact { parts, ..Artifact::new("parts", "") };
                updates.artifact(artifact).await?;
                updates.complete(()).await?;
            }
            "context" => {
                updates.artifact(Artifact::new("context", Part::data(seen(&context)))).await?;
                updates.complete(()).await?;
            }
            "stream" => {
                updates.start().await?;
                let count: usize = rest.parse().unwrap_or(0);
                for index in 1..=count {
                    let chunk = Artifact::new("count", index.to_string()).with_id("count");
                    match (index == 1, index == count) {
                        (true, false) => updates.begin(chunk).await?,
                        (true, true) => updates.artifact(chunk).await?,
                        (false, false) => updates.append(chunk).await?,
                        (false, true) => updates.append_last(chunk).await?,
                    }
                }
                updates.complete("counted").await?;
            }
            "gate" => {
                updates.start().await?;
                self.0.pass().await;
                updates.artifact(Artifact::new("gate", "open")).await?;
                updates.complete("through").await?;
            }
            "ask" => {
                let answer = updates.ask("which?").await?;
                updates.complete(format!("so {}", answer.text())).await?;
            }
            "input" => updates.require_input("more?").await?,
            "more" => updates.complete("enough").await?,
            "auth" => {
                updates.require_auth("sign in, please").await?;
                self.0.pass().await;
                updates.complete("signed in").await?;
            }
            "hang" => {
                updates.start().await?;
                std::future::pending::<()>().await;
            }
            "wait" => {
                updates.start().await?;
                context.cancelled().await;
            }
            "reject" => updates.reject("not that").await?,
            "fail" => return Err(AgentError::new("no such thing").into()),
            "leak" => return Err(std::io::Error::other("the password is 1234").into()),
            "panic" => panic!("the password is 1234"),
            _ => {
                updates.artifact(Artifact::new("echo", text)).await?;
                updates.status(TaskState::Completed, Message::agent("done")).await?;
            }
        }
        Ok(())
    }
}

/// The call context as seen by the executor.
fn seen(context: &RequestContext) -> Struct {
    let strings = |items: Vec<String>| items.into_iter().map(Value::from).collect::<Vec<_>>();
    let extensions = context.call().extensions.iter().map(str::to_owned).collect();
    let parameters = &context.call().parameters;
    let parameters = parameters.iter().map(|(key, value)| (key.clone(), value.clone()));
    Struct::from([
        ("acceptedOutputModes", Value::from(strings(context.accepted_output_modes().to_vec()))),
        ("extensions", Value::from(strings(extensions))),
        ("parameters", Value::Object(parameters.collect())),
        ("metadata", context.metadata().cloned().map_or(Value::Null, Value::Object)),
        ("version", Value::from(context.call().version.to_string())),
    ])
}
