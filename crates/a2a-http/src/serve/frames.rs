//! The heads of frames of HTTP/2 in bytes that pass by (RFC 9113 §4.1).

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;

/// Length of the head of a frame, in bytes.
const HEAD: usize = 9;

/// Finds the heads of frames in bytes that come in pieces. Nothing of a payload is kept.
#[derive(Debug, Default)]
pub(super) struct Frames {
    head: [u8; HEAD],
    filled: usize,
    /// How much of a payload is still to come, in bytes.
    rest: usize,
}

/// What the head of a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: u8,
    /// Length of the payload, in bytes.
    pub(super) length: usize,
}

impl Frames {
    /// Takes bytes up to the end of the next head; `None` when all are taken and no other head is
    /// whole.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Option<Head> {
        let passed = self.rest.min(bytes.len());
        self.rest -= passed;
        let (taken, left) =
            bytes[passed..].split_at((HEAD - self.filled).min(bytes.len() - passed));
        *bytes = left;
        self.head[self.filled..][..taken.len()].copy_from_slice(taken);
        self.filled += taken.len();
        if self.filled < HEAD {
            return None;
        }
        self.filled = 0;
        let [high, middle, low, kind, ..] = self.head;
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        self.rest = length;
        Some(Head { kind, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, length: u8) -> Vec<u8> {
        // A payload that looks like heads.
        [&[0, 0, length, kind, 0, 0, 0, 0, 1][..], &vec![0; usize::from(length)]].concat()
    }

    #[test]
    fn heads_are_found_however_the_bytes_are_cut() {
        let bytes = [frame(DATA, 40), frame(6, 8), frame(4, 0), frame(HEADERS, 200)].concat();
        let expected = [(DATA, 40), (6, 8), (4, 0), (HEADERS, 200)];
        for size in 1..bytes.len() {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for mut piece in bytes.chunks(size) {
                while let Some(head) = frames.next(&mut piece) {
                    found.push((head.kind, head.length));
                }
                assert!(piece.is_empty());
            }
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }
}
