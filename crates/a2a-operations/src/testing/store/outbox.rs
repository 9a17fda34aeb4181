//! Pushed events wait for their webhooks, and go to each in order.

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::scenery::{
    at, chunk, due, get, hooked, insert, positions, push, scope, task, transition, webhook,
};
use crate::{
    EventId, Store,
    store::{
        Backlog, DeadLetterQuery, Due, PushKey, PushOutcome, Redelivery, StoreError, Transition,
    },
};
use a2a_core::TaskState;

const HOUR: Duration = Duration::from_secs(3_600);

/// A webhook gets the events that were marked for webhooks and stored after it.
pub async fn a_webhook_gets_the_pushed_events_behind_it(store: Arc<dyn Store>) {
    let scope = scope("ann");
    insert(&*store, &scope, &task("t", "c", TaskState::Working, 5)).await;
    assert!(!push(&*store, &scope, "t").await.has_pushes, "there is no webhook yet");
    let webhook = webhook("t", "a");
    store.put_config(&scope, webhook.clone()).await.expect("the store works");
    let nothing = store.due(10).await.expect("the store works");
    assert!(nothing.pushes.is_empty() && nothing.next.is_none(), "{nothing:?}");
    assert_eq!(store.backlog().await.expect("the store works"), Backlog::default());
    let silent = transition("t", 2, 1, vec![chunk(3, "t", "x")]);
    assert!(!store.commit(&scope, silent).await.expect("it is current").has_pushes);
    assert!(due(&*store, 10).await.is_empty());
    let write = Transition {
        pushes: vec![at(4), at(6)],
        ..transition("t", 3, 1, (4..=6).map(|position| chunk(position, "t", "y")).collect())
    };
    assert!(store.commit(&scope, write).await.expect("it is current").has_pushes);
    assert!(push(&*store, &scope, "t").await.has_pushes);
    let due = due(&*store, 10).await;
    let [push] = &due[..] else { panic!("{due:?}") };
    assert_eq!((&*push.key.task_id, &*push.key.config_id), ("t", "a"));
    assert_eq!((&push.scope, &push.webhook, push.attempts), (&scope, &webhook, 0));
    assert_eq!(positions(&push.events), [4, 6, 7]);
    assert_eq!(push.events[0].response(), chunk(4, "t", "y").response());
    assert_eq!(push.task, get(&*store, &scope, "t").await.task);
}

/// A webhook that comes with a new task gets its first events too.
pub async fn webhooks_of_a_new_task_get_its_first_events(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let quiet = store.insert(&scope, hooked("quiet", &["a"])).await.expect("the task is new");
    assert!(!quiet.has_pushes);
    let mut new = hooked("t", &["a", "b"]);
    new.pushes = vec![at(1)];
    assert!(store.insert(&scope, new).await.expect("the task is new").has_pushes);
    let webhooks = store.configs(&scope, "t").await.expect("the store works");
    assert_eq!(webhooks, [webhook("t", "a"), webhook("t", "b")]);
    let due = due(&*store, 10).await;
    let mut got: Vec<_> =
        due.iter().map(|push| (&*push.key.config_id, positions(&push.events))).collect();
    got.sort();
    assert_eq!(got, [("a", vec![1]), ("b", vec![1])]);
    assert!(due.iter().all(|push| &*push.key.task_id == "t"));
}

/// A write that is refused leaves nothing to deliver.
pub async fn a_refused_write_pushes_nothing(store: Arc<dyn Store>) {
    let scope = scope("ann");
    store.insert(&scope, hooked("t", &["a"])).await.expect("the task is new");
    for (version, epoch) in [(2, 1), (1, 2)] {
        let events = vec![chunk(2, "t", "x")];
        let write = Transition { pushes: vec![at(2)], ..transition("t", version, epoch, events) };
        let refused = store.commit(&scope, write).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    }
    assert!(due(&*store, 10).await.is_empty());
}

