//! The stderr of commands: a limited number of escaped lines in the log, and optionally the tail
//! for callers.

use std::sync::Arc;

use a2a_kit_operations::rate::{Rate, Rates};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::output;

/// Maximum logged bytes of a line; the rest is omitted.
const MAX_LINE: usize = 1 << 10;
/// Minimum cost of a line, in bytes: short lines cost the log more than their text.
const MIN_COST: usize = 64;
/// Maximum bytes of stderr for the caller.
const TAIL: usize = 4 << 10;

/// The handling of stderr.
#[derive(Clone, Debug)]
pub(crate) struct StderrPolicy {
    /// Maximum logged bytes per command.
    max_logged: usize,
    /// Rate limit of logged lines, across all commands.
    lines: Arc<Rates<()>>,
    /// Whether callers get the last 4 KiB if the command fails.
    exposed: bool,
}

impl StderrPolicy {
    /// Logs at most `max_logged` bytes per command, and lines at most at `rate`.
    pub(crate) fn new(max_logged: usize, rate: Rate, exposed: bool) -> Self {
        Self { max_logged, lines: Arc::new(Rates::new(rate, 2)), exposed }
    }

    /// Reads stderr to its end, logs it, and returns the text for the caller.
    pub(super) async fn read(&self, mut stderr: impl AsyncRead + Unpin) -> String {
        let mut log = Log::new(self);
        let mut tail = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            log.take(&buffer[..count]);
            if self.exposed {
                tail.extend_from_slice(&buffer[..count]);
                tail.drain(..tail.len().saturating_sub(TAIL));
            }
        }
        String::from_utf8_lossy(&tail).into_owned()
    }
}

/// Logs the stderr of one command. Dropping it logs how much was omitted.
#[derive(Debug)]
struct Log<'a> {
    policy: &'a StderrPolicy,
    /// An incomplete line.
    line: Vec<u8>,
    /// Remaining bytes of the limit.
    left: usize,
    omitted_bytes: u64,
    omitted_lines: u64,
}

impl<'a> Log<'a> {
    fn new(policy: &'a StderrPolicy) -> Self {
        let left = policy.max_logged;
        Self { policy, line: Vec::new(), left, omitted_bytes: 0, omitted_lines: 0 }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.extend(&bytes[..end]);
            self.end_line();
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = MAX_LINE - self.line.len();
        let (kept, omitted) = bytes.split_at(bytes.len().min(room));
        self.line.extend_from_slice(kept);
        self.omitted_bytes += omitted.len() as u64;
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.trim_ascii().is_empty() {
            return;
        }
        // Dropped lines must be cheap.
        if self.left < MIN_COST || self.policy.lines.check(()).is_err() {
            return self.omit(&line);
        }
        let text = String::from_utf8_lossy(&line);
        let text = output::escaped(text.trim_end());
        let cost = text.len().max(MIN_COST);
        let Some(left) = self.left.checked_sub(cost) else { return self.omit(&line) };
        self.left = left;
        tracing::info!(stderr = %text, "command stderr");
    }

    fn omit(&mut self, line: &[u8]) {
        self.omitted_bytes += line.len() as u64;
        self.omitted_lines += 1;
    }
}

impl Drop for Log<'_> {
    fn drop(&mut self) {
        self.end_line();
        if self.omitted_bytes > 0 {
            let (bytes, lines) = (self.omitted_bytes, self.omitted_lines);
            tracing::info!(omitted.bytes = bytes, omitted.lines = lines, "command stderr omitted");
        }
    }
}
