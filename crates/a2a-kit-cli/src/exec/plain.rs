//! Text in, text out.

use a2a_core::{Artifact, Part};
use a2a_kit_operations::{AgentError, BoxError, RequestContext, TaskUpdater};
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    ExecAgent,
    child::{Ended, MAX_LINE, Pipes, Process},
};

/// Maximum bytes of output.
const MAX_OUTPUT: usize = 64 << 20;

/// Handles the output of a command.
trait Sink: Send {
    fn take(&mut self, bytes: &[u8]) -> impl Future<Output = Result<(), BoxError>> + Send;
}

/// Collects all output.
#[derive(Debug, Default)]
struct Whole(Vec<u8>);

impl Sink for Whole {
    async fn take(&mut self, bytes: &[u8]) -> Result<(), BoxError> {
        let room = MAX_OUTPUT - self.0.len();
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(())
    }
}

/// Runs the command, and returns its output as one artifact at the end.
pub(super) async fn whole(
    agent: &ExecAgent,
    context: &RequestContext,
    updates: &TaskUpdater,
) -> Result<(), BoxError> {
    let mut output = Whole::default();
    match run(agent, context, updates, &mut output).await? {
        None => {}
        Some(Ended::Badly(reason)) => updates.fail(reason).await?,
        Some(Ended::Well(files)) => {
            let text = String::from_utf8_lossy(&output.0).into_owned();
            // A command may answer with files alone.
            if files.is_empty() || !text.is_empty() {
                updates.artifact(Artifact::new("output", text)).await?;
            }
            complete(updates, files).await?;
        }
    }
    Ok(())
}

/// Splits the output into chunks, without the delimiter.
#[derive(Debug)]
struct Chunked<'a> {
    updates: &'a TaskUpdater,
    splitter: Splitter<'a>,
    artifact_id: String,
    /// One chunk is held back, so that the last one can be marked as such.
    held: Option<Vec<u8>>,
    has_begun: bool,
}

impl Sink for Chunked<'_> {
    async fn take(&mut self, bytes: &[u8]) -> Result<(), BoxError> {
        for chunk in self.splitter.push(bytes)? {
            self.hold(chunk).await?;
        }
        Ok(())
    }
}

impl Chunked<'_> {
    /// Holds back a chunk, and sends the previous one.
    async fn hold(&mut self, chunk: Vec<u8>) -> Result<(), BoxError> {
        let Some(before) = self.held.replace(chunk) else { return Ok(()) };
        let artifact = self.artifact(&before);
        if std::mem::replace(&mut self.has_begun, true) {
            self.updates.append(artifact).await?;
        } else {
            self.updates.begin(artifact).await?;
        }
        Ok(())
    }

    /// Sends the remaining output.
    async fn end(&mut self) -> Result<(), BoxError> {
        if let Some(rest) = self.splitter.rest() {
            self.hold(rest).await?;
        }
        let last = self.held.take().unwrap_or_default();
        let artifact = self.artifact(&last);
        if self.has_begun {
            self.updates.append_last(artifact).await?;
        } else {
            self.updates.artifact(artifact).await?;
        }
        Ok(())
    }

    fn artifact(&self, chunk: &[u8]) -> Artifact {
        Artifact {
            artifact_id: self.artifact_id.clone(),
            name: "output".into(),
            parts: vec![Part::text(String::from_utf8_lossy(chunk))],
            ..Artifact::default()
        }
    }
}

/// Runs the command, and streams its output in chunks.
pub(super) async fn chunks(
    agent: &ExecAgent,
    context: &RequestContext,
    updates: &TaskUpdater,
    delimiter: &[u8],
) -> Result<(), BoxError> {
    let mut output = Chunked {
        updates,
        splitter: Splitter::new(delimiter),
        artifact_id: a2a_core::fresh_id(),
        held: None,
        has_begun: false,
    };
    let Some(ended) = run(agent, context, updates, &mut output).await? else { return Ok(()) };
    output.end().await?;
    match ended {
        Ended::Well(files) => complete(updates, files).await?,
        Ended::Badly(reason) => updates.fail(reason).await?,
    }
    Ok(())
}

