//! Attacks on a server, and whether they did harm.
//!
//! An attack does harm if it gets in, crashes the server, hangs it, makes it tell what it should
//! not, or leaves it without memory. After each one a normal request has to be served, and at
//! the end of each group the memory has to be back. `cargo xtask attack` runs all of them against
//! `a2a serve`; `tests/attack.rs` runs some where a defence is missing, and expects harm.

mod amplification;
mod authentication;
mod browser;
mod canary;
mod disk;
mod exec;
mod frames;
mod http1;
mod http2;
mod injection;
mod issuer;
mod issuer_keys;
mod json;
mod latency;
mod memory;
mod origins;
mod pipe;
mod quota;
mod renegotiation;
mod run;
mod scene;
mod scope;
mod server;
mod stall;
mod tls;
mod webhook;

use std::{future::Future, pin::Pin};

pub use canary::Canary;
pub use issuer::Issuer;
pub use run::{Outcome, run};
pub use scene::{Process, Scene};
pub use server::{Alone, Started};

/// What the server did, or what harm was done.
pub type Verdict = Result<String, String>;

type Tried<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// One thing that is tried.
#[derive(Clone, Copy)]
pub struct Attack {
    /// What it is called.
    pub name: &'static str,
    /// What is done, in a few words.
    pub tried: &'static str,
    run: for<'a> fn(&'a Scene) -> Tried<'a>,
}

/// Attacks of one kind.
#[derive(Clone, Debug)]
pub struct Group {
    pub name: &'static str,
    pub attacks: Vec<Attack>,
}

impl Group {
    /// Every group.
    pub fn all() -> Vec<Self> {
        vec![
            Self { name: "authentication", attacks: authentication::all() },
            Self { name: "keys", attacks: issuer_keys::all() },
            Self { name: "scope", attacks: scope::all() },
            Self { name: "http", attacks: http1::all() },
            Self { name: "http/2", attacks: http2::all() },
            Self { name: "messages", attacks: json::all() },
            Self { name: "memory", attacks: memory::all() },
            Self { name: "webhooks", attacks: webhook::all() },
            Self { name: "amplification", attacks: amplification::all() },
            Self { name: "disk", attacks: disk::all() },
            Self { name: "tls", attacks: tls::all() },
            Self { name: "injection", attacks: injection::all() },
            Self { name: "revisions", attacks: origins::all() },
            Self { name: "exec", attacks: exec::all() },
            Self { name: "stall", attacks: stall::all() },
            Self { name: "browser", attacks: browser::all() },
            Self { name: "quota", attacks: quota::all() },
        ]
    }
}

impl std::fmt::Debug for Attack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attack").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Lists attacks: name, what is tried, and the function that tries it.
macro_rules! attacks {
    ($($name:literal, $tried:literal => $run:expr;)*) => {
        vec![$($crate::attack::Attack {
            name: $name,
            tried: $tried,
            run: |scene| Box::pin($run(scene)),
        }),*]
    };
}
use attacks;
