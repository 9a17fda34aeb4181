//! A server on a free port.

use std::{fmt, sync::Arc};

use a2a_kit_client::Transport;
use a2a_kit_script::Script;
use tokio::{sync::oneshot, task::JoinHandle};

use crate::{Client, ServeError, Server};

/// Serves an agent with all bindings on a free port of this machine. Dropping it closes all
/// connections; [`stop`](Self::stop) lets requests finish.
///
/// ```
/// use a2a_kit::{AgentCard, Engine, agent_fn, testing::TestServer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), a2a_kit::Error> {
/// let echo = agent_fn(async |text: String| text);
/// let server = TestServer::start(Engine::new(AgentCard::new("Echo", "Repeats"), echo)).await;
/// assert_eq!(server.client.send_text("hi").await?, "hi");
/// server.stop().await;
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
pub struct TestServer {
    /// The URL of the agent, `http://127.0.0.1:<port>`.
    pub url: String,
    /// A client that was connected to the URL. It has no credentials.
    pub client: Client,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<Result<(), ServeError>>,
}

/// Serves a scripted agent with its faults, and the tasks in memory.
impl From<Script> for Server {
    fn from(script: Script) -> Self {
        let engine = script.engine();
        let Some(faults) = script.faults() else { return engine.into() };
        let agent = faults.agent(Arc::new(engine.clone()));
        let around_card = faults.clone();
        Self::new(agent, engine.card().clone())
            .with_engine(engine)
            .with_layers(move |bindings| faults.layer(bindings))
            .with_card_layers(move |card| around_card.card_layer(card))
    }
}

impl TestServer {
    /// Serves an engine, a [`Script`] with its faults, or a [`Server`] with settings; not one with
    /// TLS. It reads the card once, which counts for faults of the card.
    ///
    /// # Panics
    ///
    /// If the server does not start, for example because of its card.
    pub async fn start(server: impl Into<Server>) -> Self {
        let server = server.into();
        let (url, listener) = listen().await;
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            let _ = stopped.await;
        };
        let mut serving = tokio::spawn(server.serve(listener, shutdown));
        tokio::select! {
            ended = &mut serving => panic!("the server did not start: {ended:?}"),
            client = Client::connect(&url) => match client {
                Ok(client) => Self { url, client, stop: Some(stop), serving },
                Err(error) => panic!("no client for {url}: {error:?}"),
            },
        }
    }

    /// Connects a client over one binding.
    ///
    /// # Panics
    ///
    /// If the agent does not offer the binding.
    pub async fn client_over(&self, transport: Transport) -> Client {
        match Client::builder().only([transport]).connect(&self.url).await {
            Ok(client) => client,
            Err(error) => panic!("no {transport} client for {}: {error:?}", self.url),
        }
    }

    /// Stops accepting connections, ends streams with a resumable error, and waits for requests.
    ///
    /// # Panics
    ///
    /// If the server failed.
    pub async fn stop(mut self) {
        drop(self.stop.take());
        match (&mut self.serving).await {
            Ok(Ok(())) => {}
            failed => panic!("the server failed: {failed:?}"),
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl fmt::Debug for TestServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestServer").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Listens on a free port.
pub(super) async fn listen() -> (String, tokio::net::TcpListener) {
    match crate::http::bind("127.0.0.1:0").await.map(|bound| (bound.local_addr(), bound)) {
        Ok((Ok(address), listener)) => (format!("http://{address}"), listener),
        failed => panic!("no free port: {failed:?}"),
    }
}
