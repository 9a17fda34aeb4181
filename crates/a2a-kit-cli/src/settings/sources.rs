//! The sources of the settings of commands that call an agent: flags, variables and settings files.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use a2a_kit_client::CardReference;
use clap::ArgMatches;
use http::Uri;
use serde::Deserialize as _;

use super::{
    client::Client,
    directories::Directories,
    env_file::EnvFile,
    flags,
    layer::{Layer, Problem, SettingsFile, Source},
    section::{Declared as _, Setting},
    value::Format,
    variables::{self, Environment},
};
use crate::failure::Failure;

/// The settings of flags, variables and files together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    pub(crate) layer: Layer,
    pub(super) problems: Vec<Problem>,
    /// Where the files of agents are.
    agent_files: Option<PathBuf>,
    /// What is worth a warning: files with credentials that other users can read.
    pub(crate) warnings: Vec<String>,
    /// Which files were not read.
    pub(crate) notes: Vec<String>,
}

/// The variables that hold credentials, by the names of their flags.
const CREDENTIALS: [&str; 5] = ["bearer", "api-key", "basic", "svc-param", "client-secret"];

impl Sources {
    /// Only the variables, for commands that are not configured by files.
    pub(crate) fn of_environment(environment: &Environment) -> Self {
        let (layer, problems) = variables::layer(Client::settings(), |name| environment.find(name));
        Self { layer, problems, ..Self::default() }
    }

    /// Reads the settings files: `config`, or else the nearest `.env` of the project; and the global
    /// file.
    /// Errors: a usage failure that names the file, and the line if it is malformed.
    pub(crate) fn read(
        environment: &Environment,
        directories: &Directories,
        config: Option<&Path>,
    ) -> Result<Self, Failure> {
        let mut sources = Self::of_environment(environment);
        let folder = directories.config.as_ref();
        sources.agent_files = folder.map(|folder| folder.join("agents"));
        match (config, &directories.working) {
            (Some(path), _) => sources.add(SettingsFile::Named, path, &EnvFile::read(path)?),
            (None, Some(working)) => sources.discover(working, directories.home.as_deref())?,
            (None, None) => {}
        }
        if let Some(path) = folder.map(|folder| folder.join(".env")).filter(|path| path.is_file()) {
            sources.add(SettingsFile::Global, &path, &EnvFile::read(&path)?);
        }
        Ok(sources)
    }

    /// Adds the flags of a command line.
    #[must_use]
    pub(crate) fn with_flags(mut self, matches: &ArgMatches) -> Self {
        self.layer.merge(flags::layer(Client::settings(), matches));
        self
    }

    /// Adds the settings file of the agent that the settings name, `<host>[_<port>].env`, if there is
    /// one.
    pub(crate) fn with_agent(mut self) -> Result<Self, Failure> {
        let rank = |path: &&&str| self.layer.source(path).rank();
        // Of two with one source, it is the card, which is the last.
        let named = ["endpoint", "agent-card"].iter().max_by_key(rank).copied();
        let name = named.and_then(|path| agent_file_name(self.layer.text(path)?));
        let path = self.agent_files.as_ref().zip(name).map(|(folder, name)| folder.join(name));
        if let Some(path) = path.filter(|path| path.is_file()) {
            self.add(SettingsFile::Agent, &path, &EnvFile::read(&path)?);
        }
        Ok(self)
    }

    /// The output format; the default one if it is not set, or invalid.
    pub(crate) fn format(&self) -> Format {
        let output = self.layer.values.get("output");
        output.and_then(|value| Format::deserialize(value).ok()).unwrap_or_default()
    }

    /// Adds the nearest `.env` of the project that only this user can have written.
    fn discover(&mut self, working: &Path, home: Option<&Path>) -> Result<(), Failure> {
        // Some tools keep a directory of that name.
        let files = project(working, home).map(|folder| folder.join(".env"));
        for path in files.filter(|path| path.is_file()) {
            let file = File::open(&path);
            let reason = match &file {
                Ok(file) => distrust(&path, file).unwrap_or(Some("its owner is unknown")),
                Err(_) => None,
            };
            let read = EnvFile::read_open(file, &path);
            let Some(reason) = reason else {
                self.add(SettingsFile::Found, &path, &read?);
                break;
            };
            if !read.is_ok_and(|file| file.is_empty()) {
                let path = path.display();
                self.notes
                    .push(format!("{path} is not read: {reason}; to read it, add --config {path}"));
            }
        }
        Ok(())
    }

    fn add(&mut self, file: SettingsFile, path: &Path, variables: &EnvFile) {
        let credentials = CREDENTIALS.iter().filter_map(|name| Client::setting(name));
        let has_credential =
            credentials.map(Setting::variable).any(|name| variables.get(&name).is_some());
        let exposure = if has_credential { exposure(path, "credentials") } else { None };
        self.warnings.extend(exposure);
        let (layer, problems) = variables::layer(Client::settings(), |name| {
            let (line, text) = variables.get(name)?;
            Some((text, Source::File { file, path: path.to_owned(), line }))
        });
        self.layer.merge(layer);
        self.problems.extend(problems);
    }
}

