//! A local receiver of push notifications.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpListener,
    sync::{Notify, Semaphore},
    task::JoinHandle,
};

use crate::{evidence::Notification, exchange};

/// The token of every config of a run.
pub(crate) const TOKEN: &str = "a2a-conformance-token";

/// The most notifications that are kept.
const MAX_NOTIFICATIONS: usize = 512;

/// The largest notification, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The most connections at a time; others wait.
const MAX_CONNECTIONS: usize = 16;

/// How long a request may take to arrive.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A local receiver of push notifications, on a free port of the loopback interface.
#[derive(Debug)]
pub(crate) struct Webhook {
    address: SocketAddr,
    received: Arc<Received>,
    server: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Received {
    notifications: Mutex<Vec<Notification>>,
    arrived: Notify,
}

impl Webhook {
    /// Starts a receiver.
    ///
    /// # Errors
    ///
    /// Those of the operating system.
    pub(crate) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let received = Arc::new(Received::default());
        let server = tokio::spawn(serve(listener, Arc::clone(&received)));
        Ok(Self { address, received, server })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits until each path has a notification of an end or a pause, but not longer than `limit`.
    pub(crate) async fn wait_for(&self, paths: &[&str], limit: Duration) {
        let waiting = async {
            loop {
                let arrived = self.received.arrived.notified();
                let all = self.received();
                let has = |path: &&str| all.iter().any(|one| one.path == **path && is_settled(one));
                if paths.iter().all(has) {
                    return;
                }
                arrived.await;
            }
        };
        // Which notifications are missing is for the checks.
        let _incomplete = tokio::time::timeout(limit, waiting).await;
    }

    /// The notifications so far, in the order of their arrival.
    pub(crate) fn received(&self) -> Vec<Notification> {
        self.received.notifications.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets the notifications so far.
    pub(crate) fn clear(&self) {
        self.received.notifications.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Returns whether a notification is about an end or a pause of a task.
fn is_settled(notification: &Notification) -> bool {
    let Some(value) = notification.json() else { return true };
    let payload = ["task", "statusUpdate"].into_iter().find_map(|member| value.get(member));
    exchange::is_settled(exchange::state(payload.unwrap_or(&value)))
}

async fn serve(listener: TcpListener, received: Arc<Received>) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else { continue };
        let received = Arc::clone(&received);
        // Ends with its client, or after the timeout.
        tokio::spawn(async move {
            let service = service_fn(|request| take(request, &received));
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(TIMEOUT).keep_alive(false);
            let connection = server.serve_connection(TokioIo::new(stream), service);
            // A client that breaks off has delivered nothing.
            let _broken = tokio::time::timeout(TIMEOUT, connection).await;
            drop(permit);
        });
    }
}

async fn take(
    request: Request<Incoming>,
    received: &Received,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let mut response = Response::new(Empty::new());
    let Ok(body) = Limited::new(body, MAX_BYTES).collect().await else {
        *response.status_mut() = http::StatusCode::PAYLOAD_TOO_LARGE;
        return Ok(response);
    };
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers: BTreeMap<_, _> =
        head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let notification = Notification {
        path: head.uri.path().to_owned(),
        method: head.method.as_str().to_owned(),
        headers,
        body: body.to_bytes().to_vec(),
    };
    let mut all = received.notifications.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() < MAX_NOTIFICATIONS {
        all.push(notification);
    }
    drop(all);
    received.arrived.notify_waiters();
    Ok(response)
}
