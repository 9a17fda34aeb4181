//! The startup message of a server.

use std::net::SocketAddr;

use a2a_core::AgentCard;

use crate::{
    failure::Failure,
    output::{Output, Text},
};

/// Prints the address, card, bindings, `details` such as the store, and commands to try.
pub(super) fn announce(
    card: &AgentCard,
    scheme: &str,
    address: SocketAddr,
    details: &[(&'static str, String)],
    output: Output,
) -> Result<(), Failure> {
    let base = format!("{scheme}://{address}");
    let card_url = format!("{base}/.well-known/agent-card.json");
    // Older revisions have the same addresses.
    let newest = card.supported_interfaces.first().map(|one| one.protocol_version.as_str());
    let bindings: Vec<_> = card
        .supported_interfaces
        .iter()
        .filter(|interface| Some(interface.protocol_version.as_str()) == newest)
        .map(|interface| format!("{} {}", interface.protocol_binding, interface.url))
        .collect();
    let try_text = if card.skills.iter().any(|skill| skill.id == "stream") {
        "\"stream 5\" --stream"
    } else {
        "hello"
    };
    let mut text = Text::new();
    text.line("Listening", &base);
    text.line("Card", &card_url);
    text.line("Bindings", &bindings.join(", "));
    for (label, place) in details {
        text.line(label, place);
    }
    text.line("Try", &format!("curl -s {card_url}"));
    // Without a scheme, a loopback address means plaintext.
    let reference = if scheme == "https" { base } else { address.to_string() };
    text.line("Try", &format!("a2a send -a {reference} {try_text}"));
    output.text(&text)
}
