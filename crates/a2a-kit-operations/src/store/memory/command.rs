//! Commands for the holders of leases.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use parking_lot::Mutex;

use super::entry::Entry;
use crate::store::StoreError;

/// Pending commands, and answers that have not been read.
#[derive(Debug)]
pub(super) struct Commands {
    posts: Mutex<Posts>,
    max: usize,
}

#[derive(Debug, Default)]
struct Posts {
    /// The tasks of the pending commands.
    waiting: HashMap<Arc<str>, Arc<Entry>>,
    answered: HashMap<Arc<str>, Bytes>,
    /// The ids of the answers, oldest first.
    by_age: VecDeque<Arc<str>>,
}

impl Commands {
    pub(super) fn new(max: usize) -> Self {
        Self { posts: Mutex::default(), max }
    }

    /// Adds a command, and returns whether it is new.
    pub(super) fn post(&self, id: &Arc<str>, entry: &Arc<Entry>) -> Result<bool, StoreError> {
        let mut posts = self.posts.lock();
        if posts.waiting.contains_key(id) || posts.answered.contains_key(id) {
            return Ok(false);
        }
        if posts.waiting.len() >= self.max {
            return Err(StoreError::Full);
        }
        posts.waiting.insert(Arc::clone(id), Arc::clone(entry));
        Ok(true)
    }

    /// The task of a pending command.
    pub(super) fn entry(&self, id: &str) -> Option<Arc<Entry>> {
        self.posts.lock().waiting.get(id).cloned()
    }

    /// Stores the answer to a command.
    pub(super) fn answer(&self, id: &Arc<str>, answer: Bytes) {
        let mut posts = self.posts.lock();
        if posts.waiting.remove(id).is_none() {
            return;
        }
        posts.answered.insert(Arc::clone(id), answer);
        posts.by_age.push_back(Arc::clone(id));
        while posts.by_age.len() > self.max {
            if let Some(oldest) = posts.by_age.pop_front() {
                posts.answered.remove(&oldest);
            }
        }
    }

    /// The answer to a command.
    pub(super) fn read(&self, id: &str) -> Option<Bytes> {
        self.posts.lock().answered.get(id).cloned()
    }

    /// Deletes an answer.
    pub(super) fn delete_answer(&self, id: &str) {
        let mut posts = self.posts.lock();
        if posts.answered.remove(id).is_some()
            // Answers are read soon, so it is one of the newest.
            && let Some(at) = posts.by_age.iter().rposition(|known| **known == *id)
        {
            posts.by_age.remove(at);
        }
    }

    /// Removes a command whose task was removed.
    pub(super) fn remove(&self, id: &str) {
        self.posts.lock().waiting.remove(id);
    }
}
