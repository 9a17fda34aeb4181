//! Sets of extension URIs, for `A2A-Extensions`.

use std::{collections::BTreeSet, fmt};

/// The requested extensions of a request, or the activated ones of a response (spec §3.2.6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtensionSet(BTreeSet<String>);

impl ExtensionSet {
    /// Creates an empty set.
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Adds the URIs of a header line: comma-separated, spaces trimmed.
    pub fn extend_from_header(&mut self, line: &str) {
        let uris = line.split(',').map(str::trim).filter(|uri| !uri.is_empty());
        self.0.extend(uris.map(str::to_owned));
    }

    /// Adds a URI.
    pub fn insert(&mut self, uri: impl Into<String>) {
        self.0.insert(uri.into());
    }

    /// Returns whether the set contains a URI, by exact match (spec §4.6.3).
    pub fn contains(&self, uri: &str) -> bool {
        self.0.contains(uri)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of URIs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Iterates over the URIs in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for ExtensionSet {
    /// Formats the value of a header line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, uri) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            f.write_str(uri)?;
        }
        Ok(())
    }
}

impl<T: Into<String>> FromIterator<T> for ExtensionSet {
    fn from_iter<I: IntoIterator<Item = T>>(uris: I) -> Self {
        Self(uris.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_spaces_and_duplicates_form_one_set() {
        let mut set = ExtensionSet::new();
        set.extend_from_header(" urn:b , urn:a,,");
        set.extend_from_header("urn:a");
        assert_eq!(set.to_string(), "urn:a,urn:b");
        assert!(set.contains("urn:a") && !set.contains("urn:A"));
    }
}
