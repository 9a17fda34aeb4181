//! Decodes server-sent events.

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use a2a_core::{Error, ErrorKind, Result};
use bytes::Bytes;
use futures_core::Stream;

use super::ReconnectionTime;
use crate::read_budget::HeldBytes;

/// One event, as received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSentEvent {
    /// The `id:` of this event; `None` if it has none, even if an earlier event had one.
    pub id: Option<String>,
    /// The `event:` of this event; `None` if it has none.
    pub event: Option<String>,
    /// The `data:` lines, joined with line feeds.
    pub data: Bytes,
}

/// An incremental decoder of server-sent events (WHATWG HTML §9.2).
///
/// Accepts all line endings, and lines split across chunks. Ignores comments, unknown fields and
/// events without data. An event is complete at the blank line after it, or if the stream ends
/// after one of its line endings.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    /// The incomplete line.
    line: Vec<u8>,
    /// The last byte was a carriage return: a line feed now is part of the same line ending.
    after_return: bool,
    /// No line has been read: a byte order mark is allowed.
    at_start: bool,
    pending: Pending,
    retry: Option<Duration>,
    ready: VecDeque<ServerSentEvent>,
}

/// The incomplete event.
#[derive(Debug, Default)]
struct Pending {
    id: Option<String>,
    event: Option<String>,
    data: Vec<u8>,
    has_data: bool,
}

impl Decoder {
    /// The usual event size limit: 64 MiB.
    pub const DEFAULT_LIMIT: usize = 64 << 20;

