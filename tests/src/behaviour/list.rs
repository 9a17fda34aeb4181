//! Lists of tasks.

use std::{collections::BTreeSet, sync::Arc};

use a2a_core::{ErrorKind, Message, Task, TaskState, v1::ListTasksRequest};
use a2a_kit_operations::{Agent, Call};

use crate::{
    Options, Topology,
    call::{get, list, send, task_of, to_task, with},
};

async fn tasks(agent: &Arc<dyn Agent>, count: usize) -> Vec<Task> {
    let mut tasks = Vec::new();
    for index in 0..count {
        let message = Message::user(format!("task {index}")).with_context_id("many");
        tasks.push(task_of(agent, with(message)).await);
    }
    tasks
}

//
pub async fn pages_list_every_task_once_newest_first(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let made = tasks(&fixture.agent, 7).await;
    let mut request = ListTasksRequest { page_size: Some(3), ..ListTasksRequest::default() };
    let mut seen = Vec::new();
    let mut sizes = Vec::new();
    loop {
        let page = list(&fixture.agent, request.clone()).await;
        assert_eq!((page.page_size, page.total_size), (3, 7 + i32::from(!sizes.is_empty())));
        sizes.push(page.tasks.len());
        seen.extend(page.tasks);
        if sizes.len() == 1 {
            // A task that comes between two pages moves no other.
            task_of(&fixture.agent, send("late")).await;
        }
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(sizes, [3, 3, 1]);
    let ids: BTreeSet<_> = seen.iter().map(|task| task.id.clone()).collect();
    assert_eq!(ids, made.iter().map(|task| task.id.clone()).collect());
    let times: Vec<_> = seen.iter().map(|task| task.status.as_ref().unwrap().timestamp).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    let page = list(&fixture.agent, ListTasksRequest::default()).await;
    assert_eq!((page.page_size, page.tasks.len()), (50, 8));
}

//
pub async fn artifacts_and_history_are_listed_only_on_request(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let task = &tasks(&fixture.agent, 1).await[0];
    assert!(!task.artifacts.is_empty() && !task.history.is_empty());
    let plain = list(&fixture.agent, ListTasksRequest::default()).await;
    assert!(plain.tasks[0].artifacts.is_empty() && plain.tasks[0].history.is_empty());
    let request = ListTasksRequest {
        include_artifacts: Some(true),
        history_length: Some(5),
        ..ListTasksRequest::default()
    };
    assert_eq!(list(&fixture.agent, request).await.tasks[0], *task);
}

//
pub async fn lists_are_filtered_by_context_state_and_time(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let waiting = task_of(&fixture.agent, send("ask")).await;
    let many = tasks(&fixture.agent, 3).await;
    let ids = |page: &[Task]| page.iter().map(|task| task.id.clone()).collect::<BTreeSet<_>>();

    let by_context = ListTasksRequest { context_id: "many".into(), ..Default::default() };
    let page = list(&fixture.agent, by_context).await;
    assert_eq!((ids(&page.tasks), page.total_size), (ids(&many), 3));

    let status = TaskState::InputRequired.into();
    let by_state = ListTasksRequest { status, ..Default::default() };
    let page = list(&fixture.agent, by_state).await;
    assert_eq!((page.tasks.len(), &page.tasks[0].id), (1, &waiting.id));

    let boundary = many[1].status.as_ref().unwrap().timestamp;
    let since = ListTasksRequest { status_timestamp_after: boundary, ..Default::default() };
    let page = list(&fixture.agent, since).await;
    let expected: BTreeSet<_> = [&waiting, &many[0], &many[1], &many[2]]
        .into_iter()
        .filter(|task| task.status.as_ref().unwrap().timestamp >= boundary)
        .map(|task| task.id.clone())
        .collect();
    assert_eq!(ids(&page.tasks), expected, "equal times are included");

    let nothing = ListTasksRequest { context_id: "none".into(), ..Default::default() };
    let page = list(&fixture.agent, nothing).await;
    assert_eq!((page.tasks.len(), page.total_size, &*page.next_page_token), (0, 0, ""));
}

pub async fn status_change_moves_a_task_in_the_list(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    let first = task_of(&fixture.agent, send("ask")).await;
    // Times have milliseconds, so the next status has to be in a later one.
    loop {
        let second = task_of(&fixture.agent, send("x")).await;
        if second.status.unwrap().timestamp > first.status.as_ref().unwrap().timestamp {
            break;
        }
    }
    let page = list(&fixture.agent, ListTasksRequest::default()).await;
    assert_ne!(page.tasks[0].id, first.id);
    loop {
        let now = task_of(&fixture.agent, send("x")).await.status.unwrap().timestamp;
        if now > page.tasks[0].status.as_ref().unwrap().timestamp {
            break;
        }
    }
    let answered = task_of(&fixture.agent, to_task(&first.id, "this")).await;
    let status = TaskState::Completed.into();
    let request = ListTasksRequest { status, ..Default::default() };
    let page = list(&fixture.agent, request).await;
    assert!(page.tasks.iter().any(|task| task.id == answered.id));
    assert_eq!(
        fixture.agent.get_task(get(&first.id)).await.unwrap().response.state(),
        TaskState::Completed
    );
}

//
pub async fn invalid_list_parameters_are_rejected(topology: Topology) {
    let fixture = topology.agent(Options::default()).await;
    for (request, field) in [
        (ListTasksRequest { page_size: Some(0), ..Default::default() }, "pageSize"),
        (ListTasksRequest { page_size: Some(101), ..Default::default() }, "pageSize"),
        (ListTasksRequest { page_size: Some(-1), ..Default::default() }, "pageSize"),
        (ListTasksRequest { page_token: "made-up".into(), ..Default::default() }, "pageToken"),
        (ListTasksRequest { history_length: Some(-1), ..Default::default() }, "historyLength"),
        (ListTasksRequest { status: 99, ..Default::default() }, "status"),
    ] {
        let rejected = fixture.agent.list_tasks(Call::new(request)).await.unwrap_err();
        assert_eq!(rejected.kind(), ErrorKind::InvalidParams, "{field}");
        assert_eq!(rejected.violations()[0].field, field);
    }
}
