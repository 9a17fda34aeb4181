//! Waiting for the response to a message.

use a2a_core::{
    Error, Result,
    v1::{SendMessageResponse, send_message_response, stream_response::Payload},
};
use tokio::sync::oneshot;

use crate::{
    EventStream,
    engine::{
        runtime::{Handle, Reader},
        task::{Begin, Cursor, Opening, RemoteTurn, Response, SentTurn, Until},
    },
    store::TaskView,
};

/// An accepted message and its task.
pub(crate) struct Accepted {
    pub(crate) handle: Handle,
    /// The ticket of the message within its task; 0 joins the task as it is.
    pub(crate) ticket: u64,
    /// The turn of the message, if another node handles it.
    pub(crate) remote: Option<Remote>,
}

/// A message that another node handles.
pub(crate) enum Remote {
    Turn(RemoteTurn),
    /// It waits for its turn, which that node announces; its sender reads a stream.
    Queued(oneshot::Receiver<Result<u64>>),
}

impl Accepted {
    /// A message that this node has taken.
    pub(crate) fn here(handle: Handle, ticket: u64) -> Self {
        Self { handle, ticket, remote: None }
    }

    /// Waits for the response: a message, or the task when it settles, or immediately if the caller
    /// asks for that.
    pub(crate) async fn response(
        self,
        return_immediately: bool,
        history_length: Option<usize>,
    ) -> Result<SendMessageResponse> {
        let turn = match &self.remote {
            Some(Remote::Turn(turn)) => SentTurn::Elsewhere(turn.begun),
            Some(Remote::Queued(_)) | None => SentTurn::Here(self.ticket),
        };
        if turn == SentTurn::Here(0) {
            // A retry: this entry may show the task before its message.
            Box::pin(self.handle.catch_up_if_behind()).await?;
        }
        let response = self.handle.wait(|live| live.response(turn, return_immediately)).await?;
        let view = TaskView::of_history(history_length);
        let payload = match response {
            Response::Reply(event) => match event.into_response().payload {
                Some(Payload::Message(message)) => send_message_response::Payload::Message(message),
                _ => return Err(Error::internal("reply is not a message")),
            },
            Response::Task(task) => {
                // Releases the entry first, so that the task of a finished send is moved, not
                // cloned.
                drop(self.handle);
                send_message_response::Payload::Task(view.apply(task))
            }
            Response::Newest => {
                let (task, _) = Box::pin(self.handle.newest_or_error()).await?;
                drop(self.handle);
                send_message_response::Payload::Task(view.apply(task))
            }
            Response::Superseded(task_id) => {
                let handle = &self.handle;
                let joined = Box::pin(handle.inner.follow_key(&handle.scope, &task_id)).await?;
                return Box::pin(joined.response(return_immediately, history_length)).await;
            }
        };
        Ok(SendMessageResponse { payload: Some(payload) })
    }

    /// Streams the turn of the message. The stream of a message that is queued opens with the
    /// current task, and ends with an error if its turn never comes.
    pub(crate) async fn stream(self, history: Option<usize>) -> Result<EventStream> {
        let mut reader = self.reader().await?;
        reader.cursor.history = history;
        Ok(reader.into_stream())
    }

    async fn reader(self) -> Result<Reader> {
        let (handle, ticket) = (self.handle, self.ticket);
        match self.remote {
            Some(Remote::Turn(turn)) => {
                let opening = handle.wait(|live| live.remote_opening(&turn)).await?;
                return Ok(match opening {
                    Some(task) => {
                        let cursor = Cursor::from_task(Until::Answered, turn.begun, &task);
                        Reader::new(handle, cursor)
                    }
                    None => Reader::from_now(handle, Until::Answered),
                });
            }
            Some(Remote::Queued(asked)) => {
                let (task, _) = handle.newest_or_error().await?;
                let mut reader = Reader::new(handle, Cursor::queued(&task, Begin::Unknown));
                reader.asked = Some(asked);
                return Ok(reader);
            }
            None => {}
        }
        let is_shared = handle.inner.cluster.is_shared;
        let cursor = match handle.wait(|live| live.opening(ticket, is_shared)).await? {
            Opening::Queued => {
                let (task, _) = handle.newest_or_error().await?;
                Cursor::queued(&task, Begin::Queued(ticket))
            }
            Opening::First => Cursor::new(Until::Answered, 1),
            Opening::At(task, start) => Cursor::from_task(Until::Answered, start, &task),
            Opening::Newest => {
                let (task, last) = handle.newest_or_error().await?;
                Cursor::from_task(Until::Answered, last, &task)
            }
            Opening::Superseded(task_id) => {
                let joined = handle.inner.follow_key(&handle.scope, &task_id).await?;
                return Box::pin(joined.reader()).await;
            }
        };
        Ok(Reader::new(handle, cursor))
    }
}
