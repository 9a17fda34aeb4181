//! A connection whose peer may not send frames of HTTP/2 without end that carry nothing.
//!
//! A PING or SETTINGS is answered, a WINDOW_UPDATE or PRIORITY looked at, and what is unknown
//! thrown away, for as long as a peer likes to send them: what speaks HTTP/2 counts resets, heads
//! and DATA only. So the frames are counted where they pass by, against what calls for them.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use a2a_operations::metrics;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

use super::{
    frames::{DATA, Frames, HEADERS, Head},
    version::PREFACE,
};

/// Time for which frames are counted.
const WINDOW: Duration = Duration::from_secs(10);

/// Frames that one frame of an answer calls for: two updates of windows, a ping by which the
/// peer measures, and one to spare.
const CALLED_FOR: u32 = 4;

/// Readers that update their windows often do so every 4 KiB, of stream and connection, and may
/// do so twice as often here.
const BYTES_OF_UPDATE: usize = 1 << 10;

/// Payload of DATA below which a frame calls for nothing, in bytes: a peer that lets itself be
/// sent single bytes pays for its updates itself.
const MIN_DATA: usize = 32;

/// Most that is remembered of what answers called for, so that it is no leave for everything.
const MAX_EARNED: u32 = 1 << 16;

/// A connection that fails when its peer sends too many frames that carry nothing. What is not
/// HTTP/2 passes.
#[derive(Debug)]
pub(super) struct Metered<I> {
    io: I,
    spoken: Spoken,
    heard: Frames,
    said: Frames,
    allowance: Allowance,
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spoken {
    /// So many bytes were those of the preface.
    Preface(usize),
    Http2,
    Other,
}

impl<I> Metered<I> {
    /// Lets the peer send at most this many frames that nothing calls for, in 10 s.
    pub(super) fn new(io: I, most: u32) -> Self {
        Self {
            io,
            spoken: Spoken::Preface(0),
            heard: Frames::default(),
            said: Frames::default(),
            allowance: Allowance::new(most),
        }
    }

    /// Looks at what was read.
    fn hear(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if let Spoken::Preface(known) = self.spoken {
            let (begun, rest) = bytes.split_at(bytes.len().min(PREFACE.len() - known));
            let known = known + begun.len();
            if !PREFACE[..known].ends_with(begun) {
                self.spoken = Spoken::Other;
            } else if known == PREFACE.len() {
                self.spoken = Spoken::Http2;
            } else {
                self.spoken = Spoken::Preface(known);
            }
            bytes = rest;
        }
        if self.spoken != Spoken::Http2 {
            return Ok(());
        }
        while let Some(head) = self.heard.next(&mut bytes) {
            match head.kind {
                // It may be taken back.
                HEADERS => self.allowance.earn(1),
                // Counted where it is kept, by its size.
                DATA => {}
                _ if self.allowance.spend() => {}
                kind => return Err(flood(kind)),
            }
        }
        Ok(())
    }

    /// Looks at the first `count` bytes of what was to be written.
    fn say<'a>(&mut self, pieces: impl IntoIterator<Item = &'a [u8]>, mut count: usize) {
        if self.spoken != Spoken::Http2 {
            return;
        }
        for piece in pieces {
            let mut written = &piece[..piece.len().min(count)];
            count -= written.len();
            while let Some(head) = self.said.next(&mut written) {
                self.allowance.earn(called_for(head));
            }
        }
    }
}

/// How many frames of the peer a frame of ours calls for.
fn called_for(head: Head) -> u32 {
    match head.kind {
        HEADERS => CALLED_FOR,
        DATA if head.length >= MIN_DATA => {
            let updates = u32::try_from(head.length / BYTES_OF_UPDATE).unwrap_or(MAX_EARNED);
            CALLED_FOR.saturating_add(updates)
        }
        _ => 0,
    }
}

fn flood(kind: u8) -> io::Error {
    metrics::refused("flood");
    io::Error::other(format!("too many frames that carry nothing, the last of kind {kind}"))
}