/// Sends the output files, and completes the task.
async fn complete(updates: &TaskUpdater, files: Vec<Artifact>) -> Result<(), BoxError> {
    for file in files {
        updates.artifact(file).await?;
    }
    updates.complete(()).await?;
    Ok(())
}

/// Runs the command, passes its output on, and returns how it ended; `None` if the client canceled
/// or the command failed to start.
async fn run(
    agent: &ExecAgent,
    context: &RequestContext,
    updates: &TaskUpdater,
    output: &mut impl Sink,
) -> Result<Option<Ended>, BoxError> {
    updates.check_lease()?;
    let (process, pipes) = match Process::start(agent, context) {
        Ok(started) => started,
        Err(message) => {
            updates.fail(message).await?;
            return Ok(None);
        }
    };
    let Pipes { mut stdin, mut stdout, stderr } = pipes;
    let input = input(context);
    let feed = async move {
        // A command may close its stdin without reading it.
        let _closed = stdin.write_all(input.as_bytes()).await;
    };
    let work = async {
        let read = async {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
                output.take(&buffer[..count]).await?;
            }
            Ok::<_, BoxError>(())
        };
        // A rejected update ends the run at once: the command may block on its output, and never
        // close its stderr.
        let others = async { Ok(tokio::join!(feed, agent.stderr.read(stderr))) };
        let ((), ((), stderr)) = tokio::try_join!(read, others)?;
        Ok::<_, BoxError>(stderr)
    };
    let stderr = tokio::select! {
        () = context.cancelled() => None,
        stderr = work => Some(stderr?),
    };
    match stderr {
        Some(stderr) => Ok(Some(process.ended(&stderr).await?)),
        None => {
            process.terminate().await;
            Ok(None)
        }
    }
}

/// All text parts, separated by newlines.
fn input(context: &RequestContext) -> String {
    let texts: Vec<_> = context.message().parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}

/// Splits a stream of bytes at a delimiter.
#[derive(Debug)]
struct Splitter<'a> {
    delimiter: &'a [u8],
    buffer: Vec<u8>,
    /// The start of `buffer` in which no delimiter begins.
    searched: usize,
}

impl<'a> Splitter<'a> {
    fn new(delimiter: &'a [u8]) -> Self {
        Self { delimiter, buffer: Vec::new(), searched: 0 }
    }

    /// Adds bytes, and returns the complete chunks; an error for an incomplete one that is too long.
    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, AgentError> {
        self.buffer.extend_from_slice(bytes);
        let mut chunks = Vec::new();
        if self.delimiter.is_empty() {
            chunks.push(std::mem::take(&mut self.buffer));
            return Ok(chunks);
        }
        let mut start = 0;
        while let Some(found) = memmem::find(&self.buffer[self.searched..], self.delimiter) {
            let end = self.searched + found;
            chunks.push(self.buffer[start..end].to_vec());
            start = end + self.delimiter.len();
            self.searched = start;
        }
        self.buffer.drain(..start);
        self.searched = (self.buffer.len() + 1).saturating_sub(self.delimiter.len());
        if self.buffer.len() > MAX_LINE {
            let max = MAX_LINE >> 20;
            return Err(AgentError::new(format!(
                "The command wrote a chunk of more than {max} MiB"
            )));
        }
        Ok(chunks)
    }

    /// Returns the bytes after the last delimiter, if any.
    fn rest(&mut self) -> Option<Vec<u8>> {
        (!self.buffer.is_empty()).then(|| std::mem::take(&mut self.buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_that_comes_in_two_reads_still_cuts() {
        let mut splitter = Splitter::new(b"\r\n");
        assert_eq!(splitter.push(b"a\r").unwrap(), Vec::<Vec<u8>>::new());
        let chunks = splitter.push(b"\nb\r\n\r\nc").unwrap();
        assert_eq!(chunks, [b"a".to_vec(), b"b".to_vec(), b"".to_vec()]);
        assert_eq!(splitter.push(b"").unwrap(), Vec::<Vec<u8>>::new());
        assert_eq!(splitter.rest(), Some(b"c".to_vec()));
    }
}
