//! What a server is told: by flags first, then by variables, then by its settings file, then by
//! what is built in.
//!
//! What variables and the file say is put where flags have their defaults, and the command line is
//! read again: so that a flag wins, and that each value is read by the reader of its flag.

mod file;
mod form;
mod key;
mod print;
mod secret;
mod suggestion;
mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use clap::{
    ArgMatches, Command,
    error::{ContextKind, ContextValue},
    parser::ValueSource,
};

pub(crate) use form::Form;
pub(crate) use key::Key;
use key::{EXCLUSIVE, KEYS, PREFIX, SHORTHANDS};
use secret::Found;
pub(crate) use suggestion::is_alike;
pub(crate) use table::Row;

use super::Environment;
use crate::{failure::Failure, output::Output};

/// The variable in place of `--settings`.
const SETTINGS: &str = "A2ACLI_SERVE_SETTINGS";

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Default,
    File { path: PathBuf, line: usize },
    Variable(String),
    Flag(String),
}

impl Source {
    /// How much it counts: what has more puts out what has less.
    const fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File { .. } => 1,
            Self::Variable(_) => 2,
            Self::Flag(_) => 3,
        }
    }

    /// The word for it in JSON, as `a2a config show` has it.
    const fn word(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File { .. } => "file",
            Self::Variable(_) => "env",
            Self::Flag(_) => "flag",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// What variables and the settings file tell a server.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// By the flag.
    entries: BTreeMap<&'static str, Entry>,
    /// Tables that may stand in the file many times, in their order there.
    rows: Vec<Row>,
    /// The environment variables that the file names for secrets.
    secret_variables: BTreeSet<String>,
}

#[derive(Debug)]
struct Entry {
    key: &'static Key,
    found: Found,
    source: Source,
}

impl Told {
    /// Reads what tells a server beside its flags, which `flags` are; `tree` reads values.
    ///
    /// # Errors
    ///
    /// A usage failure that names the file, the line and the key, or the variable.
    pub(crate) fn read(
        tree: &Command,
        flags: &ArgMatches,
        environment: &Environment,
        output: Output,
    ) -> Result<Self, Failure> {
        let mut told = Self::default();
        let of_flag = flags.get_one::<PathBuf>("settings").cloned();
        if let Some(path) = of_flag.or_else(|| environment.get(SETTINGS).map(Into::into)) {
            told.take_file(&path, tree, output)?;
        }
        told.take_variables(environment, tree)?;
        told.put_out(flags)?;
        Ok(told)
    }

    fn take_file(&mut self, path: &Path, tree: &Command, output: Output) -> Result<(), Failure> {
        let mut file = file::File::read(path)?;
        for line in &file.lines {
            if let Err(message) = check(tree, line.key, &line.found.texts) {
                let problem = file.problem(line, message);
                file.problems.push(problem);
            }
        }
        if !file.problems.is_empty() {
            return Err(file::failure(&file.problems));
        }
        if file.shows_secrets() {
            let path = path.display();
            output.warning(&format!(
                "{path} holds secrets and can be read by others than its owner: chmod 600 {path}"
            ));
        }
        let named = file.lines.iter().map(|line| &line.found);
        let named = named.chain(file.rows.iter().flat_map(Row::values));
        self.secret_variables = named.filter_map(|found| found.variable.clone()).collect();
        self.rows = file.rows;
        for line in file.lines {
            let source = Source::File { path: path.to_owned(), line: line.number };
            self.put(line.key, line.found, source);
        }
        Ok(())
    }

    fn take_variables(&mut self, environment: &Environment, tree: &Command) -> Result<(), Failure> {
        let mut known = vec![SETTINGS.to_owned()];
        for key in KEYS {
            let own = key.variable();
            let of_file = format!("{own}{}", secret::FILE_SUFFIX.to_ascii_uppercase());
            for name in [Some(own.as_str()), key.older_variable].into_iter().flatten() {
                let Some(text) = environment.get(name) else { continue };
                let found = key.form.of_variable(text).map(|texts| Found {
                    texts,
                    reference: key.form.is_secret().then(|| secret::of_variable(key.name, name)),
                    variable: None,
                });
                self.take_variable(key, name, found, tree)?;
                break;
            }
            if key.form.is_secret() {
                if let Some(path) = environment.get(&of_file) {
                    if environment.get(&own).is_some() {
                        let said = format!("{own} and {of_file} exclude each other");
                        return Err(Failure::usage(said));
                    }
                    let found = secret::of_file(key.name, path);
                    self.take_variable(key, &of_file, found, tree)?;
                }
                known.push(of_file);
            }
            known.push(own);
        }
        let unknown = environment
            .names()
            .find(|name| name.starts_with(PREFIX) && !known.iter().any(|one| one == name));
        match unknown {
            None => Ok(()),
            Some(name) => {
                let failure = Failure::usage(format!("no such setting: {name}"));
                Err(match suggestion::of_variable(name) {
                    Some(meant) => failure.with_hint(format!("did you mean {meant}?")),
                    None => failure,
                })
            }
        }
    }

