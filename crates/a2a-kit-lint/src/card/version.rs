//! Protocol versions of interfaces.

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
}

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
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
