//! A minimal HTTP/1.1 client: prepared requests, one thread, and responses that are only searched.

use std::{
    io::{self, Read as _, Write as _},
    time::{Duration, Instant},
};

use bytes::{Buf as _, Bytes};
use memchr::memmem;
use mio::{Events, Interest, Poll, Token, net::TcpStream};

use crate::{
    Result,
    load::{Load, Meter, Outcome},
    server::Server,
};

/// Read timeout while a response is outstanding.
const SILENCE: Duration = Duration::from_secs(20);
/// The start of a stream event.
const EVENT: &[u8] = b"data: {";

/// Runs a load.
pub(crate) fn run(load: &Load<'_>, mut on_response: impl FnMut(&[u8])) -> Result<Outcome> {
    let requests = load.http_requests();
    let (mark, min_events) = load.expected();
    let mark = memmem::Finder::new(&mark);
    let is_stream = min_events > 1;
    let mut poll = Poll::new().map_err(io_error)?;
    let mut ready = Events::with_capacity(1024);
    let mut connections = Vec::with_capacity(load.in_flight);
    for number in 0..load.in_flight {
        connections.push(Connection::open(load.server, &poll, number)?);
    }
    let mut idle: Vec<usize> = (0..load.in_flight).rev().collect();
    let gap = load.rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
    let mut next = requests.iter().cycle();
    let mut meter = Meter::new(load);
    let (mut due, mut last) = (Instant::now(), Instant::now());
    loop {
        let now = Instant::now();
        if meter.is_over(now) {
            return meter.end();
        }
        while let Some(number) = idle.last().copied() {
            let is_due = gap.is_none() || due <= now;
            if !is_due || !meter.admits(load.in_flight - idle.len()) {
                break;
            }
            idle.pop();
            let since = if gap.is_some() { due } else { Instant::now() };
            connections[number].send(next.next().expect("it is a cycle"), since)?;
            due += gap.unwrap_or_default();
        }
        // Timers are too coarse for requests that are due within microseconds.
        let wait = if gap.is_some() && !idle.is_empty() { 0 } else { 20 };
        poll.poll(&mut ready, Some(Duration::from_millis(wait))).map_err(io_error)?;
        if ready.is_empty() && now > last + SILENCE && idle.len() < load.in_flight {
            return Err(format!("no response within {SILENCE:?}"));
        }
        for event in &ready {
            let connection = &mut connections[event.token().0];
            connection.flush()?;
            if !connection.read()? {
                continue;
            }
            last = Instant::now();
            let body = connection.response()?;
            let show = || String::from_utf8_lossy(&body[..body.len().min(2_000)]).into_owned();
            if mark.find(body).is_none() {
                return Err(format!("unexpected response: {}", show()));
            }
            let events = if is_stream { memmem::find_iter(body, EVENT).count() } else { 1 };
            if events < min_events {
                return Err(format!("{events} events instead of {min_events}: {}", show()));
            }
            on_response(body);
            meter.count(events, connection.since, last);
            idle.push(event.token().0);
        }
    }
}

/// A connection that has at most one request in flight.
struct Connection {
    stream: TcpStream,
    unsent: Bytes,
    buffer: Vec<u8>,
    /// The number of bytes read from the buffer.
    filled: usize,
    framing: Framing,
    since: Instant,
}

/// The framing of a response.
#[derive(Clone, Copy)]
enum Framing {
    /// The head is incomplete.
    Unknown,
    /// The start and end of the body.
    Length(usize, usize),
    /// The start of a chunked body.
    Chunked(usize),
}

impl Connection {
    fn open(server: &Server, poll: &Poll, number: usize) -> Result<Self> {
        let stream = std::net::TcpStream::connect(server.http()).map_err(io_error)?;
        stream.set_nodelay(true).map_err(io_error)?;
        stream.set_nonblocking(true).map_err(io_error)?;
        let mut stream = TcpStream::from_std(stream);
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut stream, Token(number), interest).map_err(io_error)?;
        let (unsent, framing, since) = (Bytes::new(), Framing::Unknown, Instant::now());
        Ok(Self { stream, unsent, buffer: Vec::new(), filled: 0, framing, since })
    }

    fn send(&mut self, request: &Bytes, since: Instant) -> Result<()> {
        self.unsent = request.clone();
        self.filled = 0;
        self.framing = Framing::Unknown;
        self.since = since;
        self.flush()
    }

    /// Writes pending bytes until the socket would block.
    fn flush(&mut self) -> Result<()> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(written) => self.unsent.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(io_error(error)),
            }
        }
        Ok(())
    }

    /// Reads available bytes, and returns whether the response is complete.
    fn read(&mut self) -> Result<bool> {
        loop {
            if self.buffer.len() - self.filled < 16 << 10 {
                self.buffer.resize((2 * self.buffer.len()).max(64 << 10), 0);
            }
            match self.stream.read(&mut self.buffer[self.filled..]) {
                Ok(0) => return Err("closed the connection".to_owned()),
                Ok(read) => {
                    self.filled += read;
                    if self.is_complete()? {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(io_error(error)),
            }
        }
    }

    fn is_complete(&mut self) -> Result<bool> {
        if let Framing::Unknown = self.framing {
            let mut headers = [httparse::EMPTY_HEADER; 32];
            let mut head = httparse::Response::new(&mut headers);
            let parsed =
                head.parse(&self.buffer[..self.filled]).map_err(|error| error.to_string())?;
            let httparse::Status::Complete(body) = parsed else { return Ok(false) };
            if head.code != Some(200) {
                let text = String::from_utf8_lossy(&self.buffer[..self.filled]);
                return Err(format!("unexpected response: {text}"));
            }
            let header = |name: &str| {
                head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))
            };
            self.framing = match header("content-length") {
                Some(length) => {
                    let length = std::str::from_utf8(length.value).ok();
                    let length: Option<usize> = length.and_then(|text| text.parse().ok());
                    Framing::Length(body, body + length.ok_or("malformed content-length")?)
                }
                None => Framing::Chunked(body),
            };
        }
        Ok(match self.framing {
            Framing::Unknown => false,
            Framing::Length(_, end) => self.filled >= end,
            Framing::Chunked(body) => self.buffer[body..self.filled].ends_with(b"0\r\n\r\n"),
        })
    }

    /// The body of a complete response, including chunk headers.
    fn response(&self) -> Result<&[u8]> {
        match self.framing {
            Framing::Length(body, _) | Framing::Chunked(body) => {
                Ok(&self.buffer[body..self.filled])
            }
            Framing::Unknown => Err("the response has no head".to_owned()),
        }
    }
}

