//! Agent frameworks: as clients of `a2a serve`, and as agents behind the command line and a proxy.
//!
//! Each directory of `tests/interop/frameworks` has a `client`, an `agent` or both, written with one
//! framework and a model that needs no network. A client prints a line per row, like the drivers of
//! the SDKs; `"ok": null` is a row that the framework does not have. An agent prints its card,
//! bindings and revision, and the rows that it can and cannot do.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::Result;

use super::{
    BINDINGS, Bench, START,
    install::{self, Installed},
    matrix::{Column, Matrix},
    process::{Line, Server},
    sdk::{Programs, Sdk},
};

/// Timeout of a webhook.
const DELIVERY: Duration = Duration::from_secs(15);

/// What an agent prints when it is ready.
#[derive(Debug, Deserialize)]
struct Ready {
    card: String,
    /// The address of its only interface, if the card must not be used.
    endpoint: Option<String>,
    bindings: Vec<String>,
    version: String,
    can: Vec<String>,
    #[serde(default)]
    cannot: BTreeMap<String, String>,
}

impl Bench {
    /// Runs a framework in the roles that it has.
    pub(super) fn framework(
        &self,
        sdk: &'static Sdk,
        only: &[String],
        clients: &mut Matrix,
        agents: &mut Matrix,
    ) -> Result {
        let name = &*sdk.name;
        eprintln!("{name}: installing");
        let programs = match install::install(sdk, &self.sources, &self.target)? {
            Installed::Ready(programs) => programs,
            Installed::Absent(reason) => {
                clients.skip(name, reason);
                return Ok(());
            }
        };
        eprintln!("{name}: running");
        if programs.has("client") && !clients.is_empty() {
            let arguments: Vec<_> = sdk.serve.iter().map(String::as_str).collect();
            let server = self.serve(&format!("{name}-client"), &arguments)?;
            let client = |_| {
                let mut client = programs.command("client");
                client.args(["--card", &server.address]);
                client.args(only.iter().flat_map(|operation| ["--only", operation]));
                client
            };
            self.columns(name, "client", &["any"], client, clients)?;
        }
        if programs.has("agent") && !agents.is_empty() {
            self.framework_agent(&programs, agents)?;
        }
        Ok(())
    }

    /// Calls an agent over each of its bindings, directly and through a proxy.
    fn framework_agent(&self, programs: &Programs, matrix: &mut Matrix) -> Result {
        let name = &*programs.sdk.name;
        let log = self.log(&format!("{name}-agent"));
        let server = Server::start(programs.command("agent"), &log, START, |line| {
            serde_json::from_str::<Ready>(line).is_ok().then(|| line.to_owned())
        })?;
        let ready: Ready = serde_json::from_str(&server.address)?;
        let bindings: Vec<_> = BINDINGS
            .into_iter()
            .filter(|binding| ready.bindings.iter().any(|one| one == binding))
            .collect();
        let cli = |card: &str, endpoint: Option<&String>, version: &str, binding| Cli {
            program: self.binaries.join("a2a"),
            card: card.to_owned(),
            endpoint: endpoint.cloned(),
            binding,
            version: version.to_owned(),
        };
        for binding in bindings.iter().copied() {
            let direct = cli(&ready.card, ready.endpoint.as_ref(), &ready.version, binding);
            let lines = direct.rows(&ready, matrix);
            matrix.add(Column { peer: name, role: "server", binding }, Ok(lines));
        }
        for binding in bindings {
            let upstream = ["--upstream-transport", binding, "--upstream-version", &ready.version];
            let address = match &ready.endpoint {
                Some(endpoint) => vec!["--proxy", "-e", endpoint],
                None => vec!["--proxy", &ready.card],
            };
            let proxy: Vec<_> = address.into_iter().chain(upstream).collect();
            let file = format!("{name}-proxy-{}", binding.to_lowercase().replace('+', "-"));
            let proxy = self.serve(&file, &proxy)?;
            let proxied = cli(&proxy.address, None, "1.0", binding);
            let lines = proxied.rows(&ready, matrix);
            matrix.add(Column { peer: name, role: "proxied-server", binding }, Ok(lines));
        }
        Ok(())
    }
}

/// The command line with an agent.
struct Cli {
    program: PathBuf,
    card: String,
    endpoint: Option<String>,
    binding: &'static str,
    version: String,
}

/// What a check found wrong.
type Check<T = ()> = std::result::Result<T, String>;

