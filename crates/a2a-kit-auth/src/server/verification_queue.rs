//! The order of verifications that take time, so that unknown clients don't delay known callers.

use std::{
    cmp::Reverse,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use a2a_kit_http::network;
use tokio::sync::oneshot;

use super::{Attempt, Rejection, expiring_cache::ExpiringCache};

/// Maximum number of clients whose attempts are counted; beyond it, the oldest are evicted.
const MAX_CLIENTS: usize = 16_384;
/// Time after its last attempt at which a client starts over.
const ATTEMPT_LIFETIME: Duration = Duration::from_secs(60);
/// The part of the queue that a client, or credentials verified before, may have.
const SHARE: usize = 4;

/// A queue of verifications with a limited number running.
///
/// Credentials that were verified before go first, and have places of their own: a quarter of those
/// that run, and as many waiting ones as all others. The others are ordered by the attempts of their
/// client (address or IPv6 /64) in the last minute that were not verified, fewest first, and a full
/// queue drops the last. Among equal ones, the newest is first: while more arrive than can be served,
/// any other order would serve none of them in time. So a first login precedes the guesses of any
/// number of unknown clients, but their first ones that arrive later. A client has at most a quarter of
/// each kind of place.
#[derive(Clone)]
pub(super) struct VerificationQueue(Arc<Queue>);

struct Queue {
    max_running: usize,
    max_waiting: usize,
    places: Mutex<Places>,
    /// Attempts that were not verified, by client.
    attempts: ExpiringCache<IpAddr, u32>,
}

#[derive(Default)]
struct Places {
    running: Vec<Entry>,
    /// By arrival.
    waiting: Vec<Waiting>,
}

struct Waiting {
    entry: Entry,
    turn: oneshot::Sender<Turn>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// `None` for known callers and unknown addresses, which have no share.
    client: Option<IpAddr>,
    was_verified: bool,
    attempts: u32,
}

/// A running verification. Dropping it starts the next one.
pub(super) struct Turn {
    queue: Arc<Queue>,
    entry: Entry,
}

impl VerificationQueue {
    pub(super) fn new(max_running: usize, max_waiting: usize) -> Self {
        Self(Arc::new(Queue {
            max_running: max_running.max(1),
            max_waiting,
            places: Mutex::default(),
            attempts: ExpiringCache::new(MAX_CLIENTS),
        }))
    }

    /// Waits for a turn. A full queue is [`Rejection::Overloaded`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up the place.
    pub(super) async fn enter(&self, attempt: Attempt) -> Result<Turn, Rejection> {
        let entry = self.0.entry(attempt);
        let (turn, granted) = oneshot::channel();
        self.0.add(Waiting { entry, turn })?;
        self.0.start();
        granted.await.map_err(|_displaced| Rejection::Overloaded)
    }
}

impl Queue {
    fn entry(&self, attempt: Attempt) -> Entry {
        let Attempt::Request { client, was_verified: false } = attempt else {
            return Entry { client: None, was_verified: true, attempts: 0 };
        };
        let client = client.map(network);
        let attempts = client.and_then(|client| self.attempts.get(&client)).unwrap_or(0);
        if let Some(client) = client {
            self.attempts.insert(client, attempts.saturating_add(1), ATTEMPT_LIFETIME);
        }
        Entry { client, was_verified: false, attempts }
    }

    fn add(&self, new: Waiting) -> Result<(), Rejection> {
        let mut places = self.places();
        let waiting = &mut places.waiting;
        waiting.retain(|one| !one.turn.is_closed());
        let of_client = waiting.iter().filter(|one| one.entry.client == new.entry.client).count();
        if new.entry.client.is_some() && of_client >= share(self.max_waiting) {
            return Err(Rejection::Overloaded);
        }
        let same_kind = |one: &Waiting| one.entry.was_verified == new.entry.was_verified;
        if waiting.iter().filter(|one| same_kind(one)).count() >= self.max_waiting {
            let last = waiting.iter().enumerate().filter(|(_, one)| same_kind(one));
            let last = last.max_by_key(|(place, one)| (one.entry.attempts, Reverse(*place)));
            let last = last.filter(|(_, one)| one.entry.attempts >= new.entry.attempts);
            let (place, _) = last.ok_or(Rejection::Overloaded)?;
            waiting.remove(place);
        }
        waiting.push(new);
        Ok(())
    }

    /// Starts verifications while there are places.
    fn start(self: &Arc<Self>) {
        while let Some(Waiting { entry, turn }) = self.next() {
            // A receiver that is gone drops the turn, which frees the place.
            let _gone = turn.send(Turn { queue: Arc::clone(self), entry });
        }
    }

    fn next(&self) -> Option<Waiting> {
        let Places { running, waiting } = &mut *self.places();
        waiting.retain(|one| !one.turn.is_closed());
        let free = self.max_running.saturating_sub(running.len());
        let may_start = |entry: &Entry| {
            let of_client = running.iter().filter(|one| one.client == entry.client).count();
            entry.was_verified
                || free > self.max_running / SHARE
                    && (entry.client.is_none() || of_client < share(self.max_running))
        };
        let first = waiting.iter().enumerate().filter(|(_, one)| free > 0 && may_start(&one.entry));
        let first = first.min_by_key(|(place, Waiting { entry, .. })| {
            (!entry.was_verified, entry.attempts, Reverse(*place))
        });
        let next = waiting.remove(first?.0);
        running.push(next.entry);
        Some(next)
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        // A panic can't leave the places half changed.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn share(places: usize) -> usize {
    (places / SHARE).max(1)
}

impl Turn {
    /// Ends the turn of a credential that is valid, which does not count as an attempt.
    pub(super) fn verified(self) {
        let attempts = &self.queue.attempts;
        if let Some(client) = self.entry.client {
            let left = attempts.get(&client).unwrap_or(0).saturating_sub(1);
            attempts.insert(client, left, ATTEMPT_LIFETIME);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut places = self.queue.places();
        if let Some(place) = places.running.iter().position(|one| *one == self.entry) {
            places.running.swap_remove(place);
        }
        drop(places);
        self.queue.start();
    }
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, pin::Pin};

    use tokio::task::yield_now;

    use super::*;

    fn client(number: u32) -> Attempt {
        let client = Some(IpAddr::V4(Ipv4Addr::from(number)));
        Attempt::Request { client, was_verified: false }
    }

    const KNOWN: Attempt = Attempt::Request { client: None, was_verified: true };

    type Entering = Pin<Box<dyn Future<Output = Result<Turn, Rejection>> + Send>>;

    /// Enters the queue, and returns the future, which is pending.
    async fn wait(queue: &VerificationQueue, attempt: Attempt) -> tokio::task::JoinHandle<bool> {
        let queue = queue.clone();
        let entering: Entering = Box::pin(async move { queue.enter(attempt).await });
        let waiting = tokio::spawn(async move { entering.await.is_ok() });
        yield_now().await;
        waiting
    }

    #[tokio::test]
    async fn known_credentials_have_places_that_unknown_clients_cannot_take() {
        let queue = VerificationQueue::new(8, 8);
        let mut turns = Vec::new();
        for number in 0..6 {
            turns.push(queue.enter(client(number)).await.unwrap());
        }
        let mut unknown_clients = Vec::new();
        for number in 100..120 {
            unknown_clients.push(wait(&queue, client(number)).await);
        }
        assert!(
            unknown_clients.iter().any(|unknown_client| unknown_client.is_finished()),
            "the queue is full"
        );
        turns.push(queue.enter(KNOWN).await.expect("a place for known credentials"));
        turns.push(queue.enter(KNOWN).await.expect("a place for known credentials"));
        let known = wait(&queue, KNOWN).await;
        assert!(!known.is_finished());
        turns.truncate(7);
        assert!(known.await.unwrap(), "known credentials go first");
    }

    #[tokio::test]
    async fn first_attempt_displaces_and_precedes_repeated_ones() {
        let queue = VerificationQueue::new(1, 4);
        let running = queue.enter(client(0)).await.unwrap();
        // Each has attempted before: the place of the first was given up.
        let mut unknown_clients = Vec::new();
        for number in 1..=4 {
            wait(&queue, client(number)).await.abort();
            unknown_clients.push(wait(&queue, client(number)).await);
        }
        assert!(!wait(&queue, client(4)).await.await.unwrap(), "its share is taken");
        let newcomer = wait(&queue, client(9)).await;
        yield_now().await;
        assert!(unknown_clients[0].is_finished(), "the oldest is displaced");
        assert!(!unknown_clients[1].is_finished() && !newcomer.is_finished());
        drop(running);
        assert!(newcomer.await.unwrap());
        for (number, unknown_client) in unknown_clients.into_iter().enumerate() {
            assert_eq!(unknown_client.await.unwrap(), number > 0, "{number}");
        }
    }

    #[tokio::test]
    async fn client_has_a_quarter_of_the_places_and_a_verified_attempt_does_not_count() {
        let queue = VerificationQueue::new(8, 8);
        let one = queue.enter(client(1)).await.unwrap();
        let two = queue.enter(client(1)).await.unwrap();
        let third = wait(&queue, client(1)).await;
        assert!(!third.is_finished(), "two of eight");
        let other = queue.enter(client(2)).await.unwrap();
        one.verified();
        assert!(third.await.unwrap());
        assert_eq!(queue.0.attempts.get(&IpAddr::V4(Ipv4Addr::from(1))), Some(2));
        drop((two, other));
        assert!(queue.0.places().running.is_empty());
    }
}
