//! Text in, text out.

use std::time::Duration;

use a2a_core::{Artifact, Part};
use a2a_kit_operations::{BoxError, RequestContext, TaskUpdater, UpdateError};
use tokio::time::{Instant, timeout_at};

use crate::{
    exec::{Exec, Io, Shared},
    process::Process,
    splitter::Splitter,
    stderr::invalid_output,
};

/// Maximum bytes of output that is sent at the end only.
const MAX_WHOLE: usize = 64 << 20;
/// How long output waits for more, so that what a command writes at once is one chunk.
const GATHER: Duration = Duration::from_millis(50);
/// Bytes of output that don't wait.
const MAX_GATHERED: usize = 64 << 10;
/// The id of the artifact with the output. It is the same in a rerun, which replaces it.
pub(crate) const OUTPUT_ID: &str = "output";

/// Runs the command, and sends its output as an artifact.
pub(crate) async fn run(
    agent: &Exec,
    shared: &Shared,
    context: &RequestContext,
    updates: &TaskUpdater,
) -> Result<(), BoxError> {
    updates.start().await?;
    updates.check_lease()?;
    let (mut process, mut stdin) = Process::start(agent, shared, context)?;
    let input = input(context);
    let feed = async {
        stdin.write(input.as_bytes()).await;
        stdin.close();
        Ok::<_, BoxError>(())
    };
    let mut output = Output::new(&agent.io, updates, context.task_id());
    let read = async {
        loop {
            let received = match output.gathered_until {
                Some(until) => timeout_at(until, process.stdout.recv()).await,
                None => Ok(process.stdout.recv().await),
            };
            match received {
                Ok(Some(bytes)) => output.push(&bytes).await?,
                Ok(None) => return Ok::<_, BoxError>(()),
                Err(_) => output.flush().await?,
            }
        }
    };
    let worked = tokio::select! {
        () = context.cancelled() => None,
        // A rejected update ends the run at once: the command may block on its output.
        worked = async { tokio::try_join!(read, feed) } => Some(worked?),
    };
    if worked.is_none() {
        process.terminate().await;
        return Ok(());
    }
    let ended = process.ended(context).await;
    output.end(&ended).await?;
    if output.is_lossy {
        let task = context.task_id();
        tracing::warn!(
            task.id = task,
            "command output is not UTF-8: files in A2A_OUTPUT_DIR are binary"
        );
    }
    for file in ended? {
        updates.artifact(file).await?;
    }
    updates.complete(()).await?;
    Ok(())
}

/// All text parts, separated by newlines.
fn input(context: &RequestContext) -> String {
    let texts: Vec<_> = context.message().parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}

/// Sends output as the chunks of an artifact.
struct Output<'a> {
    io: &'a Io,
    updates: &'a TaskUpdater,
    task: &'a str,
    splitter: Splitter<'a>,
    /// What is not sent yet.
    held: Vec<u8>,
    /// When it is sent, even if nothing follows.
    gathered_until: Option<Instant>,
    has_begun: bool,
    /// Whether something was not UTF-8.
    is_lossy: bool,
}

impl<'a> Output<'a> {
    fn new(io: &'a Io, updates: &'a TaskUpdater, task: &'a str) -> Self {
        let delimiter = if let Io::Chunks(delimiter) = io { delimiter.as_bytes() } else { &[] };
        Self {
            io,
            updates,
            task,
            splitter: Splitter::new(delimiter),
            held: Vec::new(),
            gathered_until: None,
            has_begun: false,
            is_lossy: false,
        }
    }

    async fn push(&mut self, bytes: &[u8]) -> Result<(), BoxError> {
        match self.io {
            Io::Chunks(_) => {
                let too_long = |reason: String| invalid_output(self.task, &reason, b"");
                for chunk in self.splitter.push(bytes).map_err(too_long)? {
                    self.flush().await?;
                    self.hold(&chunk);
                }
            }
            Io::Whole if self.held.len() + bytes.len() > MAX_WHOLE => {
                let max = MAX_WHOLE >> 20;
                let reason = format!("more than {max} MiB of output");
                return Err(invalid_output(self.task, &reason, b"").into());
            }
            Io::Whole => self.held.extend_from_slice(bytes),
            _ => {
                self.hold(bytes);
                if self.held.len() >= MAX_GATHERED {
                    self.flush().await?;
                }
            }
        }
        Ok(())
    }

    fn hold(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        self.gathered_until.get_or_insert_with(|| Instant::now() + GATHER);
    }

    /// Sends what is held, but a character that is not complete, and a newline that may be the last.
    async fn flush(&mut self) -> Result<(), UpdateError> {
        self.gathered_until = None;
        let end = match self.io {
            Io::Chunks(_) => self.held.len(),
            _ => complete(&self.held),
        };
        if end == 0 {
            return Ok(());
        }
        let rest = self.held.split_off(end);
        let text = std::mem::replace(&mut self.held, rest);
        self.send(&text, false).await
    }

    /// Sends the remaining output. A command that has written none may answer with files alone, and
    /// one that fails with nothing.
    async fn end(&mut self, ended: &Result<Vec<Artifact>, BoxError>) -> Result<(), UpdateError> {
        let rest = self.splitter.rest();
        if !rest.is_empty() {
            self.flush().await?;
            self.held = rest;
        }
        let mut last = std::mem::take(&mut self.held);
        match self.io {
            Io::Chunks(_) => {}
            Io::Whole if ended.is_err() => return Ok(()),
            _ => last.truncate(without_newline(&last)),
        }
        let is_alone = ended.as_ref().is_ok_and(Vec::is_empty);
        if self.has_begun || !last.is_empty() || is_alone {
            return self.send(&last, true).await;
        }
        Ok(())
    }

    async fn send(&mut self, text: &[u8], is_last: bool) -> Result<(), UpdateError> {
        let text = String::from_utf8_lossy(text);
        self.is_lossy |= matches!(text, std::borrow::Cow::Owned(_));
        let artifact = Artifact::new("output", text.into_owned()).with_id(OUTPUT_ID);
        match (std::mem::replace(&mut self.has_begun, true), is_last) {
            (false, false) => self.updates.begin(artifact).await,
            (false, true) => self.updates.artifact(artifact).await,
            (true, false) => self.updates.append(artifact).await,
            (true, true) => self.updates.append_last(artifact).await,
        }
    }
}

/// The length without a character that is not complete, and without a newline at the end.
fn complete(bytes: &[u8]) -> usize {
    let is_incomplete = |start: &usize| {
        std::str::from_utf8(&bytes[*start..])
            .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    let start = (bytes.len().saturating_sub(3)..bytes.len()).find(is_incomplete);
    start.unwrap_or_else(|| without_newline(bytes))
}

fn without_newline(bytes: &[u8]) -> usize {
    let line = bytes.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    line.unwrap_or(bytes).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_is_never_cut() {
        let text = "aé€😀";
        for end in 1..=text.len() {
            let complete = complete(&text.as_bytes()[..end]);
            assert!(text.is_char_boundary(complete) && end - complete < 4, "{end}: {complete}");
        }
        // What can't become a character is not kept back.
        for bytes in [&b"a\xff"[..], b"\x80\x80", b"a\xc3b"] {
            assert_eq!(complete(bytes), bytes.len());
        }
        assert_eq!(complete(b"a\r\n"), 1);
        assert_eq!(complete(b"a\n\n"), 2);
    }
}
