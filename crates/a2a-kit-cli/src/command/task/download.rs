//! `a2a task download`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::single;
use crate::{
    download::{self, Fetcher},
    failure::Failure,
    output::{self},
    settings::{Settings, value},
    watch::Progress,
};

#[derive(Args, Debug)]
pub(crate) struct Download {
    /// Task ID
    task: Option<String>,
    /// Directory for the files; created if it is missing
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    out: PathBuf,
    /// ID or name of an artifact to save; repeatable [default: all]
    #[arg(long, value_name = "ID|NAME")]
    artifact: Vec<String>,
    /// Replace existing files
    #[arg(long)]
    overwrite: bool,
    /// Fetch the files that artifacts refer to by URL, from public addresses only unless the agent
    /// is on this machine
    #[arg(long)]
    fetch_urls: bool,
    /// Maximum size of all files
    #[arg(long, value_name = "BYTES", default_value = "100MiB", value_parser = value::bytes)]
    max_bytes: usize,
}

impl Download {
    pub(super) async fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let (id, agent) = single::connect(self.task.as_ref(), settings).await?;
        let task = agent.client().get(id).await.map_err(|error| agent.failure(&error))?;
        let fetcher = self.fetch_urls.then(|| Fetcher::new(&agent, settings)).transpose()?;
        let mut download = download::Download::into(&self.out)?;
        download.overwrite = self.overwrite;
        download.max_bytes = u64::try_from(self.max_bytes).unwrap_or(u64::MAX);
        download.fetcher = fetcher;
        let save = download.save(&task, &self.artifact);
        let report = Progress::new(&agent).limit(settings, save).await?;
        report.note_skipped(settings.output);
        if settings.output.is_json() {
            return report.print_json(settings.stream, settings.output);
        }
        settings.output.text(|text| {
            output::ids(text, &task.id, &task.context_id, task.state());
            report.write(text);
        })
    }
}
