//! The sources of settings below the flags: variables and settings files.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use a2a_kit_client::CardReference;
use http::Uri;

use super::{
    directories::Directories,
    env_file::EnvFile,
    environment::{Environment, variable},
    permissions::{distrust, is_readable_by_others},
    source::Source,
    value::{self, Format},
};
use crate::failure::Failure;

/// Variables and settings files, from the strongest to the weakest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    environment: Environment,
    /// The local file, the file of the agent and the global file, as far as they exist.
    files: Vec<(Source, EnvFile)>,
    /// Where the files of agents are.
    agent_files: Option<PathBuf>,
    warnings: Vec<String>,
    notes: Vec<String>,
}

/// The variables that hold credentials, by the names of their flags.
const CREDENTIALS: [&str; 5] = ["bearer", "api-key", "basic", "svc-param", "client-secret"];

/// A value of a layer.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) text: &'a str,
    pub(super) source: Source,
    /// The line, in a file.
    pub(super) line: Option<usize>,
}

impl Layers {
    /// Only the variables, for commands that are not configured by files.
    pub(crate) fn of_environment(environment: &Environment) -> Self {
        Self { environment: environment.clone(), ..Self::default() }
    }

    /// Reads the settings files: `config`, or else the nearest `.env` of the project; and the global
    /// file.
    ///
    /// # Errors
    ///
    /// A usage failure that names the file, and the line if it is malformed.
    pub(crate) fn read(
        environment: &Environment,
        directories: &Directories,
        config: Option<&Path>,
    ) -> Result<Self, Failure> {
        let mut layers = Self::of_environment(environment);
        layers.agent_files = directories.agent_files();
        match (config, &directories.working) {
            (Some(path), _) => {
                let source = Source::Local { path: path.to_owned(), is_discovered: false };
                layers.add(source, EnvFile::read(path)?);
            }
            (None, Some(working)) => layers.discover(working, directories.home.as_deref())?,
            (None, None) => {}
        }
        if let Some(path) = directories.global_file().filter(|path| path.is_file()) {
            let file = EnvFile::read(&path)?;
            layers.add(Source::Global(path), file);
        }
        Ok(layers)
    }

    /// Adds the settings file of an agent, `<host>[_<port>].env`, if there is one.
    ///
    /// # Errors
    ///
    /// As for [`read`](Self::read).
    pub(crate) fn with_agent(mut self, reference: &str) -> Result<Self, Failure> {
        let name = agent_file_name(reference);
        let path = self.agent_files.as_ref().zip(name).map(|(folder, name)| folder.join(name));
        if let Some(path) = path.filter(|path| path.is_file()) {
            let file = EnvFile::read(&path)?;
            self.add(Source::Agent(path), file);
        }
        Ok(self)
    }

    /// The agent that the layers name, by its card or its endpoint.
    pub(crate) fn agent(&self) -> Option<&str> {
        let card = self.find("agent-card");
        let endpoint = self.find("endpoint");
        match (card, endpoint) {
            (Some(card), Some(endpoint)) if endpoint.source.rank() < card.source.rank() => {
                Some(endpoint.text)
            }
            (card, endpoint) => card.or(endpoint).map(|found| found.text),
        }
    }

    /// The output format; `None` if it is not set, or invalid.
    pub(crate) fn read_output(&self) -> Option<Format> {
        value::format(self.find("output")?.text).ok()
    }

    /// What is worth a warning: files with credentials that other users can read.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Which files were not read.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Finds the strongest value of a setting, by the long name of its flag.
    pub(super) fn find(&self, flag: &str) -> Option<Found<'_>> {
        let name = variable(flag);
        if let Some(text) = self.environment.get(&name) {
            return Some(Found { text, source: Source::Environment, line: None });
        }
        self.files.iter().find_map(|(source, file)| {
            let (line, text) = file.get(&name)?;
            Some(Found { text, source: source.clone(), line: Some(line) })
        })
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
                self.add(Source::Local { path, is_discovered: true }, read?);
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

    fn add(&mut self, source: Source, file: EnvFile) {
        let Some(path) = source.path() else { return };
        let has_credential = CREDENTIALS.iter().any(|flag| file.get(&variable(flag)).is_some());
        if has_credential && is_readable_by_others(path) {
            let path = path.display();
            self.warnings.push(format!(
                "{path} contains credentials and is readable by other users: chmod 600 {path}"
            ));
        }
        self.files.push((source, file));
        self.files.sort_by_key(|(source, _)| source.rank());
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

        let layers = Layers::read(&environment, &directories, None).unwrap();
        let layers = layers.with_agent("a.example").unwrap();
        for (flag, source) in [
            ("tenant", Source::Environment),
            ("context-id", Source::Local { path: local, is_discovered: true }),
            ("task-id", Source::Agent(agent.clone())),
            ("output", Source::Global(global)),
        ] {
            assert_eq!(layers.find(flag).unwrap().source, source, "{flag}");
        }
        assert!(layers.find("bearer").is_none());

        // The file of --config replaces the local one.
        let layers = Layers::read(&environment, &directories, Some(&agent)).unwrap();
        let source = Source::Local { path: agent, is_discovered: false };
        assert_eq!(layers.find("context-id").unwrap().source, source);
    }
}
