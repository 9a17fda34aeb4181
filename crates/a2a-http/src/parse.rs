//! Reading what a request body says, off the threads that serve where it is large.

use std::{
    future::Future,
    num::NonZeroUsize,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread,
};

use a2a_core::{Error, Result};
use bytes::Bytes;
use http::Extensions;
use tokio::{
    sync::{Notify, Semaphore},
    task,
};

use crate::serve::Place;

/// Largest body that is parsed and validated where it was received, in bytes: it takes about a
/// millisecond.
pub const MAX_INLINE_BYTES: usize = 256 << 10;

/// How many larger bodies are parsed at a time: half of the processors, so that the others serve.
/// More wait in the order in which they came, and count as bodies that are on their way.
static PARSERS: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new((processors() / 2).max(1))));

/// Limits concurrent polls of large requests to the number of processors, so that the serving
/// threads get their share of CPU time.
static WORKERS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(processors())));

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Runs `parse`, which reads a body of so many bytes: here, or for a large one on a thread that
/// serves nobody, when it is its turn.
///
/// # Errors
///
/// Those of `parse`, and [`Internal`](a2a_core::ErrorKind::Internal) where it panics.
///
/// # Cancel safety
///
/// Where this is dropped, a body that waits is not parsed, and one that is being parsed still
/// counts among those until that is over.
pub async fn parse<T: Send + 'static>(
    bytes: usize,
    parse: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if bytes <= MAX_INLINE_BYTES {
        return parse();
    }
    let permit = Arc::clone(&PARSERS).acquire_owned().await.map_err(Error::internal)?;
    let parsed = task::spawn_blocking(move || {
        let parsed = parse();
        drop(permit);
        parsed
    });
    parsed.await.map_err(Error::internal)?
}

/// Polls a future on the blocking thread pool, limited to one poll per processor at a time: for
/// requests whose polls are CPU-bound.
///
/// # Errors
///
/// [`Internal`](a2a_core::ErrorKind::Internal) where it panics.
///
/// # Cancel safety
///
/// Where this is dropped, the future is dropped too, once a poll that has begun is over.
pub(crate) async fn apart<F>(future: F) -> Result<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut future = Box::pin(future);
    loop {
        let waker = waker.clone();
        let permit = Arc::clone(&WORKERS).acquire_owned().await.map_err(Error::internal)?;
        let polling = task::spawn_blocking(move || {
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            drop(permit);
            (future, polled)
        });
        let polled;
        (future, polled) = polling.await.map_err(Error::internal)?;
        if let Poll::Ready(output) = polled {
            return Ok(output);
        }
        woken.0.notified().await;
    }
}

/// Notes that a future is to be polled.
#[derive(Debug, Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// The place of a large body among those that are on their way, from when it is whole until it is
/// parsed. Requests carry it in their extensions.
#[derive(Clone, Debug, Default)]
pub struct PendingBody(Arc<Mutex<Option<Place>>>);

impl PendingBody {
    /// Has `body`, which was read from a request with these extensions, keep its place until it
    /// is dropped, and with it every copy and part of it.
    #[must_use]
    pub fn hold(extensions: &Extensions, body: Bytes) -> Bytes {
        match extensions.get::<Self>().and_then(Self::take) {
            Some(place) => Bytes::from_owner(Held { body, _place: place }),
            None => body,
        }
    }

    /// Leaves the place of a body that is whole.
    pub(crate) fn put(&self, place: Place) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    fn take(&self) -> Option<Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A body and its place.
struct Held {
    body: Bytes,
    _place: Place,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread::ThreadId,
    };

    use a2a_core::ErrorKind;
    use futures_util::future::join_all;

    use super::*;

    async fn thread_of(bytes: usize) -> ThreadId {
        parse(bytes, || Ok(thread::current().id())).await.unwrap()
    }

    #[tokio::test]
    async fn a_large_body_is_parsed_on_another_thread() {
        let here = thread::current().id();
        assert_eq!(thread_of(MAX_INLINE_BYTES).await, here);
        assert_ne!(thread_of(MAX_INLINE_BYTES + 1).await, here);
    }

    #[tokio::test]
    async fn large_bodies_are_parsed_by_half_of_the_processors_at_most() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let parse = || {
            parse(MAX_INLINE_BYTES + 1, || {
                MOST.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::sleep(std::time::Duration::from_millis(5));
                RUNNING.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            })
        };
        join_all((0..20).map(|_| parse())).await;
        assert!(MOST.load(Ordering::SeqCst) <= (processors() / 2).max(1));
    }

    #[tokio::test]
    async fn futures_apart_are_polled_by_as_many_threads_as_there_are_processors() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let work = || {
            apart(async {
                for _ in 0..2 {
                    MOST.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::sleep(std::time::Duration::from_millis(5));
                    RUNNING.fetch_sub(1, Ordering::SeqCst);
                    task::yield_now().await;
                }
            })
        };
        for done in join_all((0..20).map(|_| work())).await {
            done.unwrap();
        }
        assert!(MOST.load(Ordering::SeqCst) <= processors());
    }

    #[tokio::test]
    async fn a_future_apart_is_polled_again_when_it_is_woken() {
        let here = thread::current().id();
        let threads = apart(async {
            let mut threads = vec![thread::current().id()];
            for _ in 0..3 {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                threads.push(thread::current().id());
            }
            threads
        });
        let threads = threads.await.unwrap();
        assert_eq!(threads.len(), 4);
        assert!(!threads.contains(&here));
        let panicked = apart(async { panic!("on purpose") }).await;
        assert_eq!(panicked.unwrap_err().kind(), ErrorKind::Internal);
    }

    #[tokio::test]
    async fn a_parser_that_panics_is_an_internal_error_and_gives_its_turn_back() {
        for _ in 0..20 {
            let parsed = parse::<()>(MAX_INLINE_BYTES + 1, || panic!("on purpose")).await;
            assert_eq!(parsed.unwrap_err().kind(), ErrorKind::Internal);
        }
        thread_of(MAX_INLINE_BYTES + 1).await;
    }
}
