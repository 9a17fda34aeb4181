//! Capabilities and extensions.

use std::collections::HashSet;

use a2a_core::v1::AgentInterface;

use crate::{
    Edit, Findings, Rule, Subject,
    address::{Address, AddressScope},
    strings::quote,
};

rules! {
    warning EXTENDED = "extended-card-without-security":
        "the card announces an extended card for authenticated callers, and declares no security scheme",
        "declare the schemes that the extended card needs, or set extendedAgentCard to false";
    warning CONTRADICTION = "contradicting-capability":
        "a member of an older revision contradicts a capability",
        "give both the same value";
    info PUSH = "push-without-security":
        "the card of a remote agent offers push notifications and declares no security scheme, so \
     anyone can make the agent call URLs",
        "declare a security scheme";
    error NO_URI = "extension-without-uri":
        "an extension has no URI, by which clients activate it",
        "add the URI that the extension's specification defines";
    warning NOT_A_URI = "extension-uri-format":
        "the URI of an extension is not absolute",
        "write the complete URI";
    warning(fixable) DUPLICATE = "duplicate-extension":
        "an extension is listed twice",
        "remove one entry";
    info REQUIRED = "required-extension":
        "an extension is required, so clients that don't know it can't call the agent",
        "make the extension optional if the agent works without it";
}

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let card = &*subject.card;
    let is_open = card.security_schemes.is_empty();
    if card.has_extended_card() && is_open {
        let message = "extendedAgentCard is true, and there is no security scheme";
        findings.add(&EXTENDED, "/capabilities/extendedAgentCard", message);
    }
    if card.can_push() && is_open && is_remote(subject, &card.supported_interfaces) {
        let message = "pushNotifications is true, and there is no security scheme";
        findings.add(&PUSH, "/capabilities/pushNotifications", message);
    }
    let older = "supportsAuthenticatedExtendedCard";
    if let Some(written) = subject.json[older].as_bool()
        && subject.is_current()
        && written != card.has_extended_card()
    {
        let own = card.has_extended_card();
        let message = format!("{older} is {written}, and capabilities.extendedAgentCard is {own}");
        findings.add(&CONTRADICTION, format!("/{older}"), message);
    }
    extensions(subject, findings);
}

fn is_remote(subject: &Subject<'_>, interfaces: &[AgentInterface]) -> bool {
    let is_remote = |scope: AddressScope| scope > AddressScope::Loopback;
    subject.scope().is_none_or(is_remote)
        && interfaces
            .iter()
            .any(|one| Address::of_interface(one).is_ok_and(|one| is_remote(one.scope())))
}

fn extensions(subject: &Subject<'_>, findings: &mut Findings) {
    let mut seen = HashSet::new();
    for (index, extension) in subject.card.extensions().iter().enumerate() {
        let pointer = format!("/capabilities/extensions/{index}");
        let uri = quote(&extension.uri);
        if extension.uri.is_empty() {
            findings.add(&NO_URI, pointer, format!("extension {index} has no URI"));
            continue;
        }
        if !seen.insert(&extension.uri) {
            let message = format!("duplicate extension {uri}");
            findings.add_with_edit(&DUPLICATE, pointer, message, Edit::Remove);
            continue;
        }
        if !extension.uri.contains(':') || extension.uri.contains(char::is_whitespace) {
            let message = format!("{uri} is not an absolute URI");
            findings.add(&NOT_A_URI, format!("{pointer}/uri"), message);
        }
        if extension.required {
            let message = format!("extension {uri} is required");
            findings.add(&REQUIRED, format!("{pointer}/required"), message);
        }
    }
}
