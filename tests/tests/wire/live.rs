//! Tests with several connections or timing: running streams, and binary bodies.

use a2a_kit::Revisions;
use a2a_kit_http::Drain;
use serde_json::Value;

use crate::{
    fixture::Served,
    socket::{Connection, Head, text},
};

const JSON: &str = "Content-Type: application/json\nA2A-Version: 1.0";

/// One way to request a stream.
struct Binding {
    send: &'static str,
    subscribe: &'static [&'static str],
    is_jsonrpc: bool,
}

const BINDINGS: [Binding; 2] = [
    Binding { send: "POST / HTTP/1.1", subscribe: &["POST / HTTP/1.1"], is_jsonrpc: true },
    Binding {
        send: "POST /message:stream HTTP/1.1",
        subscribe: &["GET /tasks/{id}:subscribe HTTP/1.1", "POST /tasks/{id}:subscribe HTTP/1.1"],
        is_jsonrpc: false,
    },
];

impl Binding {
    async fn stream(&self, served: &Served, word: &str) -> Reader {
        let params = format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"{word}"}}]}}}}"#
        );
        let body = self.envelope("SendStreamingMessage", &params);
        Reader::open(served, &format!("{}\n{JSON}", self.send), &body).await
    }

    async fn subscribe(&self, served: &Served, line: &str, task_id: &str) -> Reader {
        let head = format!("{}\n{JSON}", line.replace("{id}", task_id));
        let body = match (self.is_jsonrpc, line.starts_with("GET")) {
            (true, _) => self.envelope("SubscribeToTask", &format!(r#"{{"id":"{task_id}"}}"#)),
            (false, _) => String::new(),
        };
        Reader::open(served, &head, &body).await
    }

    fn envelope(&self, method: &str, params: &str) -> String {
        if self.is_jsonrpc {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
        } else {
            params.to_owned()
        }
    }

    /// The event of a data line, out of its envelope.
    fn event(&self, data: &str) -> Value {
        let mut value: Value = serde_json::from_str(data).expect("JSON");
        if self.is_jsonrpc { value["result"].take() } else { value }
    }
}

/// An open stream.
struct Reader {
    connection: Connection,
    head: Head,
    unread: String,
}

impl Reader {
    async fn open(served: &Served, head: &str, body: &str) -> Self {
        let mut connection = Connection::open(served.address).await;
        connection.send(head, body.as_bytes()).await;
        let head = connection.receive_head().await;
        assert_eq!(head.status, "HTTP/1.1 200 OK");
        Self { connection, head, unread: String::new() }
    }

    /// The next block up to its blank line; `None` at the end of the body.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.unread.find("\n\n") {
                let rest = self.unread.split_off(end + 2);
                return Some(std::mem::replace(&mut self.unread, rest));
            }
            match self.connection.chunk().await {
                Some(chunk) => self.unread.push_str(&text(&chunk)),
                None => {
                    assert_eq!(self.unread, "", "the stream ends with a blank line");
                    return None;
                }
            }
        }
    }

    /// Position and data of the next event.
    async fn event(&mut self) -> Option<(u64, String)> {
        loop {
            let block = self.block().await?;
            if block == ": ping\n\n" {
                continue;
            }
            let (id, data) = block.split_once('\n').expect("two lines");
            let id = id.strip_prefix("id: ").expect("a position").parse().expect("a number");
            let data = data.strip_prefix("data: ").and_then(|data| data.strip_suffix("\n\n"));
            return Some((id, data.expect("one line of data").to_owned()));
        }
    }

    async fn rest(mut self) -> Vec<(u64, String)> {
        let mut events = Vec::new();
        while let Some(event) = self.event().await {
            events.push(event);
        }
        events
    }
}

#[tokio::test]
async fn silent_stream_gets_keep_alive_comments() {
    for binding in BINDINGS {
        let served = Served::start(&["keep-alive-ms 20"]).await;
        let mut reader = binding.stream(&served, "gate").await;
        let mut pings = 0;
        while pings < 3 {
            let block = reader.block().await.expect("not the end");
            pings += usize::from(block == ": ping\n\n");
        }
        served.control.open();
        let events = reader.rest().await;
        assert!(events.last().expect("events").1.contains("TASK_STATE_COMPLETED"));
    }
}

// covers: R-040
#[tokio::test]
async fn first_event_is_sent_before_the_task_ends() {
    for binding in BINDINGS {
        let served = Served::start(&[""; 0]).await;
        let mut reader = binding.stream(&served, "gate").await;
        assert_eq!(reader.head.header("content-type"), Some("text/event-stream"));
        let (position, first) = reader.event().await.expect("an event");
        assert_eq!(position, 1);
        assert!(binding.event(&first)["task"]["id"].is_string(), "{first}");
        served.control.open();
        assert!(reader.rest().await.last().expect("events").1.contains("TASK_STATE_COMPLETED"));
    }
}

