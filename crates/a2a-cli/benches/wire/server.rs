//! The servers, each a process on the core that is theirs.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::floor;

/// A server that is stopped when this is dropped.
pub(crate) struct Server {
    name: String,
    child: Child,
    /// Where HTTP/1.1 is spoken.
    pub(crate) http: SocketAddr,
    /// Where gRPC is.
    pub(crate) grpc: SocketAddr,
}

impl Server {
    /// What there is without us.
    pub(crate) fn floor() -> Self {
        let own = std::env::current_exe().expect("this runs");
        Self::start("the floor", Command::new(own).arg(floor::COMMAND), "Listening: ")
    }

    /// A build of `a2a`.
    pub(crate) fn agent(binary: &Path) -> Self {
        let mut command = Command::new(binary);
        command.args(["serve", "--profile", "bench", "--port", "0"]);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["A2ACLI_", "ITK_", "OTEL_", "RUST_LOG"].iter().any(|start| name.starts_with(start))
            {
                command.env_remove(name);
            }
        }
        Self::start(&binary.display().to_string(), &mut command, "Listening: http://")
    }

    fn start(name: &str, command: &mut Command, label: &str) -> Self {
        let [own, its] = cores::both();
        // It inherits the core, and has one worker for it.
        cores::stay_on(its);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        cores::stay_on(own);
        let mut child = child.unwrap_or_else(|error| panic!("{name} can't be started: {error}"));
        let stdout = child.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(stdout).lines().map(|line| line.expect("it is text"));
        let mut line = || lines.next().expect("the server says where it is");
        let http: SocketAddr = {
            let line = line();
            let address = line.strip_prefix(label).unwrap_or_else(|| panic!("{name}: {line}"));
            address.parse().expect("it is an address")
        };
        // The floor has a port for each; what comes behind it is read, so that nobody waits.
        let grpc = match label {
            "Listening: " => line().parse().expect("it is an address"),
            _ => http,
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { name: name.to_owned(), child, http, grpc }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The processor time that it has had until now.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it runs");
        // The name of the program may have blanks in it.
        let (_, rest) = stat.rsplit_once(')').expect("it has a name");
        let ticks: u64 = rest
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<u64>().unwrap())
            .sum();
        Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Which cores there are for us: one for the load and one for the servers, if there are two.
#[cfg(target_os = "linux")]
mod cores {
    use std::sync::OnceLock;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    pub(super) fn both() -> [usize; 2] {
        static CORES: OnceLock<[usize; 2]> = OnceLock::new();
        *CORES.get_or_init(|| {
            let ours = sched_getaffinity(None).expect("Linux says which there are");
            let mut cores = (0..CpuSet::MAX_CPU).filter(|core| ours.is_set(*core));
            let first = cores.next().expect("something runs this");
            [first, cores.next().unwrap_or(first)]
        })
    }

    pub(super) fn stay_on(core: usize) {
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(None, &set).expect("it is one of ours");
    }
}

/// Elsewhere nobody is told where to run.
#[cfg(not(target_os = "linux"))]
mod cores {
    pub(super) fn both() -> [usize; 2] {
        [0, 0]
    }

    pub(super) fn stay_on(_core: usize) {}
}
