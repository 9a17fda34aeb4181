//! The webhooks of a task, and what waits for them.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use a2a_core::well_known::Timestamp;
use tokio::time::Instant;

use super::{
    entry::Entry,
    lock,
    schedule::{Schedule, Turn},
};
use crate::{
    Event, EventId, Webhook,
    store::{Backlog, DeadLetter, DeadLetterQuery, PushOutcome},
};

/// The most events that are handed out with a claim.
const MAX_CLAIMED: usize = 64;

/// The webhooks of a task.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    hooks: BTreeMap<Arc<str>, Hook>,
    /// The pushed events that a webhook has not got yet, with their positions.
    events: VecDeque<(u64, Event)>,
}

#[derive(Debug)]
struct Hook {
    webhook: Webhook,
    /// The position behind which its events are.
    cursor: u64,
    /// How often the first of its events was tried.
    attempts: u32,
    /// The number under which it is claimed, while it is.
    claim: Option<u64>,
    /// When it is to be looked at, while an event waits: when it is due, or its claim ends.
    turn: Option<Turn>,
}

/// When which webhooks are to be looked at, and what became of events that never arrived.
#[derive(Debug)]
pub(super) struct Dispatch {
    turns: Schedule<(Arc<Entry>, Arc<str>)>,
    next_claim: AtomicU64,
    dead: Mutex<VecDeque<DeadLetter>>,
    max_dead: usize,
    claim: Duration,
}

/// A webhook that was claimed.
pub(super) struct Claimed {
    pub(super) claim: u64,
    pub(super) webhook: Webhook,
    pub(super) events: Vec<Event>,
    pub(super) attempts: u32,
}

impl Dispatch {
    pub(super) fn new(claim: Duration, max_dead: usize) -> Self {
        Self {
            turns: Schedule::new(),
            next_claim: AtomicU64::new(1),
            dead: Mutex::default(),
            max_dead,
            claim,
        }
    }

    /// Returns up to `limit` webhooks that are due, those that wait longest first.
    pub(super) fn due(&self, now: Instant, limit: usize) -> Vec<(Arc<Entry>, Arc<str>)> {
        self.turns.due(now, limit)
    }

    /// Returns when there is something to look at again.
    pub(super) fn next(&self, now: Instant) -> Option<Duration> {
        self.turns.first().map(|first| first.saturating_duration_since(now))
    }

    /// Returns how much waits.
    pub(super) fn backlog(&self, now: Instant) -> Backlog {
        let overdue = self.turns.first().map_or(Duration::ZERO, |first| now - first);
        Backlog::new(u64::try_from(self.turns.len()).unwrap_or(u64::MAX), overdue)
    }

    /// Returns dead letters, newest first.
    pub(super) fn dead(&self, query: &DeadLetterQuery) -> Vec<DeadLetter> {
        let dead = lock(&self.dead);
        let letters = dead.iter().rev().filter(|letter| query.matches(letter));
        letters.take(query.limit).cloned().collect()
    }

    /// Forgets dead letters, and returns how many.
    pub(super) fn purge(&self, query: &DeadLetterQuery) -> u64 {
        let letters = self.dead(query);
        let mut dead = lock(&self.dead);
        let before = dead.len();
        dead.retain(|letter| !letters.contains(letter));
        u64::try_from(before - dead.len()).unwrap_or(u64::MAX)
    }

    /// Forgets the dead letters of a webhook from an event on.
    pub(super) fn unbury(&self, task_id: &str, config_id: &str, from: EventId) {
        lock(&self.dead).retain(|letter| {
            letter.task_id != task_id || letter.config_id != config_id || letter.event < from
        });
    }

    fn bury(&self, letter: DeadLetter) {
        let mut dead = lock(&self.dead);
        dead.push_back(letter);
        while dead.len() > self.max_dead {
            dead.pop_front();
        }
    }
}

/// A webhook of a task at work.
struct Place<'a> {
    dispatch: &'a Dispatch,
    entry: &'a Arc<Entry>,
    config_id: &'a Arc<str>,
}

impl Place<'_> {
    /// Has a webhook looked at at a time, and not before.
    fn look_at(&self, hook: &mut Hook, time: Instant) {
        self.look_no_more(hook);
        let thing = (Arc::clone(self.entry), Arc::clone(self.config_id));
        hook.turn = Some(self.dispatch.turns.put(time, thing));
    }

    fn look_no_more(&self, hook: &mut Hook) {
        if let Some(turn) = hook.turn.take() {
            self.dispatch.turns.remove(turn);
        }
    }

    /// Gives up an event.
    fn bury(&self, hook: &Hook, position: u64, attempts: u32, error: String) {
        let Some(event) = EventId::new(position) else { return };
        self.dispatch.bury(DeadLetter {
            scope: self.entry.scoped().scope.clone(),
            task_id: self.entry.task_id().to_owned(),
            config_id: (**self.config_id).to_owned(),
            url: hook.webhook.config.url.clone(),
            event,
            attempts,
            error,
            time: Timestamp::now(),
        });
    }
}

impl Hook {
    fn advance(&mut self, position: u64) {
        if position > self.cursor {
            self.cursor = position;
            self.attempts = 0;
        }
    }
}

impl Outbox {
    pub(super) fn len(&self) -> usize {
        self.hooks.len()
    }

    pub(super) fn has(&self, config_id: &str) -> bool {
        self.hooks.contains_key(config_id)
    }

    /// Adds a webhook that gets the events behind a position, or replaces one.
    pub(super) fn put(&mut self, webhook: Webhook, cursor: u64) {
        match self.hooks.get_mut(&*webhook.config.id) {
            Some(hook) => hook.webhook = webhook,
            None => {
                let id = webhook.config.id.as_str().into();
                let hook = Hook { webhook, cursor, attempts: 0, claim: None, turn: None };
                self.hooks.insert(id, hook);
            }
        }
    }

