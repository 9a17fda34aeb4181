//! `a2a config`: the settings of the commands that call an agent.

use clap::Subcommand;
use serde_json::json;

use crate::{
    failure::Failure,
    output::{Output, Text},
    settings::{Settings, document},
};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the effective settings with the source of each. Credentials are shown as (set)
    Show,
}

impl ConfigCommand {
    pub(super) fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        let Self::Show = self;
        if let Err(refused) = settings.check_secrets() {
            output.warning(refused.message());
        }
        let documents: Vec<_> =
            settings.effective().map(|one| document(one.name, one.value, &one.source)).collect();
        output.result(&json!({ "settings": documents }), || {
            let mut text = Text::new();
            for setting in settings.effective() {
                text.line(setting.name, &format!("{} (source: {})", setting.text, setting.place()));
            }
            text
        })
    }
}
