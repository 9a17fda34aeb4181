//! Quotas of a caller: running tasks, open tasks, keys, size of a task.

use std::time::Duration;

use a2a_core::{AgentCard, Message, v1::SendMessageRequest, v1::send_message_response::Payload};
use a2a_kit_operations::{
    Agent as _, Call, Caller, Engine, agent_fn,
    store::{MemoryLimits, MemoryStore},
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    Attack, Environment, Started, Verdict, attacks,
    environment::{JSON, at_once, bearer, waiting},
};

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "running tasks", "20 non-blocking sends, with a limit of 3 running tasks" => plain;
        "running tasks, Last-Event-ID", "the same with a position ahead, over JSON-RPC" => rpc_position;
        "running tasks, Last-Event-ID over HTTP+JSON", "the same over HTTP+JSON" => rest_position;
        "running tasks without streaming", "the same to an agent that does not stream" => no_streaming;
        "running commands", "20 sends to a command, with a limit of 3 running tasks" => commands;
        "slots for commands", "one caller takes all slots, another one sends a message" => slots;
        "open tasks", "300 waiting tasks in 3 tenants, with a limit of 50 open ones" => open_tasks;
        "idempotency keys", "5,000 keys of one caller, with a limit of 1,000, and one of another" => keys;
        "a task that grows", "messages of 64 KiB to one task, with a limit of 1 MiB of history" => growth;
        "an artifact that grows", "a command writes endlessly, with a limit of 1 MiB of artifacts" => artifact;
        "stored bytes", "tasks of 128 KiB, with a limit of 2 MiB stored" => stored;
        "a command that never ends", "a command sleeps, with a run time limit of 1 s" => run_time;
    }
}

const ANN: &str = "token-of-ann";
const BOB: &str = "token-of-bob";

/// Timeout for expected ends.
const SOON: Duration = Duration::from_secs(20);

/// Starts a server with two callers and separate settings.
async fn server(env: &Environment, settings: &str) -> Result<Started, String> {
    let settings = format!(
        "{settings}\n[[auth.bearer]]\ncaller = \"ann\"\ntoken = \"{ANN}\"\n\
         [[auth.bearer]]\ncaller = \"bob\"\ntoken = \"{BOB}\"\n"
    );
    Started::with_settings(env, &settings, &[]).await
}

/// The number of ann's tasks in a state.
async fn tasks_in(env: &Environment, state: &str) -> Result<u64, String> {
    let (_, listed) = env.call(ANN, "ListTasks", json!({"status": state})).await?;
    let total = listed["result"]["totalSize"].as_u64();
    total.ok_or_else(|| format!("no list: {listed}"))
}

async fn running(env: &Environment) -> Result<u64, String> {
    let submitted = tasks_in(env, "TASK_STATE_SUBMITTED").await?;
    Ok(submitted + tasks_in(env, "TASK_STATE_WORKING").await?)
}

/// The result of 20 sends.
async fn three_run(server: &Started, taken: usize) -> Verdict {
    let runs = running(&server.env).await?;
    match (taken, runs) {
        (3, 3) => Ok("3 of 20 run, 17 rejected".to_owned()),
        _ => Err(format!("took {taken} of 20, and {runs} run")),
    }
}

/// Sends 20 messages over JSON-RPC, and counts accepted ones.
async fn sends(server: &Started, text: &str, headers: &str) -> Result<usize, String> {
    let mut taken = 0;
    let headers = format!("{}{JSON}{headers}", bearer(ANN));
    for _ in 0..20 {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": at_once(text),
        });
        let body = body.to_string();
        let reply = server.env.request("POST /", &headers, body.as_bytes()).await?;
        taken += usize::from(reply.text().contains("\"result\""));
    }
    Ok(taken)
}

const THREE: &str = "[limits]\nmax_running_tasks = 3\n";

async fn plain(env: &Environment) -> Verdict {
    let server = server(env, THREE).await?;
    let taken = sends(&server, "slow 60", "").await?;
    three_run(&server, taken).await
}

async fn rpc_position(env: &Environment) -> Verdict {
    let server = server(env, THREE).await?;
    let taken = sends(&server, "slow 60", "last-event-id: 999999\r\n").await?;
    three_run(&server, taken).await
}

