//! An agent that attacks the terminal and the files of the user who calls it, directly and through a
//! gateway.

use std::{
    fs,
    io::{ErrorKind, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use pty_process::blocking::{Command as PtyCommand, open};
use tempfile::TempDir;
use tokio::{task::spawn_blocking, time::timeout};

use super::{
    Alone, Attack, Environment, Verdict, attacks,
    server::{binary, clean},
};

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "terminal sequences", "a card, messages, artifacts and errors with controls" => sequences;
        "terminal sequences through a gateway", "the same agent behind a gateway" => sequences_behind;
        "settings of a directory", "help beside a .env with controls in its values and its path" => help;
        "file names", "files of an agent are named to leave their folder" => names;
        "file names through a gateway", "the same agent behind a gateway" => names_behind;
    }
}

/// Limit of a command.
const RUN: Duration = Duration::from_secs(60);
/// Clears the screen, writes the clipboard, turns the text around and begins a new line, by the
/// controls of ASCII, C1 and Unicode.
const CONTROLS: [&str; 9] = [
    "\u{1b}]52;c;eA==\u{7}",
    "\u{1b}[2J",
    "\u{7f}",
    "\u{9b}2J",
    "\u{9d}0;x\u{9c}",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{2028}",
];
/// Names of which none may be kept as it is.
const NAMES: [&str; 10] = [
    "../../escape",
    "/tmp/../escape",
    "..\\\\..\\\\escape",
    "C:\\\\escape",
    "..",
    ".bashrc",
    "-rf",
    "\\u202Egpj.exe",
    "a\\u001B[2Jb\\nc",
    "nul",
];

/// The attacking agent, with a gateway before it on request, and the folder of its victim.
struct Hostile {
    program: PathBuf,
    home: TempDir,
    url: String,
    _servers: Vec<Alone>,
}

impl Hostile {
    fn start(env: &Environment, is_behind: bool) -> Result<Self, String> {
        let program = binary(env)?;
        let home = TempDir::new().map_err(|error| error.to_string())?;
        let escape = |c: char| format!("\\u{:04x}", u32::from(c));
        let text: String = CONTROLS.concat().chars().map(escape).collect();
        let files = NAMES
            .iter()
            .enumerate()
            .map(|(content, name)| format!("{{ bytes = \"{content}\", filename = \"{name}\" }}"));
        let files = files.collect::<Vec<_>>().join(", ");
        let script = format!(
            r#"
            [card]
            name = "{text}"
            description = "{text}"
            skills = [{{ id = "s", name = "{text}", description = "{text}", tags = ["{text}"] }}]
            [[rule]]
            when = {{ text = "fail" }}
            steps = [{{ state = "failed", text = "{text}" }}]
            [default]
            steps = [
                {{ state = "working", text = "{text}" }},
                {{ artifact = {{ name = "{text}", parts = [{{ text = "{text}" }}, {files}] }} }},
                {{ state = "completed", text = "**{text}**" }},
            ]
            "#
        );
        let file = home.path().join("agent.toml");
        fs::write(&file, script).map_err(|error| error.to_string())?;
        let script = ["--store", "memory", "--script", &file.to_string_lossy()];
        let mut servers = vec![Alone::start(&program, home.path(), &script)?];
        if is_behind {
            let gateway = ["--store", "memory", "--proxy", &servers[0].url];
            servers.push(Alone::start(&program, home.path(), &gateway)?);
        }
        let url = servers.last().map(|server| server.url.clone()).unwrap_or_default();
        Ok(Self { program, home, url, _servers: servers })
    }

    /// Runs a command on a terminal, and returns what it wrote there.
    async fn on_terminal(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = clean(&self.program);
        command.args(arguments).args(["-a", &self.url, "--no-cache"]);
        command.current_dir(self.home.path()).env("HOME", self.home.path());
        command.env("TERM", "xterm-256color");
        let run = spawn_blocking(move || {
            let (mut terminal, other_end) = open().map_err(|error| error.to_string())?;
            let command = PtyCommand::from(command).stdin(Stdio::null());
            let mut child = command.spawn(other_end).map_err(|error| error.to_string())?;
            let mut written = Vec::new();
            let mut buffer = [0; 4096];
            loop {
                match terminal.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) => written.extend_from_slice(&buffer[..read]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // The terminal has no other end any more.
                    Err(_closed) => break,
                }
            }
            child.wait().map_err(|error| error.to_string())?;
            Ok(String::from_utf8_lossy(&written).into_owned())
        });
        let ran = timeout(RUN, run).await.map_err(|_late| format!("{arguments:?} hangs"))?;
        ran.map_err(|error| error.to_string())?
    }
}

