//! Getting and canceling tasks.

use a2a_core::{ErrorKind, TaskState, well_known::Struct};

use crate::{
    Options, Topology,
    call::{all, at_once, cancel, get, send, subscribe, subscription, task_of},
};

//
pub async fn get_returns_the_task_without_side_effects(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = task_of(&fixture.agent, send("ask")).await;
    for _ in 0..2 {
        let found = fixture.agent.get_task(get(&task.id)).await.unwrap().response;
        assert_eq!(*found, task);
    }
    let missing = fixture.agent.get_task(get("missing")).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::TaskNotFound);
    let empty = fixture.agent.get_task(get("")).await.unwrap_err();
    assert!(matches!(empty.kind(), ErrorKind::InvalidParams | ErrorKind::MethodNotFound));
}

//
pub async fn cancel_of_a_canceled_task_is_rejected(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    for word in ["wait", "hang", "ask", "input", "auth"] {
        let task = task_of(&fixture.agent, at_once(send(word))).await;
        let mut call = cancel(&task.id);
        call.request.metadata = Some(Struct::from([("why", "changed my mind")]));
        let canceled = fixture.agent.cancel_task(call.clone()).await.unwrap().response;
        assert_eq!(canceled.state(), TaskState::Canceled, "{word}");
        let again = fixture.agent.cancel_task(call).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::TaskNotCancelable, "{word}");
        let found = fixture.agent.get_task(get(&task.id)).await.unwrap().response;
        assert_eq!(found.state(), TaskState::Canceled, "{word}");
    }
}

//
pub async fn cancel_of_an_ended_or_unknown_task_is_rejected(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = task_of(&fixture.agent, send("hello")).await;
    let rejected = fixture.agent.cancel_task(cancel(&task.id)).await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::TaskNotCancelable);
    let missing = fixture.agent.cancel_task(cancel("missing")).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::TaskNotFound);
}

pub async fn cancel_ends_the_streams_of_the_task(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = task_of(&fixture.agent, at_once(send("wait"))).await;
    let stream = subscription(&fixture.agent, subscribe(&task.id)).await;
    fixture.agent.cancel_task(cancel(&task.id)).await.unwrap();
    let events = all(stream).await;
    assert_eq!(events.last().unwrap().state(), Some(TaskState::Canceled));
}
