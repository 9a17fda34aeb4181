//! The startup message of a server.

use std::net::{IpAddr, SocketAddr};

use a2a_core::{AgentCard, card::JSONRPC};
use url::{Host, Url};

use crate::{failure::Failure, output::Output};

/// Prints the address, card, bindings, `details` such as the store, and commands to try. JSON-RPC is
/// served at `rpc_path`.
pub(super) fn announce(
    card: &AgentCard,
    scheme: &str,
    address: SocketAddr,
    rpc_path: &str,
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
    // Without a scheme, a loopback address means plaintext.
    let has_rpc = card.supported_interfaces.iter().any(|one| one.protocol_binding == JSONRPC);
    let agent = match scheme {
        // The address in the card may not exist yet.
        _ if has_rpc && names_another_host(card, address.ip()) => {
            format!("-e {base}{rpc_path} --transport jsonrpc")
        }
        "https" => format!("-a {base}"),
        _ => format!("-a {address}"),
    };
    output.text(|text| {
        text.line("Listening", &base);
        text.line("Card", &card_url);
        text.line("Bindings", &bindings.join(", "));
        for (label, place) in details {
            text.line(label, place);
        }
        text.line("Try", &format!("curl -s {card_url}"));
        text.line("Try", &format!("a2a send {agent} {try_text}"));
    })
}

/// Returns whether a client that reads the card calls another host than this machine.
fn names_another_host(card: &AgentCard, own: IpAddr) -> bool {
    let named = card.supported_interfaces.first().and_then(|one| Url::parse(&one.url).ok());
    let is_other = |ip: IpAddr| !ip.is_loopback() && ip != own;
    match named.as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name != "localhost",
        Some(Host::Ipv4(ip)) => is_other(ip.into()),
        Some(Host::Ipv6(ip)) => is_other(ip.into()),
        None => false,
    }
}
