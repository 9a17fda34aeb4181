//! Commands of `--exec` and their callers: secrets in cards, questions, endless output, private files,
//! hostile names.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::{
    Attack, Environment, Process, Started, Verdict, attacks,
    environment::{JSON, at_once, bearer, waiting},
    exec::{id_of, is_gone, output, server, stubborn},
};

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "secrets in the card", "anyone reads the cards of a command with a password in its arguments" => card;
        "secrets in the card of a gateway", "the same cards as a gateway before it derives them" => card_of_gateway;
        "secrets in errors", "commands that fail, can't be started, or write nonsense" => errors;
        "secrets in errors of a gateway", "the same through a gateway" => errors_of_gateway;
        "unanswered questions", "a caller leaves more questions open than there are slots" => questions;
        "line without end", "a command writes 300 MB without a line break" => line;
        "chunk without end", "a command writes 300 MB without a delimiter" => chunk;
        "readable files", "another user reads the files of callers" => readable;
        "files left behind", "the server is killed while commands work on files" => left_behind;
        "hostile ids and file names", "ids and names that no variable and no file can have" => names;
        "claimed identity to a command", "a caller sends a name, scopes and a credential to the command" => identity;
    }
}

/// What a secret of an operator looks like.
const SECRET: &str = "hunter2";
/// Timeout of a request that others must not delay.
const SERVED: Duration = Duration::from_secs(10);
/// Limit of the memory that a server adds for one line: its buffer grows by doubling.
const MAX_LINE_MEMORY: u64 = 96 << 20;

/// Searches a text for the secret.
fn search(place: &str, text: &str) -> Result<usize, String> {
    match text.find(SECRET) {
        None => Ok(text.len()),
        Some(_) => Err(format!("disclosed the command in {place}")),
    }
}

/// Starts a gateway before a server, with a token for it.
async fn gateway_before(
    env: &Environment,
    upstream: &Started,
    token: &str,
) -> Result<Started, String> {
    let settings = format!(
        "[proxy]\nto = \"http://{}/\"\n[[auth.bearer]]\ncaller = \"ann\"\ntoken = \"token-of-ann\"\n",
        upstream.env.address
    );
    let mut gateway = Started::with_settings(env, &settings, &[("A2ACLI_BEARER", token)]).await?;
    gateway.env.ann = "token-of-ann".to_owned();
    Ok(gateway)
}

/// Starts a server with a command that a caller with a token may use.
async fn server_with_card(env: &Environment) -> Result<Started, String> {
    let settings = format!(
        "[exec]\ncommand = \": postgres://svc:{SECRET}@db/x; cat\"\n\
         [agent]\nname = \"Query\"\ndescription = \"Answers questions\"\n\
         [[auth.bearer]]\ncaller = \"ann\"\ntoken = \"token-of-ann\"\n"
    );
    Started::with_settings(env, &settings, &[]).await
}

async fn card(env: &Environment) -> Verdict {
    search_cards(&server_with_card(env).await?).await
}

async fn card_of_gateway(env: &Environment) -> Verdict {
    let upstream = server_with_card(env).await?;
    search_cards(&gateway_before(env, &upstream, "token-of-ann").await?).await
}

async fn search_cards(server: &Started) -> Verdict {
    let mut bytes = 0;
    for path in [
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
        "/extendedAgentCard",
        "/v1/card",
    ] {
        for headers in [String::new(), bearer("token-of-ann") + "a2a-version: 1.0\r\n"] {
            let reply = server.env.request(&format!("GET {path}"), &headers, b"").await?;
            bytes += search(path, &reply.text())?;
        }
    }
    for (revision, method) in [
        ("1.0", "GetExtendedAgentCard"),
        ("0.3", "agent/getAuthenticatedExtendedCard"),
        ("0.2", "agent/authenticatedExtendedCard"),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string();
        let headers = JSON.replace("1.0", revision) + &bearer("token-of-ann");
        let reply = server.env.request("POST /", &headers, body.as_bytes()).await?;
        bytes += search(method, &reply.text())?;
    }
    Ok(format!("searched {bytes} bytes of cards"))
}

async fn errors(env: &Environment) -> Verdict {
    search_errors(env, false).await
}

async fn errors_of_gateway(env: &Environment) -> Verdict {
    search_errors(env, true).await
}

