//! Buffered writing of lines by a separate thread.

use std::{
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// Maximum size of pending lines, in bytes; further lines are dropped and counted.
const MAX_PENDING: usize = 1 << 20;

/// How long the thread batches lines, to save wake-ups and system calls under load.
const BATCH_DELAY: Duration = Duration::from_millis(5);

/// Timeout of the flush at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Delay after a failed write.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Maximum size of a buffer that is reused, in bytes.
const MAX_REUSED: usize = 64 << 10;

/// Accepts lines without blocking.
#[derive(Clone)]
pub(crate) struct LineWriter {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pending: Vec<u8>,
    /// Lines dropped since the last batch.
    dropped: u64,
    is_closed: bool,
    /// Whether the thread has ended.
    is_done: bool,
}

/// Reports the number of dropped lines, by returning a line for the same file or elsewhere.
pub(crate) type ReportDropped = fn(u64) -> Option<String>;

impl LineWriter {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// If the thread can't be started.
    pub(crate) fn start(
        thread: &str,
        sink: impl Write + Send + 'static,
        report: ReportDropped,
    ) -> io::Result<Self> {
        let lines = Self { shared: Arc::default() };
        let writer = lines.clone();
        thread::Builder::new()
            .name(thread.to_owned())
            .spawn(move || writer.write_until_closed(sink, report))?;
        Ok(lines)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds whole lines, and returns whether they were accepted.
    pub(crate) fn add(&self, lines: &[u8]) -> bool {
        let was_empty = {
            let mut state = self.lock();
            if state.is_closed || state.pending.len() + lines.len() > MAX_PENDING {
                state.dropped += 1;
                return false;
            }
            let was_empty = state.pending.is_empty();
            state.pending.extend_from_slice(lines);
            was_empty
        };
        if was_empty {
            self.shared.changed.notify_all();
        }
        true
    }

    /// Flushes pending lines, blocking for some seconds at most. Later lines are discarded.
    pub(crate) fn shut_down(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        self.shared.changed.notify_all();
        let is_writing = |state: &mut State| !state.is_done;
        let _state = self.shared.changed.wait_timeout_while(state, FLUSH_TIMEOUT, is_writing);
    }

    fn write_until_closed(&self, mut sink: impl Write, report: ReportDropped) {
        let mut lines = Vec::new();
        let mut is_failing = false;
        while let Some(dropped) = self.next(&mut lines) {
            if dropped > 0
                && let Some(line) = report(dropped)
            {
                lines.extend_from_slice(line.as_bytes());
            }
            match sink.write_all(&lines) {
                Ok(()) => is_failing = false,
                // Logged once per outage.
                Err(error) if !is_failing => {
                    is_failing = true;
                    let thread = thread::current();
                    tracing::error!(%error, thread = thread.name(), "log write failed");
                }
                Err(_) => thread::sleep(RETRY_DELAY),
            }
            if lines.capacity() > MAX_REUSED {
                lines = Vec::new();
            }
        }
        self.lock().is_done = true;
        self.shared.changed.notify_all();
    }

    /// Waits for lines, and returns the number of dropped ones; `None` after the last batch.
    fn next(&self, lines: &mut Vec<u8>) -> Option<u64> {
        lines.clear();
        let Shared { changed, .. } = &*self.shared;
        let is_idle = |state: &mut State| state.pending.is_empty() && !state.is_closed;
        let is_open = |state: &mut State| !state.is_closed;
        let state =
            changed.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
        let (mut state, _) = changed
            .wait_timeout_while(state, BATCH_DELAY, is_open)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut state.pending, lines);
        let dropped = std::mem::take(&mut state.dropped);
        (!lines.is_empty() || !state.is_closed).then_some(dropped)
    }
}

/// For the log formatter, which writes whole lines.
impl Write for LineWriter {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        if !self.add(lines) {
            metrics::counter!("a2a_log_dropped_total").increment(1);
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

a2a_core::debug_fields!(LineWriter(..));

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Records writes, each of which waits for a signal.
    struct Slow {
        go_on: mpsc::Receiver<()>,
        written: Arc<Mutex<Vec<Vec<u8>>>>,
    }

    impl Write for Slow {
        fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
            self.go_on.recv().map_err(io::Error::other)?;
            self.written.lock().unwrap().push(lines.to_vec());
            Ok(lines.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn report(dropped: u64) -> Option<String> {
        Some(format!("{dropped} dropped\n"))
    }

    #[test]
    fn pending_lines_are_batched_and_a_blocked_sink_does_not_block() {
        let (go_on, told) = mpsc::channel();
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = Slow { go_on: told, written: Arc::clone(&written) };
        let lines = LineWriter::start("test", sink, report).unwrap();
        assert!(lines.add(b"first\n"));
        while !lines.lock().pending.is_empty() {
            thread::yield_now();
        }
        // The thread is blocked in its first write now.
        let line = [b'x'; 1 << 10];
        for number in 0..1_030 {
            assert_eq!(lines.add(&line), number < 1_024, "{number}");
        }
        assert_eq!(lines.lock().pending.len(), MAX_PENDING);
        go_on.send(()).unwrap();
        go_on.send(()).unwrap();
        lines.shut_down();
        let written = written.lock().unwrap();
        assert_eq!(written.len(), 2);
        assert_eq!(written[0], b"first\n");
        assert_eq!(written[1].len(), MAX_PENDING + b"6 dropped\n".len());
        assert!(written[1].ends_with(b"6 dropped\n"));
        assert!(!lines.add(b"late\n"), "no lines are accepted after shutdown");
    }

    #[test]
    fn shutdown_times_out() {
        let (_go_on, told) = mpsc::channel();
        let sink = Slow { go_on: told, written: Arc::default() };
        let lines = LineWriter::start("test", sink, report).unwrap();
        lines.add(b"first\n");
        lines.shut_down();
        assert!(!lines.lock().is_done);
    }
}
