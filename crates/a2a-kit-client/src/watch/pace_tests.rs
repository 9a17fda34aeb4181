//! How often a client calls an agent that ends its streams early, or fails.

use std::{any::Any, sync::Mutex, time::Duration};

use a2a_core::{
    AgentCard, ErrorKind, Operation, Request,
    v1::{SendMessageResponse, send_message_response},
};
use a2a_kit_operations::{Agent, AgentMethod, Call, Reply, intercept_agent};
use futures_util::stream;

use super::*;
use crate::test_agent::{chunk, snapshot, status, task};

/// The maximum number of calls in [`PERIOD`].
const MAX_CALLS: usize = 20;
const PERIOD: Duration = Duration::from_secs(10);

/// Returns the events of a stream by its number, or rejects it.
type Streams = fn(u64) -> Result<Vec<Event>>;

/// An agent that behaves the same way at each call.
#[derive(Clone)]
struct OddAgent {
    streams: Streams,
    state: Result<TaskState, ErrorKind>,
    calls: Arc<Mutex<Vec<Operation>>>,
}

impl OddAgent {
    fn new(streams: Streams, state: Result<TaskState, ErrorKind>) -> Self {
        Self { streams, state, calls: Arc::default() }
    }

    fn calls(&self) -> Vec<Operation> {
        self.calls.lock().unwrap().clone()
    }

    fn respond(&self, operation: Operation) -> Result<Box<dyn Any + Send>> {
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(operation);
            u64::try_from(calls.len()).unwrap()
        };
        let task = || self.state.map(task).map_err(|kind| Error::new(kind, "no"));
        Ok(match operation {
            Operation::SendStreamingMessage | Operation::SubscribeToTask => {
                let events = (self.streams)(number)?.into_iter().map(Ok);
                Box::new(EventStream::new(stream::iter(events)))
            }
            Operation::SendMessage => {
                let payload = Some(send_message_response::Payload::Task(task()?));
                Box::new(SendMessageResponse { payload })
            }
            _ => Box::new(Arc::new(task()?)),
        })
    }

    async fn intercept<R: Request, T: 'static>(
        &self,
        operation: Operation,
        _: Call<R>,
        _: AgentMethod<R, T>,
    ) -> Result<Reply<T>> {
        Ok(Reply::new(*self.respond(operation)?.downcast().unwrap()))
    }
}

impl Agent for OddAgent {
    intercept_agent!(intercept);
}

fn working() -> Event {
    snapshot(0, task(TaskState::Working))
}

/// Streams without an end.
const STREAMS: [(&str, Streams); 8] = [
    ("a chunk", |number| Ok(vec![working(), chunk(0, &number.to_string())])),
    ("a status", |_| Ok(vec![working(), status(0, TaskState::Working)])),
    ("positions", |number| {
        Ok(vec![
            snapshot(2 * number, task(TaskState::Working)),
            status(2 * number + 1, TaskState::Working),
        ])
    }),
    ("the same task", |_| Ok(vec![working()])),
    ("nothing", |_| Ok(vec![])),
    ("an interrupted state", |_| Ok(vec![snapshot(0, task(TaskState::AuthRequired))])),
    ("unavailable", |_| Err(Error::unavailable("down"))),
    ("unsupported after the first stream", |number| {
        if number == 1 { Ok(vec![working()]) } else { Err(Error::unsupported("no")) }
    }),
];

const STATES: [Result<TaskState, ErrorKind>; 5] = [
    Ok(TaskState::Working),
    Ok(TaskState::Unspecified),
    Ok(TaskState::AuthRequired),
    Err(ErrorKind::Unavailable),
    Err(ErrorKind::ResourceExhausted),
];

/// How the task is watched.
#[derive(Clone, Copy, Debug)]
enum Reader {
    Stream,
    Subscribe,
    SendAndWatch(UpdateDelivery),
    Watch(UpdateDelivery),
}

impl Reader {
    async fn run(self, client: Client) -> Result<()> {
        let waiting = |delivery| {
            let options = WaitOptions::default().with_stop_at([TaskState::InputRequired]);
            options.with_delivery(delivery)
        };
        let outcome = match self {
            Self::Stream => client.stream("go").await?.outcome().await,
            Self::Subscribe => client.subscribe("t").await?.outcome().await,
            Self::SendAndWatch(delivery) => {
                client.send_and_watch("go", waiting(delivery)).await?.outcome().await
            }
            Self::Watch(delivery) => client.watch("t", waiting(delivery)).outcome().await,
        };
        outcome.map(drop)
    }
}

#[tokio::test(start_paused = true)]
async fn agent_is_called_at_most_twenty_times_in_ten_seconds() {
    use UpdateDelivery::{Any, Polling, Streaming};
    for (streams_of, streams) in STREAMS {
        for state in STATES {
            for reader in [
                Reader::Stream,
                Reader::Subscribe,
                Reader::SendAndWatch(Any),
                Reader::SendAndWatch(Streaming),
                Reader::Watch(Any),
                Reader::Watch(Streaming),
                Reader::Watch(Polling),
            ] {
                let agent = OddAgent::new(streams, state);
                let client = Client::from_agent(agent.clone(), AgentCard::new("a", "b"));
                let _ = tokio::time::timeout(PERIOD, reader.run(client)).await;
                let calls = agent.calls();
                let case = format!("{streams_of}, {state:?}, {reader:?}");
                assert!(calls.len() <= MAX_CALLS, "{case}: {} calls {calls:?}", calls.len());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn task_is_polled_after_three_short_streams() {
    use Operation::{GetTask, SendStreamingMessage, SubscribeToTask};
    let agent = OddAgent::new(STREAMS[0].1, Ok(TaskState::Working));
    let client = Client::from_agent(agent.clone(), AgentCard::new("a", "b"));
    let options = WaitOptions::default().with_timeout(Duration::from_secs(20));
    let watch = client.send_and_watch("go", options).await.unwrap();
    let error = watch.outcome().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    let calls = agent.calls();
    assert_eq!(calls[..3], [SendStreamingMessage, SubscribeToTask, SubscribeToTask]);
    assert!(calls[3..].iter().all(|call| *call == GetTask), "{calls:?}");
    assert!((7..10).contains(&calls[3..].len()), "the interval grows: {calls:?}");
}

#[tokio::test(start_paused = true)]
async fn stream_without_polling_is_reopened_with_growing_delays() {
    let agent = OddAgent::new(STREAMS[0].1, Ok(TaskState::Working));
    let client = Client::from_agent(agent.clone(), AgentCard::new("a", "b"));
    let events = client.stream("go").await.unwrap();
    let minutes = Duration::from_secs(120);
    tokio::time::timeout(minutes, events.outcome()).await.unwrap_err();
    let calls = agent.calls().len();
    assert!((10..=20).contains(&calls), "{calls}");
}
