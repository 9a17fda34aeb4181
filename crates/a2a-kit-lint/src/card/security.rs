//! Security schemes and requirements.

use std::collections::BTreeSet;

use a2a_core::v1::{SecurityRequirement, security_scheme::Scheme};

use crate::{
    Edit, Findings, Rule, Subject,
    address::{Address, AddressScope},
    strings::quote,
};

rules! {
    warning UNUSED = "unused-scheme":
        "a security scheme is declared, and no requirement names it; clients send no credentials",
        "add it to securityRequirements, or remove the scheme";
    error UNDECLARED = "undeclared-scheme":
        "a requirement names a security scheme that is not declared; no client can satisfy it",
        "declare it in securitySchemes, or correct the name";
    info EMPTY = "anonymous-access":
        "a requirement names no scheme, so callers may leave out credentials",
        "remove the empty requirement if credentials are mandatory";
    info NONE = "no-security":
        "the card of a remote host declares no security scheme, so anyone may call the agent",
        "declare the schemes that the agent accepts";
    warning QUERY = "api-key-in-query":
        "an API key is sent in the query, which servers and proxies log",
        "accept the key in a header";
    error(fixable) LOCATION = "api-key-location":
        "the location of an API key is neither header, query nor cookie",
        "write header";
    error EXPOSED = "credentials-without-tls":
        "credentials are required for an interface without TLS, where they can be intercepted",
        "serve TLS, or remove the interface";
    warning HTTP = "unknown-http-scheme":
        "the scheme of HTTP authentication is not registered",
        "write bearer, basic or another registered scheme";
    info BASIC = "basic-authentication":
        "passwords are sent with every request (HTTP Basic)",
        "prefer tokens that expire";
}

/// The schemes that IANA registers for HTTP authentication.
const HTTP_SCHEMES: &str = "basic bearer concealed digest dpop gnap hoba mutual negotiate oauth \
    privatetoken scram-sha-256 vapid";

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    requirements(subject, findings);
    let card = &*subject.card;
    if card.security_schemes.is_empty() {
        if subject.scope() == Some(AddressScope::Public) {
            findings.add(&NONE, "", "the card declares no security scheme");
        }
        return;
    }
    for (name, scheme) in &card.security_schemes {
        match &scheme.scheme {
            Some(Scheme::ApiKeySecurityScheme(key)) => {
                let pointer = subject.scheme_pointer(name, "apiKeySecurityScheme/location");
                location(&pointer, name, &key.location, findings);
            }
            Some(Scheme::HttpAuthSecurityScheme(http)) => {
                let pointer = subject.scheme_pointer(name, "httpAuthSecurityScheme/scheme");
                let scheme = http.scheme.to_ascii_lowercase();
                if scheme == "basic" {
                    findings.add(&BASIC, pointer, format!("scheme {} is HTTP Basic", quote(name)));
                } else if !scheme.is_empty() && HTTP_SCHEMES.split(' ').all(|known| known != scheme)
                {
                    let message = format!("unknown HTTP scheme {}", quote(&http.scheme));
                    findings.add(&HTTP, pointer, message);
                }
            }
            _ => {}
        }
    }
    exposed(subject, findings);
}

fn requirements(subject: &Subject<'_>, findings: &mut Findings) {
    let card = &*subject.card;
    let member = if subject.json.get("securityRequirements").is_some() {
        "securityRequirements"
    } else {
        "security"
    };
    let mut used = BTreeSet::new();
    let mut read = |pointer: String, requirement: &SecurityRequirement| {
        if requirement.schemes.is_empty() {
            findings.add(&EMPTY, pointer, "a requirement without a scheme");
            return;
        }
        for name in requirement.schemes.keys() {
            if !card.security_schemes.contains_key(name) {
                let message = format!("scheme {} is not declared", quote(name));
                findings.add(&UNDECLARED, pointer.clone(), message);
            }
            used.insert(name.clone());
        }
    };
    for (index, requirement) in card.security_requirements.iter().enumerate() {
        read(format!("/{member}/{index}"), requirement);
    }
    for (skill, declared) in card.skills.iter().enumerate() {
        for (index, requirement) in declared.security_requirements.iter().enumerate() {
            read(format!("/skills/{skill}/{member}/{index}"), requirement);
        }
    }
    for name in card.security_schemes.keys().filter(|name| !used.contains(*name)) {
        let pointer = subject.scheme_pointer(name, "");
        findings.add(&UNUSED, pointer, format!("no requirement names scheme {}", quote(name)));
    }
}

fn location(pointer: &str, name: &str, location: &str, findings: &mut Findings) {
    match location {
        "query" => {
            findings.add(&QUERY, pointer, format!("scheme {} is in the query", quote(name)));
        }
        "header" | "cookie" | "" => {}
        other => {
            let message = format!("unknown location {}", quote(other));
            let folded = other.trim().to_ascii_lowercase();
            let is_known = matches!(folded.as_str(), "header" | "query" | "cookie");
            let edit = is_known.then_some(Edit::Replace(folded));
            findings.add_with_edit(&LOCATION, pointer, message, edit);
        }
    }
}

/// A client certificate needs TLS itself, so it can't be exposed.
fn exposed(subject: &Subject<'_>, findings: &mut Findings) {
    let card = &*subject.card;
    let is_secret =
        |scheme: &Option<Scheme>| !matches!(scheme, Some(Scheme::MtlsSecurityScheme(_)));
    let mut names = card.security_schemes.iter().filter(|(_, scheme)| is_secret(&scheme.scheme));
    let Some((name, _)) = names.next() else { return };
    for (index, interface) in card.supported_interfaces.iter().enumerate() {
        if Address::of_interface(interface).is_ok_and(|address| address.is_exposed()) {
            let pointer = subject.interface_pointer(index, "url");
            let url = quote(&interface.url);
            let message = format!("credentials of scheme {} in plaintext to {url}", quote(name));
            findings.add(&EXPOSED, pointer, message);
        }
    }
}
