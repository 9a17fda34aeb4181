//! Child processes whose output is read line by line.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use crate::{Result, workspace};

/// Runs a command to its end and fails unless it succeeds.
pub(crate) fn succeed(command: &mut Command) -> Result {
    let name = format!("{command:?}");
    let status = command.status().map_err(|error| format!("{name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name}: {status}").into()) }
}

/// Returns whether a command succeeds; its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// A child process, killed on drop.
struct Running(Child);

impl Running {
    /// Starts a program and a thread that forwards its lines; stderr goes to `log`.
    fn start(mut command: Command, log: &Path) -> Result<(Self, Receiver<String>)> {
        let name = format!("{command:?}");
        let log = File::create(log)?;
        // Standard input stays open: the servers exit at its end.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        let output = child.stdout.take().ok_or_else(|| format!("{name}: no output"))?;
        Ok((Self(child), read(output)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The lines of an output. Few and short, so the channel is unbounded; it ends with the output.
fn read(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(|line| line.ok()) {
            // Without a receiver, continue reading so that the program does not block.
            drop(sender.send(line));
        }
    });
    receiver
}

/// A server that is listening.
pub(crate) struct Server {
    /// The address of its card.
    pub(crate) address: String,
    _running: Running,
}

impl Server {
    /// Starts a server and waits until `find` finds an address in a line.
    pub(crate) fn start(
        command: Command,
        log: &Path,
        within: Duration,
        find: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let name = format!("{command:?}");
        let (running, lines) = Running::start(command, log)?;
        let end = Instant::now() + within;
        loop {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(address) = find(&line) {
                        return Ok(Self { address, _running: running });
                    }
                }
                Err(reason) => {
                    let log = workspace::relative(log);
                    return Err(
                        format!("{name} did not start listening ({reason}), see {log}").into()
                    );
                }
            }
        }
    }
}

/// A driver's result of one operation.
pub(crate) struct Line {
    pub(crate) operation: String,
    /// `None` if the peer does not have the operation.
    pub(crate) ok: Option<bool>,
    pub(crate) detail: String,
}

impl Line {
    /// The result of a check.
    pub(crate) fn new(operation: &str, result: std::result::Result<(), String>) -> Self {
        let ok = Some(result.is_ok());
        Self { operation: operation.to_owned(), ok, detail: result.err().unwrap_or_default() }
    }

    /// An operation that the peer does not have.
    pub(crate) fn lacks(operation: &str, reason: &str) -> Self {
        Self { operation: operation.to_owned(), ok: None, detail: reason.to_owned() }
    }
}

/// The lines of a driver, or the reason why some are missing.
pub(crate) type Lines = std::result::Result<Vec<Line>, String>;

/// Runs a driver and returns its lines.
pub(crate) fn lines(command: Command, log: &Path, within: Duration) -> Lines {
    let started = Running::start(command, log);
    let (mut running, output) = started.map_err(|error| error.to_string())?;
    let end = Instant::now() + within;
    let mut lines = Vec::new();
    loop {
        match output.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => lines.extend(parse(&line)),
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!("the driver took longer than {} s", within.as_secs()));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = running.0.wait().map_err(|error| error.to_string())?;
    if status.success() {
        Ok(lines)
    } else {
        Err(format!("the driver ended with {status}, see {}", workspace::relative(log)))
    }
}

/// The output of a program that ended in time.
pub(crate) struct Output {
    pub(crate) text: String,
    /// The exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
}

/// Runs a program to its end; its standard error goes to `log`.
pub(crate) fn output(command: Command, log: &Path, within: Duration) -> Result<Output> {
    let name = format!("{command:?}");
    let (mut running, lines) = Running::start(command, log)?;
    let end = Instant::now() + within;
    let mut text = String::new();
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                text.push_str(&line);
                text.push('\n');
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!("{name} took longer than {} s", within.as_secs()).into());
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(Output { text, code: running.0.wait()?.code() })
}

fn parse(line: &str) -> Option<Line> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(Line {
        operation: line["operation"].as_str()?.to_owned(),
        ok: line.get("ok")?.as_bool(),
        detail: line["detail"].as_str().unwrap_or_default().to_owned(),
    })
}
