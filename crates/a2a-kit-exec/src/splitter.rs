//! Output, split at a delimiter.

use memchr::memmem;

/// Maximum bytes of a line of output, or of a chunk that ends with a delimiter.
pub(crate) const MAX_BYTES: usize = 16 << 20;

/// Splits a stream of bytes behind each delimiter, which is not empty.
#[derive(Debug)]
pub(crate) struct Splitter<'a> {
    delimiter: &'a [u8],
    buffer: Vec<u8>,
    /// The start of `buffer` in which no delimiter begins.
    searched: usize,
}

impl<'a> Splitter<'a> {
    pub(crate) fn new(delimiter: &'a [u8]) -> Self {
        Self { delimiter, buffer: Vec::new(), searched: 0 }
    }

    /// Adds bytes, and returns the complete pieces with their delimiters.
    ///
    /// # Errors
    ///
    /// An incomplete piece is too long.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        self.buffer.extend_from_slice(bytes);
        let mut pieces = Vec::new();
        let mut start = 0;
        while let Some(found) = memmem::find(&self.buffer[self.searched..], self.delimiter) {
            let end = self.searched + found + self.delimiter.len();
            pieces.push(self.buffer[start..end].to_vec());
            start = end;
            self.searched = end;
        }
        self.buffer.drain(..start);
        self.searched = (self.buffer.len() + 1).saturating_sub(self.delimiter.len());
        if self.buffer.len() > MAX_BYTES {
            let max = MAX_BYTES >> 20;
            return Err(format!("a line or a chunk of more than {max} MiB"));
        }
        Ok(pieces)
    }

    /// Returns the bytes behind the last delimiter.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_that_comes_in_two_reads_still_cuts() {
        let mut splitter = Splitter::new(b"\r\n");
        assert_eq!(splitter.push(b"a\r").unwrap(), Vec::<Vec<u8>>::new());
        let pieces = splitter.push(b"\nb\r\n\r\nc").unwrap();
        assert_eq!(pieces, [b"a\r\n".to_vec(), b"b\r\n".to_vec(), b"\r\n".to_vec()]);
        assert_eq!(splitter.push(b"").unwrap(), Vec::<Vec<u8>>::new());
        assert_eq!(splitter.rest(), b"c");
    }
}
