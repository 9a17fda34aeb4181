//! A text of a model as one artifact, sent in chunks as the model writes.

use std::{pin::Pin, time::Duration};

use a2a_core::{Artifact, Part, well_known::Struct};
use a2a_kit_operations::{TaskUpdater, UpdateError, extension::ModelEventsExtension};
use tokio::time::{Instant, Sleep, sleep_until};

/// Between the texts of two calls.
const SEPARATOR: &str = "\n\n";
/// The number of events after which the interval doubles, so that long answers have few events.
const EVENTS_PER_INTERVAL: u32 = 256;
const MAX_INTERVAL: Duration = Duration::from_millis(400);
/// From here on, Unicode has the scripts of East Asia, which are written without spaces.
const FIRST_CJK: char = '\u{2e80}';
/// The length in bytes of what is sent without waiting for white space.
const MAX_WORD: usize = 256;

/// Sends the text of a run as one artifact: the first words at once, then one chunk per interval.
///
/// A chunk ends with a word, because some clients put spaces between chunks. What arrived last is
/// held back, so that there is something left for the chunk that is marked as the last one.
pub(crate) struct TextWriter<'a> {
    updates: &'a TaskUpdater,
    /// The id and name of the artifact.
    name: &'static str,
    media_type: &'static str,
    /// Whether the artifact is an event of the kind of its name.
    is_event: bool,
    flush: Duration,
    /// The texts of all calls so far.
    text: String,
    /// The length of the texts of completed calls.
    completed: usize,
    /// The length of what was sent; 0 if the next chunk replaces what readers have.
    sent: usize,
    /// Whether text of a model has arrived since the last chunk that was marked as the last one.
    is_open: bool,
    events: u32,
    /// Ready when the next chunk is due.
    due: Pin<Box<Sleep>>,
}

impl<'a> TextWriter<'a> {
    /// A writer of the artifact `answer`.
    pub(crate) fn answer(
        updates: &'a TaskUpdater,
        media_type: &'static str,
        flush: Duration,
    ) -> Self {
        Self::new(updates, "answer", media_type, flush)
    }

    /// A writer of the artifact `thinking`, which is an event.
    pub(crate) fn thinking(updates: &'a TaskUpdater, flush: Duration) -> Self {
        Self { is_event: true, ..Self::new(updates, "thinking", "text/plain", flush) }
    }

    fn new(
        updates: &'a TaskUpdater,
        name: &'static str,
        media_type: &'static str,
        flush: Duration,
    ) -> Self {
        Self {
            updates,
            name,
            media_type,
            is_event: false,
            flush,
            text: String::new(),
            completed: 0,
            sent: 0,
            is_open: false,
            events: 0,
            due: Box::pin(sleep_until(Instant::now())),
        }
    }

    /// Adds text of the current call.
    pub(crate) async fn push(&mut self, text: &str) -> Result<(), UpdateError> {
        self.append(text);
        self.is_open = true;
        self.flush().await
    }

    fn append(&mut self, text: &str) {
        if self.completed > 0 && self.text.len() == self.completed {
            self.text.push_str(SEPARATOR);
        }
        self.text.push_str(text);
    }

    /// Waits until a chunk is due; forever if there is nothing to send.
    pub(crate) async fn due(&mut self) {
        if self.end_of_chunk() > self.sent {
            self.due.as_mut().await;
        } else {
            std::future::pending::<()>().await;
        }
    }

    /// Sends what has arrived, but for the last word, if a chunk is due.
    pub(crate) async fn flush(&mut self) -> Result<(), UpdateError> {
        if self.sent == 0 || self.due.deadline() <= Instant::now() {
            self.send(self.end_of_chunk(), false, None).await?;
        }
        Ok(())
    }

    /// The current call is repeated: drops its text. What was sent of it will be replaced.
    pub(crate) fn repeat_call(&mut self) {
        self.text.truncate(self.completed);
        if self.sent > self.completed {
            self.sent = 0;
        }
    }

    /// The current call is completed, and another one follows. Sends its whole text, but holds the
    /// last word of an event back, as the next call may have none for the last chunk.
    pub(crate) async fn end_call(&mut self) -> Result<(), UpdateError> {
        if self.is_open && !self.is_event {
            self.send(self.text.len(), false, None).await?;
        }
        self.completed = self.text.len();
        Ok(())
    }

    /// Adds the text of a call that an earlier run completed, and sent. What that run sent of the
    /// call after it will be replaced.
    pub(crate) fn recall(&mut self, text: &str) {
        if !text.is_empty() {
            self.append(text);
            self.completed = self.text.len();
        }
    }

    /// Sends the rest as the last chunk, with metadata, and has the stored chunks joined.
    pub(crate) async fn finish(&mut self, metadata: Option<Struct>) -> Result<(), UpdateError> {
        if self.is_open {
            self.is_open = false;
            self.send(self.text.len(), true, metadata).await?;
        }
        self.completed = self.text.len();
        self.updates.join(self.name)
    }

    /// Where a chunk ends: after a word, or anywhere in a script without spaces or in a very long
    /// word; before the last character.
    fn end_of_chunk(&self) -> usize {
        let unsent = &self.text[self.sent..];
        let Some((last, _)) = unsent.char_indices().next_back() else { return self.sent };
        let ends_word = |(_, one): &(usize, char)| one.is_whitespace() || *one >= FIRST_CJK;
        match unsent[..last].char_indices().rfind(ends_word) {
            Some((at, one)) => self.sent + at + one.len_utf8(),
            None if last > MAX_WORD => self.sent + last,
            None => self.sent,
        }
    }

    async fn send(
        &mut self,
        end: usize,
        is_last: bool,
        metadata: Option<Struct>,
    ) -> Result<(), UpdateError> {
        let text = &self.text[self.sent..end];
        if text.is_empty() {
            return Ok(());
        }
        let part = Part::text(text).with_media_type(self.media_type);
        let mut artifact = Artifact::new(self.name, part).with_id(self.name);
        artifact.metadata = metadata;
        if self.is_event {
            ModelEventsExtension::mark(&mut artifact, self.name);
        }
        let is_first = self.sent == 0;
        self.sent = end;
        self.events += 1;
        let longer = 2_u32.saturating_pow(self.events / EVENTS_PER_INTERVAL);
        let interval = self.flush.saturating_mul(longer).min(MAX_INTERVAL.max(self.flush));
        self.due.as_mut().reset(Instant::now() + interval);
        match (is_first, is_last) {
            (true, true) => self.updates.artifact(artifact).await,
            (true, false) => self.updates.begin(artifact).await,
            (false, true) => self.updates.append_last(artifact).await,
            (false, false) => self.updates.append(artifact).await,
        }
    }
}
