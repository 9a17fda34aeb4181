//! References to agent cards.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use a2a_core::host;
use a2a_kit_http::uri;
use http::Uri;
use percent_encoding::percent_decode_str;

use crate::{CatalogLocation, DiscoveryError};

/// The well-known path of an agent card (spec §8.2).
pub(crate) const WELL_KNOWN: &str = "/.well-known/agent-card.json";

/// The location of an agent card.
///
/// | Text | Location |
/// |---|---|
/// | `host`, `host:port`, `scheme://host` | `/.well-known/agent-card.json` on that host; `http` for loopback, else `https` |
/// | a URL with a path | `/.well-known/agent-card.json` below it; without a card there, that URL |
/// | the same with a dot in its last segment | that URL; without a card there, `/.well-known/agent-card.json` below it |
/// | the same with a query, or that ends in `.json` | that URL |
/// | `catalog+<URL or file>#<name>` | the entry of that name in a [catalog](CatalogLocation) |
/// | `file://…`, a path that starts with `/`, `./` or `../` | that file |
/// | the name of an existing file that no host can have, or without `/` and with the ending `.json` | that file |
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CardReference {
    /// An HTTP or HTTPS URL.
    Url(Uri),
    /// A local file.
    File(PathBuf),
    /// An entry of a catalog.
    Catalog {
        /// The location of the catalog.
        catalog: CatalogLocation,
        /// The name of the entry.
        name: String,
    },
}

/// The prefix of references to entries of catalogs.
const CATALOG: &str = "catalog+";

impl FromStr for CardReference {
    type Err = DiscoveryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let invalid = |reason: &str| invalid(text, reason);
        if text.is_empty() {
            return Err(invalid("empty reference"));
        }
        if let Some(rest) = text.strip_prefix(CATALOG) {
            if rest.contains("://") {
                // Errors below repeat the text.
                check_user(rest)?;
            }
            let (place, name) = rest
                .rsplit_once('#')
                .filter(|(place, name)| !place.is_empty() && !name.is_empty())
                .ok_or_else(|| invalid("expected catalog+<URL or file>#<name>"))?;
            let name = name.to_owned();
            return match place.parse()? {
                // The path of a catalog is not completed.
                Self::Url(_) => {
                    url(place).map(|url| Self::Catalog { catalog: CatalogLocation::Url(url), name })
                }
                Self::File(path) => {
                    Ok(Self::Catalog { catalog: CatalogLocation::File(path), name })
                }
                Self::Catalog { .. } => Err(invalid("a catalog in a catalog")),
            };
        }
        if let Some(rest) = text.strip_prefix("file://") {
            return match file_path(rest) {
                Some(path) => Ok(Self::File(path)),
                None => Err(invalid("not a local file URL")),
            };
        }
        if is_path(text) {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let url = url(text)?;
        if url.path() == "/" && url.query().is_none() {
            let url = uri::with_path(&url, WELL_KNOWN);
            return Ok(Self::Url(url.map_err(|error| invalid(&error.to_string()))?));
        }
        Ok(Self::Url(url))
    }
}

fn invalid(reference: &str, reason: &str) -> DiscoveryError {
    DiscoveryError::Reference { reference: reference.to_owned(), reason: reason.to_owned() }
}

/// Rejects credentials in a URL: they would be logged, and repeated in errors of this crate.
fn check_user(text: &str) -> Result<(), DiscoveryError> {
    let (_, rest) = text.split_once("://").unwrap_or(("", text));
    if rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@')) {
        return Err(invalid("https://…@…", "credentials are not allowed in a reference"));
    }
    Ok(())
}

/// Parses the URL of a card or a catalog. Without a scheme, `http` is for loopback, else `https`.
fn url(text: &str) -> Result<Uri, DiscoveryError> {
    check_user(text)?;
    let parse = |url: &str| uri::parse(url).map_err(|error| invalid(text, &error.to_string()));
    let url = if text.contains("://") {
        parse(text)?
    } else {
        // The scheme depends on the host, which has to be parsed first.
        let url = parse(&format!("https://{text}"))?;
        let is_local = url.host().is_some_and(host::is_loopback);
        if is_local { parse(&format!("http://{text}"))? } else { url }
    };
    if !matches!(url.scheme_str(), Some("http" | "https")) {
        return Err(invalid(text, "unsupported scheme (expected http, https or file)"));
    }
    Ok(url)
}

impl fmt::Display for CardReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => url.fmt(f),
            Self::File(path) => path.display().fmt(f),
            Self::Catalog { catalog, name } => write!(f, "{CATALOG}{catalog}#{name}"),
        }
    }
}