/// While a webhook is claimed nobody else claims it, until it is given back; and who had it then
/// can say nothing of it any more.
pub async fn a_webhook_is_claimed_by_one_at_a_time(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let first = claimed(&*store, "t", 1).await;
    assert!(due(&*store, 10).await.is_empty());
    push(&*store, &scope, "t").await;
    assert!(due(&*store, 10).await.is_empty(), "an event that comes meanwhile waits too");
    assert!(!say(&*store, &first, PushOutcome::Unclaimed).await);
    let again = due(&*store, 10).await;
    let [push] = &again[..] else { panic!("{again:?}") };
    assert_eq!((positions(&push.events), push.attempts), (vec![2, 3], 0));
    assert_ne!(push.key.claim, first.claim);
    for outcome in [
        PushOutcome::Delivered(at(2)),
        PushOutcome::Retry { event: at(2), after: Duration::ZERO },
        PushOutcome::Dead { event: at(2), error: "late".into() },
        PushOutcome::Unclaimed,
    ] {
        assert!(!say(&*store, &first, outcome).await, "the claim is void");
    }
    assert!(due(&*store, 10).await.is_empty(), "the new claim still holds");
    assert!(
        store.dead_letters(&DeadLetterQuery::newest(10)).await.expect("the store works").is_empty()
    );
    assert!(say(&*store, &push.key, PushOutcome::Delivered(at(2))).await);
}

/// Of many workers at once, each gets other webhooks.
pub async fn many_workers_share_the_webhooks(store: Arc<dyn Store>) {
    const TASKS: usize = 12;
    for number in 0..TASKS {
        let mut new = hooked(&format!("t{number}"), &["a", "b"]);
        new.pushes = vec![at(1)];
        store.insert(&scope("ann"), new).await.expect("the task is new");
    }
    let backlog = store.backlog().await.expect("the store works");
    assert_eq!(backlog.webhooks, 2 * TASKS as u64);
    let workers = (0..6).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mut mine = Vec::new();
            loop {
                let pushes = due(&*store, 3).await;
                assert!(pushes.len() <= 3);
                if pushes.is_empty() {
                    return mine;
                }
                mine.extend(pushes.into_iter().map(|push| (push.key.task_id, push.key.config_id)));
            }
        })
    });
    let mut all = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        all.extend(worker.await.expect("no worker panics"));
    }
    assert_eq!(all.len(), 2 * TASKS);
    assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), 2 * TASKS);
}

/// A claim goes on from event to event, and ends with the last that waits: what comes after that
/// is due at once.
pub async fn a_claim_ends_when_nothing_waits(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 2).await;
    assert!(say(&*store, &key, PushOutcome::Delivered(at(2))).await);
    assert!(due(&*store, 10).await.is_empty());
    say(&*store, &key, PushOutcome::Delivered(at(3))).await;
    let nothing = store.due(10).await.expect("the store works");
    assert!(nothing.pushes.is_empty() && nothing.next.is_none(), "{nothing:?}");
    assert!(push(&*store, &scope, "t").await.has_pushes);
    let due = due(&*store, 10).await;
    let [push] = &due[..] else { panic!("{due:?}") };
    assert_eq!((positions(&push.events), push.attempts), (vec![4], 0));
    assert!(!say(&*store, &key, PushOutcome::Unclaimed).await, "that claim has ended");
}

/// What comes during a claim is there for the next one.
pub async fn events_that_come_during_a_claim_are_not_lost(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 1).await;
    push(&*store, &scope, "t").await;
    assert!(say(&*store, &key, PushOutcome::Delivered(at(2))).await, "another one waits");
    assert!(due(&*store, 10).await.is_empty(), "the claim goes on");
    assert!(!say(&*store, &key, PushOutcome::Unclaimed).await);
    let due = due(&*store, 10).await;
    assert_eq!(due.iter().map(|push| positions(&push.events)).collect::<Vec<_>>(), [vec![3]]);
}

/// An event that is to be tried again holds back those behind it, for as long as was asked.
pub async fn a_retry_waits_for_its_time(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 1).await;
    assert!(!say(&*store, &key, PushOutcome::Retry { event: at(2), after: HOUR }).await);
    push(&*store, &scope, "t").await;
    let later = store.due(10).await.expect("the store works");
    assert!(later.pushes.is_empty(), "{later:?}");
    let next = later.next.expect("there is something to look at again");
    assert!(next <= HOUR && next > HOUR / 2, "{next:?}");
    let other = claimed(&*store, "other", 1).await;
    let after = Duration::from_millis(50);
    assert!(!say(&*store, &other, PushOutcome::Retry { event: at(2), after }).await);
    let soon = store.due(10).await.expect("the store works");
    assert!(soon.next.is_some_and(|next| next <= after), "{soon:?}");
}

