//! The nodes that share a store, and what they are told of each other.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use futures_core::Stream;

use super::lock;
use crate::store::Signal;

/// The most signals that wait for a node. Beyond them it is told that it missed some.
const MAX_SIGNALS: usize = 1_024;

/// The nodes of a store.
#[derive(Debug, Default)]
pub(super) struct Members {
    mailboxes: Mutex<Vec<Arc<Mailbox>>>,
    /// Whether there was ever more than one node.
    many: AtomicBool,
}

/// Signals on their way to a node.
#[derive(Debug)]
pub(super) struct Mailbox {
    node: Arc<str>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    signals: VecDeque<Signal>,
    missed: bool,
    /// Whether the node has asked for its signals.
    open: bool,
    /// Whether the node is gone.
    closed: bool,
    waker: Option<Waker>,
}

impl Members {
    /// Adds a node.
    pub(super) fn join(&self, node: Arc<str>) -> Arc<Mailbox> {
        let mailbox = Arc::new(Mailbox { node, state: Mutex::default() });
        let mut mailboxes = lock(&self.mailboxes);
        mailboxes.push(Arc::clone(&mailbox));
        if mailboxes.len() > 1 {
            self.many.store(true, Ordering::Release);
        }
        mailbox
    }

    /// Removes a node.
    pub(super) fn leave(&self, gone: &Arc<Mailbox>) {
        lock(&self.mailboxes).retain(|mailbox| !Arc::ptr_eq(mailbox, gone));
        gone.change(|state| state.closed = true);
    }

    pub(super) fn are_many(&self) -> bool {
        self.many.load(Ordering::Acquire)
    }

    /// Tells a node something.
    pub(super) fn tell(&self, node: &str, signal: &Signal) {
        self.tell_if(|member| member == node, signal);
    }

    /// Tells all nodes but one.
    pub(super) fn tell_others(&self, node: &str, signal: &Signal) {
        self.tell_if(|member| member != node, signal);
    }

    fn tell_if(&self, is_meant: impl Fn(&str) -> bool, signal: &Signal) {
        let mailboxes = lock(&self.mailboxes);
        let meant = mailboxes.iter().filter(|mailbox| is_meant(&mailbox.node));
        meant.for_each(|mailbox| mailbox.send(signal));
    }
}

impl Mailbox {
    /// The signals from now on.
    pub(super) fn open(self: &Arc<Self>) -> impl Stream<Item = Signal> + Send + use<> {
        lock(&self.state).open = true;
        Letters(Arc::clone(self))
    }

    fn send(&self, signal: &Signal) {
        self.change(|state| {
            if !state.open || state.missed {
                return;
            }
            if state.signals.len() < MAX_SIGNALS {
                state.signals.push_back(signal.clone());
            } else {
                // Who reads everything again has no use for the rest.
                state.signals = VecDeque::new();
                state.missed = true;
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = lock(&self.state);
            change(&mut state);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

struct Letters(Arc<Mailbox>);

impl Stream for Letters {
    type Item = Signal;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Signal>> {
        let mut state = lock(&self.0.state);
        if std::mem::take(&mut state.missed) {
            return Poll::Ready(Some(Signal::Missed));
        }
        if let Some(signal) = state.signals.pop_front() {
            return Poll::Ready(Some(signal));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
