//! Sends whose task is not known yet.

use tokio::sync::watch;

/// Identifies the message of a send, by which its task can be found.
#[derive(Clone, Debug)]
pub(crate) struct MessageKey {
    pub(crate) context_id: String,
    pub(crate) message_id: String,
}

/// A send whose task is not known yet.
#[derive(Debug)]
pub(super) struct PendingSend {
    pub(super) key: MessageKey,
    /// Dropped when the send has finished or its task is known; `None` if the client disconnected.
    pub(super) in_progress: Option<watch::Sender<()>>,
}

impl PendingSend {
    pub(super) fn bytes(&self) -> usize {
        self.key.context_id.len() + self.key.message_id.len()
    }
}
