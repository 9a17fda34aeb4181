//! Addresses of gRPC interfaces.

use super::{
    Findings,
    address::{Address, is_grpc},
    rule::Rule,
    strings::quote,
    subject::Subject,
};

const SCHEME: Rule = Rule::warning(
    "grpc-url",
    "the address of a gRPC interface has a scheme or a path, which gRPC libraries can't dial",
    "write host:port",
);
const NO_URL: Rule = Rule::info(
    "grpc-without-scheme",
    "the address of a gRPC interface has no scheme; clients that require URLs (ADK) reject the card",
    "leave gRPC out of the card if such clients call the agent (a2a serve --grpc-in-card never)",
);

pub(super) const RULES: &[&Rule] = &[&SCHEME, &NO_URL];

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for (index, interface) in subject.card().supported_interfaces.iter().enumerate() {
        // Addresses of 0.3 are URLs.
        if !is_grpc(interface) || interface.protocol_version.starts_with("0.") {
            continue;
        }
        let Ok(address) = Address::parse(interface) else { continue };
        let pointer = subject.interface_pointer(index, "url");
        let url = quote(&interface.url);
        if address.has_scheme {
            findings.add(&SCHEME, pointer, format!("gRPC address {url} has a scheme"));
        } else if address.url.path() != "/" || interface.url.ends_with('/') {
            findings.add(&SCHEME, pointer, format!("gRPC address {url} has a path"));
        } else {
            findings.add(&NO_URL, pointer, format!("gRPC address {url} is not a URL"));
        }
    }
}