impl Cli {
    /// Checks the rows of a matrix.
    fn rows(&self, ready: &Ready, matrix: &Matrix) -> Vec<Line> {
        let row = |operation: &str| {
            let result = match ready.cannot.get(operation) {
                Some(reason) => return Line::lacks(operation, reason),
                None if !ready.can.iter().any(|one| one == operation) => {
                    Err("the agent says neither that it can nor that it cannot".to_owned())
                }
                None => self.row(operation),
            };
            Line::new(operation, result)
        };
        matrix.rows.iter().map(|(operation, _)| row(operation)).collect()
    }

    fn row(&self, operation: &str) -> Check {
        match operation {
            "card" => self.card_is_readable(),
            "send" => self.answers(&["echo hello"], "hello"),
            "stream" => self.streams(),
            "multi-turn" => self.remembers(),
            "ask" => self.asks(),
            "cancel" => self.cancels(),
            "get" => self.gets(),
            "subscribe" => self.subscribes(),
            "files" => self.reads_file(),
            "data" => self.answers(&["data", "--data", r#"{"city":"value-7"}"#], "value-7"),
            "failed" => self.fails(),
            "push" => self.notifies(),
            other => Err(format!("no check of {other}")),
        }
    }

    fn card_is_readable(&self) -> Check {
        let card = self.run(&["card", "get"])?.pop().ok_or("no output")?;
        match card["name"].as_str() {
            Some(name) if !name.is_empty() => Ok(()),
            _ => Err(format!("a card without a name: {card}")),
        }
    }

    fn answers(&self, message: &[&str], wanted: &str) -> Check {
        let outcome = self.send(message)?;
        is_completed(&outcome)?;
        contains(&answer(&outcome), wanted)
    }

    fn streams(&self) -> Check {
        let events = self.run(&["send", "stream 3", "--stream"])?;
        let texts: Vec<_> = events.iter().map(answer).filter(|text| !text.is_empty()).collect();
        if texts.len() < 2 {
            return Err(format!("{} updates: {events:?}", texts.len()));
        }
        let wanted = ["chunk 0", "chunk 1", "chunk 2"];
        wanted.iter().try_for_each(|chunk| contains(&texts.join(""), chunk))
    }

    fn remembers(&self) -> Check {
        let first = self.send(&["remember blue-42"])?;
        let context = id(&first, "contextId")?;
        let second = self.send(&["recall", "--context-id", &context])?;
        contains(&answer(&second), "blue-42")
    }

    fn asks(&self) -> Check {
        let asked = self.send(&["ask"])?;
        state_is(&asked, "INPUT_REQUIRED")?;
        // Servers on the Python SDK need the context too.
        let (task, context) = (id(&asked, "id")?, id(&asked, "contextId")?);
        let answered = self.send(&["Ada", "--task-id", &task, "--context-id", &context])?;
        is_completed(&answered)?;
        contains(&answer(&answered), "Ada")
    }

    fn cancels(&self) -> Check {
        let task = id(&self.send(&["slow 30", "--async"])?, "id")?;
        let canceled = self.run(&["task", "cancel", &task])?.pop().ok_or("no output")?;
        state_is(&canceled, "CANCELED")
    }

    fn gets(&self) -> Check {
        let task = id(&self.send(&["echo again"])?, "id")?;
        let task = self.run(&["task", "get", &task])?.pop().ok_or("no output")?;
        is_completed(&task)?;
        // LangGraph has the answer in the history alone.
        let history = task["history"].as_array().into_iter().flatten();
        let agent = history.filter(|message| message["role"] == "ROLE_AGENT");
        let said: String = agent.map(|message| answer(&json!({"message": message}))).collect();
        contains(&format!("{}{said}", answer(&task)), "again")
    }

    fn subscribes(&self) -> Check {
        let task = id(&self.send(&["slow 3", "--async"])?, "id")?;
        let events = self.run(&["task", "subscribe", &task])?;
        is_completed(events.last().ok_or("no event")?)
    }

    fn reads_file(&self) -> Check {
        let content = "eighteen bytes here";
        let file = std::env::temp_dir().join(format!("a2a-interop-{}.txt", std::process::id()));
        fs::write(&file, content).map_err(|error| error.to_string())?;
        let outcome = self.send(&["file", "--file", &file.to_string_lossy()]);
        drop(fs::remove_file(&file));
        let outcome = outcome?;
        is_completed(&outcome)?;
        contains(&answer(&outcome), "text/plain")?;
        contains(&answer(&outcome), &content.len().to_string())
    }

    fn fails(&self) -> Check {
        match self.run(&["send", "fail"]) {
            // An error of the agent, not of the connection.
            Err(error) if error.contains("lost") || error.contains("timed out") => Err(error),
            Err(_error) => Ok(()),
            Ok(events) => state_is(events.last().ok_or("no output")?, "FAILED"),
        }
    }

    fn notifies(&self) -> Check {
        let (url, bodies) = webhook().map_err(|error| error.to_string())?;
        self.send(&["echo pushed", "--push-url", &url])?;
        while let Ok(body) = bodies.recv_timeout(DELIVERY) {
            if body.contains("COMPLETED") || body.contains("completed") {
                return Ok(());
            }
        }
        Err("the webhook was not told of the end".to_owned())
    }

    fn send(&self, message: &[&str]) -> Check<Value> {
        let arguments: Vec<_> = ["send"].into_iter().chain(message.iter().copied()).collect();
        self.run(&arguments)?.pop().ok_or_else(|| "no output".to_owned())
    }

    /// Runs a command, and returns the documents that it prints.
    fn run(&self, arguments: &[&str]) -> Check<Vec<Value>> {
        let mut command = Command::new(&self.program);
        command.args(arguments).args(["-o", "json", "--compact", "--timeout", "40s"]);
        match &self.endpoint {
            _ if arguments.first() == Some(&"card") => command.args(["-a", &self.card]),
            Some(endpoint) => command.args(["-e", endpoint, "--a2a-version", &self.version]),
            None => command.args(["-a", &self.card, "--a2a-version", &self.version]),
        };
        if arguments.first() != Some(&"card") {
            command.args(["--transport", &self.binding.to_lowercase()]);
        }
        let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {text}", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let documents = text.lines().map(serde_json::from_str).collect::<serde_json::Result<_>>();
        documents.map_err(|error| format!("{error}: {text}"))
    }
}

/// The text of a response or event: of its artifacts, its message and its status.
fn answer(event: &Value) -> String {
    let mut text = String::new();
    let task = event.get("task").unwrap_or(event);
    let update = event.get("artifactUpdate");
    let artifacts = task["artifacts"].as_array().into_iter().flatten();
    let artifact = update.map(|update| &update["artifact"]);
    let status = event.get("statusUpdate").unwrap_or(task);
    let messages = [&event["message"], &status["status"]["message"]];
    for holder in artifacts.chain(artifact).chain(messages) {
        for part in holder["parts"].as_array().into_iter().flatten() {
            match (part["text"].as_str(), part.get("data")) {
                (Some(part), _) => text.push_str(part),
                (None, Some(data)) => text.push_str(&data.to_string()),
                (None, None) => {}
            }
        }
    }
    text
}

/// An id of a task or message.
fn id(event: &Value, member: &str) -> Check<String> {
    let holder = event.get("task").or_else(|| event.get("message")).unwrap_or(event);
    let id = holder[member].as_str().map(str::to_owned);
    id.ok_or_else(|| format!("no {member}: {event}"))
}

fn state(event: &Value) -> &str {
    let holder = event.get("task").or_else(|| event.get("statusUpdate")).unwrap_or(event);
    holder["status"]["state"].as_str().unwrap_or("no state")
}

fn state_is(event: &Value, wanted: &str) -> Check {
    match state(event).strip_prefix("TASK_STATE_") {
        Some(state) if state == wanted => Ok(()),
        _ => Err(format!("not {wanted}: {event}")),
    }
}

/// Checks that a task is complete; a message always is.
fn is_completed(event: &Value) -> Check {
    if event.get("message").is_some() { Ok(()) } else { state_is(event, "COMPLETED") }
}

fn contains(text: &str, wanted: &str) -> Check {
    if text.contains(wanted) { Ok(()) } else { Err(format!("no {wanted:?} in {text:?}")) }
}

/// Receives webhooks: the URL, and the bodies that arrive.
fn webhook() -> std::io::Result<(String, Receiver<String>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/webhook", listener.local_addr()?);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(|stream| stream.ok()) {
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !is_complete(&request) {
                match stream.read(&mut buffer) {
                    Ok(read @ 1..) => request.extend_from_slice(&buffer[..read]),
                    Ok(0) | Err(_) => break,
                }
            }
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            drop(stream.write_all(answer));
            if sender.send(String::from_utf8_lossy(&request).into_owned()).is_err() {
                return;
            }
        }
    });
    Ok((url, receiver))
}

/// Whether a request has arrived with its body.
fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let head = head.to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with("0\r\n\r\n");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
    request.len() >= head.len() + "\r\n\r\n".len() + length
}
