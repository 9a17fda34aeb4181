//! URLs and bindings of interfaces.

use std::collections::HashSet;

use a2a_core::{card, v1::AgentInterface};

use crate::{
    Edit, Findings, Rule, Subject,
    address::{self, Address, AddressScope, BINDINGS, is_grpc},
    strings::quote,
};

rules! {
    error INVALID = "invalid-url":
        "the URL of an interface can't be parsed, or has a scheme that the binding does not have",
        "write an absolute https URL, or host:port for gRPC";
    error UNROUTABLE = "unroutable-url":
        "an interface has the unspecified address (0.0.0.0 or [::]), which only servers listen on",
        "write the host name that clients use; with a2a serve, set --public-url";
    error LOOPBACK = "loopback-url":
        "the card of a remote host lists an interface at localhost, which is the machine of the client",
        "write the host name that clients use; with a2a serve, set --public-url";
    warning PRIVATE = "private-url":
        "the card of a public host lists an interface in a private network",
        "write the public host name";
    warning PLAINTEXT = "plaintext-url":
        "an interface beyond loopback has no TLS, which production requires",
        "serve TLS, and write https; for gRPC host:port, grpcs or https";
    error USER = "credentials-in-url":
        "the URL of an interface has a user name or a password, which anyone can read",
        "remove them, and declare a security scheme";
    warning QUERY = "query-in-url":
        "the URL of an interface has a query or a fragment; clients append paths to it, or drop it",
        "remove the query and the fragment";
    info ORIGIN = "other-origin":
        "an interface has another origin than the card; clients may not send credentials there",
        "serve the card and the interfaces from one origin";
    warning(fixable) DUPLICATE = "duplicate-interface":
        "two interfaces have the same URL, binding, version and tenant",
        "remove one of them";
    warning(fixable) BINDING = "binding-spelling":
        "a binding is spelled unlike the specification; most clients compare exactly",
        "write JSONRPC, HTTP+JSON or GRPC";
    warning UNKNOWN = "unknown-binding":
        "a binding is neither JSONRPC, HTTP+JSON, GRPC nor the URI of a custom binding",
        "write one of the three, or a URI";
    warning GRPC_SCHEME = "grpc-url":
        "the address of a gRPC interface has a scheme or a path, which gRPC libraries can't dial",
        "write host:port";
    info GRPC_NO_SCHEME = "grpc-without-scheme":
        "the address of a gRPC interface has no scheme; clients that require URLs (ADK) reject the card",
        "leave gRPC out of the card if such clients call the agent (a2a serve --grpc-in-card never)";
}

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let mut seen = HashSet::new();
    for (index, interface) in subject.card.supported_interfaces.iter().enumerate() {
        let AgentInterface { url, protocol_binding, protocol_version, tenant } = interface;
        binding(subject, index, interface, findings);
        if !seen.insert((url, protocol_binding, protocol_version, tenant)) && subject.is_current() {
            let message =
                format!("duplicate interface {protocol_binding} {protocol_version} at {url}");
            let pointer = subject.interface_pointer(index, "");
            findings.add_with_edit(&DUPLICATE, pointer, message, Edit::Remove);
        }
        // Missing URLs are violations of the schema, and custom bindings define their own.
        if !url.is_empty() && (address::binding(protocol_binding).is_some() || url.contains("://"))
        {
            url_of(subject, index, interface, findings);
        }
        grpc(subject, index, interface, findings);
    }
}

fn url_of(
    subject: &Subject<'_>,
    index: usize,
    interface: &AgentInterface,
    findings: &mut Findings,
) {
    let url = quote(&interface.url);
    let pointer = subject.interface_pointer(index, "url");
    let address = match Address::of_interface(interface) {
        Ok(address) => address,
        Err(reason) => {
            findings.add(&INVALID, pointer, format!("invalid URL {url}: {reason}"));
            return;
        }
    };
    if address.has_credentials() {
        let host = address.host();
        findings.add(&USER, pointer.clone(), format!("credentials in the URL for {host}"));
    }
    if address.url.query().is_some() || interface.url.contains('#') {
        findings.add(&QUERY, pointer.clone(), format!("query or fragment in {url}"));
    }
    match (address.scope(), subject.scope()) {
        (AddressScope::Unspecified, _) => {
            findings.add(&UNROUTABLE, pointer, format!("unspecified address in {url}"));
            return;
        }
        (AddressScope::Loopback, Some(AddressScope::Private | AddressScope::Public)) => {
            findings.add(&LOOPBACK, pointer.clone(), format!("loopback address in {url}"));
        }
        (AddressScope::Private, Some(AddressScope::Public)) => {
            findings.add(&PRIVATE, pointer.clone(), format!("private address in {url}"));
        }
        _ => {}
    }
    if address.is_exposed() {
        findings.add(&PLAINTEXT, pointer.clone(), format!("no TLS at {url}"));
    }
    if let Some(card) = subject.source.as_ref().filter(|card| !address.has_origin_of(card)) {
        let message = format!("{address} is not {card}, the origin of the card");
        findings.add(&ORIGIN, pointer, message);
    }
}

fn binding(
    subject: &Subject<'_>,
    index: usize,
    interface: &AgentInterface,
    findings: &mut Findings,
) {
    let written = interface.protocol_binding.as_str();
    // A missing binding is a violation of the schema; older revisions have their own members.
    if BINDINGS.contains(&written) || written.is_empty() || !subject.is_current() {
        return;
    }
    let pointer = subject.interface_pointer(index, "protocolBinding");
    match meant(written) {
        Some(meant) => {
            let message = format!("binding {} instead of {meant:?}", quote(written));
            let edit = Edit::Replace(meant.to_owned());
            findings.add_with_edit(&BINDING, pointer, message, edit);
        }
        None if is_grpc(interface) || is_uri(written) => {}
        None => findings.add(&UNKNOWN, pointer, format!("unknown binding {}", quote(written))),
    }
}

/// The binding that a misspelled name was meant to be.
fn meant(written: &str) -> Option<&'static str> {
    let is_letter = |c: &char| c.is_ascii_alphanumeric();
    let letters: String = written.chars().filter(is_letter).collect::<String>().to_lowercase();
    Some(match letters.as_str() {
        "jsonrpc" | "jsonrpc2" | "jsonrpc20" => card::JSONRPC,
        "httpjson" | "httpandjson" | "rest" | "http" | "jsonhttp" => card::HTTP_JSON,
        "grpc" => card::GRPC,
        _ => return None,
    })
}

fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        !scheme.is_empty() && scheme.chars().all(is_plain) && !rest.is_empty()
    })
}

fn grpc(subject: &Subject<'_>, index: usize, interface: &AgentInterface, findings: &mut Findings) {
    // Addresses of 0.3 are URLs.
    if !is_grpc(interface) || interface.protocol_version.starts_with("0.") {
        return;
    }
    let Ok(address) = Address::of_interface(interface) else { return };
    let pointer = subject.interface_pointer(index, "url");
    let url = quote(&interface.url);
    if address.has_scheme {
        findings.add(&GRPC_SCHEME, pointer, format!("gRPC address {url} has a scheme"));
    } else if address.url.path() != "/" || interface.url.ends_with('/') {
        findings.add(&GRPC_SCHEME, pointer, format!("gRPC address {url} has a path"));
    } else {
        findings.add(&GRPC_NO_SCHEME, pointer, format!("gRPC address {url} is not a URL"));
    }
}
