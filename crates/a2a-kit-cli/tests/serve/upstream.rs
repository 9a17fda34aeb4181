//! A proxy and the state of its upstream agent.

use std::{net::TcpListener, process::Stdio, time::Duration};

use crate::common::{Server, command, http};

async fn readiness(server: &Server) -> (u16, String) {
    let response = http("GET", &format!("{}/readyz", server.url()), &[], "").await;
    let body = String::from_utf8(response.body().to_vec()).unwrap();
    (response.status().as_u16(), body)
}

#[tokio::test]
async fn proxy_is_ready_while_its_upstream_agent_answers() {
    let upstream = Server::start(&[]);
    let arguments = ["--proxy", &*upstream.address];
    let (following, log) = Server::start_and_read(&arguments);
    let other = Server::start(&[&arguments[..], &["--no-upstream-readiness"]].concat());
    assert_eq!(readiness(&following).await.0, 200);
    drop(upstream);
    // Results are kept for a second.
    let mut answer = readiness(&following).await;
    while answer.0 == 200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        answer = readiness(&following).await;
    }
    assert_eq!(answer, (503, "not ready: upstream\n".to_owned()));
    assert_eq!(readiness(&other).await.0, 200);
    following.terminate();
    following.ended();
    let log = log.join().unwrap();
    let warnings = log.lines().filter(|line| line.contains("part=\"upstream\"")).count();
    assert_eq!(warnings, 1, "once per change: {log}");
}

#[tokio::test]
async fn proxy_waits_for_its_upstream_agent_if_configured() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let own = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = |port: u16, arguments: &[&str]| {
        let mut command = command();
        command.args(["serve", "--store", "memory", "--port", &port.to_string()]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    };
    let to = format!("127.0.0.1:{port}");
    let mut refused = start(0, &["--proxy", &to]);
    assert_ne!(refused.wait().unwrap().code(), Some(0), "without the flag it does not start");
    let mut proxy = start(own, &["--proxy", &to, "--upstream-wait", "60s"]);
    let get = async |path: &str| {
        let client = a2a_kit_http::client::HttpClient::new(Default::default()).unwrap();
        let request = ::http::Request::get(format!("http://127.0.0.1:{own}{path}"));
        let response = client.send(request.body(bytes::Bytes::new()).unwrap()).await;
        response.ok().map(|response| response.status().as_u16())
    };
    while get("/healthz").await.is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(get("/readyz").await, Some(503));
    let mut upstream = start(port, &[]);
    while get("/readyz").await != Some(200) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for child in [&mut proxy, &mut upstream] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn proxy_warns_if_it_lacks_the_credential_that_the_upstream_agent_requires() {
    let upstream = Server::start(&["--require-api-key", "s3cret-key"]);
    for (key, warns) in [(None, true), (Some("s3cret-key"), false)] {
        let environment = key.map(|key| ("A2ACLI_API_KEY", key));
        let environment: Vec<_> = environment.into_iter().collect();
        let arguments = ["--proxy", &upstream.address, "--proxy-isolation", "shared"];
        let (server, log) = Server::start_and_read_with(&arguments, &environment);
        drop(server);
        let log = log.join().unwrap();
        assert_eq!(log.contains("the upstream agent requires a credential"), warns, "{log}");
    }
}
