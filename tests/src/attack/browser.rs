//! Cross-site requests to an agent without authentication through a local browser, and requests
//! with ambiguous hosts.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::time::timeout;

use super::{
    Attack, Environment, Started, Verdict, attacks,
    environment::{JSON, bearer},
    pipe::{self, Reply},
    server::Listener,
};
use crate::isolation::{Answer, Until};

const WAIT: Duration = Duration::from_secs(5);
const EVIL: &str = "origin: https://evil.example\r\n";
const SEND: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo hi"}]}}}"#;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "preflight", "a preflight of a page of another site" => preflight;
        "cross-site POST", "a page of another site sends a message, with Origin and without" => post;
        "cross-site form", "a form of another site cancels a task" => form;
        "cross-site reads", "a page of another site lists tasks and reads the card" => reads;
        "rebound name", "requests for a name that resolves to this machine" => rebound;
        "rebound authority", "the same over HTTP/2 and gRPC, by :authority" => authority;
        "rebound pages", "the same for metrics, the demo's pages and the OpenAPI document" => pages;
        "rebound metrics", "requests for the metrics of an agent that authenticates" => metrics;
        "rebound webhook", "deliveries to a2a listen for another host, and of a page" => listen;
        "no Host", "HTTP/1.1 without Host" => no_host;
        "two Hosts", "HTTP/1.1 with two Hosts, alike and not" => two_hosts;
        "malformed Host", "Hosts with spaces, paths, users, and without a name" => malformed;
    }
}

/// Starts an agent that every local process may call.
async fn open(env: &Environment) -> Result<Started, String> {
    Started::with_settings(env, "", &[]).await
}

async fn fetch(
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
    server.env.raw(bytes.as_bytes(), WAIT).await
}

/// Expects a rejection that no page may read.
fn denied(reply: &Reply) -> Result<(), String> {
    let text = reply.text().to_ascii_lowercase();
    if text.contains("access-control-allow-origin") {
        return Err(format!("allows a page to read the response: {text}"));
    }
    match reply.status() {
        Some(403) => Ok(()),
        _ => Err(format!("was not rejected: {}", reply.summary())),
    }
}

async fn preflight(env: &Environment) -> Verdict {
    let server = open(env).await?;
    let asks = format!(
        "{EVIL}access-control-request-method: POST\r\naccess-control-request-headers: content-type\r\n"
    );
    for line in ["OPTIONS /", "OPTIONS /message:send", "OPTIONS /.well-known/agent-card.json"] {
        denied(&fetch(&server, line, "localhost", &asks, "").await?)?;
    }
    Ok("rejected, without CORS".to_owned())
}

async fn post(env: &Environment) -> Verdict {
    let server = open(env).await?;
    for from in [EVIL, "origin: null\r\n", "sec-fetch-site: cross-site\r\n"] {
        for line in ["POST /", "POST /message:send"] {
            let headers = format!("{from}{JSON}");
            denied(&fetch(&server, line, "localhost", &headers, SEND).await?)?;
        }
    }
    let served = fetch(&server, "POST /", "localhost", JSON, SEND).await?;
    match served.text().contains("\"result\"") {
        true => Ok("rejected; one without a page is served".to_owned()),
        false => Err(format!("does not serve regular requests: {}", served.summary())),
    }
}

async fn form(env: &Environment) -> Verdict {
    let server = open(env).await?;
    let headers = format!("{EVIL}content-type: application/x-www-form-urlencoded\r\n");
    for line in ["POST /tasks/x:cancel", "POST /v1/tasks/x:cancel", "POST /demo/authorize/x"] {
        denied(&fetch(&server, line, "localhost", &headers, "").await?)?;
    }
    Ok("rejected".to_owned())
}

async fn reads(env: &Environment) -> Verdict {
    let server = open(env).await?;
    let headers = format!("{EVIL}a2a-version: 1.0\r\n");
    for line in ["GET /tasks", "GET /.well-known/agent-card.json", "GET /.well-known/agent.json"] {
        denied(&fetch(&server, line, "localhost", &headers, "").await?)?;
    }
    Ok("rejected".to_owned())
}

