//! The settings of all sources together: flags override variables, variables the file, and the
//! file the defaults.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::ArgMatches;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{
    FILE_SUFFIX, PREFIX, Serve, file, flags,
    layer::{self, Layer, Problem, Source},
    schema,
    secret::{self, Location},
    settings, suggestion,
};
use crate::{failure::Failure, output::Output, settings::Environment};

/// The variable in place of `--settings`.
const SETTINGS: &str = "A2ACLI_SERVE_SETTINGS";

/// Variables with names outside the rule: they precede it, or apply to other commands too.
const MORE_VARIABLES: [(&str, &str); 2] =
    [("store.secret_key_file", "A2ACLI_SECRET_KEY_FILE"), ("tls.ca_file", "A2ACLI_CA_CERT")];

/// Settings that exclude each other.
const EXCLUSIVE: [&[&str]; 3] = [
    &["agent.demo", "agent.echo", "exec.command", "exec.program", "proxy.to"],
    &["exec.chunk", "exec.io"],
    &["telemetry.metrics", "telemetry.metrics_listen"],
];

/// The settings of all sources.
#[derive(Debug, Default)]
pub(crate) struct LayeredSettings {
    pub(super) layer: Layer,
    secret_variables: BTreeSet<String>,
}

impl LayeredSettings {
    /// Reads all sources.
    ///
    /// # Errors
    ///
    /// A usage failure with all problems.
    pub(crate) fn read(
        matches: &ArgMatches,
        environment: &Environment,
        output: Output,
    ) -> Result<Self, Failure> {
        let mut layered = Self::default();
        let mut problems = Vec::new();
        let path = matches.get_one::<PathBuf>("settings").cloned();
        if let Some(path) = path.or_else(|| environment.get(SETTINGS).map(Into::into)) {
            let (file, found) = file::read(&path)?;
            problems.extend(found);
            layered.check_file(&path, &file, output);
            layered.merge(file, &mut problems);
        }
        let (variables, found) = variables(environment);
        problems.extend(found);
        layered.merge(variables, &mut problems);
        layered.merge(flags::layer(matches)?, &mut problems);
        if !problems.is_empty() {
            problems.sort_by(|one, other| one.source.cmp(&other.source));
            return Err(layer::failure(&problems));
        }
        layered.exclude()?;
        Ok(layered)
    }

    /// Adds a layer over those that are there.
    fn merge(&mut self, layer: Layer, problems: &mut Vec<Problem>) {
        problems.extend(layer.problems());
        self.layer.values.extend(layer.values);
        self.layer.sources.extend(layer.sources);
    }

    /// Warns of secrets that other users can read, and takes note of variables with secrets.
    fn check_file(&mut self, path: &Path, file: &Layer, output: Output) {
        let schema = schema::json_schema();
        let mut has_secret = false;
        for (key, value) in &file.values {
            let Some((section, key)) = key.split_once('.') else { continue };
            let schema = &schema["properties"][section]["properties"][key];
            self.collect_secrets(schema, value, &mut has_secret);
        }
        if has_secret && is_readable_by_others(path) {
            let path = path.display();
            output.warning(&format!(
                "{path} contains secrets and is readable by other users: chmod 600 {path}"
            ));
        }
    }

