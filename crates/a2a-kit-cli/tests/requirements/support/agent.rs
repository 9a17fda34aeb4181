//! The agents that commands call.

use std::{
    fs,
    process::Command,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use serde_json::Value;

use super::Sandbox;
use crate::common::{Run, Server};

/// The variables with reference and name of a foreign agent, which is called in place of the demo
/// agent.
const FOREIGN: [&str; 2] = ["A2A_COMPLIANCE_AGENT", "A2A_COMPLIANCE_AGENT_NAME"];
const OURS: &str = "a2a serve";

/// The shared demo agent, which ends with the last test that uses it.
static DEMO: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// A running agent, and the sandbox of the commands that call it.
#[derive(Debug)]
pub(crate) struct Agent {
    /// The reference for `--agent-card`.
    pub(crate) reference: String,
    pub(crate) sandbox: Sandbox,
    server: Option<Arc<Server>>,
}

impl Agent {
    /// The demo agent. Other tests call it too.
    pub(crate) fn demo() -> Self {
        let mut shared = DEMO.lock().unwrap_or_else(PoisonError::into_inner);
        let server = shared.upgrade().unwrap_or_else(|| Arc::new(Server::start(&[])));
        *shared = Arc::downgrade(&server);
        Self::of_server(server)
    }

    /// The agent under test: a foreign one if the environment names it, else the demo agent. Both
    /// know `echo`, `message`, `stream`, `ask`, `slow` and `fail`.
    pub(crate) fn under_test() -> Self {
        let [reference, name] = FOREIGN.map(|name| std::env::var(name).ok());
        let Some(reference) = reference else { return Self::demo() };
        let sandbox = Sandbox::of(&name.unwrap_or_else(|| "foreign".into()));
        Self { reference, sandbox, server: None }
    }

    /// A demo agent with these flags.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::of_server(Arc::new(Server::start(arguments)))
    }

    /// A scripted agent, over all bindings.
    pub(crate) fn script(script: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script.toml");
        fs::write(&path, script).unwrap();
        Self::start(&[&["--script", path.to_str().unwrap()], arguments].concat())
    }

    /// An agent that was started elsewhere.
    pub(crate) fn at(reference: &str) -> Self {
        let sandbox = Sandbox::of("scripted JSON-RPC server");
        Self { reference: reference.to_owned(), sandbox, server: None }
    }

    fn of_server(server: Arc<Server>) -> Self {
        let reference = server.address.clone();
        Self { reference, sandbox: Sandbox::of(OURS), server: Some(server) }
    }

    /// The base URL of a server of this project.
    pub(crate) fn url(&self) -> String {
        self.server.as_ref().unwrap().url()
    }

    /// A command that calls the agent. It polls fast.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.command(arguments);
        command.args(["-a", &self.reference]).env("A2ACLI_POLL_INTERVAL", "100ms");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.sandbox.finish(&mut self.command(arguments))
    }

    /// Runs with additional environment variables.
    pub(crate) fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        self.sandbox.finish(self.command(arguments).envs(variables.iter().copied()))
    }

    /// Runs over a binding.
    pub(crate) fn over(&self, binding: &str, arguments: &[&str]) -> Run {
        self.run(&[arguments, &["--transport", binding]].concat())
    }

    /// Runs over a binding with `-o json`.
    pub(crate) fn json_over(&self, binding: &str, arguments: &[&str]) -> Run {
        self.over(binding, &[arguments, &["-o", "json"]].concat())
    }

    /// The document of a successful run with `-o json`.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.run(&[arguments, &["-o", "json"]].concat()).json()
    }

    /// Starts a task that does not end soon, over a binding, and returns its id and context id.
    pub(crate) fn start_task(&self, binding: &str, text: &str) -> (String, String) {
        let sent = self.json_over(binding, &["send", text, "--async"]).json();
        let id = |member: &str| sent["task"][member].as_str().unwrap().to_owned();
        (id("id"), id("contextId"))
    }
}
