//! Settings in environment variables, and in files that have one variable a line.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    flags::value_of_text,
    layer::{Layer, Problem, Source},
    schema,
    section::{FILE_SUFFIX, Setting},
};

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
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, text)| !text.is_empty()).map(|(name, _)| name.as_str())
    }

    /// The value of a variable and its source.
    pub(super) fn find(&self, name: &str) -> Option<(&str, Source)> {
        self.get(name).map(|text| (text, Source::Variable(name.to_owned())))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)).collect())
    }
}

/// The variable that names a file with a secret, in place of the secret.
pub(super) fn variable_of_file(setting: &Setting) -> Option<String> {
    let suffix = FILE_SUFFIX.to_ascii_uppercase();
    schema::is_secret(&setting.schema).then(|| format!("{}{suffix}", setting.variable()))
}

/// Reads the variables of settings, with those in files for secrets.
pub(super) fn layer<'a>(
    settings: impl Iterator<Item = &'static Setting>,
    find: impl Fn(&str) -> Option<(&'a str, Source)>,
) -> (Layer, Vec<Problem>) {
    let (mut layer, mut problems) = (Layer::default(), Vec::new());
    for setting in settings {
        let own = setting.variable();
        let found = find(&own);
        let is_set = found.is_some();
        if let Some((text, source)) = found {
            let value = match &source {
                // A secret of the environment stays there.
                Source::Variable(name) if schema::is_secret(&setting.schema) => {
                    json!({ "env": name })
                }
                _ => value_of_text(setting, text),
            };
            layer.insert(setting.path, value, source);
        }
        let Some(name) = variable_of_file(setting) else { continue };
        let Some((path, source)) = find(&name) else { continue };
        let problem = match (is_set, source.is_found()) {
            (true, _) => Some(format!("excludes {own}")),
            // It may come from another author, who must not choose among the files of the user.
            (false, true) => Some("is not used in a file that was found and not named".to_owned()),
            (false, false) => None,
        };
        let problem = problem.map(|message| Problem { source: source.clone(), key: name, message });
        problems.extend(problem);
        layer.insert(setting.path, json!({ "file": path }), source);
    }
    (layer, problems)
}
