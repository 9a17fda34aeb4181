//! Failover between the interfaces of an agent.

use std::sync::{Arc, OnceLock};

use a2a_core::{Error, Operation, Request, Result};
use a2a_kit_http::client::TransportError;
use a2a_kit_operations::{Agent, AgentMethod, Call, Reply, intercept_agent};

use crate::credential_guard::was_blocked;

/// Calls an agent through the first reachable interface (spec §5.2).
///
/// A call fails over to the next interface only if nothing was sent. The first interface that
/// responds stays active: its later failures are the agent's.
pub(crate) struct Failover {
    interfaces: Vec<Arc<dyn Agent>>,
    active: Arc<OnceLock<usize>>,
}

impl Failover {
    /// Creates a failover between clients in the order given. `active` receives the index of the
    /// client in use.
    pub(crate) fn new(interfaces: Vec<Arc<dyn Agent>>, active: Arc<OnceLock<usize>>) -> Self {
        Self { interfaces, active }
    }

    async fn intercept<R: Request, T>(
        &self,
        _: Operation,
        call: Call<R>,
        next: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        if let Some(active) = self.active.get().and_then(|index| self.interfaces.get(*index)) {
            return next(&**active, call).await;
        }
        let mut unreachable = Error::unavailable("no interface configured for the agent");
        for (index, candidate) in self.interfaces.iter().enumerate() {
            match next(&**candidate, call.clone()).await {
                Err(error) if was_never_sent(&error) || was_blocked(&error) => {
                    tracing::debug!(interface = index, %error, "interface failed, trying next");
                    unreachable = error;
                }
                result => {
                    // If two first calls race, one of them decides for both.
                    let _ = self.active.set(index);
                    return result;
                }
            }
        }
        Err(unreachable)
    }
}

impl Agent for Failover {
    intercept_agent!(intercept);
}

/// Returns whether a call failed before any byte was sent: no connection was established.
pub(crate) fn was_never_sent(error: &Error) -> bool {
    TransportError::of(error).is_some_and(TransportError::is_connect)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use a2a_core::{ErrorKind, TaskState, v1::GetTaskRequest};
    use a2a_kit_http::client::{ClientSettings, HttpClient};
    use bytes::Bytes;

    use super::*;
    use crate::test_agent::{TestAgent, task};

    /// Returns the error of a call to a closed port.
    async fn connection_refused() -> Error {
        let settings = ClientSettings::default().with_connect_timeout(Duration::from_secs(1));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let request = http::Request::builder().uri(uri).body(Bytes::new()).unwrap();
        HttpClient::new(settings).unwrap().send(request).await.unwrap_err()
    }

    fn failover(first: &TestAgent, second: &TestAgent) -> (Failover, Arc<OnceLock<usize>>) {
        let active = Arc::new(OnceLock::new());
        let interfaces: Vec<Arc<dyn Agent>> =
            vec![Arc::new(first.clone()), Arc::new(second.clone())];
        (Failover::new(interfaces, active.clone()), active)
    }

    async fn get(agent: &Failover) -> Result<Reply<Arc<a2a_core::Task>>> {
        agent.get_task(Call::new(GetTaskRequest::default())).await
    }

    #[tokio::test]
    async fn unreachable_interface_fails_over_and_the_next_one_stays_active() {
        let working = || Arc::new(task(TaskState::Working));
        let first = TestAgent::new().then_fail(connection_refused().await);
        let second = TestAgent::new().then(working()).then_fail(connection_refused().await);
        let (agent, active) = failover(&first, &second);
        get(&agent).await.unwrap();
        assert_eq!(active.get(), Some(&1));
        get(&agent).await.unwrap_err();
        assert_eq!((first.received().len(), second.received().len()), (1, 2));
    }

    #[tokio::test]
    async fn call_that_may_have_arrived_does_not_fail_over() {
        let first = TestAgent::new().then_fail(Error::unavailable("connection lost"));
        let (agent, active) = failover(&first, &TestAgent::new());
        assert_eq!(get(&agent).await.unwrap_err().kind(), ErrorKind::Unavailable);
        assert_eq!(active.get(), Some(&0));
    }

    #[tokio::test]
    async fn no_reachable_interface_leaves_none_active() {
        let first = TestAgent::new().then_fail(connection_refused().await);
        let second = TestAgent::new().then_fail(connection_refused().await);
        let (agent, active) = failover(&first, &second);
        assert!(was_never_sent(&get(&agent).await.unwrap_err()));
        assert_eq!(active.get(), None);
    }
}
