//! What a page of another site sends to an agent without authentication, through the browser of
//! somebody on this machine; and requests whose host is in doubt.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::time::timeout;

use super::{
    Attack, Scene, Started, Verdict, attacks,
    pipe::Reply,
    scene::{JSON, bearer},
};
use crate::isolation::{Answer, Until};

const WAIT: Duration = Duration::from_secs(5);
const EVIL: &str = "origin: https://evil.example\r\n";
const SEND: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo hi"}]}}}"#;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "preflight", "a page of another site asks whether it may call" => preflight;
        "cross-site POST", "a page of another site sends a message, with Origin and without" => post;
        "cross-site form", "a form of another site cancels a task" => form;
        "cross-site reads", "a page of another site lists tasks and reads the card" => reads;
        "rebound name", "requests for a name that resolves to this machine" => rebound;
        "rebound authority", "the same over HTTP/2 and gRPC, by :authority" => authority;
        "rebound pages", "the same for metrics, the demo's pages and the OpenAPI document" => pages;
        "no Host", "HTTP/1.1 without Host" => no_host;
        "two Hosts", "HTTP/1.1 with two Hosts, alike and not" => two_hosts;
        "malformed Host", "Hosts with spaces, paths, users, and without a name" => malformed;
    }
}

/// Starts an agent that everybody on this machine may call.
async fn open(scene: &Scene) -> Result<Started, String> {
    Started::with_settings(scene, "", &[]).await
}

