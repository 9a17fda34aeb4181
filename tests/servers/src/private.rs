use std::path::PathBuf;

use rustix::process::Signal;

use crate::{Skipped, nats, postgres, process::Process};

/// A server of one test that can be killed, stopped and restarted at the same address and
/// with the same files. It is killed on drop.
#[derive(Debug)]
pub struct Private {
    kind: Kind,
    arguments: Vec<String>,
    folder: PathBuf,
    port: u16,
    url: String,
    process: Option<Process>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Postgres,
    Nats,
}

impl Private {
    /// Starts PostgreSQL, with additional settings of the form `name=value`.
    ///
    /// # Errors
    ///
    /// [`Skipped`], after a line on standard error, where it is not installed and can't be.
    pub async fn postgres(settings: &[&str]) -> Result<Self, Skipped> {
        Self::postgres_with(&[], settings).await
    }

    /// The same with files of these names and texts, that settings call `../name`.
    ///
    /// # Errors
    ///
    /// As [`postgres`](Self::postgres).
    pub async fn postgres_with(files: &[(&str, &str)], settings: &[&str]) -> Result<Self, Skipped> {
        match postgres::Started::new(files, settings).await {
            Ok(postgres::Started { process, folder, port, url }) => {
                Ok(Self::new(Kind::Postgres, settings, folder, port, url, process))
            }
            Err(reason) => Err(Skipped::new("PostgreSQL", reason)).inspect_err(Skipped::say),
        }
    }

    /// Starts NATS with JetStream, with additional arguments.
    ///
    /// # Errors
    ///
    /// [`Skipped`], after a line on standard error, where it is not installed and can't be.
    pub async fn nats(arguments: &[&str]) -> Result<Self, Skipped> {
        Self::nats_with(&[], arguments).await
    }

    /// The same with files of these names and texts, that arguments call by their names.
    ///
    /// # Errors
    ///
    /// As [`nats`](Self::nats).
    pub async fn nats_with(files: &[(&str, &str)], arguments: &[&str]) -> Result<Self, Skipped> {
        match nats::Started::new(files, arguments).await {
            Ok(nats::Started { process, folder, port, url }) => {
                Ok(Self::new(Kind::Nats, arguments, folder, port, url, process))
            }
            Err(reason) => Err(Skipped::new("NATS", reason)).inspect_err(Skipped::say),
        }
    }

    fn new(
        kind: Kind,
        arguments: &[&str],
        folder: PathBuf,
        port: u16,
        url: String,
        process: Process,
    ) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { kind, arguments, folder, port, url, process: Some(process) }
    }

    /// The address of the server. That of PostgreSQL names an empty database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Kills the server with `SIGKILL`, if it runs.
    pub fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }

    /// Restarts the server unless it runs, and waits until it responds.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub async fn start(&mut self) {
        if self.process.is_some() {
            return;
        }
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let folder = self.folder.clone();
        let started = match self.kind {
            Kind::Postgres => postgres::Started::in_folder(folder, self.port, &arguments)
                .await
                .map(|started| started.process),
            Kind::Nats => nats::Started::in_folder(folder, self.port, &arguments)
                .await
                .map(|started| started.process),
        };
        self.process = Some(started.unwrap_or_else(|error| panic!("{:?}: {error}", self.kind)));
    }

    /// Kills and restarts the server.
    pub async fn restart(&mut self) {
        self.kill();
        self.start().await;
    }

    /// Stops the server with `SIGSTOP`: connections stay open without responses.
    pub fn pause(&self) {
        if let Some(process) = &self.process {
            process.stop();
        }
    }

    /// Resumes a stopped server.
    pub fn resume(&self) {
        if let Some(process) = &self.process {
            process.signal(Signal::CONT);
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        if self.process.take().is_none() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
