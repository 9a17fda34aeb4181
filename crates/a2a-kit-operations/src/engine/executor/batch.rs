//! Batches the changes that an executor makes between two yields into one write.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::engine::runtime::Handle;

/// How often an executor resumes directly after a write before it yields the thread.
const MAX_ROUNDS: usize = 16;

/// Polls an executor, and writes its changes when it yields.
pub(crate) struct Batched<'a, F> {
    handle: &'a Handle,
    execution: Pin<&'a mut F>,
}

impl<'a, F: Future> Batched<'a, F> {
    pub(crate) fn new(handle: &'a Handle, execution: Pin<&'a mut F>) -> Self {
        Self { handle, execution }
    }
}

impl<F: Future> Future for Batched<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        for _ in 0..MAX_ROUNDS {
            let Self { handle, execution } = &mut *self;
            let (result, waits) = handle.batch(|| execution.as_mut().poll(cx));
            if result.is_ready() {
                // The outcome is written together with the last changes.
                return result;
            }
            if !handle.write_batch() || !waits {
                return Poll::Pending;
            }
        }
        // The write has woken the executor.
        Poll::Pending
    }
}