/// How many frames a peer may still send.
#[derive(Debug)]
struct Allowance {
    most: u32,
    spent: u32,
    since: Instant,
    /// How many answers called for and were not sent yet.
    earned: u32,
}

impl Allowance {
    fn new(most: u32) -> Self {
        Self { most: most.max(1), spent: 0, since: Instant::now(), earned: 0 }
    }

    fn earn(&mut self, frames: u32) {
        self.earned = self.earned.saturating_add(frames).min(MAX_EARNED);
    }

    /// Returns whether one more may be sent.
    fn spend(&mut self) -> bool {
        if self.earned > 0 {
            self.earned -= 1;
            return true;
        }
        // The clock is only looked at when all are spent.
        if self.spent == self.most {
            if self.since.elapsed() < WINDOW {
                return false;
            }
            (self.spent, self.since) = (0, Instant::now());
        }
        self.spent += 1;
        true
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Metered<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let known = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
        if self.spoken == Spoken::Other {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(self.hear(&buffer.filled()[known..]))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Metered<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.io).poll_write(cx, bytes))?;
        self.say([bytes], count);
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.io).poll_write_vectored(cx, pieces))?;
        self.say(pieces.iter().map(|piece| &**piece), count);
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        time::advance,
    };

    use super::*;

    const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7];

    fn data(length: u8) -> Vec<u8> {
        [&[0, 0, length, DATA, 0, 0, 0, 0, 1][..], &vec![6; usize::from(length)]].concat()
    }

    #[tokio::test]
    async fn a_flood_is_found_however_the_bytes_are_cut() {
        let bytes = [PREFACE, &PING.repeat(10)].concat();
        for size in [1, 2, 7, 9, 23, 24, 25, 1_000] {
            let mut metered = Metered::new((), 10);
            for piece in bytes.chunks(size) {
                metered.hear(piece).unwrap();
            }
            let (begun, end) = PING.split_at(8);
            metered.hear(begun).unwrap();
            assert!(metered.hear(end).is_err(), "in pieces of {size}");
        }
    }

    #[tokio::test]
    async fn what_is_not_http2_passes() {
        for begun in ["GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", "PRI * HTTP/1"]
        {
            let bytes = [begun.as_bytes(), &PING.repeat(1_000)].concat();
            let mut metered = Metered::new(Cursor::new(bytes.clone()), 10);
            let mut read = Vec::new();
            metered.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, bytes, "{begun}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_spread_over_time_is_no_flood() {
        let mut metered = Metered::new((), 100);
        metered.hear(PREFACE).unwrap();
        for _ in 0..10_000 {
            metered.hear(PING).unwrap();
            advance(WINDOW / 100).await;
        }
        // At once it is one.
        assert!((0..300).any(|_| metered.hear(PING).is_err()));
    }

    #[tokio::test]
    async fn an_answer_pays_for_what_it_calls_for_and_single_bytes_do_not() {
        for (length, pings, is_paid) in [(100, 3, true), (100, 6, false), (1, 1, false)] {
            let mut metered = Metered::new(Cursor::new(Vec::new()), 10);
            metered.hear(PREFACE).unwrap();
            let mut outcome = Ok(());
            for _ in 0..100 {
                // By two writes.
                let answer = data(length);
                metered.write_all(&answer[..5]).await.unwrap();
                metered.write_all(&answer[5..]).await.unwrap();
                outcome = outcome.and_then(|()| metered.hear(&PING.repeat(pings)));
            }
            assert_eq!(outcome.is_ok(), is_paid, "{length} bytes, {pings} pings");
        }
    }

    #[tokio::test]
    async fn what_is_written_in_many_pieces_is_counted_to_where_it_was_written() {
        let mut metered = Metered::new((), 1);
        metered.hear(PREFACE).unwrap();
        let answer = data(200);
        let pieces = [&answer[..4], &answer[4..100], &answer[100..], &answer[..]];
        metered.say(pieces, answer.len());
        assert_eq!(metered.allowance.earned, CALLED_FOR);
        metered.say([&answer[..], &answer[..]], answer.len() * 2);
        assert_eq!(metered.allowance.earned, CALLED_FOR * 3);
    }
}
