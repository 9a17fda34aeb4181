//! The commands that nodes leave for each other.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use bytes::Bytes;

use super::{entry::Entry, lock};

/// All commands that wait, and all answers that wait to be taken.
#[derive(Debug)]
pub(super) struct Commands {
    posts: Mutex<Posts>,
    max: usize,
}

#[derive(Debug, Default)]
struct Posts {
    waiting: HashMap<Arc<str>, Waiting>,
    answered: HashMap<Arc<str>, Bytes>,
    /// The ids of answers, oldest first.
    by_age: VecDeque<Arc<str>>,
}

#[derive(Debug)]
struct Waiting {
    entry: Arc<Entry>,
    /// The node that posted the command.
    from: Arc<str>,
}

/// What came of a command that was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Post {
    New,
    Known,
    Full,
}

impl Commands {
    pub(super) fn new(max: usize) -> Self {
        Self { posts: Mutex::default(), max }
    }

    pub(super) fn post(&self, id: &Arc<str>, entry: &Arc<Entry>, from: &Arc<str>) -> Post {
        let mut posts = lock(&self.posts);
        if posts.waiting.contains_key(id) || posts.answered.contains_key(id) {
            return Post::Known;
        }
        if posts.waiting.len() >= self.max {
            return Post::Full;
        }
        let waiting = Waiting { entry: Arc::clone(entry), from: Arc::clone(from) };
        posts.waiting.insert(Arc::clone(id), waiting);
        Post::New
    }

    /// The task that a command waits for.
    pub(super) fn entry(&self, id: &str) -> Option<Arc<Entry>> {
        lock(&self.posts).waiting.get(id).map(|waiting| Arc::clone(&waiting.entry))
    }

    /// Keeps the answer to a command, and returns the node that posted it.
    pub(super) fn answer(&self, id: &Arc<str>, answer: Bytes) -> Option<Arc<str>> {
        let mut posts = lock(&self.posts);
        let waiting = posts.waiting.remove(id)?;
        posts.answered.insert(Arc::clone(id), answer);
        posts.by_age.push_back(Arc::clone(id));
        while posts.by_age.len() > self.max {
            if let Some(oldest) = posts.by_age.pop_front() {
                posts.answered.remove(&oldest);
            }
        }
        Some(waiting.from)
    }

    /// The answer to a command.
    pub(super) fn read(&self, id: &str) -> Option<Bytes> {
        lock(&self.posts).answered.get(id).cloned()
    }

    /// Forgets an answer that was read.
    pub(super) fn forget_answer(&self, id: &str) {
        let mut posts = lock(&self.posts);
        if posts.answered.remove(id).is_some()
            // Answers are read soon, so it is one of the last.
            && let Some(at) = posts.by_age.iter().rposition(|known| **known == *id)
        {
            posts.by_age.remove(at);
        }
    }

    /// Forgets a command whose task is gone.
    pub(super) fn forget(&self, id: &str) {
        lock(&self.posts).waiting.remove(id);
    }
}
