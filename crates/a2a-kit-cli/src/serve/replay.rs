//! Serving a recording of an agent.

use std::{fs::File, io::BufReader, sync::Arc};

use a2a_core::AgentCard;
use a2a_kit_gateway::{Recording, Replay};
use a2a_kit_operations::Agent;

use super::{chain, engine::within_capabilities, proxy::Upstream};
use crate::{failure::Failure, settings::serve::Serve};

/// Reads the recording; `None` if none is served.
/// Errors: a usage failure that names the file, and the line that is no entry of a recording.
pub(super) fn open(serve: &Serve) -> Result<Option<Upstream>, Failure> {
    let Some(path) = &serve.agent.replay_file else {
        return if serve.agent.replay_immediately {
            Err(Failure::usage("--replay-immediately is only for --replay"))
        } else {
            Ok(None)
        };
    };
    let place = path.display().to_string();
    let failure = |text: String| {
        Failure::usage(format!("--replay {place}: {text}"))
            .with_hint("`a2a serve --proxy <agent> --record <file>` records an agent")
    };
    let file = File::open(path).map_err(|error| failure(error.to_string()))?;
    let recording =
        Recording::read(BufReader::new(file)).map_err(|error| failure(chain(&error)))?;
    let mut card = within_capabilities(serve, recorded_card(&recording));
    // Credentials are not recorded, so there are none to compare with.
    card.security_schemes.clear();
    card.security_requirements.clear();
    card.skills.iter_mut().for_each(|skill| skill.security_requirements.clear());
    let place = format!("{place} ({} calls)", recording.len());
    let replay = Replay::new(recording);
    let replay = if serve.agent.replay_immediately { replay.immediately() } else { replay };
    let agent: Arc<dyn Agent> = Arc::new(replay);
    let agent = Box::new(move |_| agent);
    let address = String::new();
    Ok(Some(Upstream { agent, card, probed: None, label: "Recording", place, address }))
}

fn recorded_card(recording: &Recording) -> AgentCard {
    recording.card().cloned().unwrap_or_else(|| {
        AgentCard::new("Recording", "Answers from a recording")
            .with_streaming(true)
            .with_push_notifications(true)
            .with_extended_card(true)
    })
}
