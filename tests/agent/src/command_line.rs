//! The flags of the test agent in a command line, and those of `a2a serve` that they stand for.

use std::ffi::OsString;

/// The names of the command.
const SERVE: [&str; 3] = ["serve", "demo-server", "server"];

/// The arguments of `serve`, up to a `--`.
pub(crate) struct CommandLine {
    arguments: Vec<OsString>,
    /// Where the flags of `serve` begin.
    start: usize,
}

impl CommandLine {
    /// Returns `None` for another command.
    pub(crate) fn of_serve(arguments: &[OsString]) -> Option<Self> {
        let start = arguments.iter().position(|one| SERVE.iter().any(|name| one == name))? + 1;
        Some(Self { arguments: arguments.to_vec(), start })
    }

    fn flags(&self) -> &[OsString] {
        let flags = self.arguments.get(self.start..).unwrap_or_default();
        flags.split(|one| one == "--").next().unwrap_or_default()
    }

    fn position(&self, flag: &str) -> Option<usize> {
        let is_it = |one: &OsString| {
            let rest = one.to_str().and_then(|one| one.strip_prefix(flag));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        self.flags().iter().position(is_it)
    }

    /// Returns the value of a flag.
    pub(crate) fn value(&self, flag: &str) -> Option<String> {
        let (at, flags) = (self.position(flag)?, self.flags());
        let attached = flags[at].to_str()?.split_once('=').map(|(_, value)| value);
        attached.or_else(|| flags.get(at + 1)?.to_str()).map(str::to_owned)
    }

    /// Removes a flag, and returns its value.
    pub(crate) fn take(&mut self, flag: &str) -> Option<String> {
        let (at, value) = (self.position(flag)?, self.value(flag)?);
        let is_attached = self.flags()[at].to_str().is_some_and(|one| one.contains('='));
        let end = at + if is_attached { 1 } else { 2 };
        self.arguments.drain(self.start + at..self.start + end);
        Some(value)
    }

    /// Adds a flag, of which there may be several.
    pub(crate) fn add(&mut self, flag: &str) {
        self.arguments.insert(self.start, flag.into());
    }

    /// Adds a flag unless it is given, or one of the others.
    pub(crate) fn add_default(&mut self, flag: &str, others: &[&str]) {
        let name = flag.split('=').next().unwrap_or(flag);
        if !others.iter().chain([&name]).any(|name| self.position(name).is_some()) {
            self.add(flag);
        }
    }

    pub(crate) fn into_arguments(self) -> Vec<OsString> {
        self.arguments
    }
}
