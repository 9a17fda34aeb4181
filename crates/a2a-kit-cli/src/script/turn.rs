//! An agent that follows a script, and the message that it handles.

use std::sync::Arc;

use a2a_core::{Artifact, Part, TaskState};
use a2a_kit_http::{WebhookPolicy, tls::ClientTls};
use a2a_kit_operations::{BoxError, RequestContext, TaskUpdater};

use super::{Authorizations, Script};

/// An agent that follows a script.
///
/// An interrupted run continues behind the last step whose outcome is stored.
#[derive(Clone, Debug)]
pub(crate) struct ScriptAgent {
    pub(crate) script: Arc<Script>,
    /// The tasks that wait for `POST /demo/authorize/<task id>`.
    pub(crate) authorizations: Authorizations,
    /// Addresses that `call` may connect to; `None` is any.
    pub(crate) reach: Option<WebhookPolicy>,
    /// The certificates that it trusts there.
    pub(crate) trust: ClientTls,
}

/// The result of a run.
pub(super) type Done = Result<(), BoxError>;

/// A message, and the updates of its task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn<'a> {
    pub(super) agent: &'a ScriptAgent,
    pub(super) context: &'a RequestContext,
    pub(super) updates: &'a TaskUpdater,
}

impl Turn<'_> {
    /// Sets WORKING, unless an interrupted run has.
    pub(super) async fn start(&self) -> Done {
        if !(self.context.is_rerun() && self.context.task().state() == TaskState::Working) {
            self.updates.start().await?;
        }
        Ok(())
    }

    /// The text behind the first word.
    pub(super) fn argument(&self) -> String {
        let text = self.context.text();
        let rest = text.trim_start().split_once(char::is_whitespace).map(|(_, rest)| rest);
        rest.unwrap_or_default().trim().to_owned()
    }
}

/// An artifact of any number of parts.
pub(super) fn with_parts(name: &str, parts: Vec<Part>) -> Artifact {
    let artifact_id = a2a_core::fresh_id();
    Artifact { artifact_id, name: name.to_owned(), parts, ..Artifact::default() }
}
