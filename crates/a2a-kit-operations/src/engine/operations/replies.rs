//! Exchanges that were answered with a message, without a task.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use a2a_core::Message;
use parking_lot::Mutex;
use prost::Message as _;

use crate::Scope;

/// Maximum number of exchanges per conversation.
const MAX_IN_CONTEXT: usize = 32;
/// Maximum bytes per scope.
const MAX_SCOPE_BYTES: usize = 1 << 20;
/// Maximum bytes in total.
const MAX_BYTES: usize = 64 << 20;
/// Overhead of an exchange.
const EXCHANGE_BYTES: usize = 512;

/// A message and its direct reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DirectReply {
    /// The message of the client.
    pub message: Arc<Message>,
    /// The reply of the agent.
    pub reply: Arc<Message>,
}

/// The newest exchanges of all conversations. Each scope has its own limit; beyond the total limit,
/// the largest scope loses its oldest exchange.
#[derive(Debug, Default)]
pub(crate) struct Replies(Mutex<ReplyCache>);

#[derive(Debug, Default)]
struct ReplyCache {
    scopes: HashMap<Scope, ScopeReplies>,
    /// The scopes by size.
    by_bytes: BTreeSet<(usize, Scope)>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct ScopeReplies {
    /// Oldest first.
    exchanges: VecDeque<(DirectReply, usize)>,
    bytes: usize,
}

impl Replies {
    pub(crate) fn add(&self, scope: &Scope, message: &Message, reply: &Message) {
        let bytes = message.encoded_len() + reply.encoded_len() + EXCHANGE_BYTES;
        if bytes > MAX_SCOPE_BYTES {
            return;
        }
        let mut cache = self.0.lock();
        let exchange =
            DirectReply { message: Arc::new(message.clone()), reply: Arc::new(reply.clone()) };
        cache.change(scope, |replies| {
            let context_id = &exchange.message.context_id;
            let same = |(known, _): &&(DirectReply, usize)| known.message.context_id == *context_id;
            if replies.exchanges.iter().filter(same).count() >= MAX_IN_CONTEXT
                && let Some(oldest) = replies.exchanges.iter().position(|known| same(&known))
            {
                replies.remove(oldest);
            }
            while replies.bytes + bytes > MAX_SCOPE_BYTES {
                replies.remove(0);
            }
            replies.bytes += bytes;
            replies.exchanges.push_back((exchange, bytes));
        });
        while cache.bytes > MAX_BYTES {
            let Some((_, largest)) = cache.by_bytes.last().cloned() else { break };
            cache.change(&largest, |replies| replies.remove(0));
        }
    }

    /// The exchanges of a conversation, oldest first.
    pub(crate) fn of(&self, scope: &Scope, context_id: &str) -> Vec<DirectReply> {
        let cache = self.0.lock();
        let exchanges = cache.scopes.get(scope).into_iter().flat_map(|of| &of.exchanges);
        let in_context = exchanges.filter(|(known, _)| known.message.context_id == context_id);
        in_context.map(|(exchange, _)| exchange.clone()).collect()
    }
}

impl ReplyCache {
    fn change(&mut self, scope: &Scope, change: impl FnOnce(&mut ScopeReplies)) {
        let replies = self.scopes.entry(scope.clone()).or_default();
        let before = replies.bytes;
        change(replies);
        let after = replies.bytes;
        self.bytes = self.bytes - before + after;
        self.by_bytes.remove(&(before, scope.clone()));
        if after == 0 {
            self.scopes.remove(scope);
        } else {
            self.by_bytes.insert((after, scope.clone()));
        }
    }
}

impl ScopeReplies {
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
        let cache = replies.of(&scope("ann"), "talk");
        let texts: Vec<_> = cache.iter().map(|exchange| exchange.message.text()).collect();
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
        let cache = replies.0.lock();
        assert!(cache.bytes <= MAX_BYTES, "{}", cache.bytes);
        assert_eq!(cache.bytes, cache.scopes.values().map(|of| of.bytes).sum::<usize>());
        assert_eq!(cache.by_bytes.len(), cache.scopes.len());
    }
}