async fn rest_position(env: &Environment) -> Verdict {
    let server = server(env, THREE).await?;
    let headers = format!("{}{JSON}last-event-id: 9\r\n", bearer(ANN));
    let body = at_once("slow 60").to_string();
    let mut taken = 0;
    for _ in 0..20 {
        let reply = server.env.request("POST /message:send", &headers, body.as_bytes()).await?;
        taken += usize::from(reply.status() == Some(200));
    }
    three_run(&server, taken).await
}

async fn no_streaming(env: &Environment) -> Verdict {
    let server = server(env, &format!("[agent]\nstreaming = false\n{THREE}")).await?;
    let taken = sends(&server, "slow 60", "").await?;
    three_run(&server, taken).await
}

async fn commands(env: &Environment) -> Verdict {
    let server = server(env, &format!("[exec]\ncommand = \"sleep 60; cat\"\n{THREE}")).await?;
    let taken = sends(&server, "go", "").await?;
    three_run(&server, taken).await
}

async fn slots(env: &Environment) -> Verdict {
    let command = r#"[ \"$(cat)\" = quick ] || sleep 60"#;
    let exec = format!("[exec]\ncommand = \"{command}\"\nconcurrency = 4\n");
    let server = server(env, &exec).await?;
    let taken = sends(&server, "slow", "").await?;
    let begun = Instant::now();
    let answered = server.env.call(BOB, "SendMessage", waiting("quick"));
    let (_, answer) = tokio::time::timeout(SOON, answered)
        .await
        .map_err(|_late| format!("{taken} tasks of one caller keep another one waiting"))??;
    let took = begun.elapsed();
    match answer["result"]["task"]["status"]["state"].as_str() {
        Some("TASK_STATE_COMPLETED") => {
            let runs = tasks_in(&server.env, "TASK_STATE_WORKING").await?;
            match runs {
                3 => Ok(format!("3 of {taken} tasks run, the other caller's took {took:.0?}")),
                _ => Err(format!("{runs} of {taken} tasks run on 4 slots")),
            }
        }
        _ => Err(format!("the other caller's task did not run: {answer}")),
    }
}

async fn open_tasks(env: &Environment) -> Verdict {
    let server = server(env, "[limits]\nmax_open_tasks = 50\n").await?;
    let env = &server.env;
    let mut rejected = 0;
    for round in 0..30 {
        let sent = join_all((0..10).map(|_| async {
            let mut params = waiting("ask");
            params["tenant"] = json!(["", "one", "two"][round % 3]);
            env.call(ANN, "SendMessage", params).await
        }))
        .await;
        for sent in sent {
            rejected += usize::from(sent?.0 == 429);
        }
    }
    let mut open = 0;
    for tenant in ["", "one", "two"] {
        let params = json!({"tenant": tenant, "status": "TASK_STATE_INPUT_REQUIRED"});
        let (_, listed) = env.call(ANN, "ListTasks", params).await?;
        open += listed["result"]["totalSize"].as_u64().unwrap_or_default();
    }
    let (status, theirs) = env.call(BOB, "SendMessage", waiting("ask")).await?;
    match (open, rejected, status) {
        (50, 250, 200) => Ok("50 are open, 250 rejected; the other caller is served".to_owned()),
        _ => Err(format!("{open} are open, {rejected} rejected, another caller: {theirs}")),
    }
}

async fn keys(_: &Environment) -> Verdict {
    let hour = Duration::from_secs(3600);
    let store = MemoryStore::with_limits(MemoryLimits::default().with_max_idempotency(1_000, hour));
    let agent = agent_fn(async |text: String| text);
    let engine = Engine::builder(AgentCard::new("a", "b"), agent).store(store).build();
    let send = async |who: &str, key: &str| {
        let mut call = Call::new(SendMessageRequest {
            message: Some(Message { message_id: "m".to_owned(), ..Message::user("hi") }),
            ..SendMessageRequest::default()
        });
        call.context.caller = Caller::authenticated(who);
        call.context.idempotency_key = Some(key.to_owned());
        let reply = engine.send_message(call).await.map_err(|error| error.to_string())?;
        match reply.response.payload {
            Some(Payload::Task(task)) => Ok(task.id),
            other => Err(format!("no task: {other:?}")),
        }
    };
    let first = send("ann", "order-1").await?;
    for number in 0..5_000 {
        send("bob", &number.to_string()).await?;
    }
    match send("ann", "order-1").await? {
        again if again == first => Ok("the first caller's send joins its task".to_owned()),
        _ => Err("the first caller's send ran again".to_owned()),
    }
}

