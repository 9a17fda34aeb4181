//! The settings of `a2a serve`: declared once, section by section, and read from flags, variables
//! and a settings file.

mod agent;
pub(crate) mod auth;
mod file;
mod layered;
mod limits;
mod listen;
mod model;
mod print;
mod store;
mod suggestion;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::LazyLock};

use serde::Deserialize;

use super::{Declared, Section, section, types};
pub(crate) use agent::{Agent, Exec, ExecRecovery, Io, Proxy, ProxyIsolation};
use auth::Auth;
pub(crate) use layered::{LayeredSettings, NO_COMPAT, OPENAI, store_location};
pub(crate) use limits::Limits;
pub(crate) use listen::{ClientAuth, GrpcInCard, Listen, Telemetry, Tls, TlsVersion};
pub(crate) use model::{Disclosure, Memory, Model, Reasoning};
pub(crate) use store::{Store, Webhooks};
pub(crate) use suggestion::{TEST_AGENT, is_of_test_agent, is_similar, renamed_flag};
pub(crate) use types::{Duration, Secret};

/// The settings of a server.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Serve {
    pub(crate) listen: Listen,
    pub(crate) agent: Agent,
    pub(crate) exec: Exec,
    pub(crate) model: Model,
    pub(crate) proxy: Proxy,
    pub(crate) store: Store,
    pub(crate) webhooks: Webhooks,
    pub(crate) auth: Auth,
    pub(crate) tls: Tls,
    pub(crate) limits: Limits,
    pub(crate) telemetry: Telemetry,
    /// The environment variables that the settings file names for secrets (`env:NAME`).
    #[serde(skip)]
    pub(crate) secret_variables: BTreeSet<String>,
}

impl Declared for Serve {
    const TITLE: &'static str = "Settings of `a2a serve`";
    const HINT: &'static str = "`a2a serve --print-settings` shows every key with its value";

    fn sections() -> &'static [Section] {
        static SECTIONS: LazyLock<[Section; 11]> = LazyLock::new(|| {
            [
                Listen::section(),
                Agent::section(),
                Exec::section(),
                Model::section(),
                Proxy::section(),
                Store::section(),
                Webhooks::section(),
                Auth::section(),
                Tls::section(),
                Limits::section(),
                Telemetry::section(),
            ]
        });
        &*SECTIONS
    }

    fn unknown(key: &str) -> String {
        suggestion::unknown::<Self>(key)
    }
}

impl Serve {
    /// Returns whether the demo agent is served.
    pub(crate) fn is_demo(&self) -> bool {
        self.is_scripted() && self.agent.script_file.is_none()
    }

    /// Returns whether the demo agent is served, or that of a script.
    pub(crate) fn is_scripted(&self) -> bool {
        let is_other = self.agent.echo
            || self.exec.command.is_some()
            || !self.exec.program.is_empty()
            || self.model.name.is_some()
            || self.without_engine().is_some();
        self.agent.demo || !is_other
    }

    /// Returns the flag of an agent that runs without the task engine, and so without webhooks of
    /// this server.
    pub(crate) fn without_engine(&self) -> Option<&'static str> {
        let replay = self.agent.replay_file.as_ref().map(|_| "--replay");
        replay.or_else(|| self.proxy.to.as_ref().map(|_| "--proxy"))
    }

    /// Returns whether the agent is a proxy that keeps an index of the tasks of its callers.
    pub(crate) fn has_index(&self) -> bool {
        self.without_engine() == Some("--proxy") && self.proxy.isolation() == ProxyIsolation::Store
    }
}
