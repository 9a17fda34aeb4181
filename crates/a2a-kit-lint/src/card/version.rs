//! Protocol versions of interfaces, and members of revisions before 1.0.

use a2a_core::ProtocolVersion;

use crate::{Edit, Findings, Rule, Subject, strings::quote};

rules! {
    warning MISSING = "missing-version":
        "an interface has no protocolVersion; clients guess it or reject the interface",
        "add protocolVersion, for example \"1.0\"";
    error FORMAT = "version-format":
        "a protocolVersion is not of the form major.minor",
        "write major.minor, for example 1.0";
    warning(fixable) PATCH = "version-with-patch":
        "a protocolVersion has a patch number; clients that compare exactly reject the interface",
        "remove the patch number: 1.0 instead of 1.0.1";
    warning UNKNOWN = "unknown-version":
        "a protocolVersion is not a published version of the protocol",
        "write 1.0 or 0.3";
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

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    legacy(subject, findings);
    // Older revisions have one version for all interfaces, or none.
    if !subject.is_current() {
        return;
    }
    let interfaces = subject.json["supportedInterfaces"].as_array();
    for (index, interface) in interfaces.into_iter().flatten().enumerate() {
        let pointer = subject.interface_pointer(index, "protocolVersion");
        let written =
            interface.get("protocolVersion").or_else(|| interface.get("protocol_version"));
        let written = written.and_then(|version| version.as_str()).unwrap_or_default();
        if written.is_empty() {
            findings.add(&MISSING, pointer, format!("interface {index} has no protocolVersion"));
            continue;
        }
        let numbers: Vec<_> = written.split('.').collect();
        let is_number =
            |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let are_numbers = numbers.iter().all(is_number);
        match numbers.as_slice() {
            [_, _] if are_numbers => {}
            [major, minor, _] if are_numbers => {
                let message = format!("version {written:?} has a patch number");
                let edit = Edit::Replace(format!("{major}.{minor}"));
                findings.add_with_edit(&PATCH, pointer.clone(), message, edit);
            }
            _ => {
                let written = quote(written);
                findings.add(&FORMAT, pointer, format!("version {written} is not major.minor"));
                continue;
            }
        }
        if written.parse::<ProtocolVersion>().is_err() {
            findings.add(&UNKNOWN, pointer, format!("unknown version {}", quote(written)));
        }
    }
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

fn legacy(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.is_at_legacy_path {
        findings.add(&PATH, "", "the card is at /.well-known/agent.json only");
    }
    if !subject.is_current() {
        let version = subject.version;
        let message = format!("the card has the schema of version {version}");
        let is_draft = version == ProtocolVersion::V1Draft;
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
