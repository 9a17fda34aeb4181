//! The interfaces of an agent, called.

use a2a_core::{AgentCard, ErrorKind};
use a2a_kit_lint::{
    Findings, Subject,
    network::{MISSING_EXTENDED_CARD, REJECTED_VERSION, UNCHECKED, UNREACHABLE, WRONG_BINDING},
    quote,
};

use crate::{agent::Connector, failure::chain};

/// Maximum number of interfaces that are called.
const MAX_INTERFACES: usize = 32;

/// Calls each interface of a card: asks for a task that does not exist, and for the extended card.
pub(super) async fn check(
    card: &AgentCard,
    subject: &Subject<'_>,
    connector: &Connector,
    findings: &mut Findings,
) {
    for index in 0..card.supported_interfaces.len() {
        let pointer = subject.interface_pointer(index, "");
        if index >= MAX_INTERFACES {
            let message = format!("only the first {MAX_INTERFACES} interfaces are called");
            findings.add(&UNCHECKED, pointer, message);
            return;
        }
        interface(subject, card, connector, index, findings).await;
    }
}

async fn interface(
    subject: &Subject<'_>,
    card: &AgentCard,
    connector: &Connector,
    index: usize,
    findings: &mut Findings,
) {
    let interface = &card.supported_interfaces[index];
    let name = format!("{} at {}", interface.protocol_binding, quote(&interface.url));
    let client = match connector.connect(card, index) {
        Ok(client) => client,
        Err(error) => {
            let message = format!("{name}: {}", chain(&error));
            findings.add(&UNCHECKED, subject.interface_pointer(index, ""), message);
            return;
        }
    };
    let id = format!("a2a-lint-{}", uuid::Uuid::new_v4());
    let Err(error) = client.get(id).await else { return };
    let (rule, member) = match error.kind() {
        // Answers of an agent that does not have the task.
        ErrorKind::TaskNotFound
        | ErrorKind::InvalidParams
        | ErrorKind::ExtensionSupportRequired => {
            if card.has_extended_card()
                && let Err(error) = client.extended_card().await
                && error.kind() == ErrorKind::ExtendedAgentCardNotConfigured
            {
                let message = format!("{name}: {}", error.message());
                findings.add(&MISSING_EXTENDED_CARD, "/capabilities/extendedAgentCard", message);
            }
            return;
        }
        ErrorKind::VersionNotSupported => (&REJECTED_VERSION, "protocolVersion"),
        ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => (&UNCHECKED, ""),
        ErrorKind::Unavailable | ErrorKind::DeadlineExceeded => (&UNREACHABLE, "url"),
        _ => (&WRONG_BINDING, "protocolBinding"),
    };
    let pointer = subject.interface_pointer(index, member);
    findings.add(rule, pointer, format!("{name}: {}", chain(&error)));
}
