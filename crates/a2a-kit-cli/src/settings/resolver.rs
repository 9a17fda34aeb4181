//! Resolving settings: the flag, or else the strongest layer, or else the default.

use std::{path::PathBuf, time::Duration};

use a2a_core::{ProtocolVersion, well_known::Struct};
use a2a_kit_client::{Transport, credentials::Origin};

use super::{
    effective::{Effective, EffectiveSettings},
    environment::variable,
    layers::{Found, Layers},
    source::Source,
    value::{self, Fingerprint, Format},
};
use crate::failure::Failure;

/// Resolves settings one by one, and records the value and the source of each.
#[derive(Debug)]
pub(super) struct Resolver<'a> {
    layers: &'a Layers,
    effective: Vec<Effective>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(layers: &'a Layers) -> Self {
        Self { layers, effective: Vec::new() }
    }

    /// Resolves a setting without a default value. `otherwise` is what applies instead.
    ///
    /// # Errors
    ///
    /// A usage failure that names the variable, and the line of a file, if the value is invalid.
    pub(super) fn optional<T: Shown + Clone>(
        &mut self,
        name: &'static str,
        flag: Option<&T>,
        read: impl FnOnce(&str) -> Result<T, String>,
        otherwise: &'static str,
    ) -> Result<Option<T>, Failure> {
        let (value, source) = match (flag, self.layers.find(name)) {
            (Some(value), _) => (Some(value.clone()), Source::Flag),
            (None, Some(found)) => (Some(parsed(name, &found, read)?), found.source),
            (None, None) => (None, Source::Default),
        };
        let shown = value.as_ref().map(Shown::shown);
        self.effective.push(Effective { name, value: shown, otherwise, source });
        Ok(value)
    }

    /// Resolves a setting with a default.
    ///
    /// # Errors
    ///
    /// As [`optional`](Self::optional).
    pub(super) fn with_default<T: Shown + Clone>(
        &mut self,
        name: &'static str,
        flag: Option<&T>,
        read: impl FnOnce(&str) -> Result<T, String>,
        default: T,
    ) -> Result<T, Failure> {
        let value = self.optional(name, flag, read, "")?.unwrap_or(default);
        self.show(name, value.shown());
        Ok(value)
    }

    /// Resolves a text setting.
    pub(super) fn text(&mut self, name: &'static str, flag: Option<&String>) -> Option<String> {
        self.unparsed(name, flag, String::clone)
    }

    /// Resolves the path of a file.
    pub(super) fn path(&mut self, name: &'static str, flag: Option<&PathBuf>) -> Option<PathBuf> {
        self.unparsed(name, flag, |path| path.display().to_string())
    }

    fn unparsed<T: Clone + From<String>>(
        &mut self,
        name: &'static str,
        flag: Option<&T>,
        show: impl FnOnce(&T) -> String,
    ) -> Option<T> {
        let (value, source) = match (flag, self.layers.find(name)) {
            (Some(value), _) => (Some(value.clone()), Source::Flag),
            (None, Some(found)) => (Some(T::from(found.text.to_owned())), found.source),
            (None, None) => (None, Source::Default),
        };
        let shown = value.as_ref().map(show);
        self.effective.push(Effective { name, value: shown, otherwise: "none", source });
        value
    }

    /// Resolves a credential, whose value is not shown.
    pub(super) fn credential(
        &mut self,
        name: &'static str,
        flag: Option<&String>,
    ) -> Option<String> {
        let value = self.text(name, flag);
        if value.is_some() {
            self.show(name, "(set)".to_owned());
        }
        value
    }

    /// Resolves a switch that is off by default.
    ///
    /// # Errors
    ///
    /// As [`optional`](Self::optional).
    pub(super) fn switch(&mut self, name: &'static str, flag: bool) -> Result<bool, Failure> {
        self.with_default(name, flag.then_some(&true), value::switch, false)
    }

    /// Resolves a list, which is separated by commas in a variable.
    ///
    /// # Errors
    ///
    /// As [`optional`](Self::optional).
    pub(super) fn list<T: Shown + Clone>(
        &mut self,
        name: &'static str,
        flag: &Vec<T>,
        read: impl Fn(&str) -> Result<T, String>,
        otherwise: &'static str,
    ) -> Result<Vec<T>, Failure> {
        let flag = (!flag.is_empty()).then_some(flag);
        let read = |text: &str| text.split(',').map(|one| read(one.trim())).collect();
        Ok(self.optional(name, flag, read, otherwise)?.unwrap_or_default())
    }

    /// Of two settings that exclude each other, drops the one with the weaker source. Those of one
    /// source are both kept.
    pub(super) fn exclude<T, U>(
        &mut self,
        (name, value): (&'static str, &mut Option<T>),
        (other_name, other): (&'static str, &mut Option<U>),
    ) {
        if value.is_none() || other.is_none() {
            return;
        }
        let (rank, other_rank) = (self.rank(name), self.rank(other_name));
        if rank < other_rank {
            *other = None;
            self.unset(other_name, "none");
        } else if other_rank < rank {
            *value = None;
            self.unset(name, "none");
        }
    }

    /// The precedence of the source of a setting.
    pub(super) fn rank(&self, name: &str) -> u8 {
        self.entry(name).map_or(Source::Default.rank(), |entry| entry.source.rank())
    }

    /// Sets the value that is shown.
    pub(super) fn show(&mut self, name: &str, value: String) {
        if let Some(entry) = self.effective.iter_mut().find(|entry| entry.name == name) {
            entry.value = Some(value);
        }
    }

    /// Shows a setting as not set; `otherwise` is what applies instead.
    pub(super) fn unset(&mut self, name: &str, otherwise: &'static str) {
        if let Some(entry) = self.effective.iter_mut().find(|entry| entry.name == name) {
            entry.value = None;
            entry.otherwise = otherwise;
            entry.source = Source::Default;
        }
    }

    /// Returns whether no source sets a setting.
    pub(super) fn is_default(&self, name: &str) -> bool {
        self.rank(name) == Source::Default.rank()
    }

    fn entry(&self, name: &str) -> Option<&Effective> {
        self.effective.iter().find(|entry| entry.name == name)
    }

    /// All settings, in the order in which they were resolved.
    pub(super) fn finish(self) -> EffectiveSettings {
        EffectiveSettings::new(self.effective)
    }
}

fn parsed<T>(
    name: &str,
    found: &Found<'_>,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    read(found.text).map_err(|expected| {
        let failure = Failure::usage(format!("bad value in {}: {expected}", variable(name)));
        match (found.source.path(), found.line) {
            (Some(path), Some(line)) => failure.with_place(&format!("{}:{line}", path.display())),
            _ => failure,
        }
    })
}

