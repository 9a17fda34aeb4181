//! The private directory of a server for the files of its commands, and the guard that ends them with
//! the server.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::Child,
};

use tempfile::TempDir;

/// What the names of directories start with.
const PREFIX: &str = "a2a-exec-";
/// A file that a server keeps locked while it runs.
const LOCK: &str = "lock";
/// In the directory of a command, the id of its process group while it runs.
const GROUP: &str = "group";
/// Number of attempts to create a directory: another server that starts may remove it before it is
/// locked.
const ATTEMPTS: usize = 10;

/// A directory in the temporary directory, with a lock that is free once the server is gone, however
/// it ended. Only the user of the server can read it.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    path: TempDir,
    _lock: File,
    guard: Option<Child>,
}

impl RunDirectory {
    /// Creates the directory, starts its guard, and removes the directories of servers that are gone.
    pub(crate) fn create() -> io::Result<Self> {
        sweep(&std::env::temp_dir());
        for _ in 0..ATTEMPTS {
            let path = private_directory(PREFIX, &std::env::temp_dir())?;
            let Ok(lock) = private_file(&path.path().join(LOCK)) else { continue };
            // Once locked, nobody removes it.
            if lock.try_lock().is_ok() && path.path().join(LOCK).exists() {
                let guard = guard(path.path(), &lock).unwrap_or_else(|error| {
                    tracing::warn!(%error, "failed to start the process that ends commands after a crash of the server");
                    None
                });
                return Ok(Self { path, _lock: lock, guard });
            }
        }
        Err(io::Error::other("failed to lock a directory for the files of commands"))
    }

    pub(crate) fn command(&self) -> io::Result<CommandDirectory> {
        let path = private_directory("", self.path.path())?;
        for name in ["input", "output"] {
            create_private(&path.path().join(name))?;
        }
        Ok(CommandDirectory { path })
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            // Closes its stdin, and so ends it.
            drop(guard.stdin.take());
            let _status = guard.wait();
        }
    }
}

/// The files of one command, removed when dropped.
#[derive(Debug)]
pub(crate) struct CommandDirectory {
    path: TempDir,
}

impl CommandDirectory {
    /// The directory of what the command gets.
    pub(crate) fn input(&self) -> PathBuf {
        self.file("input")
    }

    /// The directory of what the command leaves for the caller.
    pub(crate) fn output(&self) -> PathBuf {
        self.file("output")
    }

    /// A file next to these directories.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.path().join(name)
    }

    /// Tells the guard which process group ends with the server.
    pub(crate) fn register(&self, group: u32) -> io::Result<()> {
        write_private(&self.file(GROUP), format!("{group}\n").as_bytes())
    }

    /// The process group has ended, and its id may be reused.
    pub(crate) fn unregister(&self) {
        let _is_gone = fs::remove_file(self.file(GROUP));
    }
}

/// Writes a new file that only this user can read.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    private_file(path)?.write_all(content)
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn private_directory(prefix: &str, parent: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    #[cfg(unix)]
    builder.permissions(private);
    builder.tempdir_in(parent)
}

/// Removes the directories of servers that are gone: those of this user whose lock is free.
fn sweep(temporary: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) || !is_own(&entry) {
            continue;
        }
        let path = entry.path();
        let _is_left = match File::open(path.join(LOCK)) {
            Ok(lock) if lock.try_lock().is_ok() => fs::remove_dir_all(&path),
            Ok(_) => continue,
            // Of a server that just starts, or was killed then: it is empty.
            Err(_) => fs::remove_dir(&path),
        };
    }
}

#[cfg(unix)]
fn is_own(entry: &fs::DirEntry) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let own = rustix::process::geteuid().as_raw();
    // Does not follow links.
    entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own)
}

#[cfg(not(unix))]
fn is_own(entry: &fs::DirEntry) -> bool {
    entry.metadata().is_ok_and(|metadata| metadata.is_dir())
}

/// Starts the process that outlives this one: once its stdin is closed, also by SIGKILL of the
/// server, it kills the registered process groups and removes the directory. It shares the lock, so
/// that no server that starts meanwhile removes the directory first.
///
/// `PR_SET_PDEATHSIG` would end a command alone, without the processes that it started, and with the
/// thread that spawned it instead of the server. A command that starts at the very moment of the
/// kill, and is not registered yet, is found by its environment a second later; where there is no
/// `/proc`, it is missed.
#[cfg(unix)]
fn guard(directory: &Path, lock: &File) -> io::Result<Option<Child>> {
    use std::{
        os::unix::process::CommandExt as _,
        process::{Command, Stdio},
    };

    const SCRIPT: &str = r#"
        trap '' HUP INT QUIT TERM
        while read -r _; do :; done
        cd "$1" || exit
        starting=
        for command in */; do
            if read -r id < "${command}group"; then kill -s KILL -- "-$id"
            elif [ -d "$command" ]; then starting="$starting $command"; fi
        done
        [ -z "$starting" ] || sleep 1
        for command in $starting; do
            for process in /proc/[0-9]*; do
                tr '\0' '\n' < "$process/environ" | grep -qxF "A2A_OUTPUT_DIR=$1/${command}output" &&
                    kill -s KILL -- "-${process#/proc/}"
            done
        done
        rm -rf -- "$1"
    "#;
    Command::new("/bin/sh")
        .args(["-c", SCRIPT, "a2a-exec-guard"])
        .arg(directory)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .current_dir("/")
        // Not the group that a terminal interrupts.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(lock.try_clone()?)
        .stderr(Stdio::null())
        .spawn()
        .map(Some)
}

/// The job object of a command ends with the process that holds it.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
fn guard(_: &Path, _: &File) -> io::Result<Option<Child>> {
    Ok(None)
}
