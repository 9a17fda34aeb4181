//! Seed inputs from the files of other tests.

use std::{fs, path::Path};

use a2a_core::v1;
use prost::Message as _;
use serde_json::Value;

/// The inputs of a target: those from the files of other tests, and earlier findings
/// (`regressions`).
///
/// # Panics
///
/// If a file cannot be read.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let mut seeds = match target {
        "jsonrpc" => requests("tests/wire/jsonrpc"),
        "rest" => requests("tests/wire/rest"),
        "card" | "signature" => cards(),
        "dialect" => exchanges(),
        "message" => messages(),
        "grpc" => calls(),
        "sse" => streams(),
        "page_token" => page_tokens(),
        "token" => tokens(),
        _ => Vec::new(),
    };
    let broken = root().join("tests/fuzz/regressions").join(target);
    if broken.exists() {
        seeds.extend(files(&broken));
    }
    seeds
}

fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("the package is two folders below the workspace")
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let files = paths.iter().filter(|path| path.is_file());
    files.map(|path| fs::read(path).expect("a file")).collect()
}

/// The requests of the wire fixtures.
fn requests(folder: &str) -> Vec<Vec<u8>> {
    let mut requests = Vec::new();
    for file in files(&root().join(folder)) {
        let text = String::from_utf8(file).expect("text");
        for block in text.split("=== ") {
            if let Some(request) = block.strip_prefix("request\n") {
                requests.push(request.trim_end().as_bytes().to_vec());
            }
        }
    }
    requests
}

fn fixtures(revision: &str) -> Vec<Value> {
    let folder = root().join("crates/a2a-kit-compat/tests/fixtures").join(revision);
    files(&folder).iter().map(|file| serde_json::from_slice(file).expect("JSON")).collect()
}

const REVISIONS: [&str; 3] = ["v0_1", "v0_2", "v1_draft"];

fn cards() -> Vec<Vec<u8>> {
    let documents = REVISIONS.iter().flat_map(|revision| fixtures(revision));
    let mut cards: Vec<_> = documents
        .filter(|document| document.get("skills").is_some())
        .map(|card| card.to_string().into_bytes())
        .collect();
    let card = crate::agent::parrot_card();
    cards.push(a2a_kit_compat::card::write(&card).to_string().into_bytes());
    cards.push(serde_json::to_vec(&card).expect("a card is written"));
    cards
}

/// Requests, responses and events of older revisions, in the format of the target `dialect` of
/// [`crate::TARGETS`].
fn exchanges() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, revision) in (0..).zip(REVISIONS) {
        for document in fixtures(revision) {
            for method in 0..24 {
                if let Some(params) = document["request"].get("params") {
                    seeds.push(seed(number, method, params));
                }
            }
            let answers = document["answers"].as_array().into_iter().flatten();
            for result in answers.filter_map(|answer| answer.get("result")) {
                seeds.extend((0..11).map(|operation| seed(number + 3, operation, result)));
                seeds.push(seed(number + 6, 0, result));
            }
        }
    }
    seeds
}

fn seed(kind: u8, method: u8, document: &Value) -> Vec<u8> {
    let mut seed = vec![kind, method];
    seed.extend(document.to_string().into_bytes());
    seed
}

fn send() -> v1::SendMessageRequest {
    let mut message = a2a_core::Message::user("hello");
    message.parts.push(a2a_core::Part::text("there"));
    v1::SendMessageRequest { message: Some(message), ..v1::SendMessageRequest::default() }
}

/// Messages of 1.0 in JSON and in protobuf.
fn messages() -> Vec<Vec<u8>> {
    let send = send();
    let task = v1::Task {
        id: "task".into(),
        context_id: "context".into(),
        history: send.message.clone().into_iter().collect(),
        ..v1::Task::default()
    };
    let event =
        v1::StreamResponse { payload: Some(v1::stream_response::Payload::Task(task.clone())) };
    let config = v1::TaskPushNotificationConfig {
        url: "https://receiver.example/".into(),
        ..v1::TaskPushNotificationConfig::default()
    };
    let card = crate::agent::parrot_card();
    let both = |json: Vec<u8>, protobuf: Vec<u8>| [json, protobuf];
    let written = [
        both(serde_json::to_vec(&send).expect("JSON"), send.encode_to_vec()),
        both(serde_json::to_vec(&task).expect("JSON"), task.encode_to_vec()),
        both(serde_json::to_vec(&event).expect("JSON"), event.encode_to_vec()),
        both(serde_json::to_vec(&card).expect("JSON"), card.encode_to_vec()),
        both(serde_json::to_vec(&config).expect("JSON"), config.encode_to_vec()),
    ];
    let numbered = (0_u8..).zip(written.into_iter().flatten());
    numbered.map(|(kind, bytes)| [vec![kind], bytes].concat()).collect()
}

fn calls() -> Vec<Vec<u8>> {
    let message = send().encode_to_vec();
    let id = v1::GetTaskRequest { id: "task".into(), ..v1::GetTaskRequest::default() };
    let id = id.encode_to_vec();
    (0..24)
        .flat_map(|method| [[vec![method, 0], message.clone()], [vec![method, 0], id.clone()]])
        .map(|parts| parts.concat())
        .collect()
}

fn streams() -> Vec<Vec<u8>> {
    let streams: [&[u8]; 4] = [
        b"\x07id: 1\nevent: message\ndata: {\"a\":1}\n\nid: 2\ndata: x\ndata: y\n\n",
        b"\x01: keep-alive\n\nretry: 1000\ndata: z\r\n\r\n",
        b"\x02\xef\xbb\xbfdata\r\rdata:\rid\r\r",
        b"\x40event: error\ndata: {\"error\":{\"code\":-32603}}\n\n",
    ];
    streams.map(<[u8]>::to_vec).to_vec()
}

fn page_tokens() -> Vec<Vec<u8>> {
    let tokens: [&[u8]; 4] =
        [b"\x32", b"\x14x", b"\x32MTc5NTMxNzI0ODg3NTp0YXNr", b"\x00eyJtaWxsaXMiOjB9"];
    tokens.map(<[u8]>::to_vec).to_vec()
}

fn tokens() -> Vec<Vec<u8>> {
    let tokens: [&[u8]; 4] = [
        b"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ.e30.AAAA",
        b"eyJhbGciOiJub25lIn0.e30.",
        br#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
        b"a.b.c.d",
    ];
    tokens.map(<[u8]>::to_vec).to_vec()
}
