use std::{
    fs::{File, OpenOptions},
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

const START: Duration = Duration::from_secs(60);

/// A process of `a2a serve`, on a port that it keeps across restarts.
#[derive(Debug)]
pub struct Node {
    binary: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    port: u16,
    child: Option<Child>,
}

impl Node {
    /// Starts a server and waits until it listens. Its log is appended to the file `log`.
    pub fn start(binary: &Path, arguments: &[&str], log: &Path) -> Result<Self, String> {
        let mut node = Self {
            binary: binary.to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            log: log.to_owned(),
            port: free_port(),
            child: None,
        };
        node.restart()?;
        Ok(node)
    }

    /// Starts the server if it is not running, and waits until it listens.
    pub fn restart(&mut self) -> Result<(), String> {
        if self.child.is_some() {
            return Ok(());
        }
        let describe = |error: std::io::Error| format!("{}: {error}", self.binary.display());
        let log: File =
            OpenOptions::new().create(true).append(true).open(&self.log).map_err(describe)?;
        let mut command = Command::new(&self.binary);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("A2ACLI_") {
                command.env_remove(&name);
            }
        }
        command.args(["serve", "--quiet", "--port", &self.port.to_string()]).args(&self.arguments);
        let streams = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = streams.spawn().map_err(describe)?;
        let output = child.stdout.take().ok_or("no output")?;
        self.child = Some(child);
        let (sender, listens) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if line.starts_with("Listening: ") {
                    let _ = sender.send(());
                }
            }
        });
        listens.recv_timeout(START).map_err(|_ended| {
            self.kill();
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let last: Vec<_> = log.lines().rev().take(5).collect();
            format!("the server did not start: {}", last.join(" | "))
        })
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops it with SIGSTOP: connections stay open without responses.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Resumes it with SIGCONT.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Whether it exited unexpectedly.
    pub fn has_died(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_))))
    }

    /// The process id.
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    fn signal(&self, signal: Signal) {
        let number = self.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = number.and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A free port below the ephemeral range, so that it stays free while the server is down.
pub fn free_port() -> u16 {
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let offset = u16::try_from(std::process::id() % 911).unwrap_or_default() * 10;
    loop {
        let port = 10_000 + (offset + NEXT.fetch_add(1, Ordering::Relaxed)) % 5_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
