//! Runs the real binary: as a server that is killed with its test, and as a client.
#![allow(dead_code, unreachable_pub, reason = "every test file uses a part of it")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

pub mod authorization_server;
pub mod foreign;
pub mod home;
pub mod login;
pub mod oidc_provider;
pub mod summary;
#[cfg(unix)]
pub mod terminal;

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    thread::JoinHandle,
};

use a2a_kit_http::client::{ClientSettings, HttpClient};
use bytes::Bytes;
use http::{Request, Response};
use serde_json::Value;

/// The binary under test: `a2a`, or that of the test agent in its own tests.
const BINARY: &str =
    match (option_env!("CARGO_BIN_EXE_a2a"), option_env!("CARGO_BIN_EXE_a2a-test-agent")) {
        (Some(binary), _) | (None, Some(binary)) => binary,
        (None, None) => panic!("cargo builds the binary of each package for its tests"),
    };

/// The binary under test, without the settings of the user who runs the tests.
pub fn command() -> Command {
    let mut command = Command::new(BINARY);
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if ["A2ACLI_", "ITK_", "TCK_", "RUST_LOG"].iter().any(|start| name_text.starts_with(start))
        {
            command.env_remove(&name);
        }
    }
    // No configuration and no cache: neither is below a device.
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_CACHE_HOME").env("HOME", "/dev/null");
    command
}

/// A server on a port of its own.
#[derive(Debug)]
pub struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The lines that it printed when it started.
    pub lines: Vec<String>,
    /// `host:port`.
    pub address: String,
}

impl Server {
    /// Starts `a2a serve --port 0` with these arguments behind it.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// The same with variables of the environment.
    pub fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::started(Self::spawn(Path::new("."), arguments, environment, Stdio::inherit()))
    }

    /// The same, with all that it writes to stderr until its end.
    pub fn start_and_read(arguments: &[&str]) -> (Self, JoinHandle<String>) {
        Self::start_and_read_with(arguments, &[])
    }

    /// The same with variables of the environment.
    pub fn start_and_read_with(
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> (Self, JoinHandle<String>) {
        Self::start_and_read_in(Path::new("."), arguments, environment)
    }

    /// The same in a directory.
    pub fn start_and_read_in(
        directory: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> (Self, JoinHandle<String>) {
        let mut child = Self::spawn(directory, arguments, environment, Stdio::piped());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        // A log of JSON lines replaces the announcement.
        let announced = arguments.contains(&"--log-json").then(|| {
            loop {
                let start = text.len();
                assert!(stderr.read_line(&mut text).unwrap() > 0, "the server ended: {text}");
                let event: Value = serde_json::from_str(&text[start..]).unwrap();
                if event["message"] == "serving" {
                    break format!("Listening: {}", event["url"].as_str().unwrap());
                }
            }
        });
        let read = std::thread::spawn(move || {
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let server = match announced {
            Some(line) => Self::announced(child, vec![line]),
            None => Self::started(child),
        };
        (server, read)
    }

    fn spawn(
        directory: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
        stderr: Stdio,
    ) -> Child {
        command()
            .current_dir(directory)
            .args(["serve", "--port", "0"])
            .args(Some("--quiet").filter(|_| !arguments.contains(&"--quiet=false")))
            // Tests leave no files behind.
            .args(if arguments.iter().any(keeps_elsewhere) {
                &[][..]
            } else {
                &["--store", "memory"]
            })
            .args(arguments)
            .envs(environment.iter().copied())
            // Panics are part of the demo; where they come from is not of interest.
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap()
    }

    /// Reads the announcement of a server.
    fn started(child: Child) -> Self {
        let mut server = Self::announced(child, Vec::new());
        loop {
            let mut line = String::new();
            let read = server.stdout.read_line(&mut line).unwrap();
            assert!(read > 0, "the server ended: {:?}", server.lines);
            let is_last = line.starts_with("Try: a2a");
            server.lines.push(line.trim_end().to_owned());
            if is_last {
                break;
            }
        }
        let (_, address) = server.lines[0].split_once("://").unwrap();
        server.address = address.to_owned();
        server
    }

    fn announced(mut child: Child, lines: Vec<String>) -> Self {
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let address = lines.first().and_then(|line| line.split_once("://"));
        let address = address.map(|(_, address)| address.to_owned()).unwrap_or_default();
        Self { child, stdout, lines, address }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks the server to stop.
    pub fn terminate(&self) {
        let id = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits for the end of the server and returns its exit status and what else it printed.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }

    /// Runs a client command against this server.
    pub fn run(&self, arguments: &[&str]) -> Run {
        // Agents that don't stream are polled, and these tests don't wait for them.
        let interval = ("A2ACLI_POLL_INTERVAL", "100ms");
        Run::of(command().args(arguments).args(["-a", &self.address]).envs([interval]))
    }

    /// A client command against this server, to be started.
    pub fn client(&self, arguments: &[&str]) -> Command {
        let mut command = command();
        command.args(arguments).args(["-a", &self.address]);
        command.env("A2ACLI_POLL_INTERVAL", "100ms");
        command
    }

    /// The same, with a JSON result.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let mut arguments = arguments.to_vec();
        arguments.extend(["-o", "json"]);
        self.run(&arguments).json()
    }
}

fn keeps_elsewhere(argument: &&str) -> bool {
    argument.starts_with("--store")
        || ["--forward-auth", "--proxy-isolation", "--replay"].contains(argument)
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already, which is what some tests are about.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A finished run of the binary.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn of(command: &mut Command) -> Self {
        Self::from(command.stdin(Stdio::null()).output().unwrap())
    }

    pub fn with_stdin(command: &mut Command, input: &str) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Self::from(child.wait_with_output().unwrap())
    }

    /// The one document on stdout of a run that did its job.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Each line of stdout as a document.
    pub fn lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }

    /// The value of the first line with this label.
    pub fn field(&self, label: &str) -> &str {
        let start = format!("{label}: ");
        self.stdout
            .lines()
            .find_map(|line| line.strip_prefix(&start))
            .unwrap_or_else(|| panic!("no {label}: {self:?}"))
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// An event of a stream in a few words.
pub fn kind(event: &Value) -> String {
    let state = |value: &Value| {
        value["status"]["state"].as_str().unwrap().trim_start_matches("TASK_STATE_").to_owned()
    };
    if event["task"].is_object() {
        format!("task {}", state(&event["task"]))
    } else if event["statusUpdate"].is_object() {
        format!("status {}", state(&event["statusUpdate"]))
    } else {
        let text = &event["artifactUpdate"]["artifact"]["parts"][0]["text"];
        format!("artifact {}", text.as_str().unwrap_or_default())
    }
}

/// Makes a request by hand.
pub async fn http(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<Bytes> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Bytes::copy_from_slice(body.as_bytes())).unwrap();
    HttpClient::new(ClientSettings::default()).unwrap().send(request).await.unwrap()
}
