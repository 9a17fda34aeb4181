//! Entries of catalogs.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{CardReference, CatalogLocation, DiscoveryError, Document};

/// What a catalog has for an agent.
#[derive(Debug)]
pub(crate) enum CatalogEntry {
    /// Where its card is.
    Reference(CardReference),
    /// Its card.
    Card(Box<Document>),
}

#[derive(Deserialize)]
struct Row<'a> {
    name: String,
    url: Option<String>,
    #[serde(borrow)]
    card: Option<&'a RawValue>,
}

/// Maximum number of names that an error lists.
const MAX_NAMES: usize = 20;

impl CatalogLocation {
    /// Finds an agent in the content of this catalog.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::NotInCatalog`] and [`DiscoveryError::InvalidCatalog`].
    pub(crate) fn find(&self, json: &[u8], name: &str) -> Result<CatalogEntry, DiscoveryError> {
        let invalid =
            |reason: String| DiscoveryError::InvalidCatalog { catalog: self.to_string(), reason };
        let json = a2a_core::json::response_text(json);
        let rows: Vec<Row<'_>> =
            serde_json::from_str(&json).map_err(|error| invalid(error.to_string()))?;
        let Some(row) = rows.iter().find(|row| row.name == name) else {
            return Err(DiscoveryError::NotInCatalog {
                catalog: self.to_string(),
                name: name.to_owned(),
                names: rows.into_iter().map(|row| row.name).take(MAX_NAMES).collect(),
            });
        };
        match (&row.url, row.card) {
            (Some(url), None) => match (self, url.parse()?) {
                (_, CardReference::Catalog { .. }) => {
                    Err(invalid(format!("{name:?} refers to another catalog")))
                }
                // A server must not choose which files are read here.
                (Self::Url(_), CardReference::File(_)) => {
                    Err(invalid(format!("{name:?} refers to a local file")))
                }
                (_, reference) => Ok(CatalogEntry::Reference(reference)),
            },
            (None, Some(card)) => {
                let card = Bytes::copy_from_slice(card.get().as_bytes());
                Ok(CatalogEntry::Card(Box::new(Document::read(card)?)))
            }
            _ => Err(invalid(format!("{name:?} must have either a url or a card"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"[
        {"name": "one", "url": "agents.example", "tags": []},
        {"name": "two", "card": {"name": "B",  "version": "1"}},
        {"name": "file", "url": "./card.json"},
        {"name": "nested", "url": "catalog+https://a.example/list.json#one"},
        {"name": "both", "url": "a.example", "card": {}},
        {"name": "neither"},
        {"name": "malformed", "url": "two words"}
    ]"#;

    fn remote() -> CatalogLocation {
        CatalogLocation::Url("https://registry.example/agents.json".parse().unwrap())
    }

    fn find(location: &CatalogLocation, name: &str) -> Result<CatalogEntry, DiscoveryError> {
        location.find(JSON.as_bytes(), name)
    }

    #[test]
    fn entry_is_a_reference_or_the_card_as_written() {
        let CatalogEntry::Reference(reference) = find(&remote(), "one").unwrap() else {
            panic!("not a reference")
        };
        assert_eq!(reference.to_string(), "https://agents.example/.well-known/agent-card.json");
        let CatalogEntry::Card(card) = find(&remote(), "two").unwrap() else { panic!("no card") };
        assert_eq!(card.json, r#"{"name": "B",  "version": "1"}"#);
        let local = CatalogLocation::File("agents.json".into());
        assert!(matches!(
            find(&local, "file").unwrap(),
            CatalogEntry::Reference(CardReference::File(_))
        ));
    }

    #[test]
    fn unusable_entry_is_rejected_with_the_reason() {
        for (name, expected) in [
            ("file", "local file"),
            ("nested", "another catalog"),
            ("both", "either a url or a card"),
            ("neither", "either a url or a card"),
            ("malformed", "two words"),
            ("three", "no agent \"three\" in catalog https://registry.example/agents.json"),
        ] {
            let error = find(&remote(), name).unwrap_err();
            assert!(error.to_string().contains(expected), "{name}: {error}");
        }
        for json in ["{}", "<html>", r#"[{"url": "a.example"}]"#] {
            let error = remote().find(json.as_bytes(), "one").unwrap_err();
            assert!(matches!(error, DiscoveryError::InvalidCatalog { .. }), "{json}: {error}");
        }
    }
}
