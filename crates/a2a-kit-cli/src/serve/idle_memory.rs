//! Returns unused memory to the operating system.

use std::{hint::black_box, thread, time::Duration};

/// How often.
const INTERVAL: Duration = Duration::from_secs(10);

/// Begins to give idle memory back, for as long as the process lives.
///
/// The allocator (mimalloc) purges freed pages a second after they were freed, but only on
/// the way of a thread that frees more pages: a server that has become idle keeps the memory of
/// its busiest moment. A thread that ends purges what is due, whichever thread has freed it, so one
/// is started now and then for nothing else.
pub(super) fn return_regularly() {
    let started = thread::Builder::new().name("idle-memory".to_owned()).spawn(|| {
        loop {
            thread::sleep(INTERVAL);
            purge();
        }
    });
    if let Err(error) = started {
        tracing::warn!(%error, "idle memory is not returned: failed to start a thread");
    }
}

fn purge() {
    // It has to have used the allocator to give anything back when it ends.
    let purged = thread::Builder::new()
        .name("purge".to_owned())
        .spawn(|| drop(black_box(Box::new([0_u8; 64]))));
    if let Ok(purged) = purged {
        let _ended = purged.join();
    }
}