/// The tries of an event are counted, and those of the next one anew.
pub async fn tries_are_counted_for_each_event(store: Arc<dyn Store>) {
    let mut key = claimed(&*store, "t", 2).await;
    for attempts in 1..=3 {
        let after = Duration::from_millis(attempts.into());
        say(&*store, &key, PushOutcome::Retry { event: at(2), after }).await;
        let push = until_due(&*store).await;
        assert_eq!((positions(&push.events), push.attempts), (vec![2, 3], attempts));
        key = push.key;
    }
    assert!(say(&*store, &key, PushOutcome::Delivered(at(2))).await);
    say(&*store, &key, PushOutcome::Unclaimed).await;
    let push = until_due(&*store).await;
    assert_eq!((positions(&push.events), push.attempts), (vec![3], 0));
}

/// An event that is given up is kept apart, with the number of all tries that were made of it,
/// and the claim goes on with the next one.
pub async fn an_event_that_is_given_up_is_a_dead_letter(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 3).await;
    let dead = |event, error: &str| PushOutcome::Dead { event, error: error.into() };
    say(&*store, &key, PushOutcome::Retry { event: at(2), after: Duration::ZERO }).await;
    let key = until_due(&*store).await.key;
    assert!(say(&*store, &key, dead(at(2), "gone")).await);
    assert!(say(&*store, &key, dead(at(3), "refused")).await);
    assert!(due(&*store, 10).await.is_empty(), "the claim goes on");
    let letters = store.dead_letters(&DeadLetterQuery::newest(10)).await.expect("the store works");
    let told: Vec<_> = letters
        .iter()
        .map(|letter| (letter.event, letter.attempts, letter.error.as_str()))
        .collect();
    assert_eq!(told, [(at(3), 1, "refused"), (at(2), 2, "gone")], "newest first");
    for letter in &letters {
        assert_eq!(letter.scope, scope);
        assert_eq!((&*letter.task_id, &*letter.config_id), ("t", "a"));
        assert_eq!(letter.url, "https://example.com/a");
        assert!(letter.time.as_millis() > 1_700_000_000_000, "{letter:?}");
    }
    let newest = store.dead_letters(&DeadLetterQuery::newest(1)).await.expect("the store works");
    assert_eq!(newest, letters[..1]);
    say(&*store, &key, PushOutcome::Unclaimed).await;
    assert_eq!(positions(&until_due(&*store).await.events), [4]);
}

/// A dead letter that is redelivered is delivered again with all its tries, before what waits,
/// and is a dead letter no more.
pub async fn dead_letters_are_redelivered_in_order(store: Arc<dyn Store>) {
    let key = claimed(&*store, "t", 4).await;
    let dead = |event| PushOutcome::Dead { event, error: "gone".into() };
    say(&*store, &key, PushOutcome::Delivered(at(2))).await;
    say(&*store, &key, dead(at(3))).await;
    say(&*store, &key, dead(at(4))).await;
    // A second webhook of the task, whose letters stay.
    let other = claimed(&*store, "u", 1).await;
    say(&*store, &other, dead(at(2))).await;
    let query = DeadLetterQuery { task_id: Some("t".into()), ..DeadLetterQuery::default() };
    let done = store.redeliver(&query).await.expect("the store works");
    assert_eq!(done, Redelivery::new(2, 0));
    assert!(!say(&*store, &key, PushOutcome::Delivered(at(5))).await, "the claim is void");
    let push = until_due(&*store).await;
    assert_eq!((&*push.key.task_id, push.attempts), ("t", 0));
    assert_eq!(positions(&push.events), [3, 4, 5]);
    let letters = store.dead_letters(&DeadLetterQuery::default()).await.expect("the store works");
    let left: Vec<_> = letters.iter().map(|letter| letter.task_id.as_str()).collect();
    assert_eq!(left, ["u"]);
    // It can be given up again.
    assert!(say(&*store, &push.key, dead(at(3))).await);
    let again = store.dead_letters(&query).await.expect("the store works");
    assert_eq!(again.len(), 1, "{again:?}");
}

/// A dead letter whose webhook is gone can't be redelivered, and is kept.
pub async fn dead_letters_without_a_webhook_are_lost(store: Arc<dyn Store>) {
    let key = claimed(&*store, "t", 1).await;
    say(&*store, &key, PushOutcome::Dead { event: at(2), error: "gone".into() }).await;
    store.delete_config(&scope("ann"), "t", "a").await.expect("the store works");
    let all = DeadLetterQuery::default();
    let done = store.redeliver(&all).await.expect("the store works");
    assert_eq!(done, Redelivery::new(0, 1));
    assert_eq!(store.dead_letters(&all).await.expect("the store works").len(), 1);
    assert!(due(&*store, 10).await.is_empty());
}

