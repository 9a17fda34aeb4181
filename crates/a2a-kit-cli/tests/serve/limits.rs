//! What `a2a serve` holds its callers to, and the signature of its card.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use crate::common::{Run, Server, command, http};
use a2a_kit_auth::{
    card::{CardVerification, JwsCardVerifier, TrustStore},
    jose::{Algorithm, JwkSet, SigningKey},
};
use serde_json::{Value, json};

const SEND: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"slow 60"}]},"configuration":{"returnImmediately":true}}"#;

async fn send(server: &Server, authorization: &str) -> (u16, Value) {
    let headers = [
        ("a2a-version", "1.0"),
        ("content-type", "application/json"),
        ("authorization", authorization),
    ];
    let answer = http("POST", &format!("{}/message:send", server.url()), &headers, SEND).await;
    (answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap())
}

#[tokio::test]
async fn an_address_that_calls_too_often_has_to_wait() {
    let server = Server::start(&["--store", "memory", "--rate-limit-per-address", "3/h"]);
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(send(&server, "").await.0);
    }
    assert_eq!(statuses, [200, 200, 200, 429]);
    // What says how the server is stays outside.
    let health = http("GET", &format!("{}/healthz", server.url()), &[], "").await;
    assert_eq!(health.status(), 200);
}

#[tokio::test]
async fn a_caller_has_so_many_tasks_at_work_and_no_more() {
    let arguments = ["--store", "memory", "--require-bearer", "word", "--max-running-tasks", "2"];
    let server = Server::start(&arguments);
    for _ in 0..2 {
        assert_eq!(send(&server, "Bearer word").await.0, 200);
    }
    let (status, answer) = send(&server, "Bearer word").await;
    assert_eq!(status, 429, "{answer}");
    assert_eq!(answer["error"]["details"][0]["reason"], json!("RESOURCE_EXHAUSTED"), "{answer}");
}

#[tokio::test]
async fn rate_limit_anonymous_limits_unauthenticated_callers() {
    for (limits_anonymous, last) in [(false, 200), (true, 429)] {
        let mut arguments = vec!["--store", "memory", "--max-running-tasks", "1"];
        arguments.extend(limits_anonymous.then_some("--rate-limit-anonymous"));
        let server = Server::start(&arguments);
        assert_eq!(send(&server, "").await.0, 200);
        assert_eq!(send(&server, "").await.0, last);
    }
}

/// How often a server refused for a reason.
async fn refused(server: &Server, reason: &str) -> u64 {
    let answer = http("GET", &format!("{}/metrics", server.url()), &[], "").await;
    let text = String::from_utf8(answer.into_body().to_vec()).unwrap();
    let name = format!("a2a_refused_total{{reason=\"{reason}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&*name));
    line.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn rejected_requests_are_counted_by_reason() {
    let bearer = ["--store", "memory", "--require-bearer", "word"];
    for (flags, calls, reason, count) in [
        (&["--rate-limit-per-address", "3/h"][..], 5, "rate", 2),
        (&["--rate-limit-per-caller", "1/h"], 4, "rate", 3),
        (&["--max-running-tasks", "1"], 3, "quota", 2),
    ] {
        let server = Server::start(&[&bearer[..], flags].concat());
        assert_eq!(refused(&server, reason).await, 0, "{flags:?}");
        let mut statuses = Vec::new();
        for _ in 0..calls {
            statuses.push(send(&server, "Bearer word").await.0);
        }
        let expected = statuses.iter().filter(|status| **status == 429).count();
        assert_eq!(expected, count, "{flags:?}: {statuses:?}");
        assert_eq!(refused(&server, reason).await, count as u64, "{flags:?}");
        let other = if reason == "rate" { "quota" } else { "rate" };
        assert_eq!(refused(&server, other).await, 0, "{flags:?}");
    }
}

#[tokio::test]
async fn a_flood_closes_its_connection_and_is_counted() {
    let server = Server::start(&["--store", "memory", "--max-control-frames", "20"]);
    let mut peer = TcpStream::connect(&server.address).unwrap();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    peer.write_all(&[&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings].concat()).unwrap();
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    // It may be closed before all is sent.
    let _ = peer.write_all(&ping.repeat(100));
    let _ = peer.read_to_end(&mut Vec::new());
    assert_eq!(refused(&server, "flood").await, 1);
    assert_eq!(send(&server, "").await.0, 200);
}

#[tokio::test]
async fn the_card_is_signed_by_the_key_that_the_server_publishes() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("card.pem");
    std::fs::write(&key, SigningKey::generate_pem(Algorithm::EdDsa).unwrap()).unwrap();
    let server = Server::start(&["--store", "memory", "--card-key", key.to_str().unwrap()]);
    let get = async |path: &str| {
        http("GET", &format!("{}{path}", server.url()), &[], "").await.into_body()
    };
    let keys: JwkSet = serde_json::from_slice(&get("/.well-known/jwks.json").await).unwrap();
    let card = get("/.well-known/agent-card.json").await;
    let verify = JwsCardVerifier::new(TrustStore::new().with_keys(&keys)).verify(&card).await;
    assert!(matches!(verify, CardVerification::Verified(_)), "{verify:?}");
}

#[test]
fn a_rate_that_is_none_is_refused_by_the_name_of_its_flag() {
    for flag in ["--rate-limit-per-address", "--rate-limit-per-caller"] {
        let run = Run::of(command().args(["serve", "--store", "memory", flag, "often"]));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(flag) && run.stderr.contains("600/m"), "{run:?}");
    }
}
