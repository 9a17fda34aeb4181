//! A provider that follows a script: heads, frames, pauses and ends. It records the requests, and
//! when their connections were closed.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// A step of a response.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Bytes, as they are.
    Raw(Vec<u8>),
    /// A chunk of a body in chunks.
    Chunk(Vec<u8>),
    /// The same chunk of a body in chunks, so many times.
    Repeat(Vec<u8>, usize),
    /// A pause.
    Pause(Duration),
    /// The regular end of a body in chunks.
    End,
    /// Nothing more, until the client closes the connection.
    Silence,
    /// The connection is closed, whatever is missing.
    Close,
}

/// A script for one request.
pub(crate) type Script = Vec<Step>;

/// The head of an event stream, in chunks.
pub(crate) fn head() -> Step {
    head_with("content-type: text/event-stream\r\nx-request-id: req_1\r\n")
}

/// The head of a response with status 200 and these header lines, in chunks.
pub(crate) fn head_with(headers: &str) -> Step {
    let head = format!("HTTP/1.1 200 OK\r\n{headers}transfer-encoding: chunked\r\n\r\n");
    Step::Raw(head.into_bytes())
}

/// An event stream of one text.
pub(crate) fn events(text: &str) -> Script {
    vec![head(), Step::Chunk(text.as_bytes().to_vec()), Step::End]
}

/// A whole response with a status, header lines and a body.
pub(crate) fn response(status: u16, headers: &str, body: &str) -> Script {
    let length = body.len();
    let text = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}");
    vec![Step::Raw(text.into_bytes())]
}

/// A request, as it was received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// The head, without the empty line.
    pub(crate) head: String,
    pub(crate) body: String,
    /// When the client closed the connection before the script had ended.
    pub(crate) closed: Option<Instant>,
}

impl Request {
    /// The line of a header, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.to_owned())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A provider on an unused port.
#[derive(Clone, Debug)]
pub(crate) struct Fake {
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    scripts: Arc<Mutex<VecDeque<Script>>>,
    requests: Arc<watch::Sender<Vec<Request>>>,
}

impl Fake {
    /// Starts a provider that follows these scripts, a request each; after the last one it closes
    /// the connection.
    pub(crate) async fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            scripts: Arc::new(Mutex::new(scripts.into_iter().collect())),
            requests: Arc::new(watch::Sender::new(Vec::new())),
        };
        let server = fake.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move { server.serve(stream).await });
            }
        });
        fake
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.borrow().clone()
    }

    /// Waits for a condition on the requests.
    pub(crate) async fn wait(&self, is_met: impl Fn(&[Request]) -> bool) {
        let mut requests = self.requests.subscribe();
        requests.wait_for(|requests| is_met(requests)).await.unwrap();
    }

    async fn serve(&self, mut stream: TcpStream) {
        while let Some(request) = read(&mut stream).await {
            let mut number = 0;
            self.requests.send_modify(|requests| {
                number = requests.len();
                requests.push(request);
            });
            let Some(script) = self.scripts.lock().unwrap().pop_front() else { return };
            let mut closes = false;
            for step in script {
                let mut byte = [0];
                let is_closed = match step {
                    Step::Raw(bytes) => stream.write_all(&bytes).await.is_err(),
                    Step::Chunk(bytes) => stream.write_all(&chunk(&bytes)).await.is_err(),
                    Step::Repeat(bytes, times) => {
                        let chunk = chunk(&bytes);
                        let mut is_closed = false;
                        for _ in 0..times {
                            is_closed = is_closed || stream.write_all(&chunk).await.is_err();
                        }
                        is_closed
                    }
                    Step::End => stream.write_all(b"0\r\n\r\n").await.is_err(),
                    Step::Pause(pause) => {
                        let read = stream.read(&mut byte);
                        tokio::time::timeout(pause, read).await.is_ok()
                    }
                    Step::Silence => {
                        drop(stream.read(&mut byte).await);
                        true
                    }
                    Step::Close => {
                        closes = true;
                        false
                    }
                };
                if is_closed {
                    let now = Instant::now();
                    self.requests.send_modify(|requests| requests[number].closed = Some(now));
                    return;
                }
                if closes {
                    return;
                }
            }
        }
    }
}

/// A chunk of a body in chunks.
fn chunk(bytes: &[u8]) -> Vec<u8> {
    let size = format!("{:x}\r\n", bytes.len());
    [size.as_bytes(), bytes, b"\r\n"].concat()
}

/// Reads a request; `None` if the connection was closed.
async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut request = Request { head, ..Request::default() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    request.body = String::from_utf8(bytes[end + 4..].to_vec()).unwrap();
    Some(request)
}
