//! Commands of `--exec`: log, environment, and remaining processes.

use std::{fs, path::Path, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    Attack, Environment, Started, Verdict, attacks,
    environment::{at_once, waiting},
};

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "forged log lines", "a command writes line breaks and escapes to stderr" => forged;
        "stderr flood", "a command writes 30 MB to stderr" => flood;
        "secrets in the environment", "a command prints its environment" => environment;
        "survivors of a cancel", "a grandchild ignores SIGTERM when its task is canceled" => cancel;
        "survivors of a command", "a command ends and leaves a process behind" => left_behind;
        "survivors of a server", "a grandchild ignores SIGTERM when the server stops" => shutdown;
    }
}

/// Timeout for a killed process to exit.
const GONE: Duration = Duration::from_secs(5);
/// Limit of the log during a flood: that of one command, and the overhead of each line.
const MAX_LOG: u64 = 512 << 10;

/// Starts the attacked server again with a command.
pub(super) async fn server(env: &Environment, command: &str) -> Result<Started, String> {
    Started::with_settings(env, &format!("[exec]\ncommand = {command:?}\n"), &[]).await
}

async fn forged(env: &Environment) -> Verdict {
    let server = server(env, "cat >&2; exit 3").await?;
    let forged = "2026-11-22T00:00:00.000000Z  INFO a2a_kit::log: request path=/forged status=200";
    let text = format!("quoted\n{forged}\r\n\u{1b}[31mred\u{7}");
    let answer = server.env.works("SendMessage", waiting(&text)).await?;
    let status = &answer["task"]["status"];
    if status["state"] != "TASK_STATE_FAILED" || status.to_string().contains("quoted") {
        return Err(format!("gave stderr to the caller: {status}"));
    }
    let log = server.env.logged().await?;
    let lines: Vec<_> = log.lines().filter(|line| line.contains("command stderr")).collect();
    if log.lines().any(|line| line.starts_with(forged)) || log.contains(['\u{1b}', '\u{7}', '\r']) {
        return Err(format!("forged log line: {log}"));
    }
    match lines.iter().any(|line| line.contains("\\x1b[31mred\\x07")) {
        true => Ok(format!("logged {} escaped lines of stderr", lines.len())),
        false => Err(format!("lost the stderr of a command: {log}")),
    }
}

async fn flood(env: &Environment) -> Verdict {
    let line = "f".repeat(120);
    let server = server(env, &format!("yes {line} | head -c 30000000 >&2")).await?;
    server.env.works("SendMessage", waiting("go")).await?;
    let log = server.env.logged().await?;
    let bytes = log.len() as u64;
    if !log.contains("command stderr omitted") {
        return Err(format!("does not log that stderr was omitted, in {bytes} bytes of log"));
    }
    match bytes <= MAX_LOG {
        true => Ok(format!("logged {} KiB", bytes >> 10)),
        false => Err(format!("logged {} KiB", bytes >> 10)),
    }
}

async fn environment(env: &Environment) -> Verdict {
    let settings = "[exec]\ncommand = \"env\"\n\
        [auth]\nrequire_bearer = \"env:SRV_TOKEN\"\n\
        [[auth.api_key]]\ncaller = \"ann\"\nkey = \"env:ANN_KEY\"\n";
    let secrets = [
        ("SRV_TOKEN", "secret-of-the-server"),
        ("ANN_KEY", "secret-of-ann"),
        ("A2ACLI_SECRET_KEY", "c2VjcmV0LW9mLXRoZS1zdG9yZS1zZWNyZXQtb2YtdGg="),
        ("CLOUD_CREDENTIALS", "secret-of-the-cloud"),
    ];
    let server = Started::with_settings(env, settings, &secrets).await?;
    let (_, answer) = server.env.call("secret-of-the-server", "SendMessage", waiting("hi")).await?;
    let output = output(&answer["result"]["task"]);
    if let Some((name, _)) =
        secrets.iter().find(|(name, secret)| output.contains(name) || output.contains(secret))
    {
        return Err(format!("gave {name} to a command"));
    }
    match output.contains("A2A_TASK_ID=") {
        true => Ok(format!("gave {} variables, none of them secret", output.lines().count())),
        false => Err(format!("gave no task to its command: {output}")),
    }
}

/// The text of the first artifact, which may have come in chunks.
pub(super) fn output(task: &Value) -> String {
    let parts = task["artifacts"][0]["parts"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

/// A command that leaves a process behind that ignores SIGTERM, writes the id of that process to
/// a file, and then does something else.
pub(super) fn stubborn(id_file: &Path, then: &str) -> String {
    let id = id_file.display();
    format!(
        "sh -c 'trap \"\" TERM; echo $$ > {id}.new; mv {id}.new {id}; exec sleep 300 >/dev/null \
         2>&1' & while ! [ -e {id} ]; do sleep 0.01; done; {then}"
    )
}

/// The process id in a file, once written.
pub(super) async fn id_of(id_file: &Path) -> Result<i32, String> {
    let end = Instant::now() + Duration::from_secs(20);
    while !id_file.exists() {
        if Instant::now() > end {
            return Err("the command did not start".to_owned());
        }
        sleep(Duration::from_millis(10)).await;
    }
    let id = fs::read_to_string(id_file).map_err(|error| error.to_string())?;
    id.trim().parse().map_err(|error| format!("{id:?} is no process: {error}"))
}

/// Waits until a process has exited, possibly as a zombie.
pub(super) async fn is_gone(id: i32) -> Verdict {
    let start = Instant::now();
    loop {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        if state.is_none_or(|state| state == 'Z') {
            return Ok(format!("killed it within {:.0?}", start.elapsed()));
        }
        if start.elapsed() > GONE {
            if let Some(id) = Pid::from_raw(id) {
                let _killed = kill_process(id, Signal::KILL);
            }
            return Err("leaves a process running".to_owned());
        }
        sleep(Duration::from_millis(10)).await;
    }
}

async fn cancel(env: &Environment) -> Verdict {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let id_file = folder.path().join("id");
    let server = server(env, &stubborn(&id_file, "exec sleep 300")).await?;
    let task = server.env.works("SendMessage", at_once("hi")).await?;
    let id = id_of(&id_file).await?;
    server.env.works("CancelTask", json!({"id": task["task"]["id"]})).await?;
    is_gone(id).await
}

async fn left_behind(env: &Environment) -> Verdict {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let id_file = folder.path().join("id");
    let server = server(env, &stubborn(&id_file, "echo done")).await?;
    server.env.works("SendMessage", waiting("hi")).await?;
    is_gone(id_of(&id_file).await?).await
}

async fn shutdown(env: &Environment) -> Verdict {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let id_file = folder.path().join("id");
    let mut server = server(env, &stubborn(&id_file, "exec sleep 300")).await?;
    server.env.works("SendMessage", at_once("hi")).await?;
    let id = id_of(&id_file).await?;
    server.stop().await?;
    is_gone(id).await
}
