//! The agent that the server drivers serve: its cards, and what it does for each message.
//!
//! The first word of a message chooses the answer; `tests/interop/python/server.py` lists the
//! words.

use std::{
    io::{self, Read as _, Write as _},
    process, thread,
    time::Duration,
};

use serde_json::{Value, json};

/// The extension that the agent knows.
pub(crate) const EXTENSION: &str = "https://example.com/extensions/interop/v1";

/// Pause between two chunks of a stream.
const TICK: Duration = Duration::from_millis(50);

/// One thing that the agent does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A direct message, without a task.
    Message(String),
    /// The task is in this state, named without its prefix, with a text.
    Status(&'static str, Option<String>),
    /// A new artifact, or a chunk of one.
    Artifact(Chunk),
    /// A new artifact with the parts of the message.
    Parts,
    /// A pause; the task may be canceled in it.
    Wait(Duration),
    /// An unexpected error of the executor.
    Crash,
}

/// A chunk of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The id and the name of the artifact.
    pub id: &'static str,
    /// The text of its only part.
    pub text: String,
    /// Whether it belongs to an artifact that exists.
    pub append: bool,
    /// Whether it is the last of the artifact.
    pub last: bool,
}

/// What the agent does for `message`, which is JSON as in the specification. A message that
/// belongs to an existing task `is_answer`; `extensions` are those that the client named.
pub fn steps(message: &Value, is_answer: bool, extensions: &[String]) -> Vec<Step> {
    let text = message["parts"][0]["text"].as_str().unwrap_or_default();
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    if word == "message" {
        return vec![Step::Message(format!("message: {rest}"))];
    }
    let mut steps = vec![Step::Status("WORKING", None)];
    if message["messageId"].as_str().is_some_and(|id| id.starts_with("acc-echo")) {
        steps.extend([Step::Parts, completed("echoed")]);
    } else if is_answer {
        steps.extend([whole("answer", text), completed("thank you")]);
    } else {
        steps.extend(work(word, rest, extensions));
    }
    steps
}

fn work(word: &str, rest: &str, extensions: &[String]) -> Vec<Step> {
    match word {
        "stream" => {
            let count: usize = rest.parse().unwrap_or_default();
            let chunk = |index| Chunk {
                id: "stream",
                text: format!("chunk {index} "),
                append: index > 0,
                last: index + 1 == count,
            };
            let chunks =
                (0..count).flat_map(|index| [Step::Artifact(chunk(index)), Step::Wait(TICK)]);
            chunks.chain([completed("streamed")]).collect()
        }
        "ask" => vec![Step::Status("INPUT_REQUIRED", Some("what is your name?".into()))],
        "slow" => {
            let seconds = Duration::from_secs_f64(rest.parse().unwrap_or_default());
            vec![Step::Wait(seconds), whole("slow", "done"), completed("done")]
        }
        "fail" => vec![Step::Status("FAILED", Some("failed as asked".into()))],
        "panic" => vec![Step::Crash],
        "extensions" => {
            let mut named = extensions.to_vec();
            named.sort_unstable();
            vec![completed(&format!("extensions: {}", named.join(",")))]
        }
        _ => vec![whole("echo", rest), completed(&format!("echoed {rest}"))],
    }
}

fn completed(text: &str) -> Step {
    Step::Status("COMPLETED", Some(text.to_owned()))
}

fn whole(id: &'static str, text: &str) -> Step {
    Step::Artifact(Chunk { id, text: text.to_owned(), append: false, last: true })
}

/// The public card of an agent whose interfaces are at these URLs.
pub fn card(name: &str, jsonrpc: &str, rest: &str, grpc: &str) -> Value {
    let interface = |binding: &str, url: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"});
    json!({
        "name": name,
        "description": "Answers by the first word of a message.",
        "version": "1.0.0",
        "supportedInterfaces": [
            interface("JSONRPC", jsonrpc), interface("HTTP+JSON", rest), interface("GRPC", grpc),
        ],
        "capabilities": {
            "streaming": true,
            "pushNotifications": true,
            "extendedAgentCard": true,
            "extensions": [{"uri": EXTENSION, "description": "Named back to the client."}],
        },
        // All media types of the rows.
        "defaultInputModes": ["text/plain", "text/html", "application/octet-stream"],
        "defaultOutputModes": ["text/plain"],
        "skills": [skill("echo")],
    })
}

/// The extended card for a public one, with one more skill.
pub fn extended_card(mut card: Value) -> Value {
    if let Some(skills) = card["skills"].as_array_mut() {
        skills.push(skill("secret"));
    }
    card
}

fn skill(name: &str) -> Value {
    let description = format!("The word {name}.");
    json!({"id": name, "name": name, "description": description, "tags": ["interop"]})
}

/// Prints the address of the card, once the agent is ready.
///
/// # Errors
///
/// If standard output is closed.
pub fn announce(card: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{}", json!({ "card": card }))?;
    output.flush()
}

/// Exits the process when standard input closes.
pub fn exit_with_parent() {
    thread::spawn(|| {
        // An error is an end as well.
        drop(io::stdin().read_to_end(&mut Vec::new()));
        process::exit(0);
    });
}
