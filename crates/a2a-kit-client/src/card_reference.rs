//! References to agent cards.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use a2a_core::host;
use url::Url;

use crate::DiscoveryError;

/// The well-known path of an agent card (spec §8.2).
pub(crate) const WELL_KNOWN: &str = "/.well-known/agent-card.json";

/// The location of an agent card.
///
/// | Text | Location |
/// |---|---|
/// | `host`, `host:port`, `scheme://host` | `/.well-known/agent-card.json` on that host; `http` for loopback, else `https` |
/// | a URL with a path | that URL; without a card there, `/.well-known/agent-card.json` below it, unless it has a query or ends in `.json` |
/// | `file://…`, a path that starts with `/`, `./` or `../`, or the name of an existing file | that file |
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CardReference {
    /// An HTTP or HTTPS URL.
    Url(Url),
    /// A local file.
    File(PathBuf),
}

impl FromStr for CardReference {
    type Err = DiscoveryError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let invalid = |reason: &str| DiscoveryError::Reference {
            reference: text.to_owned(),
            reason: reason.to_owned(),
        };
        if text.is_empty() {
            return Err(invalid("empty reference"));
        }
        if text.starts_with("file://") {
            let url = Url::parse(text).map_err(|error| invalid(&error.to_string()))?;
            return match url.to_file_path() {
                Ok(path) => Ok(Self::File(path)),
                Err(()) => Err(invalid("not a local file URL")),
            };
        }
        if is_path(text) {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let mut url = if text.contains("://") {
            Url::parse(text).map_err(|error| invalid(&error.to_string()))?
        } else {
            // The scheme depends on the host, which has to be parsed first.
            let mut url = Url::parse(&format!("https://{text}"))
                .map_err(|error| invalid(&error.to_string()))?;
            if url.host_str().is_some_and(host::is_loopback) && url.set_scheme("http").is_err() {
                return Err(invalid("missing scheme"));
            }
            url
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid("unsupported scheme (expected http, https or file)"));
        }
        if !url.has_host() {
            return Err(invalid("missing host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // They would be logged, and repeated in errors of this crate.
            return Err(DiscoveryError::Reference {
                reference: "https://…@…".to_owned(),
                reason: "credentials are not allowed in a reference".to_owned(),
            });
        }
        url.set_fragment(None);
        if url.path() == "/" && url.query().is_none() {
            url.set_path(WELL_KNOWN);
        }
        Ok(Self::Url(url))
    }
}

impl fmt::Display for CardReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => url.fmt(f),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

fn is_path(text: &str) -> bool {
    let has_drive = {
        let mut characters = text.chars();
        characters.next().is_some_and(|letter| letter.is_ascii_alphabetic())
            && characters.next() == Some(':')
            && characters.next() == Some('\\')
    };
    has_drive
        || ["/", "./", "../"].iter().any(|start| text.starts_with(start))
        || (!text.contains("://") && Path::new(text).is_file())
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
        ] {
            let reference: CardReference = text.parse().unwrap();
            assert_eq!(reference, CardReference::Url(Url::parse(expected).unwrap()), "{text}");
        }
    }

    #[test]
    fn path_is_parsed_as_file() {
        for (text, path) in [
            ("file:///tmp/card.json", "/tmp/card.json"),
            ("/tmp/card.json", "/tmp/card.json"),
            ("./card.json", "./card.json"),
            ("../card.json", "../card.json"),
            ("Cargo.toml", "Cargo.toml"),
        ] {
            let reference: CardReference = text.parse().unwrap();
            assert_eq!(reference, CardReference::File(path.into()), "{text}");
        }
    }

    #[test]
    fn malformed_reference_is_rejected_with_a_reason() {
        for text in ["", "  ", "ftp://host/card", "https://", "two words", "https://u:p@host"] {
            let error = text.parse::<CardReference>().unwrap_err();
            assert!(matches!(error, DiscoveryError::Reference { .. }), "{text}: {error}");
            assert!(!error.to_string().contains("u:p"), "{error}");
        }
    }
}
