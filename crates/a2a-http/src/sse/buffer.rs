use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Size from which on bytes are not copied, but go out as a piece of their own.
const SHARED: usize = 64 << 10;

/// Room that text has at first, in bytes: some ten chunks of an artifact.
const FIRST: usize = 4 << 10;

/// Where events are written: small ones one behind the other, large ones as the bytes that all
/// who read them share.
#[derive(Debug, Default)]
pub struct Buffer {
    pieces: VecDeque<Bytes>,
    /// Bytes in `pieces`.
    len: usize,
    text: BytesMut,
}

impl Buffer {
    /// Where text is appended.
    pub fn text(&mut self) -> &mut BytesMut {
        if self.text.capacity() == 0 {
            self.text.reserve(FIRST);
        }
        &mut self.text
    }

    /// Appends bytes that others hold too.
    pub fn push(&mut self, bytes: Bytes) {
        if bytes.len() < SHARED {
            self.text.extend_from_slice(&bytes);
            return;
        }
        if !self.text.is_empty() {
            // Given away whole, so that what was sent is not kept with what comes.
            let text = std::mem::take(&mut self.text).freeze();
            self.len += text.len();
            self.pieces.push_back(text);
        }
        self.len += bytes.len();
        self.pieces.push_back(bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.len + self.text.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next piece. An empty buffer keeps no memory.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        if let Some(piece) = self.pieces.pop_front() {
            self.len -= piece.len();
            return Some(piece);
        }
        self.pieces = VecDeque::new();
        (!self.text.is_empty()).then(|| std::mem::take(&mut self.text).freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bytes_are_not_copied_and_everything_comes_in_order() {
        let large = Bytes::from(vec![b'x'; SHARED]);
        let mut buffer = Buffer::default();
        buffer.text().extend_from_slice(b"a");
        buffer.push(Bytes::from_static(b"b"));
        buffer.push(large.clone());
        buffer.text().extend_from_slice(b"c");
        assert_eq!(buffer.len(), SHARED + 3);
        assert_eq!(buffer.take().unwrap(), "ab");
        assert_eq!(buffer.take().unwrap().as_ptr(), large.as_ptr());
        assert_eq!(buffer.take().unwrap(), "c");
        assert!(buffer.take().is_none() && buffer.is_empty());
    }
}
