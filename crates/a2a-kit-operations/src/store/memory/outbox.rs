//! The webhooks of a task, and their pending events.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use a2a_core::{v1::Task, well_known::Timestamp};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    changes::Changes,
    entry::{Entry, HookState, Outbox},
    saved::{SavedDeadLetter, SavedHook, dead_letter_key, encode, hook_key},
    timer_queue::TimerQueue,
};
use crate::{
    Event, EventId, Webhook,
    store::{ClaimedDelivery, DeadLetter, DeadLetterQuery, DeliveryKey, DeliveryOutcome},
};

/// Maximum number of events in a claim.
const MAX_CLAIMED: usize = 64;

/// Due times of webhooks, and dead letters.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub(super) timers: TimerQueue<(Arc<Entry>, Arc<str>)>,
    next_claim: AtomicU64,
    dead: Mutex<VecDeque<DeadLetter>>,
    max_dead: usize,
    claim: Duration,
    changes: Changes,
}

impl Dispatch {
    pub(super) fn new(claim: Duration, max_dead: usize, changes: Changes) -> Self {
        Self {
            timers: TimerQueue::new(),
            next_claim: AtomicU64::new(1),
            dead: Mutex::default(),
            max_dead,
            claim,
            changes,
        }
    }

    /// Returns dead letters, newest first.
    pub(super) fn dead_letters(&self, query: &DeadLetterQuery) -> Vec<DeadLetter> {
        let dead = self.dead.lock();
        let letters = dead.iter().rev().filter(|letter| query.matches(letter));
        letters.take(query.limit).cloned().collect()
    }

    /// Deletes dead letters, and returns how many.
    pub(super) fn purge(&self, query: &DeadLetterQuery) -> u64 {
        let letters = self.dead_letters(query);
        let mut dead = self.dead.lock();
        let before = dead.len();
        dead.retain(|letter| self.keep(letter, !letters.contains(letter)));
        u64::try_from(before - dead.len()).unwrap_or(u64::MAX)
    }

    /// Deletes the dead letters of a webhook from an event on.
    pub(super) fn remove_dead_letters(&self, task_id: &str, config_id: &str, from: EventId) {
        self.dead.lock().retain(|letter| {
            let is_other = letter.task_id != task_id || letter.config_id != config_id;
            self.keep(letter, is_other || letter.event < from)
        });
    }

    /// Saves that a letter is deleted, unless it is kept.
    fn keep(&self, letter: &DeadLetter, is_kept: bool) -> bool {
        if !is_kept {
            self.changes.delete(|| dead_letter_key(letter));
        }
        is_kept
    }

    pub(super) fn dead_letter(&self, letter: DeadLetter) {
        let mut dead = self.dead.lock();
        self.changes.put(|| dead_letter_key(&letter), || encode(&SavedDeadLetter::new(&letter)));
        dead.push_back(letter);
        while dead.len() > self.max_dead {
            let oldest = dead.pop_front();
            oldest.iter().for_each(|letter| self.changes.delete(|| dead_letter_key(letter)));
        }
    }
}

/// Identifies a webhook of a task.
pub(super) struct HookRef<'a> {
    pub(super) dispatch: &'a Dispatch,
    pub(super) entry: &'a Arc<Entry>,
    pub(super) config_id: &'a Arc<str>,
}

