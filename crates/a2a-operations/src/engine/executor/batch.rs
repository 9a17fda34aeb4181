//! What an executor changes between two yields is written together.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::engine::{runtime::Handle, task::Batch};

/// How often an executor goes on at once behind a write before others get the thread.
const MAX_ROUNDS: usize = 16;

/// Polls an executor, and writes what it changed when it yields.
pub(in crate::engine) struct Batched<'a, F> {
    handle: &'a Handle,
    execution: Pin<&'a mut F>,
}

impl<'a, F: Future> Batched<'a, F> {
    pub(in crate::engine) fn new(handle: &'a Handle, execution: Pin<&'a mut F>) -> Self {
        Self { handle, execution }
    }
}

impl<F: Future> Future for Batched<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        for _ in 0..MAX_ROUNDS {
            self.handle.quietly(|live| live.changes.batch = Batch::Open);
            let result = self.execution.as_mut().poll(cx);
            let batch = self.handle.quietly(|live| std::mem::take(&mut live.changes.batch));
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
