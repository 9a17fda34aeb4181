//! The table of requests.

/// A request, and what its response has to contain.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// `{task}` is the id of a completed task.
    pub(crate) head: &'static str,
    pub(crate) body: &'static str,
    pub(crate) status: &'static str,
    /// Texts of the response, the head in lower case.
    pub(crate) contains: &'static [&'static str],
}

const fn row(
    name: &'static str,
    head: &'static str,
    body: &'static str,
    status: &'static str,
    contains: &'static [&'static str],
) -> Row {
    Row { name, head, body, status, contains }
}

const SEND: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}"#;
const RPC: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}}"#;
const RPC_BOM: &str = concat!(
    "\u{feff}",
    r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}}"#
);
const BOM: &str = concat!(
    "\u{feff}",
    r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}"#
);
const BOM_0_3: &str = concat!(
    "\u{feff}",
    r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}}}"#
);
const MARKDOWN_0_3: &str = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x","metadata":{"mediaType":"text/markdown"}}]}}}"#;
const DRAFT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}}"#;
const WRONG_ROLE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"USER","parts":[{"text":"x"}]}}}"#;
const WRONG_ROLE_0_3: &str = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"USR","parts":[{"kind":"text","text":"x"}]}}}"#;
const WRONG_STATE_DRAFT: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"status":"paused"}}"#;
const GET_RPC: &str = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#;

