//! The home, configuration and working directory of commands.

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use super::evidence;
use crate::common::{Run, command};

/// Directories that only one test uses: the home, which is the working directory too.
#[derive(Debug)]
pub(crate) struct Sandbox {
    home: TempDir,
    /// The name of the called agent in the evidence.
    agent: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::of("none")
    }

    pub(super) fn of(agent: &str) -> Self {
        Self { home: tempfile::tempdir().unwrap(), agent: agent.to_owned() }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file into the working directory, and returns its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A command in this sandbox.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command();
        command
            .args(arguments)
            .current_dir(self.home())
            .env("HOME", self.home())
            .env("XDG_CONFIG_HOME", self.home().join("config"))
            .env("XDG_CACHE_HOME", self.home().join("cache"))
            .env("XDG_DATA_HOME", self.home().join("data"))
            .env("XDG_STATE_HOME", self.home().join("state"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.finish(&mut self.command(arguments))
    }

    /// Runs with additional environment variables.
    pub(crate) fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        self.finish(self.command(arguments).envs(variables.iter().copied()))
    }

    /// Runs a command to its end.
    pub(crate) fn finish(&self, command: &mut Command) -> Run {
        let run = Run::of(command);
        self.record(command, &run);
        run
    }

    /// Runs a command to its end with this standard input.
    pub(crate) fn finish_with_stdin(&self, command: &mut Command, input: &str) -> Run {
        let run = Run::with_stdin(command, input);
        self.record(command, &run);
        run
    }

    /// Records a run of a command.
    pub(crate) fn record(&self, command: &Command, run: &Run) {
        let arguments: Vec<_> =
            command.get_args().map(|argument| argument.to_str().unwrap()).collect();
        let binding = arguments.iter().position(|argument| *argument == "--transport");
        let binding = binding.and_then(|position| arguments.get(position + 1)).copied();
        let is_one = |binding: &&str| super::BINDINGS.contains(binding);
        evidence::record(&self.agent, binding.filter(is_one), run);
    }

    /// The files below a directory of the sandbox, relative to it.
    pub(crate) fn files(&self, folder: &str) -> Vec<String> {
        let root = self.home().join(folder);
        let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found.sort();
        found
    }
}

/// The error object that a run printed as the last line of stdout.
pub(crate) fn failure(run: &Run) -> Value {
    let last = run.stdout.lines().last().unwrap_or_else(|| panic!("no error: {run:?}"));
    let last: Value = serde_json::from_str(last).unwrap_or_else(|_error| panic!("{run:?}"));
    assert!(last["error"].is_object(), "{run:?}");
    last["error"].clone()
}

/// Asserts that a run with `-o json` ended with this code and exit status.
pub(crate) fn assert_failure(run: &Run, code: &str, exit: i32) {
    assert_eq!((failure(run)["code"].as_str(), run.code), (Some(code), exit), "{run:?}");
}
