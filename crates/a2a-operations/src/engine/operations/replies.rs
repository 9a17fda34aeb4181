//! Messages that were answered with a message: no task tells of them.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use a2a_core::Message;
use prost::Message as _;

use crate::Scope;

/// The most exchanges that are kept of a conversation.
const MAX_IN_CONTEXT: usize = 32;
/// The most bytes that are kept of a caller in a tenant.
const MAX_SCOPE_BYTES: usize = 1 << 20;
/// The most bytes that are kept of all.
const MAX_BYTES: usize = 64 << 20;
/// What an exchange takes beside its messages.
const EXCHANGE_BYTES: usize = 512;

/// A message and the message that answered it in place of a task.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Exchange {
    /// What the client said.
    pub message: Arc<Message>,
    /// What the agent answered.
    pub reply: Arc<Message>,
}

/// The newest exchanges of all conversations. Each caller has its own bound, and where all
/// together are too many, the caller with the most loses its oldest.
#[derive(Debug, Default)]
pub(in crate::engine) struct Replies(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    scopes: HashMap<Scope, OfScope>,
    /// The scopes by what they hold.
    by_bytes: BTreeSet<(usize, Scope)>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct OfScope {
    /// Oldest first.
    exchanges: VecDeque<(Exchange, usize)>,
    bytes: usize,
}

impl Replies {
    pub(in crate::engine) fn add(&self, scope: &Scope, message: &Message, reply: &Message) {
        let bytes = message.encoded_len() + reply.encoded_len() + EXCHANGE_BYTES;
        if bytes > MAX_SCOPE_BYTES {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let exchange =
            Exchange { message: Arc::new(message.clone()), reply: Arc::new(reply.clone()) };
        kept.change(scope, |of_scope| {
            let context_id = &exchange.message.context_id;
            let same = |(known, _): &&(Exchange, usize)| known.message.context_id == *context_id;
            if of_scope.exchanges.iter().filter(same).count() >= MAX_IN_CONTEXT
                && let Some(oldest) = of_scope.exchanges.iter().position(|known| same(&known))
            {
                of_scope.remove(oldest);
            }
            while of_scope.bytes + bytes > MAX_SCOPE_BYTES {
                of_scope.remove(0);
            }
            of_scope.bytes += bytes;
            of_scope.exchanges.push_back((exchange, bytes));
        });
        while kept.bytes > MAX_BYTES {
            let Some((_, largest)) = kept.by_bytes.last().cloned() else { break };
            kept.change(&largest, |of_scope| of_scope.remove(0));
        }
    }

    /// The exchanges of a conversation, oldest first.
    pub(in crate::engine) fn of(&self, scope: &Scope, context_id: &str) -> Vec<Exchange> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let exchanges = kept.scopes.get(scope).into_iter().flat_map(|of| &of.exchanges);
        let in_context = exchanges.filter(|(known, _)| known.message.context_id == context_id);
        in_context.map(|(exchange, _)| exchange.clone()).collect()
    }
}

impl Kept {
    fn change(&mut self, scope: &Scope, change: impl FnOnce(&mut OfScope)) {
        let of_scope = self.scopes.entry(scope.clone()).or_default();
        let before = of_scope.bytes;
        change(of_scope);
        let after = of_scope.bytes;
        self.bytes = self.bytes - before + after;
        self.by_bytes.remove(&(before, scope.clone()));
        if after == 0 {
            self.scopes.remove(scope);
        } else {
            self.by_bytes.insert((after, scope.clone()));
        }
    }
}

impl OfScope {
    fn remove(&mut self, index: usize) {
        if let Some((_, bytes)) = self.exchanges.remove(index) {
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(owner: &str) -> Scope {
        Scope { tenant: "".into(), owner: owner.into() }
    }

    fn message(context_id: &str, text: &str) -> Message {
        Message { context_id: context_id.to_owned(), ..Message::user(text) }
    }

    fn add(replies: &Replies, owner: &str, context_id: &str, text: &str) {
        let reply = Message { context_id: context_id.to_owned(), ..Message::agent("ok") };
        replies.add(&scope(owner), &message(context_id, text), &reply);
    }

    #[test]
    fn newest_exchanges_of_a_conversation_are_kept() {
        let replies = Replies::default();
        add(&replies, "ann", "other", "first");
        for number in 0..40 {
            add(&replies, "ann", "talk", &number.to_string());
        }
        let kept = replies.of(&scope("ann"), "talk");
        let texts: Vec<_> = kept.iter().map(|exchange| exchange.message.text()).collect();
        let expected: Vec<_> = (8..40).map(|number| number.to_string()).collect();
        assert_eq!(texts, expected);
        assert_eq!(replies.of(&scope("ann"), "other").len(), 1);
        assert!(replies.of(&scope("bob"), "talk").is_empty());
    }

    #[test]
    fn one_caller_cannot_evict_the_exchanges_of_another() {
        let replies = Replies::default();
        add(&replies, "ann", "talk", "hello");
        let text = "x".repeat(100_000);
        for number in 0..100 {
            add(&replies, "bob", &number.to_string(), &text);
        }
        for other in 0..200 {
            for number in 0..5 {
                add(&replies, &format!("c{other}"), &number.to_string(), &text);
            }
        }
        assert_eq!(replies.of(&scope("ann"), "talk").len(), 1);
        let kept = replies.0.lock().unwrap();
        assert!(kept.bytes <= MAX_BYTES, "{}", kept.bytes);
        assert_eq!(kept.bytes, kept.scopes.values().map(|of| of.bytes).sum::<usize>());
        assert_eq!(kept.by_bytes.len(), kept.scopes.len());
    }
}