/// Asks for another line in a loop.
const CURIOUS: &str = "[exec]\ncommand = \"while read -r line; do echo \
    '{\\\"state\\\":\\\"input_required\\\",\\\"text\\\":\\\"more\\\"}'; done\"\nio = \"jsonl\"\n";

async fn growth(env: &Environment) -> Verdict {
    let server =
        server(env, &format!("{CURIOUS}[limits]\nmax_task_history_bytes = \"1MiB\"\n")).await?;
    let env = &server.env;
    let text = "x".repeat(64 << 10);
    let mut id = Value::Null;
    for turns in 0..100 {
        let mut params = waiting(&text);
        params["message"]["taskId"] = id.clone();
        if id.is_null() {
            params["message"].as_object_mut().map(|message| message.remove("taskId"));
        }
        let (status, answer) = env.call(ANN, "SendMessage", params).await?;
        let task = &answer["result"]["task"];
        if status == 429 {
            let (_, got) = env.call(ANN, "GetTask", json!({"id": id})).await?;
            let bytes = got.to_string().len();
            let names_it = answer.to_string().contains("max_history_bytes");
            return match names_it && bytes <= (1 << 20) + (64 << 10) {
                true => Ok(format!("rejected after {turns} turns, with {} KiB", bytes >> 10)),
                false => Err(format!("{} KiB, rejected with {answer}", bytes >> 10)),
            };
        }
        if task["status"]["state"] != "TASK_STATE_INPUT_REQUIRED" {
            return Err(format!("turn {turns}: {answer}"));
        }
        id = task["id"].clone();
    }
    Err("100 messages of 64 KiB are in the history of a task".to_owned())
}

async fn artifact(env: &Environment) -> Verdict {
    let line = "x".repeat(8 << 10);
    let exec = format!("[exec]\ncommand = \"exec yes {line}\"\nchunk = \"\\n\"\n");
    let server =
        server(env, &format!("{exec}[limits]\nmax_task_artifact_bytes = \"1MiB\"\n")).await?;
    let (_, answer) = server.env.call(ANN, "SendMessage", waiting("go")).await?;
    let task = &answer["result"]["task"];
    let reason = task["status"]["message"]["parts"][0]["text"].as_str().unwrap_or_default();
    if !ends(&format!("yes\0{line}\0")).await {
        return Err("the command runs on".to_owned());
    }
    let failed = task["status"]["state"] == "TASK_STATE_FAILED";
    match failed && reason.contains("max_artifact_bytes") {
        true => Ok(format!("failed with {reason:?}")),
        false => Err(format!("{}: {reason}", task["status"]["state"])),
    }
}

async fn stored(env: &Environment) -> Verdict {
    let server = server(env, "[limits]\nmax_stored_bytes = \"2MiB\"\n").await?;
    let env = &server.env;
    let text = format!("echo {}", "x".repeat(128 << 10));
    let mut taken = 0;
    for _ in 0..40 {
        let (status, _) = env.call(ANN, "SendMessage", waiting(&text)).await?;
        taken += usize::from(status == 200);
    }
    let (status, _) = env.call(BOB, "SendMessage", waiting(&text)).await?;
    match (taken, status) {
        (1..=20, 200) => Ok(format!("took {taken} of 40, and another caller's")),
        _ => Err(format!("took {taken} of 40; another caller got {status}")),
    }
}

async fn run_time(env: &Environment) -> Verdict {
    let marker = 60_000 + std::process::id() % 10_000;
    let exec = format!("[exec]\ncommand = \"sleep {marker}\"\n[limits]\nrun_timeout = \"1s\"\n");
    let server = server(env, &exec).await?;
    let (_, answer) = server.env.call(ANN, "SendMessage", waiting("go")).await?;
    let status = &answer["result"]["task"]["status"];
    if status["state"] != "TASK_STATE_FAILED" {
        return Err(format!("did not fail: {answer}"));
    }
    if !ends(&format!("sleep\0{marker}\0")).await {
        return Err("the command runs on".to_owned());
    }
    Ok(format!("failed with {}, the command has exited", status["message"]["parts"][0]["text"]))
}

/// Waits until no process has this command line; returns false on timeout.
async fn ends(line: &str) -> bool {
    let end = Instant::now() + SOON;
    while is_running(line) {
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(50)).await;
    }
    true
}

/// Whether a process has this command line.
fn is_running(line: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|found| found == line.as_bytes())
}
