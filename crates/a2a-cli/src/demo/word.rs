//! Table 3: behaviour by the first word of the text.

use std::time::Duration;

use a2a_core::{Artifact, Message, Part, TaskState};
use serde_json::json;

use super::{Done, Turn, artifact, call, echo};
use crate::settings::value;

/// A word, and what it is for.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) example: &'static str,
}

const fn word(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    example: &'static str,
) -> Word {
    Word { name, title, description, example }
}

/// Every word, in the order in which `help` lists them.
pub(super) const WORDS: [Word; 16] = [
    word("echo", "Echo", "Gives back what you said", "echo hello"),
    word(
        "stream",
        "Stream",
        "Streams N chunks of one artifact, at a pace if you like",
        "stream 5 200ms",
    ),
    word("slow", "Slow work", "Works for some seconds and tells its progress", "slow 3"),
    word("ask", "Ask", "Asks a question; the next message completes the task", "ask"),
    word("auth", "Authorization", "Waits until somebody authorizes it", "auth"),
    word("fail", "Fail", "Fails", "fail"),
    word("reject", "Reject", "Rejects the task", "reject"),
    word("panic", "Panic", "Shows what a panicking agent looks like", "panic"),
    word("message", "Message", "Answers with a message and no task", "message"),
    word("file", "Files", "Gives an inline image and a file by URL", "file"),
    word("data", "Data", "Gives JSON", "data"),
    word("form", "Form", "Asks for data with a JSON Schema", "form"),
    word("html", "Markup", "Gives text with markup and escape bytes", "html"),
    word("drop", "Drop", "Cuts the stream once while the task goes on", "drop"),
    word(
        "call",
        "Call",
        "Calls another agent and relays its stream",
        "call localhost:8081 stream 3",
    ),
    word("help", "Help", "Lists these words", "help"),
];

/// The most chunks that one task may ask for.
const MAX_CHUNKS: usize = 10_000;
/// The pause between two chunks, where none is asked for.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn run(name: &str, turn: Turn) -> Done {
    let updates = &turn.updates;
    match name {
        "echo" => echo(&turn, vec![Part::text(turn.argument())]).await?,
        "stream" => stream(&turn, "stream").await?,
        "drop" => stream(&turn, "drop").await?,
        "slow" => slow(&turn).await?,
        "ask" => ask(&turn).await?,
        "auth" => authorize(&turn).await?,
        "fail" => {
            turn.start().await?;
            updates.fail("Failed, as you asked").await?;
        }
        "reject" => updates.reject("Rejected, as you asked").await?,
        "panic" => {
            turn.start().await?;
            #[expect(
                clippy::panic,
                reason = "showing what a panic becomes is what the word is for"
            )]
            {
                panic!("a panic on purpose");
            }
        }
        "message" => updates.reply(Message::agent("A message, and no task")).await?,
        "file" => {
            let image = Part::raw(&include_bytes!("pixels.png")[..])
                .with_filename("pixels.png")
                .with_media_type("image/png");
            let elsewhere = Part::url("https://example.com/output.txt")
                .with_filename("output.txt")
                .with_media_type("text/plain");
            turn.start().await?;
            turn.answer(artifact("files", vec![image, elsewhere])).await?;
        }
        "data" => {
            let data = json!({"city": "Oslo", "degrees": -3, "wind": null, "days": ["Mon", "Tue"]});
            turn.start().await?;
            turn.answer(Artifact::new("data", Part::from(data))).await?;
        }
        "form" => form(&turn).await?,
        "html" => {
            let markup = "<h1>Markup</h1><script>alert('hello')</script>\n\u{1b}[31mred\u{1b}[0m";
            turn.start().await?;
            turn.answer(Artifact::new("html", Part::text(markup).with_media_type("text/html")))
                .await?;
        }
        "call" => call::run(&turn).await?,
        _ => {
            turn.start().await?;
            turn.answer(Artifact::new("help", help())).await?;
        }
    }
    Ok(())
}

