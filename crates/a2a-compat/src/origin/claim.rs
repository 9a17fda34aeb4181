//! Ids that clients of 0.1 chose for tasks that are being made.

use a2a_core::ProtocolVersion;
use a2a_operations::Scope;
use tokio::sync::watch;

use super::{
    Origin, Origins,
    share::{Entry, Target},
};

/// What the id that a client sends to stands for.
#[derive(Debug)]
pub(crate) enum Claim {
    /// A task that exists.
    Known(Origin),
    /// Nothing until now: this send makes the task.
    New(Claimed),
    /// The task that another send is making.
    Unresolved(Unresolved),
}

/// The message of a send, by which the task is found that the send made.
#[derive(Clone, Debug)]
pub(crate) struct MessageKey {
    pub(crate) context_id: String,
    pub(crate) message_id: String,
}

/// A send whose task is not known yet.
#[derive(Debug)]
pub(super) struct PendingSend {
    key: MessageKey,
    /// Dropped when the send is over, or its task is known; `None` where its client is gone.
    underway: Option<watch::Sender<()>>,
}

impl PendingSend {
    pub(super) fn bytes(&self) -> usize {
        self.key.context_id.len() + self.key.message_id.len()
    }
}

/// An id whose task another send is making.
#[derive(Debug)]
pub(crate) struct Unresolved {
    pub(crate) key: MessageKey,
    pub(crate) revision: ProtocolVersion,
    number: u64,
    over: Option<watch::Receiver<()>>,
}

impl Unresolved {
    fn new(entry: &Entry, send: &PendingSend) -> Self {
        Self {
            key: send.key.clone(),
            revision: entry.revision,
            number: entry.number,
            over: send.underway.as_ref().map(watch::Sender::subscribe),
        }
    }

    /// Whether the send goes on. Otherwise its client hung up before the task was known.
    pub(crate) fn is_underway(&self) -> bool {
        self.over.is_some()
    }

    /// Waits until the send is over, or its task is known.
    pub(crate) async fn over(&mut self) {
        if let Some(over) = &mut self.over {
            // Nothing is ever sent: it fails once the sender is dropped.
            let _ = over.changed().await;
        }
    }
}

/// The right to make the task of an id. Dropped without [`release`](Self::release), the id still
/// leads to the task that the send made, for its client may have hung up.
#[derive(Debug)]
pub(crate) struct Claimed {
    origins: Origins,
    scope: Scope,
    id: String,
    number: u64,
}

impl Claimed {
    /// Gives the id back, where the send made no task.
    pub(crate) fn release(self) {
        self.origins.release(&self.scope, &self.id, self.number);
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        let mut inner = self.origins.lock();
        let entry = inner.shares.get_mut(&self.scope).and_then(|share| share.get_mut(&self.id));
        if let Some(entry) = entry.filter(|entry| entry.number == self.number)
            && let Target::Send(send) = &mut entry.target
        {
            send.underway = None;
        }
    }
}

impl Origins {
    /// Claims an id for a send that may make its task.
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
                Target::Task(task_id) => {
                    Claim::Known(Origin { revision: entry.revision, task_id: task_id.to_string() })
                }
                Target::Send(send) => Claim::Unresolved(Unresolved::new(entry, send)),
            };
        }
        let send = PendingSend { key: key.clone(), underway: Some(watch::Sender::new(())) };
        let number = inner.insert(scope, id, revision, Target::Send(send));
        Claim::New(Claimed { origins: self.clone(), scope: scope.clone(), id: id.into(), number })
    }

    /// Finds the send that is making the task of an id.
    pub(crate) fn unresolved(&self, scope: &Scope, id: &str) -> Option<Unresolved> {
        let inner = self.lock();
        let entry = inner.entry(scope, id)?;
        match &entry.target {
            Target::Send(send) => Some(Unresolved::new(entry, send)),
            Target::Task(_) => None,
        }
    }

    /// Gives an id back that no send is making a task for any more.
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
