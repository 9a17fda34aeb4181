//! Streams: order, end, and resuming.

use a2a_core::{ErrorKind, TaskState, v1::stream_response::Payload};
use a2a_kit_operations::{Event, EventId};
use futures_util::StreamExt as _;

use crate::{
    Options, Topology,
    call::{
        all, at_once, get, next, positions, resume, send, stream_of, subscribe, subscription,
        task_of, to_task,
    },
};

//
pub async fn stream_is_the_task_followed_by_updates_in_order(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let events = all(stream_of(&fixture.agent, send("stream 40")).await).await;
    assert_eq!(positions(&events), (1..=43).collect::<Vec<_>>());
    assert!(events[0].task().is_some());
    assert_eq!(events[1].state(), Some(TaskState::Working));
    let mut task = events[0].task().unwrap().clone();
    for (index, event) in events[2..42].iter().enumerate() {
        let update = event.artifact_update().expect("a chunk");
        assert_eq!((&update.task_id, &update.context_id), (&task.id, &task.context_id));
        assert_eq!((update.append, update.last_chunk), (index > 0, index == 39));
        assert_eq!(update.text(), (index + 1).to_string());
        task.apply_artifact(update);
    }
    assert_eq!(events[42].state(), Some(TaskState::Completed));
    let stored = fixture.agent.get_task(get(&task.id)).await.unwrap().response;
    assert_eq!(stored.artifacts, task.artifacts);
}

//
pub async fn stream_of_a_direct_reply_is_one_message(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let events = all(stream_of(&fixture.agent, at_once(send("message hi"))).await).await;
    assert_eq!(events.len(), 1);
    assert!(
        matches!(events[0].payload(), Some(Payload::Message(message)) if message.text() == "hi")
    );
}

//
pub async fn stream_ends_when_input_is_required(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let events = all(stream_of(&fixture.agent, send("ask")).await).await;
    assert_eq!(events.last().and_then(Event::state), Some(TaskState::InputRequired));
    let id = events[0].task().unwrap().id.clone();
    let more = all(stream_of(&fixture.agent, to_task(&id, "this")).await).await;
    let opening = more[0].task().expect("a task comes first");
    assert_eq!(opening.state(), TaskState::Working, "not the state of before");
    assert_eq!(opening.history.len(), 3);
    assert_eq!(more.last().and_then(Event::state), Some(TaskState::Completed));
}

//
pub async fn stream_stays_open_in_auth_required(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let mut stream = stream_of(&fixture.agent, send("auth")).await;
    let required = loop {
        let event = next(&mut stream).await;
        if event.state() == Some(TaskState::AuthRequired) {
            break event;
        }
    };
    assert_eq!(required.status_update().expect("a status").text(), "sign in, please");
    fixture.control.open();
    assert_eq!(next(&mut stream).await.state(), Some(TaskState::Completed));
    assert!(stream.next().await.is_none());
}

//
pub async fn streaming_is_rejected_without_support(topology: Topology) {
    let fixture = topology.agent(Options { streaming: false, ..Options::default() }).await;
    let rejected = fixture.agent.send_streaming_message(send("x")).await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::UnsupportedOperation);
    let task = task_of(&fixture.agent, at_once(send("gate"))).await;
    let rejected = fixture.agent.subscribe_to_task(subscribe(&task.id)).await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::UnsupportedOperation);
    fixture.control.open();
}

//
pub async fn closed_stream_does_not_cancel_the_task(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let mut stream = stream_of(&fixture.agent, send("gate")).await;
    let id = next(&mut stream).await.task().unwrap().id.clone();
    let mut other = subscription(&fixture.agent, subscribe(&id)).await;
    next(&mut other).await;
    drop(stream);
    fixture.control.open();
    let events = all(other).await;
    assert_eq!(events.last().and_then(Event::state), Some(TaskState::Completed));
    let task = fixture.agent.get_task(get(&id)).await.unwrap().response;
    assert_eq!(task.text(), "open");
}

