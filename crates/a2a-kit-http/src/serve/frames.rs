//! Parses HTTP/2 frame headers in a byte stream (RFC 9113 §4.1).

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;

/// Length of a frame header, in bytes.
const HEADER_LENGTH: usize = 9;

/// Parses frame headers from bytes in chunks. Payloads are skipped, not buffered.
#[derive(Debug, Default)]
pub(super) struct FrameParser {
    header: [u8; HEADER_LENGTH],
    filled: usize,
    /// Bytes of the current payload, or of what is skipped before, that are still to come.
    remaining: usize,
}

/// The parsed part of a frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) kind: u8,
    /// Length of the payload, in bytes.
    pub(super) length: usize,
}

impl FrameParser {
    /// Parses what follows after `length` bytes.
    pub(super) fn after(length: usize) -> Self {
        Self { remaining: length, ..Self::default() }
    }

    /// Consumes bytes up to the end of the next frame header; `None` when all are consumed and
    /// no further header is complete.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Option<FrameHeader> {
        let skipped = self.remaining.min(bytes.len());
        self.remaining -= skipped;
        let (taken, left) =
            bytes[skipped..].split_at((HEADER_LENGTH - self.filled).min(bytes.len() - skipped));
        *bytes = left;
        self.header[self.filled..][..taken.len()].copy_from_slice(taken);
        self.filled += taken.len();
        if self.filled < HEADER_LENGTH {
            return None;
        }
        self.filled = 0;
        let [high, middle, low, kind, ..] = self.header;
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        self.remaining = length;
        Some(FrameHeader { kind, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, length: u8) -> Vec<u8> {
        // The payload looks like frame headers.
        [&[0, 0, length, kind, 0, 0, 0, 0, 1][..], &vec![0; usize::from(length)]].concat()
    }

    #[test]
    fn headers_are_parsed_from_chunks_of_any_size() {
        let bytes = [frame(DATA, 40), frame(6, 8), frame(4, 0), frame(HEADERS, 200)].concat();
        let expected = [(DATA, 40), (6, 8), (4, 0), (HEADERS, 200)];
        for size in 1..bytes.len() {
            let mut parser = FrameParser::default();
            let mut found = Vec::new();
            for mut chunk in bytes.chunks(size) {
                while let Some(header) = parser.next(&mut chunk) {
                    found.push((header.kind, header.length));
                }
                assert!(chunk.is_empty());
            }
            assert_eq!(found, expected, "in chunks of {size}");
        }
    }
}
