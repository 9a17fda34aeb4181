//! Environment variables of settings.

use std::collections::BTreeMap;

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

    /// The value of the variable with this full name. An empty variable counts as unset.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// The names of the variables that are set.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, text)| !text.is_empty()).map(|(name, _)| name.as_str())
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)).collect())
    }
}

/// The name of the variable for a flag: `agent-card` is `A2ACLI_AGENT_CARD`.
pub(super) fn variable(flag: &str) -> String {
    format!("{PREFIX}{}", flag.to_ascii_uppercase().replace('-', "_"))
}
