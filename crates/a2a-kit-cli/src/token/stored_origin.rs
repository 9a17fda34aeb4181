//! Origins in the token store.

use std::fmt;

use a2a_kit_client::credentials::Origin;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// An origin that is stored as text, such as `https://agent.example:443`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredOrigin(pub(crate) Origin);

impl fmt::Display for StoredOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for StoredOrigin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StoredOrigin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}
