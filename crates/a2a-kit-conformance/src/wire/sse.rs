//! A strict reader of server-sent events, which also reports faults of the framing.

/// One event as received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawEvent {
    /// The `data:` lines.
    pub(crate) data: Vec<Vec<u8>>,
    /// Whether a blank line ended it.
    pub(crate) is_terminated: bool,
}

impl RawEvent {
    /// The data lines, joined with line feeds.
    pub(crate) fn joined(&self) -> Vec<u8> {
        self.data.join(&b'\n')
    }
}

/// An incremental reader of server-sent events (WHATWG HTML §9.2).
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    line: Vec<u8>,
    after_return: bool,
    pending: RawEvent,
    /// Lines that are neither a field nor a comment, shortened.
    stray: Vec<String>,
}

/// How many stray lines are kept.
const MAX_STRAY: usize = 4;

impl SseReader {
    /// Reads a chunk and returns the events that it completes.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Vec<RawEvent> {
        let mut events = Vec::new();
        for byte in chunk {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.take_line(&line));
                }
                other => {
                    self.after_return = false;
                    self.line.push(*other);
                }
            }
        }
        events
    }

    /// Ends the stream, and returns the event that no blank line ended.
    pub(crate) fn finish(&mut self) -> Option<RawEvent> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            let event = self.take_line(&line);
            debug_assert!(event.is_none(), "a line with text ends no event");
        }
        let rest = std::mem::take(&mut self.pending);
        (!rest.data.is_empty()).then_some(rest)
    }

    /// Lines that are neither a field nor a comment.
    pub(crate) fn stray(&self) -> &[String] {
        &self.stray
    }

    fn take_line(&mut self, line: &[u8]) -> Option<RawEvent> {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.pending);
            event.is_terminated = true;
            return (!event.data.is_empty()).then_some(event);
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &b""[..]),
        };
        match field {
            b"data" => self.pending.data.push(value.to_vec()),
            // A comment is a line that starts with a colon.
            b"" | b"event" | b"id" | b"retry" => {}
            _ if self.stray.len() < MAX_STRAY => {
                let text: String = String::from_utf8_lossy(line).chars().take(80).collect();
                self.stray.push(text);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<RawEvent>, Option<RawEvent>) {
        let mut reader = SseReader::default();
        let events = reader.push(text.as_bytes());
        (events, reader.finish())
    }

    #[test]
    fn events_end_at_blank_lines_whatever_the_line_ending() {
        for text in [
            "data: 1\n\ndata: 2\n\n",
            "data: 1\r\n\r\ndata: 2\r\n\r\n",
            ":c\ndata:1\r\rdata: 2\n\n",
        ] {
            let (events, rest) = read(text);
            let data: Vec<_> = events.iter().map(RawEvent::joined).collect();
            assert_eq!(data, [b"1".to_vec(), b"2".to_vec()], "{text:?}");
            assert!(events.iter().all(|event| event.is_terminated) && rest.is_none());
        }
    }

    #[test]
    fn events_without_blank_lines_become_one_that_is_not_terminated() {
        let (events, rest) = read("data: 1\ndata: 2\n");
        assert!(events.is_empty());
        let rest = rest.unwrap();
        assert_eq!((rest.data.len(), rest.is_terminated), (2, false));
    }

    #[test]
    fn lines_that_are_no_field_are_reported() {
        let mut reader = SseReader::default();
        reader.push(b"{\"task\":1}\n\n");
        assert_eq!(reader.stray(), ["{\"task\":1}"]);
    }
}
