//! The settings of all sources together: flags override variables, variables the file, and the
//! file the defaults.

use std::{collections::BTreeSet, path::PathBuf};

use clap::ArgMatches;
use serde::Deserialize as _;

use super::{Serve, file::File, suggestion, types::Written};
use crate::{
    failure::Failure,
    output::Output,
    settings::{
        Environment, exposure, flags,
        layer::{Layer, Problem, Source, report},
        section::{Declared as _, SERVE_PREFIX, Setting},
        value, variables,
    },
};

/// The variable in place of `--settings`.
const SETTINGS: &str = "A2ACLI_SERVE_SETTINGS";

/// The flag that is short for `--protocol 1.0`.
pub(crate) const NO_COMPAT: &str = "no-compat";

/// Variables with other names than their settings.
const MORE_VARIABLES: [(&str, &str); 2] =
    [("store.secret_key_file", "A2ACLI_SECRET_KEY_FILE"), ("tls.ca_file", "A2ACLI_CA_CERT")];

/// The flag in place of the provider in `--model` and of `--base-url`.
pub(crate) const OPENAI: &str = "openai";

/// Sections whose flags need the agent that they are for: the setting that names it, and its flag.
const OF_AGENT: [(&str, &str, &str); 2] =
    [("model", "model.name", "--model"), ("proxy", "proxy.to", "--proxy")];

/// Settings that exclude each other.
const EXCLUSIVE: [&[&str]; 4] = [
    &[
        "agent.demo",
        "agent.script_file",
        "agent.echo",
        "agent.replay_file",
        "exec.command",
        "exec.program",
        "model.name",
        "proxy.to",
    ],
    &["model.system", "model.system_file"],
    &["exec.chunk", "exec.io"],
    &["telemetry.metrics", "telemetry.metrics_listen"],
];

/// The settings of all sources.
#[derive(Default)]
pub(crate) struct LayeredSettings {
    pub(super) layer: Layer,
    secret_variables: BTreeSet<String>,
}

impl LayeredSettings {
    /// Reads all sources.
    /// Errors: a usage failure with all problems.
    pub(crate) fn read(
        matches: &ArgMatches,
        environment: &Environment,
        output: Output,
    ) -> Result<Self, Failure> {
        let mut layered = Self::default();
        let mut problems = Vec::new();
        let path = matches.get_one::<PathBuf>("settings").cloned();
        if let Some(path) = path.or_else(|| environment.get(SETTINGS).map(Into::into)) {
            let text = std::fs::read_to_string(&path).map_err(|error| {
                Failure::usage(format!("failed to read --settings {}: {error}", path.display()))
            })?;
            let file = File::read(&path, &text);
            let exposure = if file.has_secret { exposure(&path, "secrets") } else { None };
            exposure.iter().for_each(|warning| output.warning(warning));
            layered.secret_variables = file.secret_variables;
            problems.extend(file.problems);
            layered.merge(file.layer, &mut problems);
        }
        let (variables, found) = variables(environment);
        problems.extend(found);
        layered.merge(variables, &mut problems);
        layered.merge(flags(matches)?, &mut problems);
        report::<Serve>(problems)?;
        layered.exclude()?;
        Ok(layered)
    }

    /// Adds a layer over those that are there.
    fn merge(&mut self, layer: Layer, problems: &mut Vec<Problem>) {
        problems.extend(layer.problems::<Serve>());
        self.layer.merge(layer);
    }

    /// Applies the exclusive groups: the setting of the highest source overrides the others.
    fn exclude(&mut self) -> Result<(), Failure> {
        for group in EXCLUSIVE {
            if let Err(both) = self.layer.exclude::<Serve>(group) {
                let [one, other] = both.map(|path| self.place_of(path));
                return Err(Failure::usage(format!("{one} and {other} exclude each other")));
            }
        }
        // In a file, the settings of a model or of a proxy may wait for one.
        let is_flag =
            |setting: &&Setting| matches!(self.layer.source(setting.path), Source::Flag(_));
        for (section, name, agent) in OF_AGENT {
            let mut settings = Serve::settings().filter(|setting| setting.section == section);
            let flag = settings.find(is_flag).and_then(|setting| setting.flag);
            if let (Some(flag), false) = (flag, self.layer.values.contains_key(name)) {
                return Err(Failure::usage(format!("{flag} is only for {agent}")));
            }
        }
        Ok(())
    }