async fn sequences_of(agent: Hostile) -> Verdict {
    let listed = agent.on_terminal(&["send", "hi", "-o", "json", "--compact"]).await?;
    let id = listed.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let id = id.ok_or_else(|| format!("no task in {listed:?}"))?.to_owned();
    let hostile = CONTROLS.concat();
    let commands = [
        &["card", "get"][..],
        &["card", "lint"],
        &["send", "hi"],
        &["send", "hi", "--stream"],
        &["send", "hi", "--render"],
        &["send", "fail"],
        &["task", "get", &id],
        &["task", "get", &hostile],
        &["task", "list"],
        &["task", "subscribe", &id],
        &["task", "cancel", &id],
    ];
    let mut bytes = 0;
    for arguments in commands {
        for format in ["text", "json"] {
            let arguments = [arguments, &["-o", format]].concat();
            let written = agent.on_terminal(&arguments).await?;
            if let Some(raw) = CONTROLS.iter().find(|control| written.contains(**control)) {
                return Err(format!("{raw:?} reaches the terminal by {arguments:?}"));
            }
            bytes += written.len();
        }
    }
    match agent.on_terminal(&["send", "hi"]).await?.contains("52;c;eA==") {
        true => Ok(format!("escaped in {bytes} bytes of {} commands", 2 * commands.len())),
        false => Err("the texts of the agent are missing, so nothing was tried".to_owned()),
    }
}

async fn names_of(agent: Hostile) -> Verdict {
    let listed = agent.on_terminal(&["send", "hi", "-o", "json", "--compact"]).await?;
    let id = listed.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let id = id.ok_or_else(|| format!("no task in {listed:?}"))?;
    let before = below(agent.home.path());
    let out = agent.home.path().join("deep/er/out");
    let download = ["task", "download", id, "--out", &out.to_string_lossy()];
    let written = agent.on_terminal(&download).await?;
    let all = below(agent.home.path());
    let saved: Vec<_> = all.iter().filter(|path| path.starts_with(&out)).collect();
    if let Some(path) = all.iter().find(|path| !path.starts_with(&out) && !before.contains(path)) {
        return Err(format!("wrote {}", path.display()));
    }
    if Path::new("/tmp/escape").exists() || Path::new("/escape").exists() {
        return Err("wrote outside of the folder of the user".to_owned());
    }
    for path in &saved {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_plain = |c: char| c.is_ascii_graphic() || c == ' ';
        if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(is_plain) {
            return Err(format!("wrote a file named {name:?}"));
        }
    }
    match saved.len() > NAMES.len() {
        true => Ok(format!("kept {} files in their folder, apart", saved.len())),
        false => Err(format!("saved {} files only: {written:?}", saved.len())),
    }
}

/// The files below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

async fn help(env: &Environment) -> Verdict {
    let agent = Hostile::start(env, false)?;
    let controls: String =
        CONTROLS.concat().chars().filter(|c| !matches!(c, '\n' | '\u{2028}')).collect();
    let names = ["AGENT_CARD", "CONTEXT_ID", "TASK_ID", "EXTENSION"];
    let lines = names.map(|name| format!("A2ACLI_{name}=x{controls}\n")).concat();
    let file = agent.home.path().join(".env");
    fs::write(&file, lines).map_err(|error| error.to_string())?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).map_err(|e| e.to_string())?;
    let mut bytes = 0;
    for arguments in [&["send", "--help"][..], &["task", "get", "--help"], &["config", "show"]] {
        let written = agent.on_terminal(arguments).await?;
        if let Some(raw) = CONTROLS.iter().find(|control| written.contains(**control)) {
            return Err(format!("{raw:?} reaches the terminal by {arguments:?}"));
        }
        if !written.contains("]52;c;eA==") {
            return Err(format!("the file was not read by {arguments:?}: {written:?}"));
        }
        bytes += written.len();
    }
    Ok(format!("escaped in {bytes} bytes of 3 commands"))
}

async fn sequences(env: &Environment) -> Verdict {
    sequences_of(Hostile::start(env, false)?).await
}

async fn sequences_behind(env: &Environment) -> Verdict {
    sequences_of(Hostile::start(env, true)?).await
}

async fn names(env: &Environment) -> Verdict {
    names_of(Hostile::start(env, false)?).await
}

async fn names_behind(env: &Environment) -> Verdict {
    names_of(Hostile::start(env, true)?).await
}