/// Connections that each read one stream.
pub(crate) struct Subscribers {
    poll: Poll,
    readers: Vec<Reader>,
}

/// A stream whose events are counted.
struct Reader {
    connection: Connection,
    /// The end of the last read, which may contain the start of an event.
    rest: Vec<u8>,
    events: usize,
    has_ended: bool,
}

impl Subscribers {
    /// Opens the streams, and reads the first event of each.
    pub(crate) fn open(server: &Server, requests: impl Iterator<Item = Bytes>) -> Result<Self> {
        let poll = Poll::new().map_err(io_error)?;
        let mut streams = Self { poll, readers: Vec::new() };
        for (number, request) in requests.enumerate() {
            let mut connection = Connection::open(server, &streams.poll, number)?;
            connection.send(&request, Instant::now())?;
            let rest = Vec::new();
            streams.readers.push(Reader { connection, rest, events: 0, has_ended: false });
            // More could exceed the accept queue and be retransmitted after a second.
            if number % 64 == 0 {
                streams.wait(|reader| reader.events > 0)?;
            }
        }
        streams.wait(|reader| reader.events > 0)?;
        Ok(streams)
    }

    /// Reads until every stream has ended. Returns the time of the first event.
    pub(crate) fn wait_for_end(&mut self) -> Result<Instant> {
        self.wait(|reader| reader.has_ended)
    }

    fn wait(&mut self, is_done: impl Fn(&Reader) -> bool) -> Result<Instant> {
        let mut ready = Events::with_capacity(1024);
        let mut left = self.readers.iter().filter(|reader| !is_done(reader)).count();
        let mut first = None;
        let mut scratch = vec![0; 256 << 10];
        while left > 0 {
            self.poll.poll(&mut ready, Some(SILENCE)).map_err(io_error)?;
            if ready.is_empty() {
                return Err(format!("{left} streams were silent for {SILENCE:?}"));
            }
            for event in &ready {
                let reader = &mut self.readers[event.token().0];
                let was_done = is_done(reader);
                reader.connection.flush()?;
                if reader.read(&mut scratch)? {
                    first.get_or_insert_with(Instant::now);
                }
                left -= usize::from(!was_done && is_done(reader));
            }
        }
        Ok(first.unwrap_or_else(Instant::now))
    }

    /// The events of all streams.
    pub(crate) fn events(&self) -> usize {
        self.readers.iter().map(|reader| reader.events).sum()
    }
}

impl Reader {
    /// Reads and counts available events. Returns whether there were any.
    fn read(&mut self, scratch: &mut [u8]) -> Result<bool> {
        let rest = &mut self.rest;
        let mut has_read = false;
        loop {
            scratch[..rest.len()].copy_from_slice(rest);
            match self.connection.stream.read(&mut scratch[rest.len()..]) {
                Ok(0) => self.has_ended = true,
                Ok(read) => {
                    has_read = true;
                    let seen = &scratch[..rest.len() + read];
                    if self.events == 0 && seen.starts_with(b"HTTP/1.1 4") {
                        return Err(String::from_utf8_lossy(seen).into_owned());
                    }
                    let mut end = 0;
                    for start in memmem::find_iter(seen, EVENT) {
                        self.events += 1;
                        end = start + EVENT.len();
                    }
                    self.has_ended |= seen.ends_with(b"0\r\n\r\n");
                    let keep = (seen.len() - end).min(EVENT.len() - 1);
                    rest.clear();
                    rest.extend_from_slice(&seen[seen.len() - keep..]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(has_read),
                Err(error) => return Err(io_error(error)),
            }
            if self.has_ended {
                return Ok(has_read);
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
fn io_error(error: io::Error) -> String {
    error.to_string()
}
