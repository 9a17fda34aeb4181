//! Members of revisions before 1.0.

use crate::{Findings, Rule, Subject};

rules! {
    warning CARD = "legacy-card":
        "the card has the members of an older revision only; clients of 1.0 can't read it",
        "add supportedInterfaces and the other members of 1.0; old members may stay beside them";
    warning MEMBER = "legacy-member":
        "the card has members of 0.3, and lists no interface of that version",
        "list the interfaces of 0.3, or remove the members";
    warning PATH = "legacy-path":
        "the card is served at /.well-known/agent.json only, its path before 0.3",
        "serve the card at /.well-known/agent-card.json too";
}

/// Members of 0.3 that 1.0 does not have.
const MEMBERS: [&str; 6] = [
    "url",
    "preferredTransport",
    "additionalInterfaces",
    "protocolVersion",
    "security",
    "supportsAuthenticatedExtendedCard",
];

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.is_at_legacy_path {
        findings.add(&PATH, "", "the card is at /.well-known/agent.json only");
    }
    if !subject.is_current() {
        let version = subject.version;
        let message = format!("the card has the schema of version {version}");
        let is_draft = version == a2a_core::ProtocolVersion::V1Draft;
        let message = if is_draft { format!("{message} as drafted") } else { message };
        findings.add(&CARD, "", message);
        return;
    }
    let is_older = |version: &str| version.starts_with("0.");
    if subject.card.supported_interfaces.iter().any(|one| is_older(&one.protocol_version)) {
        return;
    }
    for member in MEMBERS.into_iter().filter(|member| subject.json.get(member).is_some()) {
        let message = format!("{member} is a member of 0.3, and no interface has that version");
        findings.add(&MEMBER, format!("/{member}"), message);
    }
}