    /// The settings as their types.
    pub(crate) fn serve(&self) -> Result<Serve, Failure> {
        let mut serve = Serve::deserialize(&self.layer.tree::<Serve>())
            .map_err(|error| Failure::internal(error.to_string()))?;
        serve.secret_variables.clone_from(&self.secret_variables);
        Ok(serve)
    }

    /// Adds the source to a failure that begins with a flag, or with a table of the file.
    pub(crate) fn place(&self, failure: Failure) -> Failure {
        for (path, source) in &self.layer.sources {
            let flag = Serve::setting(path).and_then(|setting| setting.flag);
            let rest = failure.message().strip_prefix(flag.unwrap_or(path));
            let is_named = rest.is_some_and(|rest| !rest.starts_with(['-', '[', '.']));
            match source {
                Source::File { .. } | Source::Variable(_) if is_named => {
                    let place = flag.map_or_else(|| source.to_string(), |_| self.place_of(path));
                    return failure.with_place(&place);
                }
                _ => {}
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

/// Reads the flags.
fn flags(matches: &ArgMatches) -> Result<Layer, Failure> {
    let mut layer = flags::layer(Serve::settings(), matches);
    let no_compat = flags::texts(matches, NO_COMPAT).unwrap_or_default();
    if no_compat.iter().any(|text| value::switch(text) == Ok(true)) {
        if layer.values.contains_key("listen.protocol") {
            return Err(Failure::usage("--no-compat and --protocol exclude each other"));
        }
        layer.insert("listen.protocol", vec!["1.0"], Source::Flag("--no-compat".to_owned()));
    }
    if let Some(url) = flags::texts(matches, OPENAI).and_then(|mut urls| urls.pop()) {
        let exclusive = |flag| Failure::usage(format!("--openai and {flag} exclude each other"));
        let Some(model) = layer.text("model.name") else {
            return Err(Failure::usage("--openai needs --model with the name of the model"));
        };
        let (model, source) = (format!("openai-chat/{model}"), layer.source("model.name"));
        if layer.values.contains_key("model.base_url") {
            return Err(exclusive("--base-url"));
        }
        layer.insert("model.name", model, source);
        layer.insert("model.base_url", url, Source::Flag("--openai".to_owned()));
    }
    Ok(layer)
}

/// Reads the variables.
fn variables(environment: &Environment) -> (Layer, Vec<Problem>) {
    let settings = || Serve::settings().filter(|setting| !setting.is_table());
    let (mut layer, mut problems) = variables::layer(settings(), |name| environment.find(name));
    for (path, name) in MORE_VARIABLES {
        if let (None, Some((text, source))) = (layer.values.get(path), environment.find(name)) {
            layer.insert(path, text, source);
        }
    }
    let files = settings().filter_map(variables::variable_of_file);
    let known: BTreeSet<_> = settings().map(Setting::variable).chain(files).collect();
    for name in environment.names().filter(|name| name.starts_with(SERVE_PREFIX)) {
        if name != SETTINGS && !known.contains(name) {
            let (source, key) = (Source::Variable(name.to_owned()), name.to_owned());
            problems.push(Problem {
                source,
                key,
                message: suggestion::unknown_variable::<Serve>(name),
            });
        }
    }
    (layer, problems)
}

/// The location of the store that the variables name, for `a2a store`.
pub(crate) fn store_location(environment: &Environment) -> Result<Option<String>, Failure> {
    let (variables, _of_the_server) = variables(environment);
    let Some(value) = variables.values.get("store.location") else { return Ok(None) };
    let written = Written::deserialize(value).map_err(|error| error.to_string());
    written
        .and_then(Written::read)
        .map(Some)
        .map_err(|error| Failure::usage(format!("{}: {error}", variables.source("store.location"))))
}
