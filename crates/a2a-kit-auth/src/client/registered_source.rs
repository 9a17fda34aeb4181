//! The sources of an application.

use std::{fmt, sync::Arc};

use super::CredentialSource;

/// A source, and the name of its scheme unless it is for any.
#[derive(Clone)]
pub(super) struct RegisteredSource {
    pub(super) name: Option<String>,
    pub(super) source: Arc<dyn CredentialSource>,
    /// Distinguishes sources in the cache.
    pub(super) number: u64,
}

impl fmt::Debug for RegisteredSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RegisteredSource").field(&self.name).field(&self.source).finish()
    }
}
