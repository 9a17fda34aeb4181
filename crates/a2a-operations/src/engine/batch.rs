//! What an executor changes between two yields is written together.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::handle::Handle;

/// How often an executor goes on at once behind a write before others get the thread.
const MAX_ROUNDS: usize = 16;

/// Whether changes of the executor are collected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Batch {
    /// They are written at once.
    #[default]
    Closed,
    /// The executor is being polled: they are written when it yields.
    Open,
    /// The same, and it waits for the write.
    Awaited,
}

/// Polls an executor, and writes what it changed when it yields.
pub(super) struct Batched<'a, F> {
    handle: &'a Handle,
    execution: Pin<&'a mut F>,
}

impl<'a, F: Future> Batched<'a, F> {
    pub(super) fn new(handle: &'a Handle, execution: Pin<&'a mut F>) -> Self {
        Self { handle, execution }
    }
}

impl<F: Future> Future for Batched<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        for _ in 0..MAX_ROUNDS {
            self.handle.lock().batch = Batch::Open;
            let result = self.execution.as_mut().poll(cx);
            let batch = std::mem::take(&mut self.handle.lock().batch);
            if result.is_ready() {
                // How it ended is written with its last changes.
                return result;
            }
            let is_written = self.handle.write();
            if batch != Batch::Awaited || !is_written {
                return Poll::Pending;
            }
        }
        // The last write has woken the executor.
        Poll::Pending
    }
}
