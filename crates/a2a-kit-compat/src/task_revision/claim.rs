//! Task ids of 0.1 clients whose tasks are still being created.

use a2a_core::ProtocolVersion;
use a2a_kit_operations::Scope;
use tokio::sync::watch;

use super::{
    TaskRevision, TaskRevisions,
    scope_entries::{Entry, MessageKey, PendingSend, Target},
};

/// The result of claiming an id for a send.
#[derive(Debug)]
pub(crate) enum Claim {
    /// The task exists.
    Known(TaskRevision),
    /// The id is new: this send creates the task.
    New(Claimed),
    /// Another send is creating the task.
    Unresolved(Unresolved),
}

/// An id whose task is being created by another send.
#[derive(Debug)]
pub(crate) struct Unresolved {
    pub(crate) key: MessageKey,
    pub(crate) revision: ProtocolVersion,
    number: u64,
    finished: Option<watch::Receiver<()>>,
}

impl Unresolved {
    fn new(entry: &Entry, send: &PendingSend) -> Self {
        Self {
            key: send.key.clone(),
            revision: entry.revision,
            number: entry.number,
            finished: send.in_progress.as_ref().map(watch::Sender::subscribe),
        }
    }

    /// Whether the send is in progress. If not, its client disconnected before the task was known.
    pub(crate) fn is_in_progress(&self) -> bool {
        self.finished.is_some()
    }

    /// Waits until the send has finished or its task is known.
    pub(crate) async fn finished(&mut self) {
        if let Some(finished) = &mut self.finished {
            // Nothing is ever sent: this fails once the sender is dropped.
            let _ = finished.changed().await;
        }
    }
}

/// The exclusive right to create the task of an id. If dropped without
/// [`release`](Self::release), the id still resolves to the task that the send created: its client
/// may have disconnected.
#[derive(Debug)]
pub(crate) struct Claimed {
    origins: TaskRevisions,
    scope: Scope,
    id: String,
    number: u64,
}

impl Claimed {
    /// Releases the id, if the send created no task.
    pub(crate) fn release(self) {
        self.origins.release(&self.scope, &self.id, self.number);
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        let mut inner = self.origins.lock();
        let entry = inner.scopes.get_mut(&self.scope).and_then(|entries| entries.get_mut(&self.id));
        if let Some(entry) = entry.filter(|entry| entry.number == self.number)
            && let Target::Send(send) = &mut entry.target
        {
            send.in_progress = None;
        }
    }
}

impl TaskRevisions {
    /// Claims an id for a send that may create its task.
    pub(crate) fn claim(
        &self,
        scope: &Scope,
        id: &str,
        revision: ProtocolVersion,
        key: &MessageKey,
    ) -> Claim {
        let mut inner = self.lock();
        if let Some(entry) = inner.entry(scope, id) {
            return match &entry.target {
                Target::Task(task_id) => Claim::Known(TaskRevision {
                    revision: entry.revision,
                    task_id: task_id.to_string(),
                }),
                Target::Send(send) => Claim::Unresolved(Unresolved::new(entry, send)),
            };
        }
        let send = PendingSend { key: key.clone(), in_progress: Some(watch::Sender::new(())) };
        let number = inner.insert(scope, id, revision, Target::Send(send));
        Claim::New(Claimed { origins: self.clone(), scope: scope.clone(), id: id.into(), number })
    }

    /// Finds the send that is creating the task of an id.
    pub(crate) fn unresolved(&self, scope: &Scope, id: &str) -> Option<Unresolved> {
        let inner = self.lock();
        let entry = inner.entry(scope, id)?;
        match &entry.target {
            Target::Send(send) => Some(Unresolved::new(entry, send)),
            Target::Task(_) => None,
        }
    }

    /// Releases an id whose send ended without a known task.
    pub(crate) fn abandon(&self, scope: &Scope, id: &str, unresolved: &Unresolved) {
        self.release(scope, id, unresolved.number);
    }

    fn release(&self, scope: &Scope, id: &str, number: u64) {
        let mut inner = self.lock();
        let is_same = inner
            .entry(scope, id)
            .is_some_and(|entry| entry.number == number && matches!(entry.target, Target::Send(_)));
        if is_same {
            inner.remove(scope, id);
        }
    }
}
