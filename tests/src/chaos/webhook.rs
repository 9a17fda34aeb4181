use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{Fault, History, Load, event::state};

/// Timeout for the remaining events of a webhook.
const DELIVERY: Duration = Duration::from_secs(120);

/// The webhook of an ended task.
#[derive(Debug)]
pub struct Webhook {
    pub(super) name: String,
    pub(super) history: Arc<History>,
}

impl Webhook {
    /// Waits for all expected events, and checks their order.
    pub async fn check(self, load: Arc<Load>) {
        let tally = load.tally();
        let events = self.history.events();
        let mut expected: Vec<(u64, &Value)> = events
            .iter()
            .filter(|(_, data)| state(data).is_some())
            .map(|(id, data)| (*id, data))
            .collect();
        // The first event, which is the task, may be unknown.
        let knows_first = events.contains_key(&1);
        if !knows_first {
            expected.insert(0, (1, &Value::Null));
        }
        tally.pushed.fetch_add(u64::try_from(expected.len()).unwrap_or(0), Relaxed);
        let end = Instant::now() + DELIVERY;
        let (missing, received) = loop {
            let received = load.hooks().received(&self.name);
            let has_arrived = |(id, data): &&(u64, &Value)| match (*id, knows_first) {
                (1, false) => received.iter().any(|received| received["task"].is_object()),
                _ => received.contains(data),
            };
            let missing: Vec<u64> =
                expected.iter().filter(|one| !has_arrived(one)).map(|(id, _)| *id).collect();
            if missing.is_empty() || Instant::now() > end {
                break (missing, received);
            }
            sleep(Duration::from_millis(500)).await;
        };
        let detail = format!("webhook {} never got {missing:?}", self.name);
        tally.fault(Fault::Undelivered, missing.len(), detail);
        let mut newest = 0;
        let mut had = BTreeSet::new();
        for data in &received {
            let place = |(id, known): &&(u64, &Value)| {
                *known == data || *id == 1 && known.is_null() && data["task"].is_object()
            };
            let places: Vec<u64> = expected.iter().filter(place).map(|(id, _)| *id).collect();
            let Some(first) = places.first() else {
                tally.fault(Fault::Unexpected, 1, format!("webhook {} got {data}", self.name));
                continue;
            };
            // Equal events are distinguished by their order.
            let Some(id) = places.iter().find(|id| !had.contains(*id)) else { continue };
            if *id < newest {
                let detail = format!("webhook {} got {first} after {newest}", self.name);
                tally.fault(Fault::Disordered, 1, detail);
            }
            newest = newest.max(*id);
            had.insert(*id);
        }
        load.hooks().forget(&self.name);
    }
}
