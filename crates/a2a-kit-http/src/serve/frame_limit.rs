//! Limits HTTP/2 control frames, against PING, SETTINGS and similar floods.
//!
//! hyper acknowledges PING and SETTINGS, processes WINDOW_UPDATE and PRIORITY and discards unknown
//! frames without a limit; it limits only resets, headers and DATA. Control frames are therefore
//! counted here, on the byte stream, against a credit for the requests and responses that cause
//! them.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use a2a_kit_operations::metrics;
use http::Version;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

use super::{
    frames::{DATA, FrameHeader, FrameParser, HEADERS},
    version::PREFACE,
};
use crate::forward_io::forward_io;

/// Window of the limit.
const WINDOW: Duration = Duration::from_secs(10);

/// Control frames that one response frame may cause: two WINDOW_UPDATEs, a PING for bandwidth
/// estimation, and one to spare.
const FRAMES_PER_RESPONSE_FRAME: u32 = 4;

/// Eager clients send WINDOW_UPDATEs for stream and connection every 4 KiB; twice as many are
/// accepted.
const BYTES_PER_WINDOW_UPDATE: usize = 1 << 10;

/// Payload below which a DATA frame gives no credit, in bytes: with tiny windows a peer would
/// otherwise earn credit for every byte.
const MIN_DATA: usize = 32;

/// Maximum credit, so that a long response does not allow an unlimited burst.
const MAX_CREDIT: u32 = 1 << 16;

/// A connection that fails when its peer sends too many HTTP/2 control frames. Other protocols are
/// not inspected.
#[derive(Debug)]
pub(super) struct FrameLimit<I> {
    io: I,
    is_http2: bool,
    has_written: bool,
    inbound: FrameParser,
    outbound: FrameParser,
    budget: FrameBudget,
}

impl<I> FrameLimit<I> {
    /// Limits the peer to `max` control frames beyond its credit per 10 s.
    pub(super) fn new(io: I, version: Version, max: u32) -> Self {
        Self {
            io,
            is_http2: version == Version::HTTP_2,
            has_written: false,
            inbound: FrameParser::after(PREFACE.len()),
            outbound: FrameParser::default(),
            budget: FrameBudget::new(max),
        }
    }

    /// Inspects bytes that were read.
    fn inspect_read(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Some(header) = self.inbound.next(&mut bytes) {
            match header.kind {
                // The client may reset the stream.
                HEADERS => self.budget.add_credit(1),
                // Limited by hyper, by size.
                DATA => {}
                _ if self.budget.try_spend() => {}
                kind => return Err(flood(kind)),
            }
        }
        Ok(())
    }

    /// Inspects the first `count` bytes of a write.
    fn inspect_written<'a>(
        &mut self,
        slices: impl IntoIterator<Item = &'a [u8]>,
        mut count: usize,
    ) {
        if !self.is_http2 {
            return;
        }
        self.has_written = true;
        for slice in slices {
            let mut written = &slice[..slice.len().min(count)];
            count -= written.len();
            while let Some(header) = self.outbound.next(&mut written) {
                self.budget.add_credit(credit(header));
            }
        }
    }
}

/// Returns how many control frames an outbound frame may cause.
fn credit(header: FrameHeader) -> u32 {
    match header.kind {
        HEADERS => FRAMES_PER_RESPONSE_FRAME,
        DATA if header.length >= MIN_DATA => {
            let updates =
                u32::try_from(header.length / BYTES_PER_WINDOW_UPDATE).unwrap_or(MAX_CREDIT);
            FRAMES_PER_RESPONSE_FRAME.saturating_add(updates)
        }
        _ => 0,
    }
}

fn flood(kind: u8) -> io::Error {
    metrics::refused("flood");
    io::Error::other(format!("too many control frames, last frame type {kind}"))
}

/// The control frames that a peer may still send.
#[derive(Debug)]
struct FrameBudget {
    max: u32,
    spent: u32,
    since: Instant,
    /// Control frames allowed for responses, beyond the limit.
    credit: u32,
}

impl FrameBudget {
    fn new(max: u32) -> Self {
        Self { max: max.max(1), spent: 0, since: Instant::now(), credit: 0 }
    }

