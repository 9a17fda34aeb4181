//! Waiting for a task.

use std::sync::Arc;

use a2a_core::{Error, ErrorKind, Result, Task, TaskState};
use tokio::time::{Instant, timeout_at};

use crate::{Client, ClientEvent, MessageRequest, SendOutcome, UpdateDelivery, WaitOptions, Watch};

impl Client {
    /// Waits until a task stops, and returns it: it has ended, or waits for its client.
    ///
    /// [`WaitOptions`] define where it stops, how its state is obtained, and a timeout.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// use a2a_kit_client::{Client, WaitOptions};
    ///
    /// # async fn example(client: Client) -> a2a_core::Result<()> {
    /// let options = WaitOptions::default().with_timeout(Duration::from_secs(60));
    /// let task = client.wait("task-1", options).await?;
    /// println!("{:?}", task.state());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Watch::next`].
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe.
    pub async fn wait(
        &self,
        task_id: impl Into<String>,
        options: WaitOptions,
    ) -> Result<Arc<Task>> {
        into_task(self.watch(task_id, options).outcome().await?)
    }

    /// Watches a task until it stops: the first event is its current state.
    pub fn watch(&self, task_id: impl Into<String>, options: WaitOptions) -> Watch {
        Watch::of_task(self.clone(), task_id.into(), options)
    }

    /// Sends a message and watches its task until it stops.
    ///
    /// If the agent does not stream, or with [`UpdateDelivery::Polling`], the message is sent with
    /// `returnImmediately`, and the task is polled.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), and [`ErrorKind::DeadlineExceeded`] when [`WaitOptions::timeout`]
    /// has expired.
    pub async fn send_and_watch(
        &self,
        message: impl Into<MessageRequest>,
        options: WaitOptions,
    ) -> Result<Watch> {
        let started = Instant::now();
        let deadline = options.timeout.and_then(|timeout| started.checked_add(timeout));
        let sending = self.start_watch(message.into(), options, started);
        let Some(deadline) = deadline else { return sending.await };
        timeout_at(deadline, sending).await.unwrap_or_else(|elapsed| {
            let error =
                Error::new(ErrorKind::DeadlineExceeded, "no response to the message in time");
            Err(error.with_source(elapsed))
        })
    }

    async fn start_watch(
        &self,
        message: MessageRequest,
        options: WaitOptions,
        started: Instant,
    ) -> Result<Watch> {
        let streams = match options.delivery {
            UpdateDelivery::Any => self.card().can_stream(),
            UpdateDelivery::Streaming => true,
            UpdateDelivery::Polling => false,
        };
        let request = message.clone().into_request();
        let is_reply = request.message.as_ref().is_some_and(|message| !message.task_id.is_empty());
        if streams {
            let call = self.call(request);
            match self.agent_of(options.delivery).send_streaming_message(call).await {
                Ok(reply) => {
                    let watch = Watch::of_send(self.clone(), reply.response, options, started);
                    return Ok(watch.with_reply(is_reply));
                }
                // The message was rejected before it had an effect: the agent does not stream, or
                // does not have the method that its card declares.
                Err(error)
                    if options.delivery == UpdateDelivery::Any
                        && matches!(
                            error.kind(),
                            ErrorKind::UnsupportedOperation
                                | ErrorKind::MethodNotFound
                                | ErrorKind::MethodNotAllowed
                        ) =>
                {
                    let task_id = None;
                    self.observer.emit(|| ClientEvent::FellBackToPolling { task_id, error });
                }
                Err(error) => return Err(error),
            }
        }
        let outcome = self.send(message.returning_immediately()).await?;
        Ok(Watch::of_outcome(self.clone(), outcome, options, started).with_reply(is_reply))
    }

    /// Waits until `is_wanted` accepts the state of a task or the task has ended, and returns the
    /// task in that state. There is no timeout.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe.
    pub async fn wait_until(
        &self,
        task_id: &str,
        mut is_wanted: impl FnMut(TaskState) -> bool + Send,
    ) -> Result<Arc<Task>> {
        let mut watch = self.watch(task_id, WaitOptions::default().with_stop_at([]));
        while let Some(event) = watch.next().await {
            if event?.state().is_some_and(&mut is_wanted)
                && let Some(task) = watch.task()
            {
                return Ok(Arc::new(task.clone()));
            }
        }
        into_task(watch.outcome().await?)
    }

    /// Waits until a task leaves AUTH_REQUIRED: the authorization was granted, in or out of band,
    /// or the agent stopped waiting (spec §7.6.2).
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    pub async fn wait_while_auth_required(&self, task_id: &str) -> Result<Arc<Task>> {
        self.wait_until(task_id, |state| state != TaskState::AuthRequired).await
    }
}

fn into_task(outcome: SendOutcome) -> Result<Arc<Task>> {
    match outcome {
        SendOutcome::Task(task) => Ok(Arc::new(task)),
        SendOutcome::Message(_) => {
            Err(Error::new(ErrorKind::InvalidAgentResponse, "expected a task, got a message"))
        }
    }
}
