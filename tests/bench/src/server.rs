//! Servers under test, each a process on its own core.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal};
use serde::Deserialize;

use crate::{
    Result, cores,
    floor::{self, durable, minimum},
};

/// The names of servers in the report: the floor.
pub(crate) const FLOOR: &str = "floor";
/// The least that an honest engine does.
pub(crate) const MINIMUM: &str = "honest minimum";
/// The floor that stores tasks in SQLite.
pub(crate) const DURABLE: &str = "durable floor";
/// `a2a serve` with an agent that does little, built as it is packaged.
pub(crate) const A2A: &str = "a2a serve";
/// The same, built with the profile `release`.
pub(crate) const RELEASE: &str = "release";
/// `a2a serve` with its defaults.
pub(crate) const STARTED: &str = "as started";
/// The same, with tasks in memory.
pub(crate) const STARTED_IN_MEMORY: &str = "as started, in memory";

/// How to start a server.
pub(crate) struct Program {
    /// Its name in the report.
    pub(crate) name: String,
    /// The version of a peer.
    pub(crate) version: Option<String>,
    command: Command,
    /// Whether it is a rival, whose failures do not end the measurement.
    pub(crate) is_rival: bool,
    authorization: Option<String>,
    /// The file for its log, which is discarded without one.
    log: Option<PathBuf>,
}

impl Program {
    /// Bare handlers of axum and tonic.
    pub(crate) fn floor() -> Self {
        let mut command = Command::new(own_path());
        command.arg(floor::COMMAND);
        Self::new(FLOOR, command)
    }

    /// The least that an honest engine does; it is built with this program.
    pub(crate) fn minimum() -> Self {
        Self::new(MINIMUM, Command::new(own_path().with_file_name(minimum::PROGRAM)))
    }

    /// A bare handler of axum that stores tasks in a new SQLite database.
    pub(crate) fn durable_floor(database: &Path) -> Self {
        let mut command = Command::new(own_path());
        command.arg(durable::COMMAND).arg(database);
        Self::new(DURABLE, command)
    }

    /// A build of `a2a`, started with `a2a serve` and these arguments.
    pub(crate) fn a2a(name: &str, binary: &Path, arguments: &[OsString]) -> Self {
        let mut command = Command::new(binary);
        command.args(["serve", "--port", "0"]).args(arguments);
        for (variable, _) in std::env::vars_os() {
            let text = variable.to_string_lossy();
            if ["A2ACLI_", "ITK_", "OTEL_", "RUST_LOG"].iter().any(|start| text.starts_with(start))
            {
                command.env_remove(&variable);
            }
        }
        Self::new(name, command)
    }

    /// A server that prints its addresses as a line of JSON.
    pub(crate) fn new(name: &str, command: Command) -> Self {
        let name = name.to_owned();
        Self { name, version: None, command, is_rival: false, authorization: None, log: None }
    }

    /// The same, with this value of the `authorization` header in every request.
    pub(crate) fn authorized(self, authorization: String) -> Self {
        Self { authorization: Some(authorization), ..self }
    }

    /// The same, as a rival.
    pub(crate) fn rival(self) -> Self {
        Self { is_rival: true, ..self }
    }

    /// The same, with its log in a file.
    pub(crate) fn logging_to(self, log: PathBuf) -> Self {
        Self { log: Some(log), ..self }
    }

