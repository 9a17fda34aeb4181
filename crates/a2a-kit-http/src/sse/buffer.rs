use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Minimum size of bytes that are not copied, but sent as a chunk of their own.
const MIN_SHARED: usize = 64 << 10;

/// Initial capacity of the text buffer, in bytes: about ten artifact chunks.
const INITIAL_CAPACITY: usize = 4 << 10;

/// A write buffer for events. Small events are copied into one chunk; large ones are chunks of
/// their own, shared by all readers.
#[derive(Debug, Default)]
pub struct Buffer {
    chunks: VecDeque<Bytes>,
    /// Bytes in `chunks`.
    len: usize,
    text: BytesMut,
}

impl Buffer {
    /// Returns the buffer to append text to.
    pub fn text(&mut self) -> &mut BytesMut {
        if self.text.capacity() == 0 {
            self.text.reserve(INITIAL_CAPACITY);
        }
        &mut self.text
    }

    /// Appends shared bytes.
    pub fn push(&mut self, bytes: Bytes) {
        if bytes.len() < MIN_SHARED {
            self.text.extend_from_slice(&bytes);
            return;
        }
        if !self.text.is_empty() {
            // Moved out whole, so that later text does not keep sent bytes in memory.
            let text = std::mem::take(&mut self.text).freeze();
            self.len += text.len();
            self.chunks.push_back(text);
        }
        self.len += bytes.len();
        self.chunks.push_back(bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.len + self.text.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next chunk. An empty buffer keeps no memory allocated.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        if let Some(chunk) = self.chunks.pop_front() {
            self.len -= chunk.len();
            return Some(chunk);
        }
        self.chunks = VecDeque::new();
        (!self.text.is_empty()).then(|| std::mem::take(&mut self.text).freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bytes_are_not_copied_and_order_is_kept() {
        let large = Bytes::from(vec![b'x'; MIN_SHARED]);
        let mut buffer = Buffer::default();
        buffer.text().extend_from_slice(b"a");
        buffer.push(Bytes::from_static(b"b"));
        buffer.push(large.clone());
        buffer.text().extend_from_slice(b"c");
        assert_eq!(buffer.len(), MIN_SHARED + 3);
        assert_eq!(buffer.take().unwrap(), "ab");
        assert_eq!(buffer.take().unwrap().as_ptr(), large.as_ptr());
        assert_eq!(buffer.take().unwrap(), "c");
        assert!(buffer.take().is_none() && buffer.is_empty());
    }
}
