//! Parses request bodies: large ones off the threads that serve connections.

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
    runtime::Handle,
    sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot},
};

use crate::{read_budget::guarded, serve::Reservation};

/// Maximum size of a body that is parsed and validated inline, in bytes: it takes about a
/// millisecond.
pub const MAX_INLINE_BYTES: usize = 256 << 10;

/// Limits concurrent parsing of larger bodies to half of the processors, which leaves the others to
/// serve connections. Further bodies wait in order of arrival, and count as pending.
static PARSERS: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new((processors() / 2).max(1))));

/// Limits concurrent polls of large requests to the number of processors, so that the serving
/// threads get their share of CPU time.
static WORKERS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(processors())));

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Runs `parse`, which parses a body of `bytes` bytes: inline, or for a large body on a
/// thread of its own when a permit is available.
///
/// # Errors
///
/// Those of `parse`, and [`Internal`](a2a_core::ErrorKind::Internal) if it panics.
///
/// # Cancel safety
///
/// If the future is dropped, a waiting body is not parsed; a parse in progress completes, and holds
/// its permit until then.
pub async fn parse<T: Send + 'static>(
    bytes: usize,
    parse: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if bytes <= MAX_INLINE_BYTES {
        return parse();
    }
    let permit = Arc::clone(&PARSERS).acquire_owned().await.map_err(Error::internal)?;
    on_thread(permit, parse).await?
}

/// Runs `work` on a thread of its own, which ends with it: a thread keeps the memory that it has
/// freed, and those of the blocking thread pool live as long as they are used now and then. Starting
/// one takes some 50 µs, a large body many milliseconds. The permits limit the number of threads.
async fn on_thread<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (done, result) = oneshot::channel();
    let runtime = Handle::current();
    let run = move || {
        let _runtime = runtime.enter();
        // The caller may have gone away. A panic drops the sender.
        let _ = done.send(work());
        drop(permit);
    };
    let thread = thread::Builder::new().name("large-body".to_owned()).spawn(run);
    thread.map_err(|error| {
        Error::unavailable("failed to start a thread for a large request").with_source(error)
    })?;
    result.await.map_err(Error::internal)
}

/// Polls a future on threads of its own, limited to one poll per processor at a time: for
/// requests whose polls are CPU-bound.
///
/// # Errors
///
/// [`Internal`](a2a_core::ErrorKind::Internal) if the future panics.
///
/// # Cancel safety
///
/// If this is dropped, so is the future, after a poll in progress has finished.
pub(crate) async fn offload<F>(future: F) -> Result<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let wake_signal = Arc::new(WakeSignal::default());
    let waker = Waker::from(Arc::clone(&wake_signal));
    let mut future = Box::pin(future);
    loop {
        let waker = waker.clone();
        let permit = Arc::clone(&WORKERS).acquire_owned().await.map_err(Error::internal)?;
        let poll = move || {
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            (future, polled)
        };
        let polled;
        (future, polled) = on_thread(permit, poll).await?;
        if let Poll::Ready(output) = polled {
            return Ok(output);
        }
        wake_signal.0.notified().await;
    }
}

/// Signals that a future has to be polled.
#[derive(Debug, Default)]
struct WakeSignal(Notify);

impl Wake for WakeSignal {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// The memory reservation of a large body, from its last byte until it is parsed. It is in the
/// extensions of the request.
#[derive(Clone, Debug, Default)]
pub struct PendingBody(Arc<Mutex<Option<Reservation>>>);

impl PendingBody {
    /// Attaches the reservation in `extensions` to `body`, the body of that request: it is released
    /// when all clones and slices of `body` are dropped.
    #[must_use]
    pub fn hold(extensions: &Extensions, body: Bytes) -> Bytes {
        match extensions.get::<Self>().and_then(Self::take) {
            Some(reservation) => guarded(body, reservation),
            None => body,
        }
    }

    /// Stores the reservation of a complete body.
    pub(crate) fn put(&self, reservation: Reservation) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reservation);
    }

    fn take(&self) -> Option<Reservation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::RefCell,
        sync::{
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        thread::ThreadId,
    };

    use a2a_core::ErrorKind;
    use futures_util::future::join_all;

    use super::*;

    async fn thread_of(bytes: usize) -> ThreadId {
        parse(bytes, || Ok(thread::current().id())).await.unwrap()
    }

    #[tokio::test]
    async fn large_body_is_parsed_on_another_thread() {
        let here = thread::current().id();
        assert_eq!(thread_of(MAX_INLINE_BYTES).await, here);
        assert_ne!(thread_of(MAX_INLINE_BYTES + 1).await, here);
    }

    #[tokio::test]
    async fn thread_of_a_large_body_ends_with_it() {
        thread_local! {
            // Dropped at the end of the thread.
            static ALIVE: RefCell<Option<mpsc::Sender<()>>> = const { RefCell::new(None) };
        }
        let (alive, ended) = mpsc::channel();
        let parsed = parse(MAX_INLINE_BYTES + 1, move || {
            ALIVE.set(Some(alive));
            Ok(())
        });
        parsed.await.unwrap();
        let ended = ended.recv_timeout(std::time::Duration::from_secs(5));
        assert_eq!(ended, Err(mpsc::RecvTimeoutError::Disconnected));
    }

    #[tokio::test]
    async fn large_bodies_are_parsed_on_at_most_half_of_the_processors() {
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
    async fn offloaded_futures_are_polled_on_at_most_all_processors() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let work = || {
            offload(async {
                for _ in 0..2 {
                    MOST.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::sleep(std::time::Duration::from_millis(5));
                    RUNNING.fetch_sub(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                }
            })
        };
        for done in join_all((0..20).map(|_| work())).await {
            done.unwrap();
        }
        assert!(MOST.load(Ordering::SeqCst) <= processors());
    }

    #[tokio::test]
    async fn offloaded_future_is_polled_again_when_woken() {
        let here = thread::current().id();
        let threads = offload(async {
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
        let panicked = offload(async { panic!("on purpose") }).await;
        assert_eq!(panicked.unwrap_err().kind(), ErrorKind::Internal);
    }

    #[tokio::test]
    async fn panicking_parser_returns_internal_error_and_releases_its_permit() {
        for _ in 0..20 {
            let parsed = parse::<()>(MAX_INLINE_BYTES + 1, || panic!("on purpose")).await;
            assert_eq!(parsed.unwrap_err().kind(), ErrorKind::Internal);
        }
        thread_of(MAX_INLINE_BYTES + 1).await;
    }
}