    fn take_variable(
        &mut self,
        key: &'static Key,
        name: &str,
        found: Result<Found, String>,
        tree: &Command,
    ) -> Result<(), Failure> {
        let found = found
            .and_then(|found| check(tree, key, &found.texts).map(|()| found))
            .map_err(|expected| Failure::usage(format!("bad value in {name}: {expected}")))?;
        self.put(key, found, Source::Variable(name.to_owned()));
        Ok(())
    }

    /// The tables of a name, such as `auth.api_key`, in their order in the file.
    pub(crate) fn rows(&self, path: &str) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.table.path() == path)
    }

    /// The environment variables that the settings file names for secrets (`env:NAME`).
    pub(crate) fn secret_variables(&self) -> &BTreeSet<String> {
        &self.secret_variables
    }

    fn put(&mut self, key: &'static Key, found: Found, source: Source) {
        self.entries.insert(key.flag, Entry { key, found, source });
    }

    /// Leaves out what can't hold beside something that counts more.
    fn put_out(&mut self, flags: &ArgMatches) -> Result<(), Failure> {
        for group in EXCLUSIVE {
            let is_on =
                |entry: &&Entry| entry.key.form != Form::Switch || entry.found.texts == ["true"];
            let told = || group.iter().filter_map(|flag| self.entries.get(flag)).filter(is_on);
            let is_flag = group.iter().any(|flag| is_explicit(flags, flag));
            let highest = told().map(|entry| entry.source.rank()).max().unwrap_or_default();
            let kept: Vec<_> =
                told().filter(|entry| !is_flag && entry.source.rank() == highest).collect();
            if let [one, other, ..] = kept.as_slice() {
                let (one, other) = (said(one), said(other));
                return Err(Failure::usage(format!("{one} and {other} exclude each other")));
            }
            let kept = kept.first().map(|entry| entry.key.flag);
            self.entries.retain(|flag, _| !group.contains(flag) || Some(*flag) == kept);
        }
        for shorthand in SHORTHANDS {
            if flags.get_flag(shorthand.flag) {
                self.entries.remove(shorthand.of);
            }
        }
        Ok(())
    }

    /// Puts everything where the flags of the command have their defaults.
    pub(crate) fn put_into(&self, mut tree: Command, command: &str) -> Command {
        for (flag, entry) in &self.entries {
            let texts = entry.found.texts.clone();
            let set = |argument: clap::Arg| match entry.key.form {
                Form::List => argument.default_values(texts),
                _ => argument.default_value(texts.into_iter().next().unwrap_or_default()),
            };
            tree = if entry.key.is_global {
                tree.mut_arg(flag, set)
            } else {
                tree.mut_subcommand(command, |command| command.mut_arg(flag, set))
            };
        }
        tree
    }

    /// Says of a failure that names a flag which setting it was.
    pub(crate) fn place(&self, failure: Failure) -> Failure {
        let named = |entry: &&Entry| {
            let flag = long(entry.key);
            failure.message().strip_prefix(&flag).is_some_and(|rest| !rest.starts_with('-'))
        };
        match self.entries.values().find(named) {
            Some(entry) => failure.with_place(&said(entry)),
            None => failure,
        }
    }
}

/// A setting and its source, for a message.
fn said(entry: &Entry) -> String {
    match &entry.source {
        Source::File { .. } => format!("{}: {}", entry.source, entry.key.path()),
        other => other.to_string(),
    }
}

/// The flag as it is typed.
fn long(key: &Key) -> String {
    let long = match key.flag {
        "reference" => "proxy",
        other => other,
    };
    format!("--{}", long.replace('_', "-"))
}

