//! The first interface that can be reached.

use std::{
    future::Future,
    sync::{Arc, OnceLock},
};

use a2a_core::{Error, Operation, Request, Result};
use a2a_http::client::TransportError;
use a2a_operations::{Agent, Call, Reply};

use crate::{kept_back::was_kept_back, wrap::wrap_agent};

/// Several ways to one agent, of which the first that can be reached is used (spec §5.2).
///
/// A call moves on to the next way only if nothing of it was sent. Once a way has answered, it
/// stays the only one: its later failures are the agent's, not the way's.
pub(crate) struct Failover {
    ways: Vec<Arc<dyn Agent>>,
    chosen: Arc<OnceLock<usize>>,
}

impl Failover {
    /// Creates it from ways in the order in which to try them. `chosen` tells which one is used.
    pub(crate) fn new(ways: Vec<Arc<dyn Agent>>, chosen: Arc<OnceLock<usize>>) -> Self {
        Self { ways, chosen }
    }

    async fn through<R, T, F>(
        &self,
        _: Operation,
        call: Call<R>,
        go: impl Fn(Arc<dyn Agent>, Call<R>) -> F + Send + Sync,
    ) -> Result<Reply<T>>
    where
        R: Request + Clone,
        F: Future<Output = Result<Reply<T>>> + Send,
    {
        if let Some(way) = self.chosen.get().and_then(|chosen| self.ways.get(*chosen)) {
            return go(way.clone(), call).await;
        }
        let mut unreachable = Error::unavailable("the agent has no interface");
        for (index, way) in self.ways.iter().enumerate() {
            match go(way.clone(), call.clone()).await {
                Err(error) if was_never_sent(&error) || was_kept_back(&error) => {
                    tracing::debug!(interface = index, %error, "interface can't be used");
                    unreachable = error;
                }
                answer => {
                    // Of two first calls at once, one decides for both.
                    let _ = self.chosen.set(index);
                    return answer;
                }
            }
        }
        Err(unreachable)
    }
}

wrap_agent!(Failover);

/// Returns whether a call failed before a byte of it left: no connection came about.
pub(crate) fn was_never_sent(error: &Error) -> bool {
    TransportError::of(error).is_some_and(TransportError::is_connect)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use a2a_core::{ErrorKind, TaskState, v1::GetTaskRequest};
    use a2a_http::client::{ClientSettings, HttpClient};
    use bytes::Bytes;

    use super::*;
    use crate::script::{Script, task};

    /// The error of a call to a port at which nobody listens.
    async fn refused() -> Error {
        let settings = ClientSettings::default().with_connect_timeout(Duration::from_secs(1));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let request = http::Request::builder().uri(uri).body(Bytes::new()).unwrap();
        HttpClient::new(settings).unwrap().send(request).await.unwrap_err()
    }

    fn failover(first: &Script, second: &Script) -> (Failover, Arc<OnceLock<usize>>) {
        let chosen = Arc::new(OnceLock::new());
        let ways: Vec<Arc<dyn Agent>> = vec![Arc::new(first.clone()), Arc::new(second.clone())];
        (Failover::new(ways, chosen.clone()), chosen)
    }

    async fn get(agent: &Failover) -> Result<Reply<Arc<a2a_core::Task>>> {
        agent.get_task(Call::new(GetTaskRequest::default())).await
    }

    #[tokio::test]
    async fn a_dead_interface_is_passed_over_and_the_living_one_kept() {
        let working = || Arc::new(task(TaskState::Working));
        let first = Script::new().then_fail(refused().await);
        let second = Script::new().then(working()).then_fail(refused().await);
        let (agent, chosen) = failover(&first, &second);
        get(&agent).await.unwrap();
        assert_eq!(chosen.get(), Some(&1));
        get(&agent).await.unwrap_err();
        assert_eq!((first.heard().len(), second.heard().len()), (1, 2));
    }

    #[tokio::test]
    async fn a_call_that_may_have_arrived_goes_nowhere_else() {
        let first = Script::new().then_fail(Error::unavailable("the connection was lost"));
        let (agent, chosen) = failover(&first, &Script::new());
        assert_eq!(get(&agent).await.unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(chosen.get(), Some(&0));
    }

    #[tokio::test]
    async fn where_nobody_can_be_reached_nothing_is_decided() {
        let first = Script::new().then_fail(refused().await);
        let second = Script::new().then_fail(refused().await);
        let (agent, chosen) = failover(&first, &second);
        assert!(was_never_sent(&get(&agent).await.unwrap_err()));
        assert_eq!(chosen.get(), None);
    }
}
