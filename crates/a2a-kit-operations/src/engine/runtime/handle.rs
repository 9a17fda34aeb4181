//! Reference-counted handles to active tasks, and waiting for changes.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
};

use a2a_core::{Error, Result, v1::Task};

use crate::engine::{runtime::Entry, task::LiveTask};

/// Keeps an entry in the registry while it is in use.
pub(crate) struct Handle(Arc<Entry>);

impl Handle {
    /// Wraps an entry whose handle the registry has counted.
    pub(crate) fn new(entry: Arc<Entry>) -> Self {
        Self(entry)
    }

    /// Returns the task as visible to callers, and the position of its newest event: from the
    /// store if that may be ahead of the entry.
    pub(crate) async fn newest(&self) -> Result<Option<(Arc<Task>, u64)>> {
        self.inner.task(&self.scope, &self.task_id).await
    }

    /// Returns the same, or the error for a task that does not exist.
    pub(crate) async fn newest_or_error(&self) -> Result<(Arc<Task>, u64)> {
        self.newest().await?.ok_or_else(|| Error::task_not_found(&self.task_id))
    }

    /// Waits until the entry shows what the store had when this was called.
    pub(crate) async fn catch_up_if_behind(&self) -> Result<()> {
        let (is_current, version) = {
            let live = self.lock();
            let is_current = !live.is_stored() || self.inner.current(&live).is_some();
            (is_current, live.storing_version())
        };
        match version {
            _ if is_current => Ok(()),
            Some(version) => {
                let is_written = |live: &LiveTask| live.storing_version() != Some(version);
                self.wait(|live| is_written(live).then_some(())).await;
                Ok(())
            }
            None => self.catch_up().await,
        }
    }

    /// Waits until `ready` returns a value.
    pub(crate) fn wait<T, F>(&self, ready: F) -> Wait<'_, F>
    where
        F: FnMut(&LiveTask) -> Option<T> + Unpin,
    {
        Wait { entry: &self.0, ready, slot: None }
    }
}

impl std::ops::Deref for Handle {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.0
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.handles.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.inner.entries.release(self);
    }
}

a2a_core::debug_fields!(Handle { task_id, .. });

/// See [`Handle::wait`].
#[derive(Debug)]
pub(crate) struct Wait<'a, F> {
    entry: &'a Entry,
    ready: F,
    slot: Option<usize>,
}

impl<T, F: FnMut(&LiveTask) -> Option<T> + Unpin> Future for Wait<'_, F> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let mut locked = this.entry.lock();
        let (live, watchers) = locked.watched();
        match (this.ready)(live) {
            Some(value) => Poll::Ready(value),
            None => {
                // Registered under the same lock as the check, so no change can slip in between.
                watchers.waiters.register(&mut this.slot, cx.waker());
                this.entry.note_wait();
                Poll::Pending
            }
        }
    }
}

impl<F> Drop for Wait<'_, F> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.entry.lock().watched().1.waiters.forget(slot);
        }
    }
}