async fn ask(
    server: &Started,
    line: &str,
    host: &str,
    headers: &str,
    body: &str,
) -> Result<Reply, String> {
    let length = body.len();
    let bytes = format!(
        "{line} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
    server.scene.raw(bytes.as_bytes(), WAIT).await
}

/// It was refused, and no page may read the answer.
fn denied(reply: &Reply) -> Result<(), String> {
    let text = reply.text().to_ascii_lowercase();
    if text.contains("access-control-allow-origin") {
        return Err(format!("lets a page read the answer: {text}"));
    }
    match reply.status() {
        Some(403) => Ok(()),
        _ => Err(format!("was not refused: {}", reply.told())),
    }
}

async fn preflight(scene: &Scene) -> Verdict {
    let server = open(scene).await?;
    let asks = format!(
        "{EVIL}access-control-request-method: POST\r\naccess-control-request-headers: content-type\r\n"
    );
    for line in ["OPTIONS /", "OPTIONS /message:send", "OPTIONS /.well-known/agent-card.json"] {
        denied(&ask(&server, line, "localhost", &asks, "").await?)?;
    }
    Ok("refused, without CORS".to_owned())
}

async fn post(scene: &Scene) -> Verdict {
    let server = open(scene).await?;
    for from in [EVIL, "origin: null\r\n", "sec-fetch-site: cross-site\r\n"] {
        for line in ["POST /", "POST /message:send"] {
            let headers = format!("{from}{JSON}");
            denied(&ask(&server, line, "localhost", &headers, SEND).await?)?;
        }
    }
    let served = ask(&server, "POST /", "localhost", JSON, SEND).await?;
    match served.text().contains("\"result\"") {
        true => Ok("refused; one without a page is served".to_owned()),
        false => Err(format!("serves nobody: {}", served.told())),
    }
}

async fn form(scene: &Scene) -> Verdict {
    let server = open(scene).await?;
    let headers = format!("{EVIL}content-type: application/x-www-form-urlencoded\r\n");
    for line in ["POST /tasks/x:cancel", "POST /v1/tasks/x:cancel", "POST /demo/authorize/x"] {
        denied(&ask(&server, line, "localhost", &headers, "").await?)?;
    }
    Ok("refused".to_owned())
}

async fn reads(scene: &Scene) -> Verdict {
    let server = open(scene).await?;
    let headers = format!("{EVIL}a2a-version: 1.0\r\n");
    for line in ["GET /tasks", "GET /.well-known/agent-card.json", "GET /.well-known/agent.json"] {
        denied(&ask(&server, line, "localhost", &headers, "").await?)?;
    }
    Ok("refused".to_owned())
}

async fn rebound(scene: &Scene) -> Verdict {
    let server = open(scene).await?;
    for host in ["rebind.evil.example", "rebind.evil.example:8080", "127.0.0.1.evil.example"] {
        for (line, body) in [
            ("POST /", SEND),
            ("POST /message:send", "{}"),
            ("GET /tasks", ""),
            ("GET /.well-known/agent-card.json", ""),
        ] {
            denied(&ask(&server, line, host, JSON, body).await?)?;
        }
        let line = format!("POST http://{host}/");
        denied(&ask(&server, &line, "localhost", JSON, SEND).await?)?;
    }
    Ok("refused".to_owned())
}

async fn authority(scene: &Scene) -> Verdict {
    let server = open(scene).await?;
    for (path, kind) in [
        ("/", "application/json"),
        ("/message:send", "application/json"),
        ("/lf.a2a.v1.A2AService/ListTasks", "application/grpc"),
    ] {
        let request = Request::post(format!("http://rebind.evil.example{path}"))
            .header("content-type", kind)
            .header("a2a-version", "1.0")
            .body(Full::new(Bytes::from_static(&[0; 5])))
            .map_err(|error| error.to_string())?;
        let answer = timeout(WAIT, over_http2(&server, request)).await;
        let answer = answer.map_err(|_late| "no answer".to_owned())?;
        let answer = answer.map_err(|error| error.to_string())?;
        let status = answer.header("grpc-status");
        if answer.status != 403 && status.as_deref() != Some("7") {
            return Err(format!("{path} was not refused: HTTP {}", answer.status));
        }
    }
    Ok("refused".to_owned())
}

async fn over_http2(
    server: &Started,
    request: Request<Full<Bytes>>,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let io = TokioIo::new(server.scene.pipe2().await?);
    let (mut sender, connection) = conn::http2::handshake(TokioExecutor::new(), io).await?;
    let driver = tokio::spawn(connection);
    let answer = Answer::read(sender.send_request(request).await?, Until::End).await;
    driver.abort();
    Ok(answer?)
}

async fn pages(scene: &Scene) -> Verdict {
    let server = open(scene).await?;
    for line in ["GET /metrics", "GET /openapi.json", "POST /demo/authorize/x"] {
        denied(&ask(&server, line, "rebind.evil.example", "", "").await?)?;
        let own = ask(&server, line, "localhost", "", "").await?;
        if own.status() == Some(403) {
            return Err(format!("{line} serves nobody"));
        }
    }
    Ok("refused".to_owned())
}

/// Sends requests with these lines for hosts, each of which has to be answered with 400.
async fn bad_requests(scene: &Scene, hosts: &[&str]) -> Verdict {
    for hosts in hosts {
        let bytes = format!(
            "POST / HTTP/1.1\r\n{hosts}{}{JSON}content-length: {}\r\n\r\n{SEND}",
            bearer(&scene.ann),
            SEND.len()
        );
        let reply = scene.raw(bytes.as_bytes(), WAIT).await?;
        if reply.status() != Some(400) || !reply.closed {
            return Err(format!("{hosts:?}: {}", reply.told()));
        }
    }
    Ok("HTTP 400, and the connection is closed".to_owned())
}

async fn no_host(scene: &Scene) -> Verdict {
    bad_requests(scene, &[""]).await
}

async fn two_hosts(scene: &Scene) -> Verdict {
    bad_requests(
        scene,
        &["host: localhost\r\nhost: localhost\r\n", "host: localhost\r\nHost: evil.example\r\n"],
    )
    .await
}

async fn malformed(scene: &Scene) -> Verdict {
    bad_requests(
        scene,
        &[
            "host: a b\r\n",
            "host:\r\n",
            "host: a/b\r\n",
            "host: user@localhost\r\n",
            "host: :80\r\n",
            "host: localhost:port\r\n",
            "host: [::1\r\n",
        ],
    )
    .await
}