fn help() -> String {
    let lines: Vec<_> =
        WORDS.iter().map(|word| format!("{:<8} {}", word.name, word.description)).collect();
    lines.join("\n")
}

/// Streams chunks. Run again for the same task, it goes on behind the last chunk that is there.
async fn stream(turn: &Turn, id: &str) -> Done {
    let argument = turn.argument();
    let mut words = argument.split_whitespace();
    let count = words.next().and_then(|word| word.parse().ok()).unwrap_or(5).clamp(1, MAX_CHUNKS);
    let pause = words.next().and_then(|word| value::duration(word).ok()).unwrap_or(PAUSE);
    let task = turn.context.task();
    let stored = task.artifacts.iter().find(|artifact| artifact.artifact_id == id);
    let stored = stored.map_or(0, |artifact| artifact.parts.len());
    turn.start().await?;
    for number in stored + 1..=count {
        if number > 1 && turn.canceled_within(pause).await {
            return Ok(());
        }
        let chunk = Artifact::new("stream", format!("chunk {number} of {count}")).with_id(id);
        match (number == 1, number == count) {
            (true, true) => turn.updates.artifact(chunk).await?,
            (true, false) => turn.updates.begin(chunk).await?,
            (false, false) => turn.updates.append(chunk).await?,
            (false, true) => turn.updates.append_last(chunk).await?,
        }
    }
    turn.updates.complete(()).await?;
    Ok(())
}

/// Tells its progress every second. Run again, it goes on behind what it told last.
async fn slow(turn: &Turn) -> Done {
    let seconds: u32 = turn.argument().parse().unwrap_or(3);
    let task = turn.context.task();
    let told = task.status.as_ref().and_then(|status| status.message.as_ref()).map(Message::text);
    let told = told.filter(|_| turn.context.is_rerun());
    let done = told.and_then(|told| told.split_once(' ')?.0.parse().ok()).unwrap_or(0);
    turn.start().await?;
    for second in done + 1..=seconds {
        if turn.canceled_within(Duration::from_secs(1)).await {
            return Ok(());
        }
        let progress = format!("{second} of {seconds} seconds");
        turn.updates.status(TaskState::Working, progress).await?;
    }
    turn.answer(Artifact::new("slow", format!("Worked for {seconds} seconds"))).await
}

async fn ask(turn: &Turn) -> Done {
    if !turn.context.is_new() {
        // The wait did not last until the answer: it is this message.
        return turn.answer(Artifact::new("answer", format!("You said: {}", turn.text()))).await;
    }
    turn.start().await?;
    let reply = turn.updates.ask("What is your name?").await?;
    turn.answer(Artifact::new("answer", format!("You said: {}", reply.text()))).await
}

/// Waits for an authorization. Run again, it asks for none that it has.
async fn authorize(turn: &Turn) -> Done {
    let place = turn.agent.authorizations.enter(turn.updates.task_id());
    let task = turn.context.task();
    let is_waiting = task.state() == TaskState::AuthRequired;
    let asked = format!("Authorize this with: POST /demo/authorize/{}", turn.updates.task_id());
    if task.state() != TaskState::Working || !task.history.iter().any(|said| said.text() == asked) {
        if !is_waiting {
            turn.start().await?;
            turn.updates.require_auth(asked).await?;
        }
        tokio::select! {
            () = turn.context.cancelled() => return Ok(()),
            () = place.granted() => {}
        }
        turn.updates.start().await?;
    }
    turn.answer(Artifact::new("auth", "Authorized")).await
}

async fn form(turn: &Turn) -> Done {
    if !turn.context.is_new() {
        return turn.answer(artifact("form", turn.message().parts.clone())).await;
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A trip",
        "type": "object",
        "properties": {
            "from": {"type": "string", "title": "From"},
            "to": {"type": "string", "title": "To"},
            "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1}
        },
        "required": ["from", "to"]
    });
    turn.start().await?;
    let parts = vec![
        Part::text("Where do you want to go?"),
        Part::from(schema).with_media_type("application/schema+json"),
    ];
    turn.updates.require_input(parts).await?;
    Ok(())
}
