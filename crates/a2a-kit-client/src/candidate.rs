//! Candidate interfaces and the credentials for them.

use std::sync::{Arc, OnceLock};

use a2a_kit_auth::client::AgentCredentials;

use crate::SelectedInterface;

/// An interface that the client may use, with the credentials for it.
pub(crate) struct Candidate {
    pub(crate) selected: SelectedInterface,
    pub(crate) credentials: Option<AgentCredentials>,
}

/// The candidate interfaces of a client, and the active one.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) interfaces: Vec<SelectedInterface>,
    /// The credentials for each interface, if the client has credentials.
    pub(crate) credentials: Vec<AgentCredentials>,
    /// The index of the active interface, once one has responded.
    pub(crate) active: Arc<OnceLock<usize>>,
}

impl Candidates {
    pub(crate) fn active_index(&self) -> usize {
        self.active.get().copied().unwrap_or_default()
    }
}
