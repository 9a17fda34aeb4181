//! The card of the agent that the settings name.

use a2a_client::{CardReference, Discovery, DiscoveryError, Document};
use a2a_core::{ErrorKind, ProtocolVersion, Violation};
use http::{HeaderMap, header::AUTHORIZATION};
use serde_json::json;

use super::credential;
use crate::{
    failure::{Code, Failure},
    output::Output,
    settings::{Settings, value},
};

/// Reads the card that the settings name, and says where it was if that is not where cards are.
/// It is asked for without a credential first.
///
/// # Errors
///
/// A failure that tells a bad reference, an absent card, an unreachable host and a bad card
/// apart.
pub(crate) async fn document(settings: &Settings, output: Output) -> Result<Document, Failure> {
    let Some(reference) = &settings.agent_card else {
        return Err(Failure::usage("no agent is named")
            .with_hint("name one with --agent-card (-a) or A2ACLI_AGENT_CARD"));
    };
    let reference: CardReference = reference.parse().map_err(|error| failure(error, settings))?;
    let fetch = async |headers: HeaderMap| {
        let client = settings
            .http()
            .with_connect_timeout(settings.request_timeout)
            .with_request_timeout(settings.request_timeout)
            .with_headers(headers);
        Discovery::new(client)?.with_cache(None).fetch(&reference).await
    };
    let first = fetch(HeaderMap::new()).await;
    let again = match &first {
        Err(DiscoveryError::Denied { challenge: Some(challenge), .. }) => {
            credential::for_challenge(settings, challenge)
        }
        _ => None,
    };
    let answer = match again {
        Some(value) => fetch(HeaderMap::from_iter([(AUTHORIZATION, value)])).await,
        None => first,
    };
    let document = answer.map_err(|error| failure(error, settings))?;
    if document.is_at_legacy_path {
        output.note("the card is at /.well-known/agent.json, where cards were before 0.3");
    }
    Ok(document)
}

/// What it means that a card was not found, or can't be used.
pub(super) fn failure(error: DiscoveryError, settings: &Settings) -> Failure {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    match error {
        DiscoveryError::Reference { .. } => Failure::usage(message)
            .with_hint("name the agent as host:port, by the URL of its card, or by a file"),
        DiscoveryError::File { .. } | DiscoveryError::NotFound(_) => {
            Failure::new(Code::CardNotFound, message)
                .with_hint("check the address; a card elsewhere is named by its whole URL")
        }
        DiscoveryError::Unreachable { .. } | DiscoveryError::Status { status: 502..=504, .. } => {
            Failure::new(Code::Unreachable, message)
                .with_hint("check the address and that the agent is running")
        }
        DiscoveryError::Denied { .. } if settings.has_credential() => {
            Failure::new(Code::AuthFailed, message)
        }
        DiscoveryError::Denied { .. } => Failure::new(Code::CredentialsMissing, message)
            .with_hint("give a credential, for example --bearer or A2ACLI_BEARER"),
        DiscoveryError::Status { .. } => Failure::new(Code::CardNotFound, message),
        DiscoveryError::Invalid(violations) => invalid_card(&violations),
        DiscoveryError::NoCommonBinding(_) => {
            Failure::protocol(ErrorKind::UnsupportedOperation, message)
                .with_hint("see the interfaces with `a2a card get`")
        }
        DiscoveryError::NoCommonVersion(offered) => {
            let failure = Failure::protocol(ErrorKind::VersionNotSupported, message);
            match newest(&offered) {
                Some(version) if settings.version != Some(version) => {
                    failure.with_hint(format!("try --a2a-version {}", value::version_name(version)))
                }
                _ => failure,
            }
        }
        DiscoveryError::Setup(_) => Failure::internal(message),
        // A card that is too large or is none, and what later releases tell apart.
        _ => Failure::new(Code::CardInvalid, message),
    }
}

/// The newest revision among interfaces, each with its version behind its binding.
fn newest(offered: &[String]) -> Option<ProtocolVersion> {
    let version = |offer: &String| value::version(offer.rsplit(' ').next()?).ok();
    offered.iter().filter_map(version).max()
}

/// A card that breaks rules, with every one of them.
pub(crate) fn invalid_card(violations: &[Violation]) -> Failure {
    let listed: Vec<_> = violations
        .iter()
        .map(|violation| format!("{} {}", violation.field, violation.description))
        .collect();
    Failure::new(Code::CardInvalid, format!("the card breaks rules: {}", listed.join("; ")))
        .with_details(json!({ "violations": violations }))
}
