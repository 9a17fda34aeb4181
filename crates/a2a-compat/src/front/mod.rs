//! The older revisions on the wire: what stands before an agent.

mod alias;
pub(crate) mod common;
mod extended_card;
mod jsonrpc;
mod patience;
mod rest;
pub(crate) mod stream;

pub use extended_card::extended_card;
pub use jsonrpc::jsonrpc;
pub use rest::rest;

use std::{sync::Arc, time::Duration};

use a2a_core::ProtocolVersion;
use a2a_http::Options;

use crate::{Dialect, Origins, Revisions, v0_1::V0_1, v0_3::V0_3, v1_draft::V1Draft};

/// How the older revisions are served.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FrontOptions {
    /// Which revisions are served. Default: all.
    pub revisions: Revisions,
    /// What the current binding is served with.
    pub binding: Options,
    /// What is remembered of tasks; shared between the fronts of one agent.
    pub origins: Origins,
    /// How long `tasks/send` of 0.1, which has no word for not waiting, waits for the task before
    /// it answers with what there is. Default: 60 s.
    pub patience: Duration,
}

impl Default for FrontOptions {
    fn default() -> Self {
        Self {
            revisions: Revisions::default(),
            binding: Options::default(),
            origins: Origins::default(),
            patience: Duration::from_secs(60),
        }
    }
}

impl FrontOptions {
    /// Sets which revisions are served.
    #[must_use]
    pub fn with_revisions(mut self, revisions: Revisions) -> Self {
        self.revisions = revisions;
        self
    }

    /// Shares what is remembered of tasks with other fronts of the same agent.
    #[must_use]
    pub fn with_origins(mut self, origins: Origins) -> Self {
        self.origins = origins;
        self
    }

    /// Sets how long `tasks/send` of 0.1 waits.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets what the current binding is served with.
    #[must_use]
    pub fn with_binding(mut self, binding: Options) -> Self {
        self.binding = binding;
        self
    }
}

/// What a revision says in JSON; `None` for the current one.
pub(crate) fn dialect(revision: ProtocolVersion) -> Option<Arc<dyn Dialect>> {
    match revision {
        ProtocolVersion::V0_1 => Some(Arc::new(V0_1)),
        ProtocolVersion::V0_2 | ProtocolVersion::V0_3 => Some(Arc::new(V0_3)),
        ProtocolVersion::V1Draft => Some(Arc::new(V1Draft)),
        ProtocolVersion::V1_0 => None,
    }
}
