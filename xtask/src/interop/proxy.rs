//! Calls through `a2a serve --proxy`, and through nginx.

use std::{collections::BTreeMap, process::Command};

use serde::Deserialize;

use crate::Result;

use super::{
    BINDINGS, Bench, START,
    install::Installed,
    matrix::Matrix,
    process::Server,
    sdk::{Language, Programs},
};

/// What `interop-nginx` prints.
#[derive(Debug, Deserialize)]
struct Nginx {
    url: String,
    /// The address at which it expects the agent.
    agent: String,
    ca: String,
}

/// The flags of the proxy for an upstream agent of 0.3 with JSON-RPC only.
const UPSTREAM: [&str; 4] = ["--upstream-version", "0.3", "--upstream-transport", "jsonrpc"];

impl Bench {
    /// The SDK's client, through a proxy, against `a2a serve`.
    pub(super) fn sdk_calls_proxy(
        &self,
        sdk: &Programs,
        only: &[String],
        matrix: &mut Matrix,
    ) -> Result {
        let peer = &*sdk.sdk.name;
        let agent = self.serve(&format!("{peer}-proxied-client-upstream"), &[])?;
        let proxy = self.serve(&format!("{peer}-proxied-client"), &["--proxy", &agent.address])?;
        let client = |binding| sdk.client("client", &proxy.address, binding, only);
        self.columns(peer, "proxied-client", &sdk.sdk.bindings(), client, matrix)
    }

    /// Our client, through a proxy, against an agent written with the SDK. The column is the
    /// binding behind the proxy; the one before it is another.
    pub(super) fn proxy_calls_sdk(
        &self,
        sdk: &Programs,
        only: &[String],
        matrix: &mut Matrix,
    ) -> Result {
        let peer = &*sdk.sdk.name;
        let agent = self.agent(sdk, &[], &format!("{peer}-proxied-server"))?;
        let mut proxies = BTreeMap::new();
        for binding in sdk.sdk.bindings() {
            let name =
                format!("{peer}-proxied-server-{}", binding.to_lowercase().replace('+', "-"));
            let upstream = ["--proxy", &agent.address, "--upstream-transport", binding];
            proxies.insert(binding, self.serve(&name, &upstream)?);
        }
        let client = |upstream: &'static str| {
            let mut client = Command::new(self.binaries.join("interop-client"));
            client.args([proxies[upstream].address.as_str(), other(upstream)]).args(only);
            client
        };
        self.columns(peer, "proxied-server", &sdk.sdk.bindings(), client, matrix)
    }

    /// The SDK's client against `a2a serve` behind nginx, with TLS of a private authority.
    pub(super) fn sdk_calls_nginx(
        &self,
        sdk: &Programs,
        only: &[String],
        matrix: &mut Matrix,
    ) -> Result {
        let peer = &*sdk.sdk.name;
        if sdk.sdk.language == Language::Rust {
            matrix.skip(peer, "behind nginx: its drivers are built without TLS".to_owned());
            return Ok(());
        }
        let mut nginx = Command::new(self.binaries.join("interop-nginx"));
        nginx.arg(self.target.join(format!("{peer}-ca.pem")));
        let log = self.log(&format!("{peer}-nginx"));
        let nginx = Server::start(nginx, &log, START, |line| {
            serde_json::from_str::<Nginx>(line).is_ok().then(|| line.to_owned())
        })?;
        let Nginx { url, agent, ca } = serde_json::from_str(&nginx.address)?;
        let (_, port) = agent.rsplit_once(':').ok_or("an address without a port")?;
        let name = format!("{peer}-nginx-client");
        let _agent = self.serve_at(port, &name, &["--public-url", &url])?;
        let client = |binding| {
            let mut client = sdk.client("client", &url, binding, only);
            let variables =
                ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"];
            client.envs(variables.map(|variable| (variable, &ca)));
            client
        };
        self.columns(peer, "nginx-client", &sdk.sdk.bindings(), client, matrix)
    }

    /// Our client, and `caller`'s, each over every binding of the proxy, against an agent of an
    /// older revision.
    pub(super) fn calls_older_by_proxy(
        &self,
        upstream: &Programs,
        caller: &Installed,
        only: &[String],
        matrix: &mut Matrix,
    ) -> Result {
        let peer = &*upstream.sdk.name;
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

/// Another binding than this one.
fn other(binding: &str) -> &'static str {
    let index = BINDINGS.iter().position(|one| *one == binding).unwrap_or_default();
    BINDINGS[(index + 1) % BINDINGS.len()]
}