#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    row("HEAD of a task", "HEAD /tasks/{task} HTTP/1.1\nA2A-Version: 1.0", "", "200", &["content-length: ", "application/a2a+json"]),
    row("HEAD of the list", "HEAD /tasks HTTP/1.1\nA2A-Version: 1.0", "", "200", &["content-length: "]),
    row("HEAD of an unknown task", "HEAD /tasks/none HTTP/1.1\nA2A-Version: 1.0", "", "404", &[]),
    row("HEAD of a task in 0.3", "HEAD /v1/tasks/{task} HTTP/1.1", "", "200", &["content-length: "]),
    row("HEAD of the card", "HEAD /.well-known/agent-card.json HTTP/1.1", "", "200", &["content-length: ", "etag: "]),
    row("HEAD of the health", "HEAD /healthz HTTP/1.1", "", "200", &["content-length: 3"]),
    row("HEAD where there is no GET", "HEAD /message:send HTTP/1.1\nA2A-Version: 1.0", "", "405", &["allow: post"]),
    row("another method names HEAD", "PUT /tasks HTTP/1.1\nA2A-Version: 1.0", "", "405", &["allow: get, head"]),
    row("slash after the card", "GET /.well-known/agent-card.json/ HTTP/1.1", "", "200", &["\"Odd\""]),
    row("slash after the old card", "GET /.well-known/agent.json/ HTTP/1.1", "", "200", &["\"Odd\""]),
    row("slash after the list", "GET /tasks/ HTTP/1.1\nA2A-Version: 1.0", "", "404", &[r#"unknown path \"/tasks/\""#]),
    row("unknown path", "GET /no/such/path/here HTTP/1.1", "", "404", &[r#"unknown path \"/no/such/path/here\""#]),
    row("encoded colon of a send", "POST /message%3Asend HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json", SEND, "200", &["TASK_STATE_COMPLETED"]),
    row("encoded colon in lower case", "POST /tenant/message%3asend HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json", SEND, "200", &["TASK_STATE_COMPLETED"]),
    row("encoded colon of a send in 0.3", "POST /v1/message%3Asend HTTP/1.1\nContent-Type: application/json", r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"x"}]}}"#, "200", &["TASK_STATE_COMPLETED"]),
    row("encoded colon behind an id", "POST /tasks/{task}%3Acancel HTTP/1.1\nA2A-Version: 1.0", "", "405", &["encoded colon"]),
    row("encoded colon behind an id in 0.3", "POST /v1/tasks/{task}%3Acancel HTTP/1.1\nA2A-Version: 1.0", "", "405", &["encoded colon"]),
    row("state in lower case", "GET /tasks?status=completed HTTP/1.1\nA2A-Version: 1.0", "", "200", &["{task}"]),
    row("state in lower case with a hyphen", "GET /tasks?status=input-required HTTP/1.1\nA2A-Version: 1.0", "", "200", &["\"tasks\":[]"]),
    row("unknown state", "GET /tasks?status=paused HTTP/1.1\nA2A-Version: 1.0", "", "400", &["status", "TASK_STATE_SUBMITTED", "TASK_STATE_AUTH_REQUIRED"]),
    row("unknown role over JSON-RPC", "POST / HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json", WRONG_ROLE, "200", &["message.role", "ROLE_USER", "ROLE_AGENT"]),
    row("unknown role in 0.3", "POST / HTTP/1.1\nContent-Type: application/json", WRONG_ROLE_0_3, "200", &["message.role", "ROLE_USER", "ROLE_AGENT"]),
    row("unknown state in the draft", "POST / HTTP/1.1\nContent-Type: application/json", WRONG_STATE_DRAFT, "200", &["status", "input-required"]),
    row("method of 0.3 with version 1.0", "POST / HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json", BOM_0_3, "200", &["0.1,0.2,0.3,1.0"]),
    row("bytes of the query that are not UTF-8", "GET /tasks?contextId=%ff HTTP/1.1\nA2A-Version: 1.0", "", "400", &["contextId", "percent-encoded UTF-8"]),
    row("the same for a parameter without effect", "GET /tasks/{task}?other=%c3 HTTP/1.1\nA2A-Version: 1.0", "", "400", &["other", "percent-encoded UTF-8"]),
    row("the same for the tenant of a send", "POST /message:send?tenant=%ff HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json", SEND, "400", &["tenant", "percent-encoded UTF-8"]),
    row("the same in 0.3", "GET /v1/tasks/{task}?historyLength=%ff HTTP/1.1", "", "400", &["historyLength", "percent-encoded UTF-8"]),
    row("unknown version over JSON-RPC", "POST / HTTP/1.1\nA2A-Version: 1.1\nContent-Type: application/json", GET_RPC, "200", &["0.1,0.2,0.3,1.0"]),
    row("unknown version over HTTP+JSON", "GET /tasks HTTP/1.1\nA2A-Version: 1.1", "", "400", &["0.1,0.2,0.3,1.0"]),
    row("draft under an explicit 1.0", "POST / HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json", DRAFT, "200", &["a2a-version: draft", "\"result\""]),
    row("0.3 names its revision", "GET /v1/tasks/{task} HTTP/1.1", "", "200", &["a2a-version: 0.3"]),
    row("application/json-rpc", "POST / HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json-rpc", RPC, "200", &["TASK_STATE_COMPLETED"]),
    row("application/json-rpc in 0.3", "POST / HTTP/1.1\nContent-Type: application/json-rpc", BOM_0_3, "200", &["\"completed\""]),
    row("application/json-rpc elsewhere", "POST /message:send HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json-rpc", SEND, "415", &["application/json"]),
    row("byte order mark over JSON-RPC", "POST / HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json", RPC_BOM, "200", &["TASK_STATE_COMPLETED"]),
    row("byte order mark over HTTP+JSON", "POST /message:send HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json", BOM, "200", &["TASK_STATE_COMPLETED"]),
    row("byte order mark in 0.3", "POST / HTTP/1.1\nContent-Type: application/json", BOM_0_3, "200", &["\"completed\""]),
    row("free metadata of a part in 0.3", "POST / HTTP/1.1\nContent-Type: application/json", MARKDOWN_0_3, "200", &["\"completed\"", r#"{"mediaType":"text/markdown"}"#]),
    row("equal versions", "GET /tasks/{task} HTTP/1.1\nA2A-Version: 1.0\nA2A-Version: 1.0", "", "200", &[]),
    row("different versions", "GET /tasks/{task} HTTP/1.1\nA2A-Version: 1.0\nA2A-Version: 0.3", "", "400", &["A2A-Version"]),
    row("different versions over JSON-RPC", "POST / HTTP/1.1\nA2A-Version: 1.0\nA2A-Version: 0.3\nContent-Type: application/json", RPC, "400", &["A2A-Version"]),
    row("different versions in the query", "GET /tasks/{task}?A2A-Version=1.0&A2A-Version=0.3 HTTP/1.1", "", "400", &["A2A-Version"]),
    row("different keys", "POST /message:send HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json\nIdempotency-Key: a\nIdempotency-Key: b", SEND, "400", &["Idempotency-Key"]),
    row("different credentials", "GET /tasks/{task} HTTP/1.1\nA2A-Version: 1.0\nAuthorization: Bearer a\nAuthorization: Bearer b", "", "400", &["Authorization"]),
    row("different positions", "GET /tasks/{task}:subscribe HTTP/1.1\nA2A-Version: 1.0\nLast-Event-ID: 1\nLast-Event-ID: 2", "", "400", &["Last-Event-ID"]),
    row("different content types", "POST / HTTP/1.1\nA2A-Version: 1.0\nContent-Type: application/json\nContent-Type: text/plain", RPC, "400", &["Content-Type"]),
    row("different versions in 0.3", "POST / HTTP/1.1\nA2A-Version: 0.3\nA2A-Version: 0.2\nContent-Type: application/json", BOM_0_3, "400", &["A2A-Version"]),
    row("repeated list fields", "GET /tasks/{task} HTTP/1.1\nA2A-Version: 1.0\nA2A-Extensions: urn:a\nA2A-Extensions: urn:b", "", "200", &[]),
];