// covers: R-064, R-065, R-069, R-212, R-213, R-214, R-215
#[tokio::test]
async fn readers_get_the_same_bytes_after_the_snapshot() {
    for binding in BINDINGS {
        let served = Served::start(&[""; 0]).await;
        let mut first = binding.stream(&served, "gate").await;
        let (_, opening) = first.event().await.expect("an event");
        let id = binding.event(&opening)["task"]["id"].as_str().expect("an id").to_owned();
        let (working, _) = first.event().await.expect("an event");
        let mut readers = Vec::new();
        for line in binding.subscribe {
            let mut reader = binding.subscribe(&served, line, &id).await;
            let (position, snapshot) = reader.event().await.expect("an event");
            assert_eq!(position, working, "{line}");
            assert_eq!(binding.event(&snapshot)["task"]["status"]["state"], "TASK_STATE_WORKING");
            readers.push(reader);
        }
        served.control.open();
        let expected = first.rest().await;
        assert_eq!(expected.len(), 2);
        assert_eq!(expected[0].0, working + 1);
        for reader in readers {
            assert_eq!(reader.rest().await, expected);
        }
    }
}

// covers: R-216, R-217
#[tokio::test]
async fn disconnected_reader_affects_neither_the_task_nor_other_readers() {
    for binding in BINDINGS {
        let served = Served::start(&[""; 0]).await;
        let mut first = binding.stream(&served, "gate").await;
        let (_, opening) = first.event().await.expect("an event");
        let id = binding.event(&opening)["task"]["id"].as_str().expect("an id").to_owned();
        let second = binding.subscribe(&served, binding.subscribe[0], &id).await;
        drop(first);
        served.control.open();
        let events = second.rest().await;
        assert!(events.last().expect("events").1.contains("TASK_STATE_COMPLETED"));
    }
}

#[tokio::test]
async fn stream_ended_by_the_server_has_a_final_error_event() {
    let message = "the server is shutting down";
    let detail = r#"[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAVAILABLE","domain":"a2a-protocol.org"}]"#;
    let bodies = [
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-32603,"message":"{message}","data":{detail}}}}}"#
        ),
        format!(
            r#"{{"error":{{"code":503,"status":"UNAVAILABLE","message":"{message}","details":{detail}}}}}"#
        ),
    ];
    for (binding, body) in BINDINGS.into_iter().zip(bodies) {
        let drain = Drain::new();
        let served = Served::start_with(&[""; 0], Revisions::all(), drain.clone()).await;
        let mut reader = binding.stream(&served, "hang").await;
        reader.event().await.expect("an event");
        drain.start();
        let mut last = String::new();
        while let Some(block) = reader.block().await {
            last = block;
        }
        assert_eq!(last, format!("event: error\ndata: {body}\n\n"));
    }
}

// covers: R-435
#[tokio::test]
async fn invalid_utf_8_is_rejected() {
    let served = Served::start(&[""; 0]).await;
    let mut connection = Connection::open(served.address).await;
    let request =
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":{\"id\":\"\xff\"}}";
    connection.send(&format!("POST / HTTP/1.1\n{JSON}"), request).await;
    let (head, body) = connection.receive(false).await;
    assert_eq!(head.status, "HTTP/1.1 200 OK");
    assert!(text(&body).contains(r#""code":-32700"#), "{}", text(&body));
    let request = b"{\"message\":{\"messageId\":\"\xff\"}}";
    connection.send(&format!("POST /message:send HTTP/1.1\n{JSON}"), request).await;
    let (head, body) = connection.receive(false).await;
    assert_eq!(head.status, "HTTP/1.1 400 Bad Request");
    assert!(text(&body).contains("PARSE_ERROR"), "{}", text(&body));
}

// covers: R-421
#[tokio::test]
async fn chunked_body_over_the_limit_is_rejected_and_the_connection_stays_open() {
    let served = Served::start(&["max-body-bytes 1000"]).await;
    let mut connection = Connection::open(served.address).await;
    for path in ["/", "/message:send"] {
        let mut body = Vec::new();
        for _ in 0..100 {
            body.extend_from_slice(b"3e8\r\n");
            body.extend_from_slice(&[b' '; 1000]);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\n\r\n");
        let head = format!("POST {path} HTTP/1.1\n{JSON}\nTransfer-Encoding: chunked");
        connection.send(&head, &body).await;
        let (head, body) = connection.receive(false).await;
        assert_eq!(head.status, "HTTP/1.1 413 Payload Too Large", "{path}");
        assert!(text(&body).contains("PAYLOAD_TOO_LARGE"), "{path}");
    }
    connection.send("GET /healthz HTTP/1.1", b"").await;
    assert_eq!(connection.receive(false).await.0.status, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let served = Served::start(&[""; 0]).await;
    let mut connection = Connection::open(served.address).await;
    for id in 1..=5 {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ListTasks"}}"#);
        connection.send(&format!("POST / HTTP/1.1\n{JSON}"), body.as_bytes()).await;
    }
    for id in 1..=5 {
        let (_, body) = connection.receive(false).await;
        assert!(text(&body).starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)));
    }
}
