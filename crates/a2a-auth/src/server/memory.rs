//! What is remembered from one request to the next.

use std::{net::IpAddr, sync::Arc, time::Duration};

use ring::{hmac, rand::SystemRandom};

use super::{
    Presented, Throttle,
    audit::{self, Circumstances},
    cache::Remembered,
    throttle::Tries,
};

/// Most credentials that are remembered as right, and callers as seen.
const MAX_REMEMBERED: usize = 16_384;
/// How long they are remembered.
const LIFETIME: Duration = Duration::from_secs(3_600);

/// Failed tries, and who came in.
#[derive(Debug)]
pub(super) struct Memory {
    tries: Tries,
    /// Digests of what was presented and right.
    right: Remembered<[u8; 32], ()>,
    /// Callers who have been let in.
    seen: Remembered<Arc<str>, ()>,
    digests: Digests,
}

impl Memory {
    pub(super) fn new(throttle: Throttle) -> Self {
        Self {
            tries: Tries::new(throttle),
            right: Remembered::new(MAX_REMEMBERED),
            seen: Remembered::new(MAX_REMEMBERED),
            digests: Digests::new(),
        }
    }

    /// Returns how long what is presented is not looked at: while its address has to wait, unless
    /// it has been right before.
    pub(super) fn wait<'p>(
        &self,
        address: Option<IpAddr>,
        presented: impl IntoIterator<Item = &'p Presented>,
    ) -> Option<Duration> {
        let wait = self.tries.wait(address?)?;
        let digest = self.digests.of(presented);
        let was_right = digest.is_some_and(|digest| self.right.get(&digest).is_some());
        (!was_right).then_some(wait)
    }

    /// Notes that everything that was presented was right.
    pub(super) fn was_right<'p>(&self, presented: impl IntoIterator<Item = &'p Presented>) {
        if let Some(digest) = self.digests.of(presented) {
            self.right.insert(digest, (), LIFETIME);
        }
    }

    /// Notes a failed try.
    pub(super) fn failed(&self, address: Option<IpAddr>) {
        let Some(address) = address else { return };
        let was_free = self.tries.wait(address).is_none();
        self.tries.note(address);
        if was_free && self.tries.wait(address).is_some() {
            audit::throttled(Circumstances { address: Some(address), ..Circumstances::default() });
        }
    }

    /// Notes that a caller was let in, and returns whether it is the first time in a while.
    pub(super) fn is_new(&self, subject: &str) -> bool {
        self.seen.insert(subject.into(), (), LIFETIME)
    }
}

/// Digests of what is presented, which are worth nothing elsewhere.
#[derive(Debug)]
pub(super) struct Digests(Option<hmac::Key>);

impl Digests {
    /// Without random bytes there are no digests, and nothing is remembered.
    pub(super) fn new() -> Self {
        Self(hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).ok())
    }

    pub(super) fn of<'p>(
        &self,
        presented: impl IntoIterator<Item = &'p Presented>,
    ) -> Option<[u8; 32]> {
        let mut context = hmac::Context::with_key(self.0.as_ref()?);
        for one in presented {
            one.digest_into(&mut context);
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(context.sign().as_ref());
        Some(digest)
    }
}
