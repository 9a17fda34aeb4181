//! A server that must not be called.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
};

/// Counts connections.
#[derive(Debug)]
pub struct Canary {
    pub address: SocketAddr,
    calls: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Canary {
    /// Listens on an address, and responds to each request with the same bytes.
    pub async fn start(host: &str, answer: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind((host, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let calls = Arc::new(AtomicUsize::new(0));
        let answer: Arc<[u8]> = answer.into().into();
        let task = tokio::spawn({
            let calls = Arc::clone(&calls);
            async move {
                while let Ok((mut stream, _)) = listener.accept().await {
                    calls.fetch_add(1, Ordering::SeqCst);
                    let answer = Arc::clone(&answer);
                    tokio::spawn(async move {
                        let mut buffer = [0; 4_096];
                        let _read = stream.read(&mut buffer).await;
                        let _written = stream.write_all(&answer).await;
                        let _closed = stream.shutdown().await;
                    });
                }
            }
        });
        Self { address, calls, task }
    }

    /// The number of connections.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Its address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.task.abort();
    }
}