    /// The same, under callgrind, which writes its counts to a file when the server ends.
    pub(crate) fn counted(&self, counts: &Path) -> Self {
        let mut command = Command::new("valgrind");
        command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", counts.display()));
        command.arg(self.command.get_program()).args(self.command.get_args());
        for (variable, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(variable, value),
                None => command.env_remove(variable),
            };
        }
        let (authorization, log) = (self.authorization.clone(), self.log.clone());
        Self { authorization, log, is_rival: self.is_rival, ..Self::new(&self.name, command) }
    }

    /// Whether it is a program of its own, not one of an interpreter.
    pub(crate) fn is_native(&self) -> bool {
        let name = Path::new(self.command.get_program()).file_name();
        name.is_some_and(|name| name != "node" && name != "python")
    }

    /// Starts the server, and waits until it has printed its addresses.
    pub(crate) fn start(&mut self) -> Server {
        let name = self.name.clone();
        let [own, its] = cores::both();
        // The child inherits the core, and starts one worker thread for it.
        cores::stay_on(its);
        let log = self.log.as_ref().map_or_else(Stdio::null, |log| {
            File::create(log).unwrap_or_else(|error| panic!("{}: {error}", log.display())).into()
        });
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let child = self.command.spawn();
        cores::stay_on(own);
        let mut child = child.unwrap_or_else(|error| panic!("{name}: failed to start: {error}"));
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut lines = BufReader::new(stdout).lines().map_while(std::result::Result::ok);
        let line = lines.next().unwrap_or_else(|| panic!("{name}: exited without an address"));
        let addresses = Addresses::parse(&line).unwrap_or_else(|| panic!("{name}: {line}"));
        self.version.clone_from(&addresses.version);
        // Later output is discarded, so that the server never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let (is_rival, authorization) = (self.is_rival, self.authorization.clone());
        Server { name, child, addresses, is_rival, authorization }
    }
}

/// The path of this program.
fn own_path() -> PathBuf {
    std::env::current_exe().expect("the path of this program is known")
}

/// The addresses of a server.
#[derive(Deserialize)]
struct Addresses {
    http: SocketAddr,
    grpc: Option<SocketAddr>,
    /// Path of JSON-RPC.
    jsonrpc: String,
    /// The path prefix of HTTP+JSON.
    rest: Option<String>,
    version: Option<String>,
}

impl Addresses {
    /// Reads a line of JSON, or the first line of `a2a serve`, which has all bindings on one port.
    fn parse(line: &str) -> Option<Self> {
        let Some(address) = line.strip_prefix("Listening: http://") else {
            return serde_json::from_str(line).ok();
        };
        let http = address.parse().ok()?;
        let (jsonrpc, rest) = ("/".to_owned(), Some(String::new()));
        Some(Self { http, grpc: Some(http), jsonrpc, rest, version: None })
    }
}

/// A running server, killed on drop.
pub(crate) struct Server {
    pub(crate) name: String,
    child: Child,
    addresses: Addresses,
    pub(crate) is_rival: bool,
    pub(crate) authorization: Option<String>,
}

impl Server {
    /// The address of JSON-RPC and HTTP+JSON.
    pub(crate) fn http(&self) -> SocketAddr {
        self.addresses.http
    }

    /// The address of gRPC, if it is served.
    pub(crate) fn grpc(&self) -> Option<SocketAddr> {
        self.addresses.grpc
    }

    /// The path of JSON-RPC.
    pub(crate) fn jsonrpc_path(&self) -> &str {
        &self.addresses.jsonrpc
    }

    /// The path prefix of HTTP+JSON, if it is served.
    pub(crate) fn rest_prefix(&self) -> Option<&str> {
        self.addresses.rest.as_deref()
    }

    pub(crate) fn is_floor(&self) -> bool {
        self.name == FLOOR
    }

    /// Ends the server by SIGTERM.
    pub(crate) fn end(mut self) -> Result<()> {
        let ended = rustix::process::kill_process(Pid::from_child(&self.child), Signal::TERM);
        ended.map_err(|error| format!("{}: {error}", self.name))?;
        self.child.wait().map_err(|error| format!("{}: {error}", self.name))?;
        Ok(())
    }

    /// The CPU time of the process, user and system.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.unwrap_or_else(|error| panic!("{}: exited: {error}", self.name));
        // The program name is in parentheses, and may contain spaces.
        let (_, rest) = stat.rsplit_once(')').expect("a process has a name");
        let fields = rest.split_whitespace().skip(11).take(2);
        let ticks: u64 = fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
    }

    /// Resident set, in bytes.
    pub(crate) fn resident_set(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_else(|error| panic!("{}: exited: {error}", self.name));
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.expect("a process has a resident set") << 10
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
