//! Environment variables of settings.

use std::collections::BTreeMap;

use crate::failure::Failure;

/// The prefix of every variable.
pub(crate) const PREFIX: &str = "A2ACLI_";

/// The variables with the prefix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Reads the variables of this process.
    pub(crate) fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// Reads a variable by the long name of its flag, with the parser of that flag. An empty variable
    /// counts as unset.
    ///
    /// # Errors
    ///
    /// A usage failure that names the variable, if its value is invalid.
    pub(crate) fn read<T>(
        &self,
        flag: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Failure> {
        let name = variable(flag);
        let Some(text) = self.0.get(&name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        read(text)
            .map(Some)
            .map_err(|expected| Failure::usage(format!("bad value in {name}: {expected}")))
    }

    /// The value of the variable with this full name. An empty variable counts as unset.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// The names of the variables that are set.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, text)| !text.is_empty()).map(|(name, _)| name.as_str())
    }

    /// Reads a variable as text.
    pub(crate) fn text(&self, flag: &str) -> Option<String> {
        self.0.get(&variable(flag)).filter(|text| !text.is_empty()).cloned()
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)).collect())
    }
}

/// The name of the variable for a flag: `agent-card` is `A2ACLI_AGENT_CARD`.
fn variable(flag: &str) -> String {
    format!("{PREFIX}{}", flag.to_ascii_uppercase().replace('-', "_"))
}