/// Filters narrow down what is listed and purged, and purged letters are gone.
pub async fn dead_letters_are_purged_by_filter(store: Arc<dyn Store>) {
    for task in ["t", "u"] {
        let key = claimed(&*store, task, 2).await;
        for event in [2, 3] {
            let error = "gone".into();
            say(&*store, &key, PushOutcome::Dead { event: at(event), error }).await;
        }
    }
    let count = async |query: &DeadLetterQuery| {
        store.dead_letters(query).await.expect("the store works").len()
    };
    let filtered = |filter: fn(&mut DeadLetterQuery)| {
        let mut query = DeadLetterQuery::default();
        filter(&mut query);
        query
    };
    let past = |query: &mut DeadLetterQuery| {
        query.before = Some(a2a_core::well_known::Timestamp::from_millis(1_000));
    };
    assert_eq!(count(&filtered(|query| query.task_id = Some("t".into()))).await, 2);
    assert_eq!(count(&filtered(|query| query.config_id = Some("a".into()))).await, 4);
    assert_eq!(count(&filtered(|query| query.config_id = Some("b".into()))).await, 0);
    assert_eq!(count(&filtered(|query| query.owner = Some("ann".into()))).await, 4);
    assert_eq!(count(&filtered(|query| query.owner = Some("bob".into()))).await, 0);
    assert_eq!(count(&filtered(|query| query.tenant = Some("acme".into()))).await, 0);
    assert_eq!(count(&filtered(past)).await, 0);
    assert_eq!(count(&DeadLetterQuery::newest(3)).await, 3);
    let purge = async |query: &DeadLetterQuery| {
        store.purge_dead_letters(query).await.expect("the store works")
    };
    assert_eq!(purge(&filtered(past)).await, 0);
    assert_eq!(purge(&filtered(|query| query.task_id = Some("t".into()))).await, 2);
    let left = store.dead_letters(&DeadLetterQuery::default()).await.expect("the store works");
    let left: Vec<_> = left.iter().map(|letter| (&*letter.task_id, letter.event)).collect();
    assert_eq!(left, [("u", at(3)), ("u", at(2))]);
    assert_eq!(purge(&DeadLetterQuery::newest(1)).await, 1);
    assert_eq!(purge(&DeadLetterQuery::default()).await, 1);
    assert_eq!(purge(&DeadLetterQuery::default()).await, 0);
}

/// A webhook that is postponed is due again after a while, and no try is counted.
pub async fn a_postponed_webhook_is_due_later(store: Arc<dyn Store>) {
    let key = claimed(&*store, "t", 1).await;
    assert!(!say(&*store, &key, PushOutcome::Postponed { after: HOUR }).await);
    let later = store.due(10).await.expect("the store works");
    assert!(later.pushes.is_empty());
    assert!(later.next.is_some_and(|next| next > HOUR / 2 && next <= HOUR), "{later:?}");
    let key = claimed(&*store, "u", 1).await;
    say(&*store, &key, PushOutcome::Postponed { after: Duration::from_millis(5) }).await;
    let push = until_due(&*store).await;
    assert_eq!((&*push.key.task_id, push.attempts), ("u", 0));
    assert_eq!(positions(&push.events), [2]);
}

/// A webhook that is deleted gets nothing more, not even from who has claimed it, and one that
/// comes back under its id begins anew.
pub async fn a_deleted_webhook_gets_nothing_more(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 2).await;
    store.delete_config(&scope, "t", "a").await.expect("the store works");
    assert!(!say(&*store, &key, PushOutcome::Delivered(at(2))).await);
    assert!(!push(&*store, &scope, "t").await.has_pushes);
    let nothing = store.due(10).await.expect("the store works");
    assert!(nothing.pushes.is_empty() && nothing.next.is_none(), "{nothing:?}");
    store.put_config(&scope, webhook("t", "a")).await.expect("the store works");
    assert!(due(&*store, 10).await.is_empty(), "nothing came since");
    push(&*store, &scope, "t").await;
    let dead = PushOutcome::Dead { event: at(2), error: "late".into() };
    assert!(!say(&*store, &key, dead).await, "that was another webhook");
    assert_eq!(positions(&until_due(&*store).await.events), [5]);
}

