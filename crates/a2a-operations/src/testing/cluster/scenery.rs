//! What the tests of nodes are set in.

use std::{sync::Arc, time::Duration};

use a2a_core::TaskState;
use futures_util::StreamExt as _;
use tokio::time::timeout;

use crate::{
    Scope, Store,
    store::{Orphan, Signal, Signals},
    testing::store::scenery::{insert, scope, task},
};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The scope of all that happens between nodes here.
pub fn ann() -> Scope {
    scope("ann")
}

/// Takes over a task as soon as its lease has run out.
pub async fn orphan(store: &dyn Store, task_id: &str) -> Orphan {
    let take_over = async {
        loop {
            let orphans = store.take_over(10).await.expect("the store works");
            let ours = |orphan: &Orphan| orphan.stored.task.id == task_id;
            if let Some(orphan) = orphans.into_iter().find(ours) {
                return orphan;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, take_over).await.expect("leases run out")
}

/// Returns the signals of a node when they have begun to come.
pub async fn listen(listener: &Arc<dyn Store>, other: &Arc<dyn Store>) -> Signals {
    let mut signals = listener.signals().expect("there are other nodes");
    let begin = async {
        for number in 0_u64.. {
            let id = format!("probe-{}-{number}", listener.node());
            insert(&**other, &ann(), &task(&id, "probes", TaskState::Working, 5)).await;
            let is_probe = |signal: &Signal| matches!(signal, Signal::Written { task_id, .. } if **task_id == *id);
            let told = timeout(Duration::from_millis(200), told(&mut signals, is_probe)).await;
            if told.is_ok() {
                return;
            }
        }
    };
    timeout(PATIENCE, begin).await.expect("a node is told of the others");
    signals
}

/// Waits for a signal.
pub async fn heard(signals: &mut Signals, is_meant: impl Fn(&Signal) -> bool) -> Signal {
    timeout(PATIENCE, told(signals, is_meant)).await.expect("the node is told")
}

async fn told(signals: &mut Signals, is_meant: impl Fn(&Signal) -> bool) -> Signal {
    loop {
        let signal = signals.next().await.expect("signals end with their store");
        if is_meant(&signal) {
            return signal;
        }
    }
}

/// Waits until a node is told that a task was written up to an event, or that its holder changed.
pub async fn hear_written(signals: &mut Signals, id: &str, last: u64) {
    heard(signals, |signal| {
        matches!(
            signal,
            Signal::Written { task_id, last_event, .. }
                if **task_id == *id && last_event.get() == last
        )
    })
    .await;
}
