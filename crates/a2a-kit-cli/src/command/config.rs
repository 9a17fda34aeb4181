//! `a2a config`: the settings of the commands that call an agent.

use clap::Subcommand;
use serde_json::json;

use crate::{
    failure::Failure,
    settings::{Settings, document},
};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the effective settings with the source of each. Credentials are shown as (set)
    Show,
}

impl ConfigCommand {
    pub(super) fn run(&self, settings: &Settings) -> Result<(), Failure> {
        let Self::Show = self;
        if let Err(refused) = settings.check_secrets() {
            settings.output.warning(refused.message());
        }
        let documents: Vec<_> =
            settings.effective().map(|one| document(one.name, one.value, &one.source)).collect();
        settings.output.result(&json!({ "settings": documents }), |text| {
            for setting in settings.effective() {
                text.line(setting.name, &format!("{} (source: {})", setting.text, setting.place()));
            }
        })
    }
}
