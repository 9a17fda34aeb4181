//! The stderr of commands: a limited number of escaped lines in the log, and optionally the tail
//! for callers. What else a command writes that is not for callers is logged within the same limits.

use std::sync::Arc;

use a2a_core::escape::escape_line;
use a2a_kit_operations::{
    AgentError,
    rate::{Rate, Rates},
};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Maximum logged bytes of a line; the rest is omitted.
const MAX_LINE: usize = 1 << 10;
/// Minimum cost of a line, in bytes: short lines cost the log more than their text.
const MIN_COST: usize = 64;
/// Maximum bytes of stderr for the caller.
const TAIL: usize = 4 << 10;
/// Maximum logged bytes of a line that is not of the protocol.
const MAX_STRAY: usize = 200;

/// Logs what a command must not write, under the id in the error for the caller.
pub(crate) fn invalid_output(task: &str, reason: &str, line: &[u8]) -> AgentError {
    let id = a2a_core::fresh_id();
    let line =
        escape_line(&String::from_utf8_lossy(&line[..line.len().min(MAX_STRAY)])).into_owned();
    tracing::warn!(reason, line, task.id = task, error.id = id, "command wrote invalid output");
    AgentError::logged(format!("The command wrote {reason} (error {id})"))
}

#[derive(Clone, Debug)]
pub(crate) struct StderrPolicy {
    /// Maximum logged bytes per command.
    max_logged: usize,
    /// Rate limit of logged lines, across all commands.
    lines: Arc<Rates<()>>,
    /// Whether callers get the last 4 KiB if the command fails.
    exposed: bool,
}

/// What was read of the stderr of a command.
#[derive(Debug, Default)]
pub(crate) struct Stderr {
    /// The text for the caller; empty unless exposed.
    pub(crate) tail: String,
    pub(crate) bytes: u64,
}

impl StderrPolicy {
    /// Logs at most `max_logged` bytes per command, and lines at most at `rate`.
    pub(crate) fn new(max_logged: usize, rate: Rate, exposed: bool) -> Self {
        Self { max_logged, lines: Arc::new(Rates::new(rate, 2)), exposed }
    }

    /// Reads stderr to its end, and logs it.
    pub(crate) async fn read(self, task: String, mut stderr: impl AsyncRead + Unpin) -> Stderr {
        let mut log = Log::new(&self, &task);
        let (mut tail, mut bytes) = (Vec::new(), 0);
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            log.take(&buffer[..count]);
            bytes += count as u64;
            if self.exposed {
                tail.extend_from_slice(&buffer[..count]);
                tail.drain(..tail.len().saturating_sub(TAIL));
            }
        }
        Stderr { tail: String::from_utf8_lossy(&tail).trim().to_owned(), bytes }
    }
}

/// Logs what one command writes that is not for callers. Dropping it logs how much was omitted.
#[derive(Debug)]
pub(crate) struct Log<'a> {
    policy: &'a StderrPolicy,
    task: &'a str,
    /// An incomplete line.
    line: Vec<u8>,
    /// Remaining bytes of the limit.
    left: usize,
    omitted_bytes: u64,
    omitted_lines: u64,
}

impl<'a> Log<'a> {
    pub(crate) fn new(policy: &'a StderrPolicy, task: &'a str) -> Self {
        let left = policy.max_logged;
        Self { policy, task, line: Vec::new(), left, omitted_bytes: 0, omitted_lines: 0 }
    }

    /// Logs a line of stdout that is not of the protocol.
    pub(crate) fn stray(&mut self, line: &[u8], expected: &str) {
        let line = line.trim_ascii();
        let (kept, omitted) = line.split_at(line.len().min(MAX_STRAY));
        self.omitted_bytes += omitted.len() as u64;
        if let Some(line) = self.admitted(kept) {
            let task = self.task;
            tracing::warn!(%line, expected, task.id = task, "command wrote an unexpected line");
        }
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
        if let Some(text) = self.admitted(line.trim_ascii_end()) {
            tracing::info!(stderr = %text, task.id = self.task, "command stderr");
        }
    }

    /// The escaped text of a line, if it is within the limits.
    fn admitted(&mut self, line: &[u8]) -> Option<String> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        // Dropped lines must be cheap.
        let text = (self.left >= MIN_COST && self.policy.lines.check(()).is_ok())
            .then(|| escape_line(&String::from_utf8_lossy(line)).into_owned());
        let left = text.as_ref().and_then(|text| self.left.checked_sub(text.len().max(MIN_COST)));
        match left {
            Some(left) => {
                self.left = left;
                text
            }
            None => {
                self.omitted_bytes += line.len() as u64;
                self.omitted_lines += 1;
                None
            }
        }
    }
}

impl Drop for Log<'_> {
    fn drop(&mut self) {
        self.end_line();
        if self.omitted_bytes > 0 {
            let (bytes, lines) = (self.omitted_bytes, self.omitted_lines);
            tracing::info!(
                omitted.bytes = bytes,
                omitted.lines = lines,
                task.id = self.task,
                "command stderr omitted"
            );
        }
    }
}
