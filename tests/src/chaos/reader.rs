use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use tokio::time::sleep;

use super::{
    Events, Fault, History, Nodes, Problem, Seen, Tally, Wire,
    event::{has_ended, is_terminal},
};

/// Follows a task to its end across nodes and bindings, and records what it sees.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) wire: Wire,
    pub(super) nodes: Arc<Nodes>,
    pub(super) tally: Arc<Tally>,
    pub(super) history: Arc<History>,
    pub(super) task: String,
    pub(super) context: String,
    /// The position after which this reader continues; none begins with the current task.
    pub(super) last: Option<u64>,
}

/// A stream that was opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) asked: Instant,
    pub(super) stream: u64,
    pub(super) events: Events,
}

impl Reader {
    /// The same with another position.
    pub(super) fn after(&self, last: Option<u64>) -> Self {
        Self { last, ..self.clone() }
    }

    /// Reads to the end of the task, beginning with an open stream if there is one.
    pub(super) async fn follow(mut self, open: Option<Opened>) {
        if let Some(opened) = open
            && self.read(opened).await
        {
            return;
        }
        loop {
            let (asked, last) = (Instant::now(), self.last);
            let seat = self.nodes.seat();
            match self.wire.subscribe(seat, &self.task, last).await {
                Ok(events) => {
                    self.tally.resumed.fetch_add(1, Relaxed);
                    let stream = self.history.open(asked, last, false);
                    if self.read(Opened { asked, stream, events }).await {
                        return;
                    }
                }
                Err(Problem::Rejected(404, _)) => {
                    let detail = format!("{seat:?} has no task {} after {last:?}", self.task);
                    return self.tally.fault(Fault::Lost, 1, detail);
                }
                Err(Problem::Rejected(_, body)) if body.to_string().contains("has ended") => {
                    if let Some(last) = last {
                        self.history.record(asked, Seen::EndedAfter(last));
                    }
                    return;
                }
                Err(problem) if !problem.is_transient() => {
                    let detail = format!("{seat:?}, {} after {last:?}: {problem:?}", self.task);
                    self.tally.fault(Fault::Unexpected, 1, detail);
                    sleep(Duration::from_millis(500)).await;
                }
                Err(_) => {}
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Reads a stream; returns whether the task has ended.
    pub(super) async fn read(&mut self, opened: Opened) -> bool {
        let Opened { asked, stream, mut events } = opened;
        let mut has_ended = false;
        loop {
            match events.next().await {
                Ok(Some(event)) => {
                    self.tally.events.fetch_add(1, Relaxed);
                    self.last = self.last.max(Some(event.id));
                    has_ended |= is_terminal(&event.data);
                    self.history.event(asked, stream, &event);
                }
                Ok(None) => {
                    self.history.record(asked, Seen::Ended { stream });
                    return has_ended;
                }
                Err(_) => return has_ended,
            }
        }
    }

    /// Gets and lists the task now and then, until it has ended.
    pub(super) async fn poll(self) {
        loop {
            sleep(Duration::from_millis(20 + self.nodes.random_below(800))).await;
            let (asked, seat) = (Instant::now(), self.nodes.seat());
            let answer = if self.nodes.one_in(3) {
                let page = self.wire.list(seat, &self.context).await;
                page.map(|page| (page.into_iter().find(|task| task["id"] == *self.task), false))
            } else {
                match self.wire.get(seat, &self.task).await {
                    Err(Problem::Rejected(404, _)) => Ok((None, true)),
                    answer => answer.map(|task| (Some(task), true)),
                }
            };
            match answer {
                Ok((Some(task), has_history)) => {
                    self.tally.answers.fetch_add(1, Relaxed);
                    let is_end = has_ended(&task);
                    self.history.record(asked, Seen::Task { task, has_history });
                    if is_end {
                        return;
                    }
                }
                Ok((None, _)) => self.history.record(asked, Seen::Absent),
                Err(problem) if !problem.is_transient() => {
                    let detail = format!("{seat:?}, {}: {problem:?}", self.task);
                    self.tally.fault(Fault::Unexpected, 1, detail);
                }
                Err(_) => {}
            }
        }
    }
}
