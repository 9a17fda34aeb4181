//! The sections `[agent]`, `[exec]` and `[proxy]`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    section::section,
    types::{Binding, Bytes, Duration, RateLimit, Version},
};

section! {
    /// Agent and card
    agent: Agent {
        /// Run the demo agent, which is the default
        demo: bool = false, "--demo";
        /// Run the agent that a script (TOML) describes, to test clients against; see
        /// docs/scripts.md
        script_file: PathBuf, "--script";
        /// Run an agent that echoes messages
        echo: bool = false, "--echo";
        /// Answer from a recording of --record, to test clients against
        replay_file: PathBuf, "--replay";
        /// Replay without the recorded delays
        replay_immediately: bool = false, "--replay-immediately";
        /// JSON file with the agent card; its interfaces are replaced by those that are served
        card_file: PathBuf, "--card";
        /// PEM file with the private key that signs the card. The public key is served at
        /// /.well-known/jwks.json
        card_key_file: PathBuf, "--card-key";
        /// Name in the card
        name: String, "--name <NAME>";
        /// Description in the card
        description: String, "--description <TEXT>";
        /// Streaming
        streaming: bool = true, "--no-streaming";
        /// The extended card
        extended_card: bool = true, "--no-extended-card";
        /// URI of an extension that callers must activate; repeatable
        required_extensions: Vec<String> = [], "--required-extension <URI>";
    }
}

section! {
    /// Command as agent
    exec: Exec {
        /// Run a shell command per message: text on stdin, the response on stdout
        command: String, "--exec <COMMAND>";
        /// Run a program with arguments instead of a shell command: a2a serve -- program
        /// argument...
        program: Vec<String> = [], "-- <PROGRAM>";
        /// Max concurrent commands
        concurrency: u16 = 16, "--concurrency";
        /// Timeout of a command, for each message; time that it waits for an answer does not count
        timeout: Duration, "--exec-timeout";
        /// How long a command of --io jsonl waits for an answer; a later one starts it again
        ask_timeout: Duration = "30s", "--exec-ask-timeout" advanced;
        /// Max commands that wait for an answer
        max_waiting: u16 = 64, "--exec-max-waiting" advanced;
        /// Streaming of stdout as it comes
        stream_output: bool = true, "--no-stream-output";
        /// Stream stdout in chunks that end with this delimiter; \n and \t are escapes
        chunk: String, "--chunk <DELIMITER>";
        /// Exchange JSON lines with the command; see docs/guide/wrap-a-program.md
        io: Io, "--io <FORMAT>";
        /// Fail the task at a line of --io jsonl that is none of the protocol, instead of logging it
        strict: bool = false, "--exec-strict" advanced;
        /// What happens to the task of a command whose node crashed
        recovery: ExecRecovery = "fail", "--exec-recovery <POLICY>" advanced;
        /// Additional environment variable that commands inherit; repeatable
        env: Vec<String> = [], "--exec-env <NAME>";
        /// Send the last 4 KiB of stderr to the caller if a command fails
        expose_stderr: bool = false, "--exec-expose-stderr";
        /// Max bytes of stderr to log per command
        log_bytes: Bytes = "64KiB", "--exec-log-bytes" advanced;
        /// Max rate of logged stderr lines, across all commands
        log_rate: RateLimit = "100/s", "--exec-log-rate" advanced;
    }
}

/// The protocol between the server and a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Io {
    Jsonl,
}

/// What happens to the task of a command whose node crashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExecRecovery {
    Fail,
    Rerun,
}

section! {
    /// Proxy
    proxy: Proxy {
        /// Forward to another agent, with a reference as for -a; without a value, to that of -a or
        /// -e
        to: String, "--proxy [REF]";
        /// Binding for upstream calls; repeatable, in order of preference [default: the card's
        /// order]
        transport: Vec<Binding> = [], "--upstream-transport";
        /// Protocol version for upstream calls [default: the newest of the upstream agent]
        version: Version, "--upstream-version";
        /// How callers are kept apart: store keeps an index of the tasks of each caller in
        /// store.location; tenant gives each caller a tenant of the upstream agent; forward-auth
        /// lets the upstream agent authenticate callers; shared shows all tasks to every caller
        /// [default: store; forward-auth with --forward-auth]
        isolation: ProxyIsolation, "--proxy-isolation <MODE>";
        /// Forward the Authorization header of callers instead of the proxy's own credentials
        forward_auth: bool = false, "--forward-auth";
        /// Whether the server is ready only while the upstream agent answers
        readiness: bool = true, "--no-upstream-readiness";
        /// Time to wait at start for an upstream agent that can't be reached; /healthz is served
        /// meanwhile [default: none]
        wait: Duration, "--upstream-wait";
        /// File to append all traffic to, as JSON lines without secrets
        record_file: PathBuf, "--record";
    }
}

/// How a proxy keeps its callers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProxyIsolation {
    Store,
    Tenant,
    ForwardAuth,
    Shared,
}

impl Proxy {
    /// How callers are kept apart.
    pub(crate) fn isolation(&self) -> ProxyIsolation {
        let default =
            if self.forward_auth { ProxyIsolation::ForwardAuth } else { ProxyIsolation::Store };
        self.isolation.unwrap_or(default)
    }

    /// Returns whether the upstream agent authenticates callers.
    pub(crate) fn forwards_auth(&self) -> bool {
        self.to.is_some() && self.isolation() == ProxyIsolation::ForwardAuth
    }
}
