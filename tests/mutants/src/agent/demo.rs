//! An engine that knows the words of the demo agent of `a2a serve`.

use std::time::Duration;

use a2a_core::{
    AgentCard, Artifact, Part,
    v1::{AgentSkill, SecurityScheme},
    well_known::Struct,
};
use a2a_kit_http::{WebhookPolicy, Webhooks};
use a2a_kit_operations::{AgentExecutor, BoxError, Engine, RequestContext, TaskUpdater};
use tokio::time::sleep;

/// Time between two chunks of a stream.
const PACE: Duration = Duration::from_millis(50);

/// Creates the engine, with a memory store and webhooks to this machine.
///
/// # Errors
///
/// If the HTTP client of the webhooks cannot be created.
pub fn demo_engine() -> Result<Engine, BoxError> {
    let policy = WebhookPolicy::default().with_allowed("127.0.0.1/8".parse()?).with_http(true);
    let webhooks = Webhooks::new(policy)?.with_payload(a2a_kit_compat::webhook::payload);
    Ok(Engine::builder(card(), Demo).push_sender(webhooks).build())
}

/// The name of the security scheme in the card.
pub(crate) const SCHEME: &str = "token";

fn card() -> AgentCard {
    let card = AgentCard::new("Demo agent", "Shows what agents can do, one word at a time")
        .with_version("1.0.0")
        .with_provider("Example", "https://example.com")
        .with_input_modes(["text/plain", "application/json", "application/octet-stream"])
        .with_output_modes(["text/plain", "application/json", "application/octet-stream"])
        .with_streaming(true)
        .with_security_scheme(SCHEME, SecurityScheme::bearer())
        .requiring(SCHEME);
    ["echo", "stream", "slow", "ask", "auth", "fail", "reject", "message", "file", "data"]
        .into_iter()
        .map(|word| AgentSkill::new(word, word, format!("The word {word}")).with_tags(["demo"]))
        .fold(card, AgentCard::with_skill)
}

#[derive(Debug)]
struct Demo;

impl AgentExecutor for Demo {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        let text = context.text();
        let (word, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if word == "message" {
            updates.reply("A message, and no task").await?;
            return Ok(());
        }
        if word == "reject" {
            updates.reject("Rejected, as you asked").await?;
            return Ok(());
        }
        updates.start().await?;
        match word {
            "echo" => updates.artifact(Artifact::new("echo", rest.to_owned())).await?,
            "stream" => stream(&updates, number(rest, 5)).await?,
            "slow" => slow(&updates, number(rest, 3)).await?,
            "ask" => {
                let answer = updates.ask("What is your name?").await?;
                let text = format!("You said: {}", answer.text());
                updates.artifact(Artifact::new("answer", text)).await?;
            }
            "auth" => {
                updates.require_auth("Authorize this").await?;
                return Ok(());
            }
            "fail" => {
                updates.fail("Failed, as you asked").await?;
                return Ok(());
            }
            "file" => {
                let file = Part::file("file.bin", "application/octet-stream", "a file");
                updates.artifact(Artifact::new("file", file)).await?;
            }
            "data" => {
                let city = Struct::from([("city", "Oslo")]);
                let city = Part::data(city).with_media_type("application/json");
                updates.artifact(Artifact::new("data", city)).await?;
            }
            _ => {
                let parts = context.message().parts.clone();
                updates.artifact(Artifact { parts, ..Artifact::new("echo", "") }).await?;
            }
        }
        updates.complete("Done").await?;
        Ok(())
    }
}

/// The first number of a text.
fn number(text: &str, default: usize) -> usize {
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(default)
}

async fn stream(updates: &TaskUpdater, count: usize) -> Result<(), BoxError> {
    for index in 1..=count {
        let chunk = Artifact::new("stream", format!("chunk {index} of {count}")).with_id("stream");
        match (index == 1, index == count) {
            (true, true) => updates.artifact(chunk).await?,
            (true, false) => updates.begin(chunk).await?,
            (false, true) => updates.append_last(chunk).await?,
            (false, false) => updates.append(chunk).await?,
        }
        sleep(PACE).await;
    }
    Ok(())
}

async fn slow(updates: &TaskUpdater, count: usize) -> Result<(), BoxError> {
    for second in 1..=count {
        sleep(Duration::from_secs(1)).await;
        let text = format!("{second} of {count} seconds");
        updates.status(a2a_core::TaskState::Working, text).await?;
    }
    let text = format!("Worked for {count} seconds");
    updates.artifact(Artifact::new("slow", text)).await?;
    Ok(())
}
