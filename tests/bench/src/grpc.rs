//! A minimal gRPC client: HTTP/2 frames and pre-encoded messages.

use std::{
    cell::{Cell, RefCell},
    net::SocketAddr,
    rc::Rc,
    time::Instant,
};

use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use memchr::memmem::Finder;
use tokio::{net::TcpStream, task::LocalSet};

use crate::{
    Result,
    load::{Length, Load, Meter, Outcome},
};

/// Calls per connection.
const CALLS_PER_CONNECTION: usize = 16;
/// Flow-control windows, in bytes: large enough that no server waits for the client.
const WINDOW: u32 = 4 << 20;

/// Runs a load.
pub(crate) fn run(load: &Load<'_>) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    LocalSet::new().block_on(&runtime, calls(load))
}

async fn calls(load: &Load<'_>) -> Result<Outcome> {
    let address = load.server.grpc().ok_or("gRPC is not served")?;
    let requests: Rc<[_]> = load.asks.iter().map(crate::request::Ask::grpc).collect();
    let (mark, min_events) = load.expected();
    let mark = Rc::new(Finder::new(&mark).into_owned());
    let mut connections = Vec::new();
    for _ in 0..load.in_flight.div_ceil(CALLS_PER_CONNECTION) {
        connections.push(Connection::open(address).await?);
    }
    // Local tasks cannot borrow the meter: they report their counts.
    let mut meter = Meter::new(load);
    let counted: Rc<RefCell<Vec<(usize, Instant, Instant)>>> = Rc::default();
    // The requests that may still be sent.
    let left = Rc::new(Cell::new(match load.length {
        Length::Time { .. } => usize::MAX,
        Length::Requests { count, .. } => count,
    }));
    let mut callers = Vec::new();
    for number in 0..load.in_flight {
        let mut connection = connections[number / CALLS_PER_CONNECTION].clone();
        let (requests, mark) = (requests.clone(), mark.clone());
        let (counted, left) = (counted.clone(), left.clone());
        let start = number * requests.len() / load.in_flight;
        callers.push(tokio::task::spawn_local(async move {
            // All requests of a load have the same method.
            let head = head(&connection.host, &requests[0].0);
            for (_, message) in requests.iter().cycle().skip(start) {
                let Some(rest) = left.get().checked_sub(1) else { break };
                left.set(rest);
                let begin = Instant::now();
                let response = connection.call(&head, message).await?;
                let events = messages(&response);
                if mark.find(&response).is_none() || events < min_events {
                    return Err(format!("unexpected response, {events} messages: {response:?}"));
                }
                counted.borrow_mut().push((events, begin, Instant::now()));
            }
            Ok(())
        }));
    }
    let mut has_ended = false;
    while !has_ended && !meter.is_over(Instant::now()) {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        has_ended = callers.iter().all(tokio::task::JoinHandle::is_finished);
        for (events, begin, end) in counted.borrow_mut().drain(..) {
            meter.count(events, begin, end);
        }
    }
    left.set(0);
    let outcome = meter.end();
    for caller in callers {
        caller.await.map_err(|error| error.to_string())??;
    }
    outcome
}

/// A connection, shared by its clones.
#[derive(Clone)]
struct Connection {
    requests: SendRequest<Bytes>,
    host: String,
}

/// The head of a call.
fn head(host: &str, path: &str) -> http::Request<()> {
    http::Request::post(format!("http://{host}{path}"))
        .version(http::Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("a2a-version", "1.0")
        .body(())
        .expect("the path is a gRPC path")
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let (requests, connection) = h2::client::Builder::new()
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(stream)
            .await
            .map_err(|error| error.to_string())?;
        // Ends with the last clone.
        tokio::task::spawn_local(connection);
        Ok(Self { requests, host: address.to_string() })
    }

    /// Makes one call, and returns all messages of its response in their frames.
    async fn call(&mut self, head: &http::Request<()>, message: &Bytes) -> Result<BytesMut> {
        self.exchange(head, message).await.map_err(|error| format!("{}: {error}", head.uri()))
    }

    async fn exchange(
        &mut self,
        head: &http::Request<()>,
        message: &Bytes,
    ) -> Result<BytesMut, h2::Error> {
        let mut requests = self.requests.clone().ready().await?;
        let (response, mut body) = requests.send_request(head.clone(), false)?;
        body.send_data(message.clone(), true)?;
        let (_, mut response) = response.await?.into_parts();
        let mut whole = BytesMut::new();
        while let Some(data) = response.data().await {
            let data = data?;
            response.flow_control().release_capacity(data.len())?;
            whole.extend_from_slice(&data);
        }
        response.trailers().await?;
        Ok(whole)
    }
}

/// The messages in a response.
fn messages(mut rest: &[u8]) -> usize {
    let mut count = 0;
    while let [_, a, b, c, d, after @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]);
        rest = &after[usize::try_from(length).expect("it is in memory")..];
        count += 1;
    }
    count
}