/// Lets switches be switched off by a flag, where something else switched them on.
pub(crate) fn with_values_for_switches(tree: Command) -> Command {
    let switches: Vec<_> = KEYS
        .iter()
        .filter(|key| matches!(key.form, Form::Switch | Form::Inverse))
        .map(|key| key.flag)
        .chain(SHORTHANDS.iter().map(|shorthand| shorthand.flag))
        .collect();
    ["serve", "demo-server"].into_iter().fold(tree, |tree, command| {
        tree.mut_subcommand(command, |command| {
            switches.iter().fold(command, |command, flag| {
                command.mut_arg(flag, |argument| {
                    argument
                        .action(clap::ArgAction::Set)
                        .num_args(0..=1)
                        .require_equals(true)
                        .default_missing_value("true")
                        .default_value("false")
                        .hide_default_value(true)
                        .hide_possible_values(true)
                        .value_name("BOOL")
                })
            })
        })
    })
}

fn is_explicit(flags: &ArgMatches, flag: &str) -> bool {
    flags.value_source(flag) == Some(ValueSource::CommandLine)
}

/// Reads a value with the reader of its flag.
fn check(tree: &Command, key: &Key, texts: &[String]) -> Result<(), String> {
    if key.flag == "program" {
        // Whatever it is, it is a command line.
        return Ok(());
    }
    let flag = long(key);
    let arguments = texts.iter().map(|text| format!("{flag}={text}"));
    let line = ["a2a".to_owned(), "serve".to_owned()].into_iter().chain(arguments);
    match tree.clone().try_get_matches_from(line) {
        Ok(_) => Ok(()),
        Err(error) => Err(reason(&error)),
    }
}

/// Why a value can't be read, without the value.
fn reason(error: &clap::Error) -> String {
    match (error.get(ContextKind::ValidValue), std::error::Error::source(error)) {
        (Some(ContextValue::Strings(valid)), _) if !valid.is_empty() => {
            format!("expected {}", valid.join(", "))
        }
        (_, Some(source)) => source.to_string(),
        _ => error.kind().to_string(),
    }
}

/// What a server goes by, with where each setting comes from.
#[derive(Debug)]
pub(crate) struct Effective<'a> {
    matches: &'a ArgMatches,
    told: &'a Told,
}

impl<'a> Effective<'a> {
    /// Looks at the flags as they were read after [`Told::put_into`].
    pub(crate) fn new(matches: &'a ArgMatches, told: &'a Told) -> Self {
        Self { matches, told }
    }

    /// The value of a setting, as the texts of its flag, and where it comes from; `None` where it
    /// has none.
    fn value(&self, key: &Key) -> (Option<Vec<String>>, Source) {
        for shorthand in SHORTHANDS.iter().filter(|shorthand| shorthand.of == key.flag) {
            if self.matches.get_flag(shorthand.flag) {
                let flag = format!("--{}", shorthand.flag.replace('_', "-"));
                return (Some(vec![shorthand.value.to_owned()]), Source::Flag(flag));
            }
        }
        let texts = self
            .matches
            .get_raw(key.flag)
            .map(|texts| texts.map(|text| text.to_string_lossy().into_owned()).collect::<Vec<_>>());
        let source = if is_explicit(self.matches, key.flag) {
            Source::Flag(if key.flag == "program" { "--".into() } else { long(key) })
        } else {
            self.told.entries.get(key.flag).map_or(Source::Default, |entry| entry.source.clone())
        };
        (texts.filter(|texts| !texts.is_empty()), source)
    }

    /// What leads to a secret without showing it.
    fn reference(&self, key: &Key) -> Option<&str> {
        let entry = self.told.entries.get(key.flag)?;
        entry.found.reference.as_deref().filter(|_| !is_explicit(self.matches, key.flag))
    }
}

/// Where the variables say that tasks are kept, for a look into that store.
///
/// # Errors
///
/// A usage failure that names the variable.
pub(crate) fn store_location(environment: &Environment) -> Result<Option<String>, Failure> {
    let variable = format!("{PREFIX}STORE_LOCATION");
    if let Some(location) = environment.get(&variable) {
        return Ok(Some(location.to_owned()));
    }
    let of_file = format!("{variable}_FILE");
    let Some(path) = environment.get(&of_file) else { return Ok(None) };
    let found = secret::of_file("location", path)
        .map_err(|expected| Failure::usage(format!("bad value in {of_file}: {expected}")))?;
    Ok(found.texts.into_iter().next())
}
