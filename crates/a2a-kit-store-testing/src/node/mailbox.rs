//! Mailboxes for signals between the nodes that share a store.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use a2a_kit_operations::store::Signal;
use futures_util::Stream;
use parking_lot::Mutex;

/// Maximum number of signals in a mailbox. Beyond it they are replaced by [`Signal::Lagged`].
const MAX_SIGNALS: usize = 1_024;

/// The mailboxes of all nodes.
#[derive(Debug, Default)]
pub(super) struct Mailboxes(Mutex<Vec<Arc<Mailbox>>>);

/// Pending signals for a node.
#[derive(Debug)]
pub(super) struct Mailbox {
    node: Arc<str>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    signals: VecDeque<Signal>,
    missed: bool,
    /// Whether the node has subscribed.
    open: bool,
    /// Whether the node has left.
    closed: bool,
    waker: Option<Waker>,
}

impl Mailboxes {
    /// Adds a node.
    pub(super) fn join(&self, node: Arc<str>) -> Arc<Mailbox> {
        let mailbox = Arc::new(Mailbox { node, state: Mutex::default() });
        self.0.lock().push(Arc::clone(&mailbox));
        mailbox
    }

    /// Removes a node.
    pub(super) fn leave(&self, gone: &Arc<Mailbox>) {
        self.0.lock().retain(|mailbox| !Arc::ptr_eq(mailbox, gone));
        gone.change(|state| state.closed = true);
    }

    /// Sends a signal to one node.
    pub(super) fn send_to(&self, node: &str, signal: &Signal) {
        self.send_if(|member| member == node, signal);
    }

    /// Sends a signal to all other nodes.
    pub(super) fn broadcast(&self, node: &str, signal: &Signal) {
        self.send_if(|member| member != node, signal);
    }

    fn send_if(&self, is_meant: impl Fn(&str) -> bool, signal: &Signal) {
        let mailboxes = self.0.lock();
        let meant = mailboxes.iter().filter(|mailbox| is_meant(&mailbox.node));
        meant.for_each(|mailbox| mailbox.send(signal));
    }
}

impl Mailbox {
    /// Subscribes to signals from now on.
    pub(super) fn open(self: &Arc<Self>) -> impl Stream<Item = Signal> + Send + use<> {
        self.state.lock().open = true;
        MailboxStream(Arc::clone(self))
    }

    fn send(&self, signal: &Signal) {
        self.change(|state| {
            if !state.open || state.missed {
                return;
            }
            if state.signals.len() < MAX_SIGNALS {
                state.signals.push_back(signal.clone());
            } else {
                // A reader that reloads everything has no use for the rest.
                state.signals = VecDeque::new();
                state.missed = true;
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let waker = {
            let mut state = self.state.lock();
            change(&mut state);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

struct MailboxStream(Arc<Mailbox>);

impl Stream for MailboxStream {
    type Item = Signal;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Signal>> {
        let mut state = self.0.state.lock();
        if std::mem::take(&mut state.missed) {
            return Poll::Ready(Some(Signal::Lagged));
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