//
pub async fn disconnect_does_not_cancel_the_task(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let agent = fixture.agent.clone();
    let waiting = tokio::spawn(async move { agent.send_message(send("gate")).await });
    let id = loop {
        let listed = fixture.engine.list_tasks(Default::default()).await.unwrap().response;
        if let Some(task) = listed.tasks.first() {
            break task.id.clone();
        }
        tokio::task::yield_now().await;
    };
    waiting.abort();
    let _ = waiting.await;
    if topology.has_gateway() {
        // It learns of the task from the answer.
        fixture.control.open();
        loop {
            match fixture.agent.get_task(get(&id)).await {
                Ok(reply) if reply.response.state() == TaskState::Completed => return,
                _ => tokio::task::yield_now().await,
            }
        }
    }
    let watching = subscription(&fixture.agent, subscribe(&id)).await;
    fixture.control.open();
    let events = all(watching).await;
    assert_eq!(events.last().and_then(Event::state), Some(TaskState::Completed));
}

//
pub async fn readers_get_the_same_events_in_the_same_order(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let mut first = stream_of(&fixture.agent, send("gate")).await;
    let id = next(&mut first).await.task().unwrap().id.clone();
    assert_eq!(next(&mut first).await.state(), Some(TaskState::Working));
    let mut readers = vec![first];
    for _ in 0..2 {
        let mut reader = subscription(&fixture.agent, subscribe(&id)).await;
        assert!(next(&mut reader).await.task().is_some());
        readers.push(reader);
    }
    fixture.control.open();
    let mut seen = Vec::new();
    for reader in readers {
        let events = all(reader).await;
        seen.push(events.iter().map(|event| event.response().clone()).collect::<Vec<_>>());
    }
    assert_eq!(seen[0].len(), 2);
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
}

//
pub async fn subscription_is_the_task_followed_by_all_updates(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    for _ in 0..5 {
        let task = task_of(&fixture.agent, at_once(send("stream 200"))).await;
        let subscribed = fixture.agent.subscribe_to_task(subscribe(&task.id)).await;
        let stored = match subscribed {
            // The task may have ended before the subscription.
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
                continue;
            }
            Ok(reply) => {
                let events = all(reply.response).await;
                let mut task = events[0].task().expect("the task comes first").clone();
                for event in &events[1..] {
                    match event.payload().unwrap() {
                        Payload::ArtifactUpdate(update) => task.apply_artifact(update),
                        Payload::StatusUpdate(update) => task.apply_status(update),
                        other => panic!("not an update: {other:?}"),
                    }
                }
                assert_eq!(task.state(), TaskState::Completed);
                task
            }
        };
        let whole: String = (1..=200).map(|number| number.to_string()).collect();
        assert_eq!(stored.text(), whole, "no gaps, no duplicates");
    }
}

//
pub async fn subscription_to_an_unknown_or_ended_task_is_rejected(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let rejected = fixture.agent.subscribe_to_task(subscribe("nowhere")).await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::TaskNotFound);
    let task = task_of(&fixture.agent, send("x")).await;
    let rejected = fixture.agent.subscribe_to_task(subscribe(&task.id)).await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::UnsupportedOperation);
}

pub async fn subscription_stays_open_when_input_is_required(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = task_of(&fixture.agent, send("ask")).await;
    let mut stream = subscription(&fixture.agent, subscribe(&task.id)).await;
    assert_eq!(next(&mut stream).await.state(), Some(TaskState::InputRequired));
    let after = task_of(&fixture.agent, to_task(&task.id, "this")).await;
    assert_eq!(after.state(), TaskState::Completed);
    let events = all(stream).await;
    let states: Vec<_> = events.iter().filter_map(Event::state).collect();
    assert_eq!(states, [TaskState::Working, TaskState::Completed]);
}

//
pub async fn resumed_reader_gets_exactly_the_missed_events(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let mut stream = stream_of(&fixture.agent, send("gate")).await;
    let id = next(&mut stream).await.task().unwrap().id.clone();
    let seen = next(&mut stream).await.id().expect("a position");
    drop(stream);

    let running = subscription(&fixture.agent, resume(&id, seen)).await;
    fixture.control.open();
    let missed = all(running).await;
    assert_eq!(positions(&missed), [3, 4]);

    let ended = all(subscription(&fixture.agent, resume(&id, seen)).await).await;
    assert_eq!(positions(&ended), [3, 4]);
    let last = EventId::new(4).unwrap();
    let nothing = fixture.agent.subscribe_to_task(resume(&id, last)).await.unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::UnsupportedOperation);
}
