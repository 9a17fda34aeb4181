//! Fixtures of the cluster suite.

use std::{sync::Arc, time::Duration};

use a2a_core::TaskState;
use futures_util::StreamExt as _;
use tokio::time::timeout;

use crate::store::fixtures::{insert, scope, task};
use a2a_kit_operations::{
    Scope, Store,
    store::{Orphan, Signal, Signals},
};

/// Timeout of any step.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The scope used by the cluster suite.
pub fn ann() -> Scope {
    scope("ann")
}

/// Takes over a task as soon as its lease has expired.
pub async fn orphan(store: &dyn Store, task_id: &str) -> Orphan {
    let take_over = async {
        loop {
            let orphans = store.take_over(10).await.expect("the store succeeds");
            let ours = |orphan: &Orphan| orphan.stored.task.id == task_id;
            if let Some(orphan) = orphans.into_iter().find(ours) {
                return orphan;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, take_over).await.expect("leases expire")
}

/// Returns the signals of a node once they have started to arrive.
pub async fn listen(listener: &Arc<dyn Store>, other: &Arc<dyn Store>) -> Signals {
    let mut signals = listener.signals().expect("there are other nodes");
    let begin = async {
        for number in 0_u64.. {
            let id = format!("probe-{}-{number}", listener.node());
            insert(&**other, &ann(), &task(&id, "probes", TaskState::Working, 5)).await;
            let is_probe = |signal: &Signal| matches!(signal, Signal::Written { task_id, .. } if **task_id == *id);
            let signalled =
                timeout(Duration::from_millis(200), next_signal(&mut signals, is_probe)).await;
            if signalled.is_ok() {
                return;
            }
        }
    };
    timeout(TIMEOUT, begin).await.expect("a node is signalled of the others");
    signals
}

/// Waits for a matching signal.
pub async fn wait_for(signals: &mut Signals, is_meant: impl Fn(&Signal) -> bool) -> Signal {
    timeout(TIMEOUT, next_signal(signals, is_meant)).await.expect("the node is signalled")
}

async fn next_signal(signals: &mut Signals, is_meant: impl Fn(&Signal) -> bool) -> Signal {
    loop {
        let signal = signals.next().await.expect("signals end with their store");
        if is_meant(&signal) {
            return signal;
        }
    }
}

/// Waits for the signal that a task was written up to an event, or that its lease changed hands.
pub async fn wait_written(signals: &mut Signals, id: &str, last: u64) {
    wait_for(signals, |signal| {
        matches!(
            signal,
            Signal::Written { task_id, last_event, .. }
                if **task_id == *id && last_event.get() == last
        )
    })
    .await;
}