impl HookRef<'_> {
    /// Makes a webhook due at a time.
    fn schedule(&self, hook: &mut HookState, time: Instant) {
        self.unschedule(hook);
        let item = (Arc::clone(self.entry), Arc::clone(self.config_id));
        hook.timer = Some(self.dispatch.timers.put(time, item));
    }

    fn save(&self, hook: &HookState) {
        let HookState { webhook, cursor, attempts, .. } = hook;
        self.dispatch.changes.put(
            || hook_key(self.entry.task_id(), self.config_id),
            || encode(&SavedHook::new(webhook, *cursor, *attempts)),
        );
    }

    fn unschedule(&self, hook: &mut HookState) {
        if let Some(timer) = hook.timer.take() {
            self.dispatch.timers.remove(timer);
        }
    }

    /// Stores an event as a dead letter.
    fn dead_letter(&self, hook: &HookState, position: u64, attempts: u32, error: String) {
        let Some(event) = EventId::new(position) else { return };
        self.dispatch.dead_letter(DeadLetter {
            scope: self.entry.scoped.scope.clone(),
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

impl HookState {
    fn advance(&mut self, position: u64) {
        if position > self.cursor {
            self.cursor = position;
            self.attempts = 0;
        }
    }
}

impl Outbox {
    /// Adds a webhook with a cursor and its failed attempts, or replaces one, which keeps its own.
    pub(super) fn put(&mut self, webhook: Webhook, cursor: u64, attempts: u32) {
        match self.hooks.get_mut(&*webhook.config.id) {
            Some(hook) => hook.webhook = webhook,
            None => {
                let id = webhook.config.id.as_str().into();
                let hook = HookState { webhook, cursor, attempts, claim: None, timer: None };
                self.hooks.insert(id, hook);
            }
        }
    }

    /// The position after which an event is pending for some webhook.
    pub(super) fn cursor(&self) -> u64 {
        self.hooks.values().map(|hook| hook.cursor).min().unwrap_or(u64::MAX)
    }

    /// Saves all webhooks.
    pub(super) fn save(&self, dispatch: &Dispatch, entry: &Arc<Entry>) {
        let hooks = self.hooks.iter();
        hooks.for_each(|(config_id, hook)| HookRef { dispatch, entry, config_id }.save(hook));
    }

    /// Returns the webhooks, ordered by id.
    pub(super) fn webhooks(&self) -> Vec<Webhook> {
        self.hooks.values().map(|hook| hook.webhook.clone()).collect()
    }

    /// Adds pushed events. Beyond the limit the oldest are dead-lettered.
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
                    let error = "too many pending events".to_owned();
                    let hook_ref = HookRef { dispatch, entry, config_id };
                    hook_ref.dead_letter(hook, position, hook.attempts, error);
                    hook.advance(position);
                    hook_ref.save(hook);
                }
            }
        }
        let Some(newest) = self.events.back().map(|(position, _)| *position) else { return };
        for (config_id, hook) in &mut self.hooks {
            if hook.timer.is_none() && hook.cursor < newest {
                HookRef { dispatch, entry, config_id }.schedule(hook, now);
            }
        }
    }

    /// Claims a webhook of this task, if it is still due.
    pub(super) fn claim(
        &mut self,
        hook_ref: HookRef<'_>,
        task: Arc<Task>,
        now: Instant,
    ) -> Option<ClaimedDelivery> {
        let HookRef { dispatch, entry, config_id } = hook_ref;
        let hook = self.hooks.get_mut(config_id)?;
        if hook.timer.is_none_or(|(time, _)| time > now) {
            return None;
        }
        let claim = dispatch.next_claim.fetch_add(1, Ordering::Relaxed);
        hook.claim = Some(claim);
        hook_ref.schedule(hook, now + dispatch.claim);
        let start = self.events.partition_point(|(position, _)| *position <= hook.cursor);
        let events = self.events.range(start..).take(MAX_CLAIMED);
        Some(ClaimedDelivery {
            key: DeliveryKey::new(entry.task_id(), Arc::clone(config_id), claim),
            scope: entry.scoped.scope.clone(),
            webhook: hook.webhook.clone(),
            task,
            events: events.map(|(_, event)| event.clone()).collect(),
            attempts: hook.attempts,
        })
    }

    /// Records the outcome of an attempt, and returns whether the claim continues.
    pub(super) fn record(
        &mut self,
        hook_ref: HookRef<'_>,
        claim: u64,
        outcome: DeliveryOutcome,
    ) -> bool {
        let Some(hook) = self.hooks.get_mut(hook_ref.config_id) else { return false };
        if hook.claim != Some(claim) {
            return false;
        }
        let now = Instant::now();
        let mut again = None;
        let before = (hook.cursor, hook.attempts);
        match outcome {
            DeliveryOutcome::Delivered(event) => hook.advance(event.get()),
            DeliveryOutcome::DeadLetter { event, error } if event.get() > hook.cursor => {
                hook_ref.dead_letter(hook, event.get(), hook.attempts.saturating_add(1), error);
                hook.advance(event.get());
            }
            DeliveryOutcome::DeadLetter { .. } => {}
            DeliveryOutcome::Retry { event, after } => {
                let is_first = event.get() > hook.cursor;
                hook.attempts = hook.attempts.saturating_add(is_first.into());
                again = Some(now + after);
            }
            DeliveryOutcome::Postponed { after } => again = Some(now + after),
            DeliveryOutcome::Released => again = Some(now),
        }
        if before != (hook.cursor, hook.attempts) {
            hook_ref.save(hook);
        }
        let waits = self.events.back().is_some_and(|(newest, _)| *newest > hook.cursor);
        let goes_on = waits && again.is_none();
        if waits {
            hook_ref.schedule(hook, again.unwrap_or_else(|| now + hook_ref.dispatch.claim));
        } else {
            hook_ref.unschedule(hook);
        }
        if !goes_on {
            hook.claim = None;
        }
        self.trim();
        goes_on
    }

    /// Rewinds a webhook to earlier events, and returns whether it exists.
    pub(super) fn rewind(&mut self, hook_ref: HookRef<'_>, events: Vec<(u64, Event)>) -> bool {
        let Some(hook) = self.hooks.get_mut(hook_ref.config_id) else { return false };
        let Some(first) = events.iter().map(|(position, _)| *position).min() else { return false };
        self.events.extend(events);
        self.events.make_contiguous().sort_by_key(|(position, _)| *position);
        let mut last = 0;
        self.events.retain(|(position, _)| std::mem::replace(&mut last, *position) != *position);
        hook.cursor = hook.cursor.min(first - 1);
        hook.attempts = 0;
        hook.claim = None;
        hook_ref.schedule(hook, Instant::now());
        hook_ref.save(hook);
        true
    }

    /// Removes a webhook, and returns whether it existed.
    pub(super) fn delete(&mut self, dispatch: &Dispatch, config_id: &str) -> bool {
        let Some(hook) = self.hooks.remove(config_id) else { return false };
        hook.timer.iter().for_each(|timer| dispatch.timers.remove(*timer));
        self.trim();
        true
    }

    /// Removes all webhooks.
    pub(super) fn clear(&mut self, dispatch: &Dispatch) {
        let timers = self.hooks.values().filter_map(|hook| hook.timer);
        timers.for_each(|timer| dispatch.timers.remove(timer));
        *self = Self::default();
    }

    /// Drops the events that all webhooks have received.
    fn trim(&mut self) {
        let got = self.cursor();
        while self.events.front().is_some_and(|(position, _)| *position <= got) {
            self.events.pop_front();
        }
    }
}