async fn search_errors(env: &Environment, is_behind: bool) -> Verdict {
    let jsonl = "\nio = \"jsonl\"\nstrict = true\n";
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    // Is there, and can't be started.
    let program = folder.path().join(SECRET);
    fs::write(&program, format!("#!/nonexistent/{SECRET}\n")).map_err(|error| error.to_string())?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700))
        .map_err(|error| error.to_string())?;
    let mut states = Vec::new();
    for settings in [
        format!("command = \": {SECRET}; exit 3\"\n"),
        format!("command = \": {SECRET}; kill -9 $$\"\n"),
        format!("command = \": {SECRET}; echo no json\"{jsonl}"),
        format!("program = [{program:?}, \"{SECRET}\"]\n"),
    ] {
        let server = Started::with_settings(env, &format!("[exec]\n{settings}"), &[]).await?;
        let answer = match is_behind {
            false => server.env.works("SendMessage", waiting("hi")).await?,
            true => {
                let gateway = gateway_before(env, &server, "unused").await?;
                let sent = gateway.env.call("token-of-ann", "SendMessage", waiting("hi")).await;
                search("the log of the gateway", &gateway.env.logged().await?)?;
                sent?.1["result"].take()
            }
        };
        search("an error", &answer.to_string())?;
        search("the log", &server.env.logged().await?)?;
        states.push(answer["task"]["status"]["state"].to_string());
    }
    match states.iter().all(|state| state.contains("FAILED")) {
        true => Ok(format!("failed {} tasks without the command", states.len())),
        false => Err(format!("did not fail: {states:?}")),
    }
}

/// The number of processes that a process has started.
fn children(process: &Process) -> usize {
    let parent = format!(" {} ", process.id);
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    stats
        .filter_map(|stat| stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()))
        .filter(|rest| {
            !rest.starts_with('Z') && rest.get(1..).is_some_and(|r| r.starts_with(&parent))
        })
        .count()
}

async fn questions(env: &Environment) -> Verdict {
    let command = "read -r message; case \"$message\" in *question*) \
        echo '{\"state\": \"input-required\", \"text\": \"Well?\"}'; read -r answer;; esac; \
        echo '{\"state\": \"completed\", \"text\": \"done\"}'";
    let settings = format!(
        "[exec]\ncommand = {command:?}\nio = \"jsonl\"\nconcurrency = 4\nmax_waiting = 8\n\
         [[auth.bearer]]\ncaller = \"ann\"\ntoken = \"token-of-ann\"\n\
         [[auth.bearer]]\ncaller = \"bob\"\ntoken = \"token-of-bob\"\n"
    );
    let server = Started::with_settings(env, &settings, &[]).await?;
    let mut first = Value::Null;
    for number in 0..40 {
        let send = server.env.call("token-of-ann", "SendMessage", waiting("question"));
        let sent = timeout(SERVED, send).await;
        let (_, answer) = sent.map_err(|_elapsed| format!("question {number} keeps a slot"))??;
        let task = &answer["result"]["task"];
        if task["status"]["state"] != "TASK_STATE_INPUT_REQUIRED" {
            return Err(format!("question {number} is not asked: {answer}"));
        }
        if number == 0 {
            first = task["id"].clone();
        }
    }
    let start = Instant::now();
    let other = server.env.call("token-of-bob", "SendMessage", waiting("hi"));
    let other = timeout(SERVED, other).await;
    let (_, answer) = other.map_err(|_elapsed| "delays another caller".to_owned())??;
    if answer["result"]["task"]["status"]["state"] != "TASK_STATE_COMPLETED" {
        return Err(format!("does not serve another caller: {answer}"));
    }
    let took = start.elapsed();
    let process = server.env.process.as_ref().ok_or("no process")?;
    // Those that have to end may still do so. One more process waits for the end of the server.
    let end = Instant::now() + SERVED;
    while children(process) > 8 / 4 + 1 {
        if Instant::now() > end {
            return Err(format!("keeps {} processes for one caller", children(process)));
        }
        sleep(Duration::from_millis(20)).await;
    }
    let mut answer = waiting("yes");
    answer["message"]["taskId"] = first;
    let (_, answer) = server.env.call("token-of-ann", "SendMessage", answer).await?;
    match answer["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED" {
        true => Ok(format!("40 questions, another caller served in {took:.0?}, all resumable")),
        false => Err(format!("lost the dialogue of a command that was ended: {answer}")),
    }
}

/// Runs a command that writes 300 MB, and returns by how much the memory of the server grew.
async fn endless(env: &Environment, settings: &str) -> Verdict {
    let command = "head -c 300000000 /dev/zero | tr '\\0' x";
    let settings = format!("[exec]\ncommand = {command:?}\n{settings}");
    let server = Started::with_settings(env, &settings, &[]).await?;
    let process = server.env.process.clone().ok_or("no process")?;
    let before = process.memory().ok_or("the server has ended")?;
    let answer = server.env.works("SendMessage", waiting("go")).await?;
    let status = fs::read_to_string(format!("/proc/{}/status", process.id));
    let status = status.map_err(|error| error.to_string())?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let peak = peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(u64::MAX >> 10) << 10;
    let grown = peak.saturating_sub(before);
    let state = &answer["task"]["status"]["state"];
    if state != "TASK_STATE_FAILED" || grown > MAX_LINE_MEMORY {
        return Err(format!("{state} after {} MiB", grown >> 20));
    }
    Ok(format!("failed the task with {} MiB more", grown >> 20))
}

async fn line(env: &Environment) -> Verdict {
    endless(env, "io = \"jsonl\"\n").await
}

async fn chunk(env: &Environment) -> Verdict {
    endless(env, "chunk = \"\\\\n\"\n").await
}

/// Starts a server whose command works on a file of its caller and ignores SIGTERM.
async fn at_work(env: &Environment, folder: &Path) -> Result<(Started, i32), String> {
    let id_file = folder.join("id");
    let command = stubborn(&id_file, "exec sleep 300");
    let temporary = folder.to_str().ok_or("no path")?;
    let settings = format!("[exec]\ncommand = {command:?}\n");
    let server = Started::with_settings(env, &settings, &[("TMPDIR", temporary)]).await?;
    let mut params = at_once("hi");
    params["message"]["parts"] = json!([{"raw": "c2VjcmV0", "filename": "secret.txt"}]);
    server.env.works("SendMessage", params).await?;
    let id = id_of(&id_file).await?;
    Ok((server, id))
}

/// Everything below a folder that commands or callers have made.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(below(&path));
        }
        found.push(path);
    }
    found.retain(|path| path.to_string_lossy().contains("a2a-"));
    found
}

