use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Binding, Seat};

/// The nodes of an agent, with random selection.
#[derive(Debug)]
pub struct Nodes {
    urls: Vec<String>,
    dice: AtomicU64,
}

impl Nodes {
    /// Creates nodes whose selection is derived from a seed.
    pub fn new(urls: Vec<String>, seed: u64) -> Self {
        assert!(!urls.is_empty(), "at least one node");
        Self { urls, dice: AtomicU64::new(seed | 1) }
    }

    /// A random number below a limit.
    pub fn random_below(&self, below: u64) -> u64 {
        let mut state = self.dice.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (state ^ (state >> 31)) % below.max(1)
    }

    /// One case in this many.
    pub(super) fn one_in(&self, cases: u64) -> bool {
        self.random_below(cases) == 0
    }

    /// A random node and a random binding.
    pub fn seat(&self) -> Seat<'_> {
        let pick = |count: usize| {
            let index = self.random_below(u64::try_from(count).unwrap_or(1));
            usize::try_from(index).unwrap_or_default()
        };
        let node = &self.urls[pick(self.urls.len())];
        Seat { node, binding: Binding::ALL[pick(Binding::ALL.len())] }
    }
}
