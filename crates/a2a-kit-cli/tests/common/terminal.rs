//! A command in a real pseudo-terminal: a test types, and reads the screen.
#![allow(dead_code, unreachable_pub, reason = "every test file uses a part of it")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests call this, and clippy looks for the attribute on their own functions"
)]

use std::{
    fmt,
    io::{Read, Write},
    num::NonZeroU16,
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use pty_process::{
    Size,
    blocking::{Command as PtyCommand, Pty, open},
};

/// How long a test waits for the screen before it fails.
const HANGS_AFTER: Duration = Duration::from_secs(60);
const ROWS: u16 = 60;
const COLUMNS: u16 = 100;

/// Which of the streams of a command are the terminal. The others are pipes.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
}

impl Streams {
    pub const ALL: Self = Self { stdin: true, stdout: true, stderr: true };
    pub const STDOUT: Self = Self { stdin: false, stdout: true, stderr: false };
    pub const STDERR: Self = Self { stdin: false, stdout: false, stderr: true };
}

/// A command that runs in a pseudo-terminal, and is killed with its test.
pub struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
    /// What it writes to streams that are not the terminal.
    pipes: Vec<JoinHandle<String>>,
}

/// What the command wrote.
struct Shared {
    written: Mutex<Written>,
    changed: Condvar,
}

struct Written {
    bytes: Vec<u8>,
    screen: vt100::Parser,
    is_closed: bool,
}

/// How a command in a terminal ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    /// All that it wrote to the terminal, with control sequences.
    pub bytes: String,
    /// The last screen.
    pub screen: String,
    /// What it wrote to stdout and stderr, as far as they are pipes, in this order.
    pub pipes: Vec<String>,
}

impl Terminal {
    /// Starts a command with all of its streams on a terminal.
    pub fn start(command: Command) -> Self {
        Self::start_with(command, Streams::ALL)
    }

    /// Starts a command with some of its streams on a terminal.
    pub fn start_with(mut command: Command, streams: Streams) -> Self {
        if !command.get_envs().any(|(set, _)| set == "TERM") {
            command.env("TERM", "xterm-256color");
        }
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "CI"] {
            if !command.get_envs().any(|(set, _)| set == name) {
                command.env_remove(name);
            }
        }
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(ROWS, COLUMNS)).unwrap();
        let mut command = PtyCommand::from(command);
        if !streams.stdin {
            command = command.stdin(Stdio::null());
        }
        if !streams.stdout {
            command = command.stdout(Stdio::piped());
        }
        if !streams.stderr {
            command = command.stderr(Stdio::piped());
        }
        let mut child = command.spawn(pts).unwrap();
        // The command holds a copy of the terminal until it is dropped here.
        let pipes = [child.stdout.take().map(read_all), child.stderr.take().map(read_all)];
        let shared = Arc::new(Shared {
            written: Mutex::new(Written {
                bytes: Vec::new(),
                screen: vt100::Parser::new(nonzero(ROWS), nonzero(COLUMNS), 0),
                is_closed: false,
            }),
            changed: Condvar::new(),
        });
        let pty = Arc::new(pty);
        let reader = std::thread::spawn({
            let (pty, shared) = (pty.clone(), shared.clone());
            move || shared.read(&pty)
        });
        let pipes = pipes.into_iter().flatten().collect();
        Self { child, pty, shared, reader: Some(reader), pipes }
    }

    /// Types text. Enter is `\r`, Ctrl-C `\x03`, Ctrl-D `\x04`.
    pub fn enter(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line, and Enter.
    pub fn line(&self, text: &str) {
        self.enter(&format!("{text}\r"));
    }

    /// Changes the size of the terminal.
    pub fn resize(&self, rows: u16, columns: u16) {
        self.pty.resize(Size::new(rows, columns)).unwrap();
        self.shared
            .written
            .lock()
            .unwrap()
            .screen
            .screen_mut()
            .set_size(nonzero(rows), nonzero(columns));
    }

    /// Waits until the screen contains a text, and returns the screen.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen is as described, and returns it.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        self.wait(what, |written| is_so(&written.screen.screen().contents()))
            .screen
            .screen()
            .contents()
    }

    /// Waits until the command wrote these bytes, which need not be on the screen any more.
    pub fn wait_for_bytes(&self, bytes: &str) {
        let searched = bytes.as_bytes();
        drop(self.wait(bytes, |written| {
            written.bytes.windows(searched.len()).any(|window| window == searched)
        }));
    }

    fn wait(
        &self,
        what: &str,
        is_so: impl Fn(&Written) -> bool,
    ) -> std::sync::MutexGuard<'_, Written> {
        let deadline = Instant::now() + HANGS_AFTER;
        let mut written = self.shared.written.lock().unwrap();
        while !is_so(&written) {
            let left = deadline.saturating_duration_since(Instant::now());
            let screen = written.screen.screen().contents();
            assert!(!written.is_closed, "the command ended without {what}:\n{screen}");
            assert!(!left.is_zero(), "no {what}:\n{screen}");
            written = self.shared.changed.wait_timeout(written, left).unwrap().0;
        }
        written
    }

    /// Waits for the end of the command.
    pub fn end(mut self) -> Ended {
        drop(self.wait("end", |written| written.is_closed));
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        self.reader.take().unwrap().join().unwrap();
        let pipes = self.pipes.drain(..).map(|pipe| pipe.join().unwrap()).collect();
        let written = self.shared.written.lock().unwrap();
        Ended {
            code,
            bytes: String::from_utf8(written.bytes.clone()).unwrap(),
            screen: written.screen.screen().contents(),
            pipes,
        }
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Shared {
    fn read(&self, mut pty: &Pty) {
        let mut buffer = [0; 4096];
        loop {
            // A terminal without a process is an error on some systems, and an end on others.
            let length = pty.read(&mut buffer).unwrap_or(0);
            // A test that failed is reported by itself.
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            written.is_closed = length == 0;
            written.bytes.extend_from_slice(&buffer[..length]);
            written.screen.process(&buffer[..length]);
            self.changed.notify_all();
            if length == 0 {
                return;
            }
        }
    }
}

impl Ended {
    /// What was written to the terminal, with the line ends of a pipe.
    pub fn text(&self) -> String {
        self.bytes.replace("\r\n", "\n")
    }
}

fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    })
}

fn nonzero(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).unwrap()
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("child", &self.child.id()).finish_non_exhaustive()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