    /// Creates a decoder for events of at most `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_return: false,
            at_start: true,
            pending: Pending::default(),
            retry: None,
            ready: VecDeque::new(),
        }
    }

    /// Feeds the next chunk of the stream.
    ///
    /// # Errors
    ///
    /// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse) for an event beyond the limit, after
    /// which the stream cannot be decoded further.
    pub fn push(&mut self, mut chunk: &[u8]) -> Result<()> {
        while !chunk.is_empty() {
            if mem::take(&mut self.after_return)
                && let Some(rest) = chunk.strip_prefix(b"\n")
            {
                chunk = rest;
                continue;
            }
            let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.check(chunk.len())?;
                self.line.extend_from_slice(chunk);
                return Ok(());
            };
            self.check(end)?;
            self.after_return = chunk[end] == b'\r';
            if self.line.is_empty() {
                self.take_line(&chunk[..end]);
            } else {
                let mut line = mem::take(&mut self.line);
                line.extend_from_slice(&chunk[..end]);
                self.take_line(&line);
                line.clear();
                self.line = line;
            }
            chunk = &chunk[end + 1..];
        }
        Ok(())
    }

    /// Returns the next complete event.
    pub fn pop(&mut self) -> Option<ServerSentEvent> {
        self.ready.pop_front()
    }

    /// Signals the end of the stream. Completes the current event unless its last line is
    /// incomplete.
    pub fn finish(&mut self) {
        if self.line.is_empty() {
            self.dispatch();
        }
        self.line = Vec::new();
        self.pending = Pending::default();
    }

    /// The size of the incomplete event and of those that have not been returned, in bytes.
    fn buffered(&self) -> usize {
        let ready: usize = self.ready.iter().map(|event| event.data.len()).sum();
        self.line.len() + self.pending.data.len() + ready
    }

    /// Returns the reconnection time that the server requested, if any.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn check(&self, more: usize) -> Result<()> {
        let size = self.pending.data.len().saturating_add(self.line.len()).saturating_add(more);
        if size > self.limit {
            let message = format!("event exceeds {} bytes", self.limit);
            return Err(Error::new(ErrorKind::InvalidAgentResponse, message));
        }
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) {
        let mut line = line;
        if mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch();
            return;
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.pending.has_data {
                    self.pending.data.push(b'\n');
                }
                self.pending.has_data = true;
                self.pending.data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => {
                self.pending.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"event" => {
                self.pending.event = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => {
                let digits = str::from_utf8(value).ok();
                if let Some(milliseconds) = digits.and_then(|digits| digits.parse().ok()) {
                    self.retry = Some(Duration::from_millis(milliseconds));
                }
            }
            // Comments, which have an empty name, and unknown fields.
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let Pending { id, event, data, has_data } = mem::take(&mut self.pending);
        if has_data {
            self.ready.push_back(ServerSentEvent { id, event, data: data.into() });
        }
    }
}

/// Decodes a byte stream into events of at most `limit` bytes. The bytes of incomplete and unread
/// events are `held`.
///
/// A read error or an event beyond the limit is the last item of the stream.
pub fn decode<S>(bytes: S, limit: usize, held: HeldBytes) -> Decoded<S> {
    let retry = ReconnectionTime::new();
    Decoded { bytes: Some(bytes), decoder: Decoder::with_limit(limit), held, retry }
}

/// The events of a byte stream; see [`decode`].
#[derive(Debug)]
pub struct Decoded<S> {
    /// `None` after the end.
    bytes: Option<S>,
    decoder: Decoder,
    held: HeldBytes,
    retry: ReconnectionTime,
}

impl<S> Decoded<S> {
    /// The reconnection time that the server requests, updated as the stream is read.
    pub fn reconnection_time(&self) -> ReconnectionTime {
        self.retry.clone()
    }
}

impl<S> Stream for Decoded<S>
where
    S: Stream<Item = Result<Bytes>> + Unpin,
{
    type Item = Result<ServerSentEvent>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.decoder.pop() {
                return Poll::Ready(Some(Ok(event)));
            }
            let Some(bytes) = &mut this.bytes else { return Poll::Ready(None) };
            match ready!(Pin::new(bytes).poll_next(cx)) {
                Some(Ok(chunk)) => {
                    let pushed = this.decoder.push(&chunk);
                    let held = pushed.and_then(|()| this.held.set(this.decoder.buffered()));
                    if let Err(error) = held {
                        this.bytes = None;
                        this.decoder = Decoder::with_limit(0);
                        return Poll::Ready(Some(Err(error)));
                    }
                    this.retry.set(this.decoder.retry());
                }
                Some(Err(error)) => {
                    this.bytes = None;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    this.bytes = None;
                    this.decoder.finish();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<ServerSentEvent> {
        let mut decoder = Decoder::with_limit(Decoder::DEFAULT_LIMIT);
        for chunk in chunks {
            decoder.push(chunk).unwrap();
        }
        decoder.finish();
        std::iter::from_fn(|| decoder.pop()).collect()
    }

    fn event(id: Option<&str>, event: Option<&str>, data: &'static str) -> ServerSentEvent {
        ServerSentEvent {
            id: id.map(str::to_owned),
            event: event.map(str::to_owned),
            data: data.into(),
        }
    }

    #[test]
    fn events_are_decoded_in_all_variants() {
        for (text, expected) in [
            ("data: a\n\n", vec![event(None, None, "a")]),
            ("data:a\n\n", vec![event(None, None, "a")]),
            ("data:  a\n\n", vec![event(None, None, " a")]),
            ("\u{feff}data: a\r\n\r\n", vec![event(None, None, "a")]),
            ("data: a\r\rdata: b\r\r", vec![event(None, None, "a"), event(None, None, "b")]),
            ("data: a\ndata: b\ndata\n\n", vec![event(None, None, "a\nb\n")]),
            (": ping\n\n\ndata: a\n\n: ping\n\n", vec![event(None, None, "a")]),
            (
                "id: 7\nevent: error\ndata: a\n\ndata: b\n\n",
                vec![event(Some("7"), Some("error"), "a"), event(None, None, "b")],
            ),
            ("id: 7\n\nunknown: x\ndata:\n\n", vec![event(None, None, "")]),
            ("data: whole line\n", vec![event(None, None, "whole line")]),
            ("data: a\n\ndata: cut", vec![event(None, None, "a")]),
            ("data: a\ndata: cut", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(read(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn retry_field_sets_the_reconnection_time() {
        let mut decoder = Decoder::with_limit(Decoder::DEFAULT_LIMIT);
        decoder.push(b"retry: 1500\nretry: soon\n\n").unwrap();
        assert_eq!(decoder.retry(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn event_beyond_the_limit_is_rejected_in_chunks_of_any_size() {
        for chunks in [&["data: 12345678901"][..], &["data: 123456\n", "data: 78901"]] {
            let mut decoder = Decoder::with_limit(16);
            let result = chunks.iter().try_for_each(|chunk| decoder.push(chunk.as_bytes()));
            let error = result.expect_err(chunks[0]);
            assert_eq!(error.message(), "event exceeds 16 bytes", "{chunks:?}");
        }
        let mut decoder = Decoder::with_limit(16);
        for _ in 0..100 {
            decoder.push(b"data: 12345\n\n").unwrap();
        }
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_change_the_events(
            lines in prop::collection::vec(
                ("(data|id|event|retry|)", "(:|: |)", "[a-z0-9 \u{e4}:]{0,8}", "(\n|\r|\r\n|\n\n)"),
                0..20,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let text: String = lines
                .iter()
                .map(|(name, colon, value, end)| format!("{name}{colon}{value}{end}"))
                .collect();
            let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            at.extend([0, text.len()]);
            at.sort_unstable();
            let chunks: Vec<_> =
                at.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&chunks), read(&[text.as_bytes()]));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&[&bytes]);
        }
    }
}
