//! A raw HTTP/2 peer (RFC 9113), for frames that regular clients do not send.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};

use crate::support::LONG;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RESET: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

pub(crate) const REFUSED_STREAM: u32 = 7;
pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;

/// HPACK of `GET /` with the authority `a` (RFC 7541).
pub(crate) const GET: &[u8] = &[0x82, 0x86, 0x84, 0x41, 1, b'a'];

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// Returns the error code of a RST_STREAM or GOAWAY.
    pub(crate) fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().unwrap())
    }
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

pub(crate) fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, GET)
}

pub(crate) struct Peer {
    pub(crate) reader: OwnedReadHalf,
    pub(crate) writer: OwnedWriteHalf,
}

impl Peer {
    /// Connects and sends these settings: identifiers and values.
    pub(crate) async fn connect(address: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let (reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
        let mut payload = Vec::new();
        for (id, value) in settings {
            payload.extend(id.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        writer.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        writer.write_all(&frame(SETTINGS, 0, 0, &payload)).await.unwrap();
        Self { reader, writer }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes).await
    }

    /// Returns the next frame; `None` when the connection is closed.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        timeout(LONG, self.read()).await.expect("a frame or the end")
    }

    async fn read(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.reader.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.reader.read_exact(&mut payload).await.ok()?;
        Some(Frame { kind: head[3], flags: head[4], payload })
    }

    /// Acknowledges SETTINGS and PING, and returns the next other frame except WINDOW_UPDATE.
    pub(crate) async fn next_acknowledging(&mut self) -> Option<Frame> {
        loop {
            let found = self.next().await?;
            match (found.kind, found.flags & ACK) {
                (SETTINGS, 0) => drop(self.send(&frame(SETTINGS, ACK, 0, &[])).await),
                (PING, 0) => drop(self.send(&frame(PING, ACK, 0, &found.payload)).await),
                (SETTINGS | PING | WINDOW_UPDATE, _) => {}
                _ => return Some(found),
            }
        }
    }

    /// Reads to the end. Returns the error code of the GOAWAY, if any.
    pub(crate) async fn goaway_code(&mut self) -> Option<u32> {
        let mut code = None;
        while let Some(found) = self.next_acknowledging().await {
            if found.kind == GOAWAY {
                code = Some(found.code());
            }
        }
        code
    }
}
