//! A client of gRPC that costs little: frames of HTTP/2, and messages that were encoded before.

use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use memchr::memmem;
use tokio::net::TcpStream;

use crate::case::Case;

/// Calls that share a connection.
pub(crate) const SHARING: usize = 16;
/// What may be on the way to us, in bytes: enough never to be waited for.
const WINDOW: u32 = 4 << 20;

/// A connection, as often as it is cloned.
#[derive(Clone)]
pub(crate) struct Connection {
    requests: SendRequest<Bytes>,
    host: String,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("it is a socket");
        let (requests, connection) = h2::client::Builder::new()
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(stream)
            .await
            .expect("the server speaks HTTP/2");
        // It ends with the last of those that ask.
        tokio::spawn(connection);
        Self { requests, host: address.to_string() }
    }

    /// Asks once, and looks at the answer.
    pub(crate) async fn ask(&mut self, path: &str, message: &Bytes, case: &Case) {
        let request = http::Request::post(format!("http://{}{path}", self.host))
            .version(http::Version::HTTP_2)
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("a2a-version", "1.0")
            .body(())
            .expect("it is fit");
        let mut requests = self.requests.clone().ready().await.expect("the server goes on");
        let (answer, mut body) = requests.send_request(request, false).expect("it is fit");
        body.send_data(message.clone(), true).expect("the server reads");
        let (_, mut answer) = answer.await.expect("the server answers").into_parts();
        let mut whole = BytesMut::new();
        while let Some(data) = answer.data().await {
            let data = data.expect("the answer goes on");
            answer.flow_control().release_capacity(data.len()).expect("it was received");
            whole.extend_from_slice(&data);
        }
        let trailers = answer.trailers().await.expect("the answer ends");
        let status = trailers.as_ref().and_then(|trailers| trailers.get("grpc-status"));
        assert_eq!(status.map(http::HeaderValue::as_bytes), Some(&b"0"[..]), "{}", case.name());
        assert!(memmem::find(&whole, case.mark()).is_some(), "{}: {whole:?}", case.name());
        assert_eq!(messages(&whole), case.events(), "{}", case.name());
    }
}

/// How many messages there are in an answer.
fn messages(mut rest: &[u8]) -> usize {
    let mut count = 0;
    while let [_, a, b, c, d, after @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]);
        rest = &after[usize::try_from(length).expect("it is in memory")..];
        count += 1;
    }
    count
}
