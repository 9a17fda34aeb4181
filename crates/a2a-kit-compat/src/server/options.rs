//! The options of the servers.

use std::time::Duration;

use a2a_kit_http::BindingOptions;
use derive_setters::Setters;

use crate::{Revisions, TaskRevisions};

/// Options of the servers for older revisions.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct ServerOptions {
    /// Enabled revisions. Default: all.
    pub revisions: Revisions,
    /// Options of the binding of 1.0, whose limits also apply here.
    pub binding: BindingOptions,
    /// The revisions in which tasks were created; shared by all servers of an agent.
    pub task_revisions: TaskRevisions,
    /// Timeout after which `tasks/send` of 0.1, which has no non-blocking mode, returns the task in
    /// its current state. Default: 60 s.
    pub legacy_send_timeout: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            revisions: Revisions::default(),
            binding: BindingOptions::default(),
            task_revisions: TaskRevisions::default(),
            legacy_send_timeout: Duration::from_secs(60),
        }
    }
}