async fn readable(env: &Environment) -> Verdict {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (_server, _) = at_work(env, folder.path()).await?;
    let found = below(folder.path());
    if !found.iter().any(|path| path.ends_with("0-secret.txt")) {
        return Err(format!("the file of the caller is missing: {found:?}"));
    }
    for path in &found {
        let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(format!("{} has mode {mode:o}", path.display()));
        }
    }
    Ok(format!("{} files and directories, all private", found.len()))
}

async fn left_behind(env: &Environment) -> Verdict {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (server, grandchild) = at_work(env, folder.path()).await?;
    let process = server.env.process.as_ref().ok_or("no process")?;
    let id = i32::try_from(process.id).ok().and_then(Pid::from_raw).ok_or("no process")?;
    kill_process(id, Signal::KILL).map_err(|error| error.to_string())?;
    is_gone(grandchild).await?;
    let end = Instant::now() + SERVED;
    while !below(folder.path()).is_empty() {
        if Instant::now() > end {
            return Err(format!("left {:?}", below(folder.path())));
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok("ended all processes and removed all files".to_owned())
}

async fn names(env: &Environment) -> Verdict {
    let server = server(env, "ls -A \"$A2A_INPUT_DIR\"; ls -A \"$A2A_INPUT_DIR/../..\"").await?;
    let mut params = waiting("hi");
    let names = ["a".repeat(300), "a\0b".into(), "../../escaped".into(), "/tmp/escaped".into()];
    params["message"]["parts"] =
        names.iter().map(|name| json!({"raw": "eA==", "filename": name})).collect();
    let answer = server.env.works("SendMessage", params).await?;
    let listed = output(&answer["task"]);
    if ["0-a", "1-a", "2-escaped", "3-escaped"].iter().any(|name| !listed.contains(name)) {
        return Err(format!("names of files fail a command: {answer}"));
    }
    if listed.lines().any(|line| line == "escaped") {
        return Err(format!("wrote outside of the directory: {listed}"));
    }
    for id in ["x".repeat(128 << 10), "a\0b".into()] {
        let mut params = waiting("hi");
        params["message"]["messageId"] = id.into();
        let (_, answer) = server.env.call("", "SendMessage", params).await?;
        if answer["error"]["code"] != -32602 || !answer.to_string().contains("messageId") {
            return Err(format!("an id fails a command: {answer}"));
        }
    }
    Ok("named files safely, rejected ids".to_owned())
}

async fn identity(env: &Environment) -> Verdict {
    let settings = "[exec]\ncommand = \"env; cat $A2A_METADATA_FILE\"\n\
        [[auth.bearer]]\ncaller = \"ann\"\ntoken = \"token-of-ann\"\nscopes = [\"read\", \"x admin\"]\n";
    let server = Started::with_settings(env, settings, &[("A2A_CALLER", "root")]).await?;
    let mut params = waiting("hi");
    let claims = json!({"A2A_CALLER": "root", "A2A_SCOPES": "admin"});
    params["metadata"] = claims.clone();
    params["message"]["metadata"] = claims;
    params["message"]["messageId"] = "m\nA2A_SCOPES=admin".into();
    let (_, answer) = server.env.call("token-of-ann", "SendMessage", params).await?;
    let text = output(&answer["result"]["task"]);
    let lines = |line: &str| text.lines().filter(|one| *one == line).count();
    if text.contains("token-of-ann") {
        return Err("gave a command the credential of its caller".to_owned());
    }
    match (lines("A2A_CALLER=ann"), lines("A2A_SCOPES=read"), lines("A2A_CALLER=root")) {
        (1, 1, 0) => Ok("the command knows its caller, and no credential".to_owned()),
        _ => Err(format!("the command has another caller: {text}")),
    }
}