/// A value as `config show` prints it.
pub(super) trait Shown {
    fn shown(&self) -> String;
}

impl Shown for String {
    fn shown(&self) -> String {
        self.clone()
    }
}

impl Shown for bool {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for Duration {
    fn shown(&self) -> String {
        if self.subsec_nanos() == 0 {
            format!("{}s", self.as_secs())
        } else {
            format!("{}ms", self.as_secs_f64() * 1000.0)
        }
    }
}

impl Shown for Transport {
    fn shown(&self) -> String {
        self.as_str().to_ascii_lowercase()
    }
}

impl Shown for ProtocolVersion {
    fn shown(&self) -> String {
        value::version_name(*self).to_owned()
    }
}

impl Shown for Fingerprint {
    fn shown(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Shown for Format {
    fn shown(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Json => "json".to_owned(),
        }
    }
}

impl Shown for Origin {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for Struct {
    fn shown(&self) -> String {
        // Names are strings and numbers finite, so encoding can't fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A service parameter, whose value may be a secret.
impl Shown for (String, String) {
    fn shown(&self) -> String {
        format!("{}:(set)", self.0)
    }
}

impl<T: Shown> Shown for Vec<T> {
    fn shown(&self) -> String {
        self.iter().map(Shown::shown).collect::<Vec<_>>().join(",")
    }
}
