//! Agents of other SDKs, for other tasks.

use std::{fs, path::Path};

use super::{
    START, folders,
    install::{self, Installed},
    process::Server,
    sdk::{Peers, Programs, select},
};
use crate::Result;

/// An agent of another SDK.
pub(crate) enum Peer {
    /// It listens until it is dropped.
    Running { name: String, server: Server },
    /// It can't be started here.
    Absent { name: String, reason: String },
}

/// Installs an SDK of `tests/interop/peers.toml`, and starts its agent.
pub(crate) fn start_agent(sdk: &str) -> Result<Peer> {
    let (sources, target) = folders();
    fs::create_dir_all(target.join("logs"))?;
    let [sdk] = select(&Peers::load(&sources)?.sdks, Some(sdk))?[..] else {
        return Err(format!("{sdk}: listed twice").into());
    };
    let name = format!("{} {}", sdk.package, sdk.version);
    eprintln!("{name}: installing");
    match install::install(sdk, &sources, &target)? {
        Installed::Absent(reason) => Ok(Peer::Absent { name, reason }),
        Installed::Ready(programs) => {
            let log = target.join("logs").join(format!("{}-compliance.log", sdk.name));
            Ok(Peer::Running { name, server: serve(&programs, &[], &log)? })
        }
    }
}

/// Starts an agent written with an SDK.
pub(super) fn serve(sdk: &Programs, arguments: &[&str], log: &Path) -> Result<Server> {
    let mut server = sdk.command("server");
    server.args(arguments);
    Server::start(server, log, START, |line| {
        let ready: serde_json::Value = serde_json::from_str(line).ok()?;
        ready["card"].as_str().map(str::to_owned)
    })
}
