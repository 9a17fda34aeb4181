//! Locations of catalogs: lists of agents by name.

use std::{fmt, path::PathBuf};

use http::Uri;

/// The location of a catalog: a JSON array of objects with a `name`, and either the `url` of a card,
/// which may be any other [`CardReference`](crate::CardReference), or the `card` itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CatalogLocation {
    /// An HTTP or HTTPS URL.
    Url(Uri),
    /// A local file.
    File(PathBuf),
}

impl fmt::Display for CatalogLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => url.fmt(f),
            Self::File(path) => path.display().fmt(f),
        }
    }
}