/// Returns the path in a `file` URL, without its scheme; `None` for another host.
fn file_path(url: &str) -> Option<PathBuf> {
    let path = url.split(['?', '#']).next()?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = path.strip_prefix('/')?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    // An absolute path on Windows starts with a drive.
    Some(if cfg!(windows) { path.as_ref().into() } else { format!("/{path}").into() })
}

fn is_path(text: &str) -> bool {
    let has_drive =
        matches!(text.as_bytes(), [letter, b':', b'\\', ..] if letter.is_ascii_alphabetic());
    has_drive
        || ["/", "./", "../"].iter().any(|start| text.starts_with(start))
        || (!text.contains("://") && !could_be_address(text) && Path::new(text).is_file())
}

/// Returns whether a text can be the address of a host. Such a text never names a file: otherwise the author
/// of the working directory could redirect secrets. No host is called `name.json`.
fn could_be_address(text: &str) -> bool {
    let is_json_file = text.ends_with(".json") && !text.contains(['/', '?', '#']);
    !is_json_file && uri::parse(&format!("https://{text}")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_resolves_to_card_url() {
        for (text, expected) in [
            ("localhost", "http://localhost/.well-known/agent-card.json"),
            (" localhost:8080 ", "http://localhost:8080/.well-known/agent-card.json"),
            ("127.0.0.1:1", "http://127.0.0.1:1/.well-known/agent-card.json"),
            ("[::1]:1", "http://[::1]:1/.well-known/agent-card.json"),
            ("agent.example", "https://agent.example/.well-known/agent-card.json"),
            ("agent.example:8443", "https://agent.example:8443/.well-known/agent-card.json"),
            ("http://agent.example", "http://agent.example/.well-known/agent-card.json"),
            ("https://agent.example/", "https://agent.example/.well-known/agent-card.json"),
            ("https://agent.example/cards/a.json", "https://agent.example/cards/a.json"),
            ("https://agent.example/?agent=a", "https://agent.example/?agent=a"),
            ("localhost:8080/cards/a", "http://localhost:8080/cards/a"),
            ("localhost:443", "http://localhost:443/.well-known/agent-card.json"),
            ("HTTPS://Agent.example:443/a#b", "https://agent.example/a"),
            // Files have these names.
            ("Cargo.toml", "https://cargo.toml/.well-known/agent-card.json"),
            ("src/lib.rs", "https://src/lib.rs"),
        ] {
            let reference: CardReference = text.parse().unwrap();
            assert_eq!(reference, CardReference::Url(expected.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn path_is_parsed_as_file() {
        for (text, path) in [
            ("file:///tmp/card.json", "/tmp/card.json"),
            ("file://localhost/tmp/my%20card.json#x", "/tmp/my card.json"),
            ("/tmp/card.json", "/tmp/card.json"),
            ("./card.json", "./card.json"),
            ("../card.json", "../card.json"),
            ("./Cargo.toml", "./Cargo.toml"),
        ] {
            let reference: CardReference = text.parse().unwrap();
            assert_eq!(reference, CardReference::File(path.into()), "{text}");
        }
    }

    #[test]
    fn only_a_name_that_no_host_has_can_be_that_of_a_file() {
        for (text, expected) in [
            ("agents.example", true),
            ("localhost:8080", true),
            ("[::1]:8080", true),
            ("registry/agents.json", true),
            ("agents.example?x.json", true),
            ("ann@agents.example", true),
            ("card.json", false),
            ("my card", false),
            ("card.v1:json", false),
        ] {
            assert_eq!(could_be_address(text), expected, "{text}");
        }
    }

    #[test]
    fn catalog_entry_is_parsed_with_the_location_as_it_is() {
        for (text, expected) in [
            ("catalog+https://r.example/list.json#one", "catalog+https://r.example/list.json#one"),
            ("catalog+r.example#one", "catalog+https://r.example/#one"),
            ("catalog+localhost:81/l#a b", "catalog+http://localhost:81/l#a b"),
            ("catalog+./list#1.json#one", "catalog+./list#1.json#one"),
        ] {
            let reference: CardReference = text.parse().unwrap();
            assert!(matches!(reference, CardReference::Catalog { .. }), "{text}");
            assert_eq!(reference.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn malformed_reference_is_rejected_with_a_reason() {
        for text in [
            "",
            "  ",
            "ftp://host/card",
            "https://",
            "two words",
            "https://u:p@host",
            "https://u:p@127.1",
            "u:p@a b",
            "file://host/card",
            "catalog+https://r.example/list.json",
            "catalog+https://r.example/list.json#",
            "catalog+#one",
            "catalog+https://u:p@host/list.json#one",
            "catalog+https://u:p@host/list.json",
        ] {
            let error = text.parse::<CardReference>().unwrap_err();
            assert!(matches!(error, DiscoveryError::Reference { .. }), "{text}: {error}");
            assert!(!error.to_string().contains("u:p"), "{error}");
        }
    }
}
