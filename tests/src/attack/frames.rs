//! Raw HTTP/2 frames.

use std::{io, time::Duration};

use tokio::{io::AsyncWriteExt as _, time::timeout};

use super::{
    Environment,
    pipe::{self, Pipe},
};

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RESET: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GO_AWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

/// Write timeout, after which the server counts as not reading.
const STALL: Duration = Duration::from_secs(3);

/// A frame.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Headers without any compression.
pub(super) fn block(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in headers {
        block.push(0);
        for text in [name, value] {
            length(&mut block, text.len());
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// A length in seven bits, or in more (RFC 7541 §5.1).
fn length(block: &mut Vec<u8>, length: usize) {
    let low = |value: usize| u8::try_from(value & 0x7f).unwrap_or(0);
    if length < 127 {
        block.push(low(length));
        return;
    }
    block.push(127);
    let mut left = length - 127;
    while left >= 128 {
        block.push(low(left) | 0x80);
        left >>= 7;
    }
    block.push(low(left));
}

/// An HTTP/2 connection after the preface.
pub(super) struct Frames {
    pipe: Pipe,
    /// The received bytes.
    seen: Vec<u8>,
    pub(super) closed: bool,
}

impl Frames {
    /// Connects and sends the preface with the given settings.
    pub(super) async fn open(env: &Environment, settings: &[(u16, u32)]) -> Result<Self, String> {
        let pipe = env.pipe2().await.map_err(|error| format!("failed to connect: {error}"))?;
        let mut frames = Self { pipe, seen: Vec::new(), closed: false };
        let mut payload = Vec::new();
        for (name, value) in settings {
            payload.extend_from_slice(&name.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        }
        let hello = frame(SETTINGS, 0, 0, &payload);
        let start = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), hello].concat();
        frames
            .write(&start)
            .await
            .map_err(|error| format!("failed to send the preface: {error}"))?;
        let acknowledged = frame(SETTINGS, 1, 0, &[]);
        frames
            .write(&acknowledged)
            .await
            .map_err(|error| format!("failed to send the preface: {error}"))?;
        Ok(frames)
    }

    /// Writes bytes; fails if the server has closed the connection or does not read.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = timeout(STALL, async {
            self.pipe.write_all(bytes).await?;
            self.pipe.flush().await
        });
        written.await.map_err(io::Error::from)?
    }

    /// Reads for a time, or until the server closes the connection.
    pub(super) async fn read(&mut self, wait: Duration) {
        let reply = pipe::read(&mut self.pipe, wait).await;
        self.closed |= reply.closed;
        self.seen.extend_from_slice(&reply.bytes);
    }

    /// The received frames: type, flags, payload.
    pub(super) fn frames(&self) -> Vec<(u8, u8, Vec<u8>)> {
        let mut frames = Vec::new();
        let mut left = &self.seen[..];
        while let [high, middle, low, kind, flags, _, _, _, _, rest @ ..] = left {
            let length = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
            let payload = rest.get(..length).unwrap_or(rest);
            frames.push((*kind, *flags, payload.to_vec()));
            left = rest.get(length..).unwrap_or_default();
        }
        frames
    }

    /// The reaction of the server.
    pub(super) fn summary(&self) -> String {
        let frames = self.frames();
        let count = |wanted: u8| frames.iter().filter(|(kind, ..)| *kind == wanted).count();
        let code = |payload: &[u8]| {
            let bytes = payload.get(4..8).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
            bytes.map_or(0, u32::from_be_bytes)
        };
        let mut summary = vec![format!("{} answers, {} resets", count(HEADERS), count(RESET))];
        if let Some((_, _, payload)) = frames.iter().rfind(|(kind, ..)| *kind == GO_AWAY) {
            summary.push(format!("went away with code {}", code(payload)));
        }
        if self.closed {
            summary.push("closed the connection".to_owned());
        }
        summary.join(", ")
    }

    /// Whether the server has closed the connection.
    pub(super) fn is_refused(&self) -> bool {
        self.closed || self.frames().iter().any(|(kind, ..)| *kind == GO_AWAY)
    }
}