/// The directories of a project: the working directory and those above it, up to the root of the
/// repository or the home directory. Outside of both, the working directory alone.
fn project<'a>(working: &'a Path, home: Option<&Path>) -> impl Iterator<Item = &'a Path> {
    let is_root = |folder: &Path| folder.join(".git").exists() || Some(folder) == home;
    let above = working.ancestors().position(is_root).unwrap_or_default();
    working.ancestors().take(above + 1)
}

/// The name of the settings file of an agent: its host, and its port unless it is the default.
pub(super) fn agent_file_name(reference: &str) -> Option<String> {
    let url: Uri = match reference.parse() {
        Ok(CardReference::Url(url)) => url,
        // An endpoint of gRPC.
        Err(_) => reference.parse().ok()?,
        Ok(_) => return None,
    };
    let host = url.host()?.trim_matches(['[', ']']).to_ascii_lowercase();
    // Colons of IPv6 are not allowed in file names everywhere.
    let host = host.replace(':', "-");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if host.is_empty() || !host.bytes().all(is_plain) {
        return None;
    }
    let default = if url.scheme_str() == Some("http") { 80 } else { 443 };
    Some(match url.port_u16().filter(|port| *port != default) {
        Some(port) => format!("{host}_{port}.env"),
        None => format!("{host}.env"),
    })
}

/// Returns the warning for a file with secrets that other users can read; `what` it contains.
pub(crate) fn exposure(path: &Path, what: &str) -> Option<String> {
    #[cfg(unix)]
    let is_exposed = {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
    };
    // Elsewhere, access is by lists.
    #[cfg(not(unix))]
    let is_exposed = false;
    let path = path.display();
    is_exposed
        .then(|| format!("{path} contains {what} and is readable by other users: chmod 600 {path}"))
}

/// Returns why a file that was found must not configure commands of this user; `None` if it may.
/// Root may write any file.
fn distrust(path: &Path, file: &File) -> io::Result<Option<&'static str>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (link, file) = (std::fs::symlink_metadata(path)?, file.metadata()?);
        let user = rustix::process::geteuid().as_raw();
        let is_foreign = [&link, &file].iter().any(|one| one.uid() != user && one.uid() != 0);
        Ok(match file.mode() & 0o022 {
            _ if is_foreign => Some("another user owns it"),
            0 => None,
            _ => Some("other users can write it"),
        })
    }
    #[cfg(not(unix))]
    {
        let _access_is_by_lists = (path, file);
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn agent_file_is_named_for_host_and_port() {
        for (reference, expected) in [
            ("Agents.example", Some("agents.example.env")),
            ("https://agents.example:443/card.json", Some("agents.example.env")),
            ("localhost:8080", Some("localhost_8080.env")),
            ("http://localhost:443", Some("localhost_443.env")),
            ("[::1]:9000", Some("--1_9000.env")),
            ("grpcs://agents.example:50051", Some("agents.example_50051.env")),
            ("./card.json", None),
            ("file:///card.json", None),
            ("", None),
        ] {
            assert_eq!(agent_file_name(reference).as_deref(), expected, "{reference}");
        }
    }

    #[test]
    fn stronger_layer_overrides_weaker_one() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        let below = folder.path().join("work/below");
        fs::create_dir_all(config.join("agents")).unwrap();
        // A directory named .env is not a settings file.
        fs::create_dir_all(below.join(".env")).unwrap();
        fs::create_dir_all(folder.path().join("work/.git")).unwrap();
        let write = |path: &Path, names: &[&str]| {
            let lines = names.iter().map(|name| format!("A2ACLI_{name}={}\n", path.display()));
            fs::write(path, lines.collect::<String>()).unwrap();
        };
        let local = folder.path().join("work/.env");
        let agent = config.join("agents/a.example.env");
        let global = config.join(".env");
        write(&local, &["TENANT", "CONTEXT_ID"]);
        write(&agent, &["TENANT", "CONTEXT_ID", "TASK_ID"]);
        write(&global, &["TENANT", "CONTEXT_ID", "TASK_ID", "OUTPUT"]);
        let environment = [("A2ACLI_TENANT".to_owned(), "t".to_owned())].into_iter().collect();
        let directories =
            Directories { config: Some(config), working: Some(below), ..Directories::default() };

        let mut sources = Sources::read(&environment, &directories, None).unwrap();
        sources.layer.insert("agent-card", "a.example", Source::Flag("--agent-card".into()));
        let sources = sources.with_agent().unwrap();
        let file = |file, path: &Path, line| Source::File { file, path: path.to_owned(), line };
        for (flag, source) in [
            ("tenant", Source::Variable("A2ACLI_TENANT".into())),
            ("context-id", file(SettingsFile::Found, &local, 2)),
            ("task-id", file(SettingsFile::Agent, &agent, 3)),
            ("output", file(SettingsFile::Global, &global, 4)),
            ("bearer", Source::Default),
        ] {
            assert_eq!(sources.layer.source(flag), source, "{flag}");
        }

        // The file of --config replaces the local one.
        let sources = Sources::read(&environment, &directories, Some(&agent)).unwrap();
        assert_eq!(sources.layer.source("context-id"), file(SettingsFile::Named, &agent, 2));
    }
}
