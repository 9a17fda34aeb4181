//! `a2a config`: the settings of the commands that call an agent.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::{
    failure::Failure,
    output::{Output, Text},
    settings::{Effective, EffectiveSettings, Settings},
};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the effective settings with the source of each. Credentials are shown as (set)
    Show,
}

impl ConfigCommand {
    pub(super) fn run(&self, settings: &Settings, output: Output) -> Result<(), Failure> {
        match self {
            Self::Show => {
                if let Err(refused) = settings.check_secrets() {
                    output.warning(refused.message());
                }
                let settings = &settings.effective;
                let documents: Vec<_> = settings.iter().map(document).collect();
                output.result(&json!({ "settings": documents }), || text(settings))
            }
        }
    }
}

fn document(setting: &Effective) -> Value {
    json!({
        "name": setting.name,
        "value": setting.value,
        "source": setting.source.name(),
        "path": setting.source.path().map(|path| path.display().to_string()),
    })
}

fn text(settings: &EffectiveSettings) -> Text {
    let mut text = Text::new();
    for setting in settings.iter() {
        text.line(setting.name, &format!("{} (source: {})", setting.text(), setting.source));
    }
    text
}
