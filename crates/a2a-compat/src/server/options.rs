//! The options of the servers.

use std::time::Duration;

use a2a_http::Options;

use crate::{Revisions, TaskOrigins};

/// Options of the servers for older revisions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Enabled revisions. Default: all.
    pub revisions: Revisions,
    /// Options of the binding of 1.0, whose limits also apply here.
    pub binding: Options,
    /// The revisions in which tasks were created; shared by all servers of an agent.
    pub task_origins: TaskOrigins,
    /// Timeout after which `tasks/send` of 0.1, which has no non-blocking mode, returns the task in
    /// its current state. Default: 60 s.
    pub legacy_send_timeout: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            revisions: Revisions::default(),
            binding: Options::default(),
            task_origins: TaskOrigins::default(),
            legacy_send_timeout: Duration::from_secs(60),
        }
    }
}

impl ServerOptions {
    /// Sets the enabled revisions.
    #[must_use]
    pub fn with_revisions(mut self, revisions: Revisions) -> Self {
        self.revisions = revisions;
        self
    }

    /// Sets the task origins, to share them with other servers of the same agent.
    #[must_use]
    pub fn with_task_origins(mut self, task_origins: TaskOrigins) -> Self {
        self.task_origins = task_origins;
        self
    }

    /// Sets the timeout of `tasks/send` of 0.1.
    #[must_use]
    pub fn with_legacy_send_timeout(mut self, timeout: Duration) -> Self {
        self.legacy_send_timeout = timeout;
        self
    }

    /// Sets the options of the binding of 1.0.
    #[must_use]
    pub fn with_binding(mut self, binding: Options) -> Self {
        self.binding = binding;
        self
    }
}
