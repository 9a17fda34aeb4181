//! Clients of 1.0, through `a2a serve --proxy`, against an agent of 0.3 with JSON-RPC only.

use std::process::Command;

use crate::Result;

use super::{BINDINGS, Bench, Programs, install::Installed, matrix::Matrix};

/// The flags of the proxy for the upstream agent.
const UPSTREAM: [&str; 4] = ["--upstream-version", "0.3", "--upstream-transport", "jsonrpc"];

impl Bench {
    /// Our client, and `caller`'s, each over every binding of the proxy.
    pub(super) fn calls_by_proxy(
        &self,
        upstream: &Programs,
        caller: &Installed,
        only: &[String],
        matrix: &mut Matrix,
    ) -> Result {
        let peer = upstream.sdk.name();
        let agent = self.agent(upstream, &["--jsonrpc-only"], &format!("{peer}-upstream"))?;
        let behind: Vec<_> = ["--proxy", &agent.address].into_iter().chain(UPSTREAM).collect();
        let proxy = self.serve(&format!("{peer}-proxy"), &behind)?;
        let ours = |binding: &'static str| {
            let mut client = Command::new(self.binaries.join("interop-client"));
            client.args([proxy.address.as_str(), &format!("{binding}@1.0/0.3")]).args(only);
            client
        };
        self.columns(peer, "upstream", &BINDINGS, ours, matrix)?;
        let caller = match caller {
            Installed::Ready(caller) => caller,
            Installed::Absent(reason) => {
                matrix.skip("python", reason.clone());
                return Ok(());
            }
        };
        let theirs = |binding: &'static str| {
            let mut client = caller.client("client", &proxy.address, binding, only);
            client.arg("--proxied");
            client
        };
        self.columns("python", "proxy", &BINDINGS, theirs, matrix)
    }
}
