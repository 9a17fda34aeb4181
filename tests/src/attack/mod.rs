//! Attacks on a server.
//!
//! An attack succeeds, and fails the run, if it bypasses authentication, crashes or hangs the
//! server, discloses information, or exhausts memory. After each attack a normal request has to be
//! served, and at the end of each group the memory has to be released. `cargo xtask attack` runs all
//! of them against `a2a serve`; `tests/attack.rs` runs some without a defence, and expects them to
//! succeed.

mod amplification;
mod authentication;
mod browser;
mod canary;
mod disk;
mod environment;
mod exec;
mod exec_caller;
mod frames;
mod gateway;
mod http1;
mod http2;
mod injection;
mod issuer;
mod issuer_keys;
mod json;
mod latency;
mod memory;
mod origin;
mod origins;
mod pipe;
mod queues;
mod quota;
mod recorder;
mod renegotiation;
mod run;
mod scope;
mod server;
mod stall;
mod terminal;
mod tls;
mod webhook;

use std::{future::Future, pin::Pin};

pub use canary::Canary;
pub use environment::{Environment, Process};
pub use issuer::Issuer;
pub use recorder::Recorder;
pub use run::{Outcome, run};
pub use server::{Alone, Started};

/// The reaction of the server, or the damage.
pub type Verdict = Result<String, String>;

type Attempt<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// An attack.
#[derive(Clone, Copy)]
pub struct Attack {
    /// The name of the attack.
    pub name: &'static str,
    /// A short description.
    pub description: &'static str,
    run: for<'a> fn(&'a Environment) -> Attempt<'a>,
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
            Self { name: "exec", attacks: [exec::all(), exec_caller::all()].concat() },
            Self { name: "stall", attacks: stall::all() },
            Self { name: "browser", attacks: browser::all() },
            Self { name: "quota", attacks: quota::all() },
            Self { name: "origin", attacks: origin::all() },
            Self { name: "terminal", attacks: terminal::all() },
            Self { name: "gateway", attacks: gateway::all() },
            Self { name: "queues", attacks: queues::all() },
        ]
    }
}

impl std::fmt::Debug for Attack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attack").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Lists attacks: name, description, and function.
macro_rules! attacks {
    ($($name:literal, $description:literal => $run:expr;)*) => {
        vec![$($crate::attack::Attack {
            name: $name,
            description: $description,
            run: |env| Box::pin($run(env)),
        }),*]
    };
}
use attacks;