    fn add_credit(&mut self, frames: u32) {
        self.credit = self.credit.saturating_add(frames).min(MAX_CREDIT);
    }

    /// Spends one frame; `false` if the limit is exceeded.
    fn try_spend(&mut self) -> bool {
        if self.credit > 0 {
            self.credit -= 1;
            return true;
        }
        // The clock is read only when the budget is spent.
        if self.spent == self.max {
            if self.since.elapsed() < WINDOW {
                return false;
            }
            (self.spent, self.since) = (0, Instant::now());
        }
        self.spent += 1;
        true
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for FrameLimit<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let known = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
        if !self.is_http2 {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(self.inspect_read(&buffer.filled()[known..]))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for FrameLimit<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.io).poll_write(cx, bytes))?;
        self.inspect_written([bytes], count);
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.io).poll_write_vectored(cx, slices))?;
        self.inspect_written(slices.iter().map(|slice| &**slice), count);
        Poll::Ready(Ok(count))
    }

    /// Not before the first write: h2 asks once how payloads are written, and collects those of up to
    /// 1 KiB, instead of 256 bytes, if not in vectors. Larger ones then are.
    fn is_write_vectored(&self) -> bool {
        (!self.is_http2 || self.has_written) && self.io.is_write_vectored()
    }

    forward_io!(io: poll_flush, poll_shutdown);
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
    async fn flood_is_detected_in_chunks_of_any_size() {
        let bytes = [PREFACE, &PING.repeat(10)].concat();
        for size in [1, 2, 7, 9, 23, 24, 25, 1_000] {
            let mut limited = FrameLimit::new((), Version::HTTP_2, 10);
            for piece in bytes.chunks(size) {
                limited.inspect_read(piece).unwrap();
            }
            let (start, end) = PING.split_at(8);
            limited.inspect_read(start).unwrap();
            assert!(limited.inspect_read(end).is_err(), "in chunks of {size}");
        }
    }

    #[tokio::test]
    async fn other_protocols_are_not_limited() {
        for start in ["GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", "PRI * HTTP/1"]
        {
            let bytes = [start.as_bytes(), &PING.repeat(1_000)].concat();
            let mut limited = FrameLimit::new(Cursor::new(bytes.clone()), Version::HTTP_11, 10);
            let mut read = Vec::new();
            limited.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, bytes, "{start}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn frames_spread_over_time_are_accepted() {
        let mut limited = FrameLimit::new((), Version::HTTP_2, 100);
        limited.inspect_read(PREFACE).unwrap();
        for _ in 0..10_000 {
            limited.inspect_read(PING).unwrap();
            advance(WINDOW / 100).await;
        }
        // In one burst they exceed the limit.
        assert!((0..300).any(|_| limited.inspect_read(PING).is_err()));
    }

    #[tokio::test]
    async fn response_gives_credit_unless_sent_in_single_bytes() {
        for (length, pings, is_accepted) in [(100, 3, true), (100, 6, false), (1, 1, false)] {
            let mut limited = FrameLimit::new(Cursor::new(Vec::new()), Version::HTTP_2, 10);
            limited.inspect_read(PREFACE).unwrap();
            let mut outcome = Ok(());
            for _ in 0..100 {
                // In two writes.
                let response = data(length);
                limited.write_all(&response[..5]).await.unwrap();
                limited.write_all(&response[5..]).await.unwrap();
                outcome = outcome.and_then(|()| limited.inspect_read(&PING.repeat(pings)));
            }
            assert_eq!(outcome.is_ok(), is_accepted, "{length} bytes, {pings} pings");
        }
    }

    #[tokio::test]
    async fn vectored_write_counts_only_written_bytes() {
        let mut limited = FrameLimit::new((), Version::HTTP_2, 1);
        limited.inspect_read(PREFACE).unwrap();
        let response = data(200);
        let slices = [&response[..4], &response[4..100], &response[100..], &response[..]];
        limited.inspect_written(slices, response.len());
        assert_eq!(limited.budget.credit, FRAMES_PER_RESPONSE_FRAME);
        limited.inspect_written([&response[..], &response[..]], response.len() * 2);
        assert_eq!(limited.budget.credit, FRAMES_PER_RESPONSE_FRAME * 3);
    }
}
