//! An agent inside an axum application, which is stopped while an event stream is open.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use std::{future::IntoFuture as _, time::Duration};

use a2a_kit::{
    AgentCard, AgentExecutor, Agents, BoxError, Client, Engine, ErrorKind, Mounted, RequestContext,
    ServeError, Server, TaskUpdater,
    client::{RetryPolicy, Transport},
    http::{Drain, Limits},
};
use axum::{Router, routing::get};
use tokio::{net::TcpListener, time::timeout};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Works until it is dropped.
struct Worker;

impl AgentExecutor for Worker {
    async fn execute(&self, _: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        std::future::pending().await
    }
}

fn engine() -> Engine {
    Engine::new(AgentCard::new("Worker", "Works"), Worker)
}

/// No time for running executors.
fn limits() -> Limits {
    Limits::default().with_drain_timeout(Duration::ZERO)
}

/// Reads a stream over each binding while the application stops. The application has a signal of
/// its own, at the same time as that of the agent, or uses that of [`Mounted`].
async fn stop_while_streaming(
    path: &str,
    has_own_signal: bool,
    mount: impl FnOnce(&TcpListener, &Drain) -> Mounted,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}{path}", listener.local_addr().unwrap());
    // Any signal that several can wait for.
    let signal = Drain::new();
    let mounted = mount(&listener, &signal);
    let application = Router::new().route("/about", get("an application")).merge(mounted.router());
    let serve = axum::serve(listener, application);
    let server = if has_own_signal {
        tokio::spawn(serve.with_graceful_shutdown(signal.started()).into_future())
    } else {
        tokio::spawn(serve.with_graceful_shutdown(mounted.stopping()).into_future())
    };
    let mut streams = Vec::new();
    for transport in Transport::ALL {
        let client = Client::builder()
            .only([transport])
            .resume(RetryPolicy::STREAMS.with_attempts(0))
            .connect(&url)
            .await
            .unwrap();
        let mut events = client.stream("work").await.unwrap();
        events.next().await.unwrap().unwrap();
        streams.push((transport, events));
    }
    signal.start();
    for (transport, mut events) in streams {
        let error = loop {
            if let Err(error) = events.next().await.unwrap() {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{transport}: {error}");
    }
    timeout(TIMEOUT, server).await.expect("the application has stopped").unwrap().unwrap();
    timeout(TIMEOUT, mounted.stopped()).await.expect("the agent has stopped");
}

#[tokio::test]
async fn open_streams_do_not_keep_an_application_from_stopping() {
    for has_own_signal in [false, true] {
        let engine = engine();
        let probed = engine.clone();
        stop_while_streaming("", has_own_signal, |listener, signal| {
            let server = Server::from(engine).with_limits(limits());
            server.mount(listener.local_addr().unwrap(), signal.started()).unwrap()
        })
        .await;
        let client = Client::from_agent(probed.clone(), probed.card().clone());
        assert_eq!(client.send("hi").await.unwrap_err().kind(), ErrorKind::Unavailable);
    }
}

#[tokio::test]
async fn open_streams_of_one_of_several_agents_do_not_keep_an_application_from_stopping() {
    for has_own_signal in [false, true] {
        stop_while_streaming("/b", has_own_signal, |listener, signal| {
            let agents = Agents::new().at("/a", engine()).at("/b", engine()).with_limits(limits());
            agents.mount(listener.local_addr().unwrap(), signal.started()).unwrap()
        })
        .await;
    }
}

#[tokio::test]
async fn public_url_must_be_one_of_http() {
    let address = "127.0.0.1:80".parse().unwrap();
    for url in ["agent.example:8080", "agent.example", "ftp://agent.example", "https://", "", "/a"]
    {
        let server = Server::from(engine()).with_public_url(url);
        let agents = Agents::new().at("/a", engine()).with_public_url(url);
        let of_one = Agents::new().at("/a", Server::from(engine()).with_public_url(url));
        for mounted in [
            server.mount(address, std::future::pending()),
            agents.mount(address, std::future::pending()),
            of_one.mount(address, std::future::pending()),
        ] {
            match mounted.unwrap_err() {
                ServeError::PublicUrl { url: found } => {
                    assert_eq!(found, url.trim_end_matches('/'));
                }
                error => panic!("{url}: {error}"),
            }
        }
    }
}