async fn rebound(env: &Environment) -> Verdict {
    let server = open(env).await?;
    for host in ["rebind.evil.example", "rebind.evil.example:8080", "127.0.0.1.evil.example"] {
        for (line, body) in [
            ("POST /", SEND),
            ("POST /message:send", "{}"),
            ("GET /tasks", ""),
            ("GET /.well-known/agent-card.json", ""),
        ] {
            denied(&fetch(&server, line, host, JSON, body).await?)?;
        }
        let line = format!("POST http://{host}/");
        denied(&fetch(&server, &line, "localhost", JSON, SEND).await?)?;
    }
    Ok("rejected".to_owned())
}

async fn authority(env: &Environment) -> Verdict {
    let server = open(env).await?;
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
            return Err(format!("{path} was not rejected: HTTP {}", answer.status));
        }
    }
    Ok("rejected".to_owned())
}

async fn over_http2(
    server: &Started,
    request: Request<Full<Bytes>>,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let io = TokioIo::new(server.env.pipe2().await?);
    let (mut sender, connection) = conn::http2::handshake(TokioExecutor::new(), io).await?;
    let driver = tokio::spawn(connection);
    let answer = Answer::read(sender.send_request(request).await?, Until::End).await;
    driver.abort();
    Ok(answer?)
}

async fn pages(env: &Environment) -> Verdict {
    let server = open(env).await?;
    for line in ["GET /metrics", "GET /openapi.json", "POST /demo/authorize/x"] {
        denied(&fetch(&server, line, "rebind.evil.example", "", "").await?)?;
        let own = fetch(&server, line, "localhost", "", "").await?;
        if own.status() == Some(403) {
            return Err(format!("{line} does not serve regular requests"));
        }
    }
    Ok("rejected".to_owned())
}

async fn metrics(env: &Environment) -> Verdict {
    let server = Started::with_settings(env, "[auth]\nrequire_bearer = \"secret\"\n", &[]).await?;
    denied(&fetch(&server, "GET /metrics", "rebind.evil.example", "", "").await?)?;
    denied(&fetch(&server, "GET /metrics", "localhost", EVIL, "").await?)?;
    match fetch(&server, "GET /metrics", "localhost", "", "").await?.status() {
        Some(200) => Ok("rejected; the scraper is served".to_owned()),
        status => Err(format!("the scraper gets {status:?}")),
    }
}

async fn listen(env: &Environment) -> Verdict {
    let listener = Listener::start(env)?;
    let event = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let deliver = async |host: &str, headers: &str| {
        let length = event.len();
        let request = format!(
            "POST / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}{JSON}content-length: {length}\r\n\r\n{event}"
        );
        let pipe = pipe::connect(listener.address, None, b"http/1.1").await;
        let mut pipe = pipe.map_err(|error| error.to_string())?;
        Ok::<_, String>(pipe::exchange(&mut pipe, request.as_bytes(), WAIT).await)
    };
    denied(&deliver("rebind.evil.example", "").await?)?;
    for headers in [EVIL, "origin: null\r\n", "sec-fetch-site: cross-site\r\n"] {
        denied(&deliver("localhost", headers).await?)?;
    }
    match deliver("localhost", "").await?.status() {
        Some(204) => Ok("rejected; an agent is served".to_owned()),
        status => Err(format!("the delivery of an agent gets {status:?}")),
    }
}

/// Sends requests with these host lines, each of which has to get 400.
async fn bad_requests(env: &Environment, hosts: &[&str]) -> Verdict {
    for hosts in hosts {
        let bytes = format!(
            "POST / HTTP/1.1\r\n{hosts}{}{JSON}content-length: {}\r\n\r\n{SEND}",
            bearer(&env.ann),
            SEND.len()
        );
        let reply = env.raw(bytes.as_bytes(), WAIT).await?;
        if reply.status() != Some(400) || !reply.closed {
            return Err(format!("{hosts:?}: {}", reply.summary()));
        }
    }
    Ok("HTTP 400, and a closed connection".to_owned())
}

async fn no_host(env: &Environment) -> Verdict {
    bad_requests(env, &[""]).await
}

async fn two_hosts(env: &Environment) -> Verdict {
    bad_requests(
        env,
        &["host: localhost\r\nhost: localhost\r\n", "host: localhost\r\nHost: evil.example\r\n"],
    )
    .await
}

async fn malformed(env: &Environment) -> Verdict {
    bad_requests(
        env,
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