    /// Returns the webhooks, in the order of their ids.
    pub(super) fn webhooks(&self) -> Vec<Webhook> {
        self.hooks.values().map(|hook| hook.webhook.clone()).collect()
    }

    /// Adds pushed events. Beyond a bound the oldest are given up.
    pub(super) fn push(
        &mut self,
        dispatch: &Dispatch,
        entry: &Arc<Entry>,
        events: Vec<(u64, Event)>,
        max: usize,
    ) {
        self.events.extend(events);
        let now = Instant::now();
        while self.events.len() > max {
            let Some((position, _)) = self.events.pop_front() else { break };
            for (config_id, hook) in &mut self.hooks {
                if hook.cursor < position {
                    let error = "too many events waited".to_owned();
                    let place = Place { dispatch, entry, config_id };
                    place.bury(hook, position, hook.attempts, error);
                    hook.advance(position);
                }
            }
        }
        let Some(newest) = self.events.back().map(|(position, _)| *position) else { return };
        for (config_id, hook) in &mut self.hooks {
            if hook.turn.is_none() && hook.cursor < newest {
                Place { dispatch, entry, config_id }.look_at(hook, now);
            }
        }
    }

    /// Claims a webhook, unless it is not due any more.
    pub(super) fn claim(
        &mut self,
        dispatch: &Dispatch,
        entry: &Arc<Entry>,
        config_id: &Arc<str>,
        now: Instant,
    ) -> Option<Claimed> {
        let hook = self.hooks.get_mut(config_id)?;
        if hook.turn.is_none_or(|(time, _)| time > now) {
            return None;
        }
        let claim = dispatch.next_claim.fetch_add(1, Ordering::Relaxed);
        hook.claim = Some(claim);
        Place { dispatch, entry, config_id }.look_at(hook, now + dispatch.claim);
        let start = self.events.partition_point(|(position, _)| *position <= hook.cursor);
        let events = self.events.range(start..).take(MAX_CLAIMED);
        Some(Claimed {
            claim,
            webhook: hook.webhook.clone(),
            events: events.map(|(_, event)| event.clone()).collect(),
            attempts: hook.attempts,
        })
    }

    /// Notes what came of a try, and returns whether the claim goes on.
    pub(super) fn note(
        &mut self,
        dispatch: &Dispatch,
        entry: &Arc<Entry>,
        (config_id, claim): (&Arc<str>, u64),
        outcome: PushOutcome,
    ) -> bool {
        let Some(hook) = self.hooks.get_mut(config_id) else { return false };
        if hook.claim != Some(claim) {
            return false;
        }
        let place = Place { dispatch, entry, config_id };
        let now = Instant::now();
        let mut again = None;
        match outcome {
            PushOutcome::Delivered(event) => hook.advance(event.get()),
            PushOutcome::Dead { event, error } if event.get() > hook.cursor => {
                place.bury(hook, event.get(), hook.attempts.saturating_add(1), error);
                hook.advance(event.get());
            }
            PushOutcome::Dead { .. } => {}
            PushOutcome::Retry { event, after } => {
                let is_first = event.get() > hook.cursor;
                hook.attempts = hook.attempts.saturating_add(is_first.into());
                again = Some(now + after);
            }
            PushOutcome::Postponed { after } => again = Some(now + after),
            PushOutcome::Unclaimed => again = Some(now),
        }
        let waits = self.events.back().is_some_and(|(newest, _)| *newest > hook.cursor);
        let goes_on = waits && again.is_none();
        if waits {
            place.look_at(hook, again.unwrap_or_else(|| now + dispatch.claim));
        } else {
            place.look_no_more(hook);
        }
        if !goes_on {
            hook.claim = None;
        }
        self.trim();
        goes_on
    }

    /// Has a webhook go back to events that it was given, and returns whether it is there.
    pub(super) fn rewind(
        &mut self,
        dispatch: &Dispatch,
        entry: &Arc<Entry>,
        config_id: &Arc<str>,
        events: Vec<(u64, Event)>,
    ) -> bool {
        let Some(hook) = self.hooks.get_mut(config_id) else { return false };
        let Some(first) = events.iter().map(|(position, _)| *position).min() else { return false };
        self.events.extend(events);
        self.events.make_contiguous().sort_by_key(|(position, _)| *position);
        let mut last = 0;
        self.events.retain(|(position, _)| std::mem::replace(&mut last, *position) != *position);
        hook.cursor = hook.cursor.min(first - 1);
        hook.attempts = 0;
        hook.claim = None;
        Place { dispatch, entry, config_id }.look_at(hook, Instant::now());
        true
    }

    /// Removes a webhook, and returns whether it was there.
    pub(super) fn delete(&mut self, dispatch: &Dispatch, config_id: &str) -> bool {
        let Some(hook) = self.hooks.remove(config_id) else { return false };
        hook.turn.iter().for_each(|turn| dispatch.turns.remove(*turn));
        self.trim();
        true
    }

    /// Removes all webhooks.
    pub(super) fn clear(&mut self, dispatch: &Dispatch) {
        let turns = self.hooks.values().filter_map(|hook| hook.turn);
        turns.for_each(|turn| dispatch.turns.remove(turn));
        *self = Self::default();
    }

    /// Forgets the events that all webhooks have got.
    fn trim(&mut self) {
        let got = self.hooks.values().map(|hook| hook.cursor).min().unwrap_or(u64::MAX);
        while self.events.front().is_some_and(|(position, _)| *position <= got) {
            self.events.pop_front();
        }
    }
}