    fn collect_secrets(&mut self, schema: &Value, value: &Value, has_secret: &mut bool) {
        match value {
            Value::Array(rows) => {
                for row in rows {
                    self.collect_secrets(&schema["items"], row, has_secret);
                }
            }
            Value::Object(fields) if schema::is_secret(schema) => {
                self.secret_variables
                    .extend(fields.get("env").and_then(Value::as_str).map(str::to_owned));
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.collect_secrets(&schema["properties"][name], value, has_secret);
                }
            }
            value => *has_secret |= !may_show(schema, value),
        }
    }

    /// Applies the exclusive groups: the setting of the highest source overrides the others.
    fn exclude(&mut self) -> Result<(), Failure> {
        for group in EXCLUSIVE {
            let is_set = |path: &str| {
                let default = settings().find(|setting| setting.path == path);
                let value = self.layer.values.get(path);
                value.is_some_and(|value| default.is_none_or(|one| one.default != *value))
            };
            let set: Vec<_> = group.iter().copied().filter(|path| is_set(path)).collect();
            let rank = |path: &str| self.layer.source(path).rank();
            let highest = set.iter().map(|path| rank(path)).max().unwrap_or_default();
            let kept: Vec<_> = set.iter().filter(|path| rank(path) == highest).collect();
            if let [one, other, ..] = kept.as_slice() {
                let (one, other) = (self.place_of(one), self.place_of(other));
                return Err(Failure::usage(format!("{one} and {other} exclude each other")));
            }
            let dropped = set.iter().filter(|path| rank(path) < highest);
            for path in dropped.map(|path| (*path).to_owned()).collect::<Vec<_>>() {
                self.layer.values.remove(&path);
                self.layer.sources.remove(&path);
            }
        }
        // In a file, the settings of a proxy may wait for one.
        let mut proxy = settings().filter(|setting| setting.section == "proxy");
        match proxy.find(|setting| self.layer.source(setting.path).rank() == 3) {
            Some(setting) if !self.layer.values.contains_key("proxy.to") => {
                let flag = setting.flag.unwrap_or_default();
                Err(Failure::usage(format!("{flag} is only for --proxy")))
            }
            _ => Ok(()),
        }
    }

    /// The settings as their types.
    ///
    /// # Errors
    ///
    /// None that [`read`](Self::read) has not reported.
    pub(crate) fn serve(&self) -> Result<Serve, Failure> {
        let mut serve = Serve::deserialize(&self.layer.tree())
            .map_err(|error| Failure::internal(error.to_string()))?;
        serve.secret_variables.clone_from(&self.secret_variables);
        Ok(serve)
    }

    /// Adds the source to a failure that begins with a flag or a path.
    pub(crate) fn place(&self, failure: Failure) -> Failure {
        let message = failure.message();
        for (path, source) in &self.layer.sources {
            let setting = settings().find(|setting| setting.path == path);
            let flag = setting.and_then(|setting| setting.flag).unwrap_or(path);
            let is_named =
                message.strip_prefix(flag).is_some_and(|rest| !rest.starts_with(['-', '[', '.']));
            if is_named && source.rank() < 3 {
                let place = match setting.filter(|setting| setting.flag.is_some()) {
                    Some(_) => self.place_of(path),
                    None => source.to_string(),
                };
                return failure.with_place(&place);
            }
        }
        failure
    }

    /// The source of a setting, for a message.
    fn place_of(&self, path: &str) -> String {
        match self.layer.source(path) {
            source @ Source::File { .. } => format!("{source}: {path}"),
            source => source.to_string(),
        }
    }
}

/// Reads the variables.
fn variables(environment: &Environment) -> (Layer, Vec<Problem>) {
    let (mut layer, mut problems) = (Layer::default(), Vec::new());
    let mut known = vec![SETTINGS.to_owned()];
    for setting in settings().filter(|setting| setting.flag.is_some()) {
        let own = setting.variable();
        let is_secret = schema::is_secret(&setting.schema);
        let more = MORE_VARIABLES.iter().filter(|(path, _)| *path == setting.path);
        let names = [own.as_str()].into_iter().chain(more.map(|(_, name)| *name));
        let found = names.filter_map(|name| Some((name, environment.get(name)?))).next();
        if let Some((name, text)) = found {
            let value = match is_secret {
                true => json!({ "env": name }),
                false => flags::value(setting, text.split(',').map(str::trim)),
            };
            layer.insert(setting.path, value, Source::Variable(name.to_owned()));
        }
        let of_file = format!("{own}{}", FILE_SUFFIX.to_ascii_uppercase());
        if let Some(path) = environment.get(&of_file).filter(|_| is_secret) {
            let source = Source::Variable(of_file.clone());
            if found.is_some() {
                let message = format!("{own} and {of_file} exclude each other");
                problems.push(Problem { source: source.clone(), key: own.clone(), message });
            }
            layer.insert(setting.path, json!({ "file": path }), source);
        }
        known.extend(is_secret.then_some(of_file));
        known.push(own);
    }
    for name in environment.names().filter(|name| name.starts_with(PREFIX)) {
        if !known.iter().any(|one| one == name) {
            let (source, key) = (Source::Variable(name.to_owned()), name.to_owned());
            problems.push(Problem { source, key, message: suggestion::unknown_variable(name) });
        }
    }
    (layer, problems)
}

/// Returns whether a value may be printed.
pub(super) fn may_show(schema: &Value, value: &Value) -> bool {
    if !schema::is_secret(schema) {
        return true;
    }
    let is_address = schema["format"] != "password";
    is_address && value.as_str().is_some_and(|address| !secret::has_credentials(address))
}

fn is_readable_by_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _access_is_by_lists = path;
        false
    }
}

/// The location of the store that the variables name, for `a2a store`.
///
/// # Errors
///
/// A usage failure that names the variable.
pub(crate) fn store_location(environment: &Environment) -> Result<Option<String>, Failure> {
    let (variables, _of_the_server) = variables(environment);
    let Some(value) = variables.values.get("store.location") else { return Ok(None) };
    let location = Location::deserialize(value).map_err(|error| error.to_string());
    location
        .and_then(Location::read)
        .map(Some)
        .map_err(|error| Failure::usage(format!("{}: {error}", variables.source("store.location"))))
}
