//! The built-in agents: their scripts, and the steps that only code can express.

use std::path::Path;

use a2a_core::{AgentCard, v1::AgentSkill};
use a2a_kit::Server;
use a2a_kit_http::{WebhookPolicy, tls::ClientTls};
use a2a_kit_operations::{Engine, EngineBuilder};
use a2a_kit_script::{Builtins, Script, ScriptError};
use serde_json::json;

use super::call::Relay;
use crate::failure::Failure;

const DEMO: &str = include_str!("demo.toml");
const ECHO: &str = include_str!("echo.toml");

/// The agent that `a2a serve` runs if its settings name no other, as `()` is that of the command. A
/// program for tests runs the command with another one: see [`run`](crate::run).
pub trait DemoAgent {
    /// Replaces the script of the demo agent.
    fn script(&self, demo: Script) -> Script {
        demo
    }

    /// Creates the engine that follows the script.
    fn engine(&self, card: AgentCard, script: Script) -> EngineBuilder {
        Engine::builder(card, script)
    }

    /// Changes the server, whichever agent it serves.
    fn server(&self, server: Server) -> Server {
        server
    }
}

impl DemoAgent for () {}

/// What steps with `builtin` do. Calls are within `reach`, if there is one.
pub(super) fn builtins(reach: Option<WebhookPolicy>, trust: ClientTls) -> Builtins {
    Builtins::new().with("call", Relay { reach, trust })
}

/// The script of a file.
/// Errors: a usage failure with every problem in the file.
pub(super) fn read(path: &Path, builtins: Builtins) -> Result<Script, Failure> {
    builtins.read(path).map_err(|error| invalid(&error))
}

/// The script of the demo agent.
pub(super) fn demo(builtins: Builtins) -> Result<Script, Failure> {
    builtins.parse("demo.toml", DEMO).map_err(|error| invalid(&error))
}

/// The script of the agent that echoes.
pub(super) fn echo() -> Result<Script, Failure> {
    Script::parse("echo.toml", ECHO).map_err(|error| invalid(&error))
}

fn invalid(error: &ScriptError) -> Failure {
    match error {
        ScriptError::Invalid(problems) => Failure::usage(error.to_string())
            .with_hint("docs/scripts.md describes scripts")
            .with_details(json!({ "problems": problems })),
        ScriptError::Unreadable { file, source } => {
            Failure::usage(format!("--script {file}: {source}"))
        }
        error => Failure::usage(format!("--script {error}")),
    }
}

/// The card that authenticated callers get: one skill more.
pub(super) fn extended_card(card: &AgentCard) -> AgentCard {
    let skill = AgentSkill::new("extended", "Extended", "A skill of the extended card only")
        .with_tags(["extended"]);
    card.clone().with_skill(skill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_scripts_are_valid() {
        demo(builtins(None, ClientTls::default())).unwrap();
        echo().unwrap();
    }
}
