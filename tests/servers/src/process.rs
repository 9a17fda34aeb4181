//! A server process, which never outlives its parent.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    net::TcpListener,
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{self, Child, ChildStdin, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rustix::process::{Pid, Signal};

/// Starts a server and waits on its standard input, which ends when the parent does. Then it
/// ends the server too, and removes the directory unless it is to be preserved.
const GUARD: &str = r#"
folder=$1 signal=$2
shift 2
"$@" </dev/null >>"$folder/log" 2>&1 &
server=$!
echo $server
read -r word
kill -s "$signal" $server 2>/dev/null
kill -s CONT $server 2>/dev/null
wait $server
[ "$word" = keep ] || rm -rf "$folder"
"#;

/// A running server, under an unprivileged user if necessary.
#[derive(Debug)]
pub(crate) struct Process {
    guard: Child,
    input: Option<ChildStdin>,
    server: Pid,
}

impl Process {
    /// Starts a program with its files in a directory, which this signal stops immediately.
    pub(crate) fn start(folder: &Path, signal: &str, command: &[String]) -> io::Result<Self> {
        let mut guard = as_nobody(Command::new("sh"));
        guard.args(["-c", GUARD, "guard"]).arg(folder).arg(signal).args(command);
        // A separate process group, so that interrupts from the terminal do not reach the server.
        guard.current_dir(folder).process_group(0);
        guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut guard = guard.spawn()?;
        let input = guard.stdin.take();
        let mut line = String::new();
        if let Some(output) = guard.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let number = line.trim().parse().ok().and_then(Pid::from_raw);
        let server = number.ok_or_else(|| io::Error::other("the guard did not start"))?;
        Ok(Self { guard, input, server })
    }

    /// Whether the server has exited unexpectedly; false if unknown.
    pub(crate) fn has_ended(&self) -> bool {
        Path::new("/proc/self/stat").exists()
            && stat(self.server).is_none_or(|(state, _)| state == "Z")
    }

    /// Sends a signal to the server and to its children.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = rustix::process::kill_process(self.server, signal);
        for child in children(self.server) {
            let _ = rustix::process::kill_process(child, signal);
        }
    }

    /// Stops the server where it stands, and waits until every thread of it does, for as long as
    /// that should take.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        let deadline = Instant::now() + Duration::from_secs(5);
        while is_at_work(self.server) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Kills the server as a fault would, and keeps its files.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::KILL);
        if let Some(input) = &mut self.input {
            let _ = input.write_all(b"keep\n");
        }
        self.finish();
    }

    fn finish(&mut self) {
        drop(self.input.take());
        let _ = self.guard.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.input.is_some() {
            // A stopped process cannot exit.
            self.signal(Signal::CONT);
            self.finish();
        }
    }
}

fn children(parent: Pid) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let pid = Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?)?;
            let (_, of) = stat(pid)?;
            (of == parent).then_some(pid)
        })
        .collect()
}

/// Whether a thread of a process is not stopped; false if unknown.
fn is_at_work(pid: Pid) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else {
        return false;
    };
    let mut states = threads.filter_map(|thread| stat_in(&thread.ok()?.path()));
    states.any(|(state, _)| state != "T")
}

/// The state of a process, and its parent.
fn stat(pid: Pid) -> Option<(String, Pid)> {
    stat_in(&PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero())))
}

fn stat_in(folder: &Path) -> Option<(String, Pid)> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // The name is in parentheses and may contain anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    let state = words.next()?.to_owned();
    Some((state, Pid::from_raw(words.next()?.parse().ok()?)?))
}

/// A command run as a user other than root, as PostgreSQL requires.
pub(crate) fn as_nobody(mut command: Command) -> Command {
    if let Some((user, group)) = nobody() {
        command.uid(user).gid(group);
    }
    command
}

/// A new directory owned by the user of the servers.
pub(crate) fn folder(name: &str) -> io::Result<PathBuf> {
    let folder = tempfile::Builder::new().prefix(&format!("a2a-{name}-")).tempdir()?.keep();
    if let Some((user, group)) = nobody() {
        chown(&folder, Some(user), Some(group))?;
    }
    Ok(folder)
}

/// Puts files into a folder of a server, which only the server can read: it insists on that for
/// keys.
pub(crate) fn add_files(folder: &Path, files: &[(&str, &str)]) -> io::Result<()> {
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        if let Some((user, group)) = nobody() {
            chown(&path, Some(user), Some(group))?;
        }
    }
    Ok(())
}

/// The user and group for servers, if this is root.
fn nobody() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut words = line.split(':').skip(2);
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    named("postgres").or_else(|| named("nobody")).or(Some((65_534, 65_534)))
}

/// A free port below the ephemeral range, so that it stays free while the server is down.
pub(crate) fn free_port() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    let mut number = time ^ process::id().wrapping_mul(7_919);
    loop {
        number = number.wrapping_add(1 + CALLS.fetch_add(1, Ordering::Relaxed) * 13);
        let port = 15_000 + u16::try_from(number % 15_000).unwrap_or_default();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