/// A webhook that is replaced keeps its place.
pub async fn a_replaced_webhook_goes_on_where_it_was(store: Arc<dyn Store>) {
    let scope = scope("ann");
    let key = claimed(&*store, "t", 3).await;
    assert!(say(&*store, &key, PushOutcome::Delivered(at(2))).await);
    say(&*store, &key, PushOutcome::Unclaimed).await;
    let mut other = webhook("t", "a");
    other.config.url = "https://example.com/other".into();
    other.config.token = "other".into();
    store.put_config(&scope, other.clone()).await.expect("the store works");
    let push = until_due(&*store).await;
    assert_eq!((positions(&push.events), push.webhook), (vec![3, 4], other));
}

/// The webhooks for which events wait longest are claimed first.
pub async fn those_that_wait_longest_come_first(store: Arc<dyn Store>) {
    let scope = scope("ann");
    for id in ["a", "b", "c"] {
        store.insert(&scope, hooked(id, &["a"])).await.expect("the task is new");
    }
    for id in ["b", "c", "a", "b"] {
        push(&*store, &scope, id).await;
        // So that the times differ in milliseconds.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    assert!(due(&*store, 0).await.is_empty());
    for expected in [&["b", "c"][..], &["a"], &[]] {
        let due = due(&*store, 2).await;
        let mut ids: Vec<_> = due.iter().map(|push| &*push.key.task_id).collect();
        // What is claimed at once comes in any order.
        ids.sort_by_key(|id| expected.iter().position(|expected| expected == id));
        assert_eq!(ids, expected);
    }
}

/// Each webhook of a task goes at its own pace.
pub async fn webhooks_of_a_task_wait_for_nobody_else(store: Arc<dyn Store>) {
    let scope = scope("ann");
    store.insert(&scope, hooked("t", &["a", "b"])).await.expect("the task is new");
    push(&*store, &scope, "t").await;
    for push in due(&*store, 10).await {
        let outcome = match &*push.key.config_id {
            "a" => PushOutcome::Retry { event: at(2), after: HOUR },
            _ => PushOutcome::Delivered(at(2)),
        };
        say(&*store, &push.key, outcome).await;
    }
    push(&*store, &scope, "t").await;
    let due = due(&*store, 10).await;
    let [push] = &due[..] else { panic!("{due:?}") };
    assert_eq!((&*push.key.config_id, positions(&push.events)), ("b", vec![3]));
}

/// However many events wait, a webhook gets each of them once and in order if all arrive.
pub async fn a_long_line_is_delivered_in_order(store: Arc<dyn Store>) {
    const EVENTS: u64 = 200;
    let scope = scope("ann");
    store.insert(&scope, hooked("t", &["a"])).await.expect("the task is new");
    let events = (2..2 + EVENTS).map(|position| chunk(position, "t", "x")).collect();
    let pushes = (2..2 + EVENTS).map(at).collect();
    let write = Transition { pushes, ..transition("t", 1, 1, events) };
    store.commit(&scope, write).await.expect("it is current");
    let mut delivered = Vec::new();
    loop {
        let due = due(&*store, 10).await;
        let Some(push) = due.into_iter().next() else { break };
        assert!(!push.events.is_empty());
        for event in push.events.iter().filter_map(crate::Event::id) {
            say(&*store, &push.key, PushOutcome::Delivered(event)).await;
            delivered.push(event);
        }
        say(&*store, &push.key, PushOutcome::Unclaimed).await;
    }
    assert_eq!(delivered, (2..2 + EVENTS).map(at).collect::<Vec<EventId>>());
}

/// Makes a task with a webhook for which a number of events wait, from position 2 on, and claims
/// it.
async fn claimed(store: &dyn Store, task_id: &str, events: u64) -> PushKey {
    let scope = scope("ann");
    store.insert(&scope, hooked(task_id, &["a"])).await.expect("the task is new");
    for _ in 0..events {
        push(store, &scope, task_id).await;
    }
    let due = due(store, 10).await;
    let [push] = &due[..] else { panic!("{due:?}") };
    assert_eq!(positions(&push.events), (2..2 + events).collect::<Vec<_>>());
    push.key.clone()
}

async fn say(store: &dyn Store, key: &PushKey, outcome: PushOutcome) -> bool {
    store.pushed(key, outcome).await.expect("the store works")
}

/// Claims the next webhook, when it is due.
async fn until_due(store: &dyn Store) -> crate::store::DuePush {
    let claim = async {
        loop {
            let Due { pushes, next } = store.due(1).await.expect("the store works");
            match pushes.into_iter().next() {
                Some(push) => return push,
                None => tokio::time::sleep(next.expect("something waits")).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), claim).await.expect("it is due soon")
}
