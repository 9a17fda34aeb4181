//! `a2a task download`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::single;
use crate::{
    artifacts,
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
        let task = agent.client.get(id).await.map_err(|error| agent.failure(&error))?;
        let fetcher = self.fetch_urls.then(|| artifacts::fetcher(&agent, settings)).transpose()?;
        let download = a2a_kit_artifacts::Download::into(&self.out)?
            .with_overwrite(self.overwrite)
            .with_max_bytes(u64::try_from(self.max_bytes).unwrap_or(u64::MAX))
            .with_fetcher(fetcher);
        let save = async { Ok(download.save(&task, &self.artifact).await?) };
        let files = Progress::new(&agent).limit(settings, save).await?;
        artifacts::note_skipped(&files, settings.output);
        if settings.output.is_json() && settings.stream {
            return files.saved.iter().try_for_each(|saved| settings.output.json(saved));
        }
        settings.output.result(&files, |text| {
            output::ids(text, &task.id, &task.context_id, task.state());
            artifacts::write(text, &files);
        })
    }
}
