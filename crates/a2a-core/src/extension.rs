//! Sets of extension URIs, as they travel in `A2A-Extensions`.

use std::{collections::BTreeSet, fmt};

/// The extensions that a request asks for, or that an answer says were used (spec §3.2.6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtensionSet(BTreeSet<String>);

impl ExtensionSet {
    /// Creates an empty set.
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Adds the URIs of one header line: separated by commas, blanks trimmed.
    pub fn extend_from_header(&mut self, line: &str) {
        let uris = line.split(',').map(str::trim).filter(|uri| !uri.is_empty());
        self.0.extend(uris.map(str::to_owned));
    }

    /// Adds a URI.
    pub fn insert(&mut self, uri: impl Into<String>) {
        self.0.insert(uri.into());
    }

    /// Returns whether the URI is in the set; the match is exact (spec §4.6.3).
    pub fn contains(&self, uri: &str) -> bool {
        self.0.contains(uri)
    }

    /// Returns whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many URIs are in the set.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Goes through the URIs in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for ExtensionSet {
    /// Writes the value of one header line.
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
    fn several_lines_with_blanks_and_repeats_make_one_set() {
        let mut set = ExtensionSet::new();
        set.extend_from_header(" urn:b , urn:a,,");
        set.extend_from_header("urn:a");
        assert_eq!(set.to_string(), "urn:a,urn:b");
        assert!(set.contains("urn:a") && !set.contains("urn:A"));
    }
}
