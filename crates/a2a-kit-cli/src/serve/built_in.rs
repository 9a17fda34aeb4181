//! The built-in agents: their scripts, and the steps that only code can express.

use std::path::Path;

use a2a_core::{AgentCard, v1::AgentSkill};
use a2a_kit_http::{WebhookPolicy, tls::ClientTls};
use a2a_kit_script::{Builtins, Script, ScriptError};
use serde_json::json;

use super::{call::Relay, client_parse::ParseResponse};
use crate::{failure::Failure, settings::serve::Profile};

const DEMO: &str = include_str!("demo.toml");
const CONFORMANCE: &str = include_str!("conformance.toml");
const ECHO: &str = include_str!("echo.toml");

/// What steps with `builtin` do. Calls are within `reach`, if there is one.
pub(super) fn builtins(reach: Option<WebhookPolicy>, trust: ClientTls) -> Builtins {
    Builtins::new().with("call", Relay { reach, trust }).with("parse_response", ParseResponse)
}

/// The script of a file.
///
/// # Errors
///
/// A usage failure with every problem in the file.
pub(super) fn read(path: &Path, builtins: Builtins) -> Result<Script, Failure> {
    builtins.read(path).map_err(|error| invalid(&error))
}

/// The script of a built-in agent.
///
/// # Errors
///
/// None: a test reads every built-in script.
pub(super) fn of_profile(
    profile: Profile,
    completes: bool,
    builtins: &Builtins,
) -> Result<Script, Failure> {
    let parse = |file, text| builtins.clone().parse(file, text).map_err(|error| invalid(&error));
    let conformance = parse("conformance.toml", CONFORMANCE)?;
    Ok(match profile {
        Profile::Conformance if completes => conformance.completing(),
        Profile::Conformance | Profile::Bench => conformance,
        // Suites may run against the demo agent too.
        Profile::Demo => conformance.or_else(parse("demo.toml", DEMO)?),
    })
}

/// The script of the agent that echoes.
///
/// # Errors
///
/// None: a test reads every built-in script.
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
        let builtins = builtins(None, ClientTls::default());
        for profile in [Profile::Demo, Profile::Conformance, Profile::Bench] {
            for completes in [false, true] {
                of_profile(profile, completes, &builtins).unwrap();
            }
        }
        echo().unwrap();
    }
}
