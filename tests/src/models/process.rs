//! A child process that says where it listens.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use super::Result;

const START: Duration = Duration::from_secs(60);

/// A process, killed on drop with SIGKILL.
#[derive(Debug)]
pub(super) struct Process {
    /// The URL that it printed.
    pub(super) url: String,
    child: Child,
}

impl Process {
    /// Starts a program and waits until it prints `announcement` and its URL. What it prints is
    /// appended to the file `log`.
    pub(super) fn start(command: &mut Command, announcement: &str, log: &Path) -> Result<Self> {
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            // A key of the person who runs the check must not get into it.
            if name.starts_with("A2ACLI_") || name.ends_with("_API_KEY") {
                command.env_remove(name);
            }
        }
        let file: File = OpenOptions::new().create(true).append(true).open(log)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut process = Self { url: String::new(), child };
        let (sender, found) = mpsc::channel();
        let announcement = announcement.to_owned();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(std::result::Result::ok) {
                if let Some((_, url)) = line.split_once(&announcement) {
                    let _ = sender.send(url.trim().to_owned());
                }
            }
        });
        process.url = found.recv_timeout(START).map_err(|_ended| {
            let text = std::fs::read_to_string(log).unwrap_or_default();
            let last: Vec<_> = text.lines().rev().take(5).collect();
            format!("{:?} does not listen: {}", command.get_program(), last.join(" | "))
        })?;
        Ok(process)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
