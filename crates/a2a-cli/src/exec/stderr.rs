//! The stderr of commands: escaped lines in the log, within bounds, and the tail for callers
//! where that is asked for.

use std::sync::Arc;

use a2a_operations::rate::{Rate, Rates};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::output;

/// The longest piece of a line that is logged, in bytes; the rest of the line is omitted.
const MAX_LINE: usize = 1 << 10;
/// What each line counts for at least: short ones cost the log more than their text.
const MIN_COST: usize = 64;
/// How much of what a command writes to stderr is kept for the caller.
const TAIL: usize = 4 << 10;

/// What is done with the stderr of commands.
#[derive(Clone, Debug)]
pub(crate) struct StderrPolicy {
    /// What one command may write to the log, in bytes.
    max_logged: usize,
    /// How often lines are logged, of all commands together.
    lines: Arc<Rates<()>>,
    /// Whether the caller of a command that fails gets the last 4 KiB.
    exposed: bool,
}

impl StderrPolicy {
    /// Logs at most `max_logged` bytes of each command, and of all of them at most at `rate`.
    pub(crate) fn new(max_logged: usize, rate: Rate, exposed: bool) -> Self {
        Self { max_logged, lines: Arc::new(Rates::new(rate, 2)), exposed }
    }

    /// Reads the stderr of a command to its end, logs it, and returns what the caller may see.
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

/// What one command writes to stderr, line by line. Dropping it tells how much was omitted.
#[derive(Debug)]
struct Log<'a> {
    policy: &'a StderrPolicy,
    /// The start of a line whose end has not come yet.
    line: Vec<u8>,
    /// What this command may still write to the log.
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
        // Of a flood, most lines are to cost nothing.
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
