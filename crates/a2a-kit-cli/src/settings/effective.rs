//! The effective settings of a run, as `config show` and `--help` print them.

use super::source::Source;
use crate::output::escaped;

/// The effective settings of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct EffectiveSettings(Vec<Effective>);

/// The effective value of a setting, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effective {
    /// The long name of the flag.
    pub(crate) name: &'static str,
    /// `None` if it is not set and has no default.
    pub(crate) value: Option<String>,
    /// What applies if there is no value.
    pub(crate) otherwise: &'static str,
    pub(crate) source: Source,
}

impl Effective {
    /// The value, or what applies instead.
    pub(crate) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or(self.otherwise)
    }
}

impl EffectiveSettings {
    pub(super) fn new(settings: Vec<Effective>) -> Self {
        Self(settings)
    }

    /// All settings, in the order of the help.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Effective> {
        self.0.iter()
    }

    /// The end of `--help`: the settings that have a value, and what applies instead of others.
    pub(crate) fn defaults(&self) -> String {
        let shown = self.0.iter().filter(|setting| {
            setting.name == "agent-card" || setting.value.is_some() || setting.otherwise != "none"
        });
        let mut text = "Effective defaults:".to_owned();
        for setting in shown {
            text.push_str(&format!("\n  {:<19}{}", setting.name, escaped(setting.text())));
            if setting.source != Source::Default {
                text.push_str(&format!(" ({})", escaped(&setting.source.to_string())));
            }
        }
        text
    }

    /// The source of a setting, by the long name of its flag.
    pub(crate) fn source(&self, name: &str) -> &Source {
        let setting = self.0.iter().find(|setting| setting.name == name);
        setting.map_or(&Source::Default, |setting| &setting.source)
    }

    /// Changes the source of a setting, by the long name of its flag.
    pub(crate) fn set_source(&mut self, name: &str, source: Source) {
        if let Some(setting) = self.0.iter_mut().find(|setting| setting.name == name) {
            setting.source = source;
        }
    }
}
