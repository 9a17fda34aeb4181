//! What the listings may have: so many types, and types of these other crates.

use std::collections::HashSet;

use public_api::PublicApi;

/// The most types that a user of the library crates can meet.
const TYPES: usize = 311;

/// Crates for a purpose of their own, which are counted apart: the most types of each.
const APART: [(&str, usize); 6] = [
    ("a2a-kit-artifacts", 12),
    ("a2a-kit-bench", 12),
    ("a2a-kit-exec", 12),
    ("a2a-kit-lint", 12),
    // Half of them are the requests and events of `ChatModel`, in a module of their own.
    ("a2a-kit-models", 32),
    ("a2a-kit-script", 12),
];

/// Crates whose types occur in public signatures, and why a new major version of them may be one of
/// ours too. Types of any other crate are wrapped.
const OTHER_CRATES: [(&str, &str); 17] = [
    ("alloc", "the standard library"),
    ("core", "the standard library"),
    ("std", "the standard library"),
    ("axum", "routers are axum's, so that they nest in an application"),
    ("axum_core", "the body and the conversions of axum's routers"),
    ("bytes", "the contents of parts and bodies"),
    ("futures_core", "the trait of streams"),
    ("http", "header maps, methods and URIs"),
    ("http_body", "the trait of response bodies"),
    ("prost", "the messages are also Protocol Buffers messages"),
    ("serde_core", "the messages are serializable"),
    ("serde_json", "values of metadata and data parts"),
    ("tokio", "listeners come from the caller"),
    ("tower_service", "middleware and channels are tower services"),
    ("tracing", "spans are handed to the exporter that the application chose"),
    ("tracing_core", "layers are added to the subscriber of the application"),
    ("tracing_subscriber", "layers are added to the subscriber of the application"),
];

/// Other crates that occur in one of ours only, which is an interface to them.
const IN_ONE_CRATE: [(&str, &str, &str); 4] = [
    ("a2a-kit-grpc", "tonic", "its body, which a channel of the caller takes"),
    ("a2a-kit-models", "schemars", "the argument of a tool derives its schema"),
    ("a2a-kit-tls", "rustls", "its configurations are what this crate makes"),
    ("a2a-kit-tls", "rustls_pki_types", "its certificates and keys are what this crate reads"),
];

/// The types of the crates so far.
#[derive(Default)]
pub(super) struct Surface {
    types: usize,
    faults: Vec<String>,
}

impl Surface {
    /// Counts the types of a crate, each once although it may have several paths, and looks for
    /// types of other crates.
    pub(super) fn add(&mut self, name: &str, api: &PublicApi) {
        let mut types = HashSet::new();
        for item in api.items() {
            let line = item.to_string();
            if is_type(&line) {
                types.insert(item.id());
            }
            let foreign = crates_in(&line).find(|other| !is_allowed(name, other));
            if let Some(foreign) = foreign {
                self.faults.push(format!("{name}: a type of the crate {foreign}: {line}"));
            }
        }
        let types = types.len();
        let Some((_, most)) = APART.iter().find(|(apart, _)| *apart == name) else {
            println!("{name:<24}{types:>4} types");
            self.types += types;
            return;
        };
        println!("{name:<24}{types:>4} types, counted apart, at most {most}");
        if types > *most {
            self.faults.push(format!("{name}: {types} public types, at most {most}"));
        }
    }

    /// What is wrong with the crates together.
    pub(super) fn faults(mut self) -> Vec<String> {
        println!("{:<24}{:>4} types, at most {TYPES}", "together", self.types);
        if self.types > TYPES {
            self.faults.push(format!("{} public types, at most {TYPES}", self.types));
        }
        self.faults
    }
}

/// Whether a line of a listing declares a type or a trait.
fn is_type(line: &str) -> bool {
    let mut rest = line;
    while rest.starts_with("#[") {
        rest = rest.split_once("] ").map_or("", |(_, rest)| rest);
    }
    ["pub struct ", "pub enum ", "pub union ", "pub trait ", "pub unsafe trait "]
        .iter()
        .any(|start| rest.starts_with(start))
}

/// The crates with which the paths in a line of a listing begin.
fn crates_in(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("::").filter_map(move |(end, _)| {
        let before = &line[..end];
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let start = before.trim_end_matches(is_part).len();
        let first = &before[start..];
        let begins = !before[..start].ends_with([':', '$', '\'']);
        (begins && first.starts_with(|c: char| c.is_ascii_lowercase())).then_some(first)
    })
}

fn is_allowed(name: &str, other: &str) -> bool {
    let is_ours = other.starts_with("a2a_") || ["crate", "i32", "str"].contains(&other);
    let everywhere = OTHER_CRATES.iter().any(|(allowed, _)| *allowed == other);
    let here = IN_ONE_CRATE.iter().any(|(ours, allowed, _)| *ours == name && *allowed == other);
    is_ours || everywhere || here
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_traits_are_distinguished_from_their_members() {
        assert!(is_type("pub struct a2a_core::Error"));
        assert!(is_type("#[non_exhaustive] #[repr(i32)] pub enum a2a_core::Role"));
        assert!(is_type("pub trait a2a_core::Validate"));
        assert!(!is_type("pub fn a2a_core::Error::kind(&self) -> a2a_core::ErrorKind"));
        assert!(!is_type("impl core::fmt::Debug for a2a_core::Error"));
    }

    #[test]
    fn types_of_crates_that_are_not_in_the_list_are_found() {
        let line = "pub fn a2a_kit_http::Drain::started(&self) -> tokio_util::sync::WaitOwned<'_>";
        let found: Vec<_> = crates_in(line).collect();
        assert_eq!(found, ["a2a_kit_http", "tokio_util"]);
        assert!(!is_allowed("a2a-kit-http", "tokio_util"));
        assert!(is_allowed("a2a-kit-tls", "rustls"));
        assert!(!is_allowed("a2a-kit-http", "rustls"));
        let line = "pub fn f(Self::Item, $crate::forward::A) -> alloc::vec::Vec<http::Uri>";
        assert_eq!(crates_in(line).collect::<Vec<_>>(), ["alloc", "http"]);
    }
}
