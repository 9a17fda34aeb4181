//! Why an agent can't be called, as a failure of a command.

use a2a_core::{ErrorKind, ProtocolVersion, Violation};
use a2a_kit_client::{DiscoveryError, Transport, credentials::CredentialError};
use serde_json::json;

use crate::{
    connection_hint::connection_hint,
    failure::{Code, Failure, chain},
    settings::{Settings, value},
};

/// Converts an error of discovery, interface selection or client setup.
pub(crate) fn discovery_failure(error: &DiscoveryError, settings: &Settings) -> Failure {
    let message = chain(error);
    match error {
        DiscoveryError::Reference { reference, .. } if reference.starts_with("catalog+") => {
            Failure::usage(message).with_hint(
                "name an entry behind #; a name that the catalog lacks, such as #?, lists its entries",
            )
        }
        DiscoveryError::Reference { .. } => Failure::usage(message)
            .with_hint("name the agent as host:port, by the URL of its card, or by a file"),
        DiscoveryError::NotInCatalog { names, .. } => Failure::new(Code::CardNotFound, message)
            .with_hint(format!("the catalog has: {}", names.join(", "))),
        DiscoveryError::InvalidCatalog { .. } => Failure::new(Code::CardInvalid, message)
            .with_hint(r#"a catalog is a JSON array of {"name", "url"} or {"name", "card"}"#),
        DiscoveryError::NotFound(_) | DiscoveryError::Status { .. }
            if settings.transport == [Transport::Grpc] =>
        {
            Failure::new(Code::CardNotFound, message).with_hint(
                "for an agent without a card, give the address of its gRPC with --endpoint (-e)",
            )
        }
        DiscoveryError::NotFound(url)
            if !url.path().ends_with(".json") && url.query().is_none() =>
        {
            let below = format!("{message}, nor at /.well-known/agent-card.json below it");
            Failure::new(Code::CardNotFound, below)
                .with_hint("check the address; for a card elsewhere, give its complete URL")
        }
        DiscoveryError::File { .. } | DiscoveryError::NotFound(_) => {
            Failure::new(Code::CardNotFound, message)
                .with_hint("check the address; for a card elsewhere, give its complete URL")
        }
        DiscoveryError::WebPage(_) => Failure::new(Code::CardNotFound, message).with_hint(
            "name the agent by its host alone, or ask its operator for the URL of its card",
        ),
        DiscoveryError::Unreachable { source, .. } => {
            Failure::new(Code::Unreachable, message).with_hint(connection_hint(source))
        }
        DiscoveryError::Status { status: 502..=504, .. } => {
            Failure::new(Code::Unreachable, message)
                .with_hint("check the address and that the agent is running")
        }
        DiscoveryError::Denied { is_authenticated: true, .. } => {
            Failure::new(Code::AuthFailed, message)
                .with_hint("check that the credential is valid and has not expired")
        }
        DiscoveryError::Denied { .. } if settings.has_credential() => {
            Failure::new(Code::CredentialsMissing, message).with_hint(
                "the credential was not sent, because the server did not ask for its kind: \
                 --card-auth sends it with the first request",
            )
        }
        DiscoveryError::Denied { .. } => Failure::new(Code::CredentialsMissing, message)
            .with_hint("give a credential, for example --bearer or A2ACLI_BEARER"),
        DiscoveryError::Status { location: Some(location), .. } => {
            Failure::new(Code::CardNotFound, message).with_hint(format!(
                "the server redirects to {location}: name the agent by that URL"
            ))
        }
        DiscoveryError::Status { .. } => Failure::new(Code::CardNotFound, message)
            .with_hint("check the address; add --debug for the raw answer"),
        DiscoveryError::Invalid(violations) => invalid_card(violations),
        DiscoveryError::NoCommonBinding(_) => Failure::protocol(
            ErrorKind::UnsupportedOperation,
            message,
        )
        .with_hint(
            "this tool speaks JSONRPC, HTTP+JSON and GRPC; see the interfaces with `a2a card get`",
        ),
        DiscoveryError::NoCommonVersion(offered) => {
            let failure = Failure::protocol(ErrorKind::VersionNotSupported, message);
            match newest(offered) {
                Some(version) if settings.version != Some(version) => {
                    failure.with_hint(format!("try --a2a-version {}", value::version_name(version)))
                }
                _ => failure,
            }
        }
        // Allowing the origin would not help: the connection is plaintext.
        DiscoveryError::Credentials(CredentialError::CrossOrigin { card, interface })
            if card.is_encrypted() && !interface.is_encrypted() =>
        {
            let message = format!("credentials are not sent in plaintext to {interface}");
            Failure::new(Code::AuthFailed, message)
                .with_hint("choose another interface with --transport")
        }
        DiscoveryError::Credentials(CredentialError::CrossOrigin { card, interface }) => {
            let message =
                format!("credentials for {card}, the card's origin, are not sent to {interface}");
            Failure::new(Code::AuthFailed, message)
                .with_hint(format!("to send them, add --credential-origin {interface}"))
        }
        DiscoveryError::Exposed(_) | DiscoveryError::Credentials(CredentialError::Plaintext(_)) => {
            Failure::new(Code::AuthFailed, message)
                .with_hint("choose another interface with --transport")
        }
        DiscoveryError::Credentials(_) => Failure::new(Code::AuthFailed, message),
        DiscoveryError::Setup(_) => Failure::internal(message),
        DiscoveryError::NotACard(error) => {
            let violations = match error.violations() {
                [] => vec![Violation::new("", error.message())],
                violations => violations.to_vec(),
            };
            Failure::new(Code::CardInvalid, message)
                .with_details(json!({ "violations": violations }))
                .with_hint("check the address, and the document there with `a2a card lint`")
        }
        // A document that is too large or not a card, and variants of later releases.
        _ => Failure::new(Code::CardInvalid, message),
    }
}

/// The newest version among interfaces, each with its version after its binding.
fn newest(offered: &[String]) -> Option<ProtocolVersion> {
    let version = |offer: &String| value::version(offer.rsplit(' ').next()?).ok();
    offered.iter().filter_map(version).max()
}

/// A card that violates the protocol, with every violation.
pub(crate) fn invalid_card(violations: &[Violation]) -> Failure {
    let listed: Vec<_> = violations
        .iter()
        .map(|violation| format!("{} {}", violation.field, violation.description))
        .collect();
    Failure::new(Code::CardInvalid, format!("invalid agent card: {}", listed.join("; ")))
        .with_details(json!({ "violations": violations }))
}
