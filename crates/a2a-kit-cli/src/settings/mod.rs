//! The settings of a run: flags override variables, variables override settings files, and files
//! override defaults.

mod client;
mod directories;
mod effective;
mod env_file;
mod flags;
mod layer;
mod schema;
mod secret_policy;
mod section;
pub(crate) mod serve;
mod sources;
mod types;
pub(crate) mod value;
mod variables;

use std::{
    path::{Component, PathBuf},
    sync::Arc,
    time::Duration,
};

use a2a_core::{ProtocolVersion, well_known::Struct};
use a2a_kit_client::{
    CardReference, CatalogLocation, ClientSettings, PollPolicy, Transport, credentials::Origin,
};
use a2a_kit_http::{
    client::{ReadBudget, WireObserver},
    tls::ClientTls,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use clap::{Arg, builder::ValueParser};
use serde::Deserialize as _;

use client::Client;
pub(crate) use client::Output as OutputSettings;
pub(crate) use directories::Directories;
pub(crate) use effective::document;
pub(crate) use flags::{arguments, switch};
pub(crate) use layer::Source;
use layer::{Layer, report};
pub(crate) use schema::json_schema;
pub(crate) use secret_policy::UserSecret;
pub(crate) use section::{Declared, Section};
pub(crate) use sources::{Sources, exposure};
pub(crate) use variables::{Environment, PREFIX};

use crate::{
    failure::Failure,
    output::Output,
    redaction::{Redaction, SHORTEST_SECRET, basic_forms},
};

/// The time of what no setting limits.
pub(crate) const UNLIMITED: Duration = Duration::from_secs(24 * 3600);

/// The effective settings of one run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) agent_card: Option<String>,
    /// The origin of the catalog that names the agent.
    pub(crate) catalog: Option<Origin>,
    /// The file that a setting names without `./`, which is another one in each working directory.
    pub(crate) bare_file: Option<PathBuf>,
    pub(crate) endpoint: Option<String>,
    pub(crate) transport: Vec<Transport>,
    pub(crate) tenant: Option<String>,
    pub(crate) version: Option<ProtocolVersion>,
    /// Whether older protocol versions are used without being requested.
    pub(crate) any_version: bool,
    pub(crate) stream: bool,
    pub(crate) waiting: Waiting,
    /// The intervals of polls. A requested one is constant.
    pub(crate) poll: PollPolicy,
    /// `None` for no timeout.
    pub(crate) timeout: Option<Duration>,
    pub(crate) request_timeout: Duration,
    pub(crate) task_id: Option<String>,
    pub(crate) context_id: Option<String>,
    pub(crate) extensions: Vec<String>,
    pub(crate) metadata: Option<Struct>,
    pub(crate) service_parameters: Vec<(String, String)>,
    pub(crate) bearer: Option<String>,
    pub(crate) api_key: Option<String>,
    pub(crate) basic: Option<String>,
    /// The id and the secret of the OAuth client.
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<String>,
    /// Whether tokens of `a2a auth login` are sent.
    pub(crate) uses_stored_tokens: bool,
    /// The budget for the bytes of responses that are being read; `None` for a command that reads
    /// for one user.
    pub(crate) read_budget: Option<ReadBudget>,
    /// Secrets that diagnostics must not show.
    pub(crate) redaction: Redaction,
    /// Origins besides the card's to which credentials are sent.
    pub(crate) credential_origins: Vec<Origin>,
    /// Whether the credentials of callers are forwarded.
    pub(crate) passes_credentials: bool,
    /// Whether certificates are not verified.
    pub(crate) insecure: bool,
    /// Trust anchors for all connections.
    pub(crate) trust: ClientTls,
    /// Trust anchors and client certificate for calls to agents.
    pub(crate) tls: ClientTls,
    /// Whether credentials are sent with the first request for the card.
    pub(crate) card_auth: bool,
    /// Whether addresses of gRPC without a scheme are plaintext.
    pub(crate) grpc_plaintext: bool,
    /// Whether the cache of cards is ignored.
    pub(crate) no_cache: bool,
    /// The directory of the cache of cards; `None` if there is none.
    pub(crate) cache_directory: Option<PathBuf>,
    /// How the command prints.
    pub(crate) output: Output,
    pub(crate) debug: bool,
    /// Observer of the messages on the wire.
    pub(crate) observer: Option<Arc<dyn WireObserver>>,
    /// All settings as they are shown, with their sources.
    pub(crate) layer: Layer,
}

/// Whether to wait for a task to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The default of the command: `send` waits, `task get` does not.
    Default,
    Yes,
    No,
}

impl Settings {
    /// Reads the settings from all sources; `stream` is the flag `--stream`.
    /// Errors: a usage failure with all invalid values, or for mutually exclusive settings.
    pub(crate) fn resolve(sources: &Sources, stream: bool) -> Result<Self, Failure> {
        let mut layer = sources.layer.clone();
        // Of two with the same source, commands decide.
        let _both = layer.exclude::<Client>(&["agent-card", "endpoint"]);
        if layer.text("endpoint").is_none() {
            let _both = layer.exclude::<Client>(&["agent-card", "tenant"]);
        }
        // Both are sent in one header.
        let _both = layer.exclude::<Client>(&["bearer", "basic"]);
        if layer.exclude::<Client>(&["async", "wait"]).is_err() {
            return Err(Failure::usage("--async and --wait are mutually exclusive")
                .with_hint("they are also set by A2ACLI_ASYNC and A2ACLI_WAIT"));
        }
        report::<Client>([sources.problems.clone(), layer.problems::<Client>()].concat())?;
        let internal = |error: serde_json::Error| Failure::internal(error.to_string());
        let declared = Client::deserialize(&layer.tree::<Client>()).map_err(internal)?;
        layer.show::<Client>(&serde_json::to_value(&declared).map_err(internal)?);
        let Client { agent, waiting, request, credentials, tls, output } = declared;

        let is_flag = |path: &str| matches!(layer.source(path), Source::Flag(_));
        if waiting.no_wait && stream && is_flag("async") {
            return Err(Failure::usage("--async and --stream are mutually exclusive"));
        }
        // `--stream` overrides an `--async` of a variable or a file.
        let wait = match (waiting.no_wait && !stream, waiting.wait) {
            (false, None) => Waiting::Default,
            (false, Some(true)) => Waiting::Yes,
            (true, _) | (false, Some(false)) => Waiting::No,
        };
        let interval = waiting.poll_interval.0;
        let poll = match layer.source("poll-interval") {
            // A short answer is not to take a whole interval.
            Source::Default => PollPolicy::default().with_max_interval(interval),
            _ => PollPolicy::every(interval),
        };
        let is_unlimited = stream && layer.source("timeout") == Source::Default;
        if is_unlimited {
            layer.values.insert("timeout".to_owned(), serde_json::Value::Null);
        }
        let redaction = Redaction::new(secrets(&credentials, &request.service_parameters));
        let insecure = tls.insecure;
        let (trust, tls) = tls.read()?;
        let timeout = Some(waiting.timeout.0).filter(|limit| !is_unlimited && !limit.is_zero());
        Ok(Self {
            bare_file: match layer.source("agent-card") {
                // A flag is the word of the user.
                Source::Flag(_) => None,
                _ => bare_file(agent.card.as_deref()),
            },
            agent_card: agent.card,
            catalog: None,
            endpoint: agent.endpoint,
            transport: agent.transport.into_iter().map(|binding| binding.0).collect(),
            tenant: agent.tenant,
            version: agent.version.map(|version| version.0),
            any_version: false,
            stream,
            waiting: wait,
            poll,
            timeout,
            request_timeout: waiting.request_timeout.0,
            task_id: request.task_id,
            context_id: request.context_id,
            extensions: request.extension,
            metadata: request.metadata.map(|metadata| metadata.0),
            service_parameters: request.service_parameters.into_iter().map(|one| one.0).collect(),
            bearer: credentials.bearer.map(|secret| secret.0),
            api_key: credentials.api_key.map(|secret| secret.0),
            basic: credentials.basic.map(|secret| secret.0),
            client_id: credentials.client_id,
            client_secret: credentials.client_secret.map(|secret| secret.0),
            uses_stored_tokens: true,
            read_budget: None,
            redaction,
            credential_origins: credentials.origins.into_iter().map(|origin| origin.0).collect(),
            passes_credentials: false,
            tls,
            trust,
            insecure,
            card_auth: credentials.card_auth,
            grpc_plaintext: agent.grpc_plaintext,
            no_cache: agent.no_cache,
            cache_directory: None,
            output: Output::new(&output, stream),
            debug: output.debug,
            observer: None,
            layer,
        })
    }

    /// The source of a setting, by the long name of its flag.
    pub(crate) fn source(&self, name: &str) -> Source {
        self.layer.source(name)
    }

    /// The reference to the card of the agent.
    /// Errors: a usage failure if the settings name none.
    pub(crate) fn agent_card(&self) -> Result<&str, Failure> {
        self.agent_card.as_deref().ok_or_else(|| {
            Failure::usage("no agent is named")
                .with_hint("name one with --agent-card (-a) or A2ACLI_AGENT_CARD")
        })
    }

    /// Returns whether a credential is configured.
    pub(crate) fn has_credential(&self) -> bool {
        self.bearer.is_some() || self.api_key.is_some() || self.basic.is_some()
    }

    /// Returns whether cards may be cached: not those that only a client certificate gives access
    /// to, and not those of an unverified server.
    pub(crate) fn caches_cards(&self) -> bool {
        !self.no_cache && !self.insecure && self.source("client-cert") == Source::Default
    }

    /// The settings of the HTTP client.
    pub(crate) fn http(&self) -> ClientSettings {
        ClientSettings::default()
            .with_tls(self.tls.clone())
            .with_observer(self.observer.clone())
            .with_read_budget(self.read_budget.clone())
    }
}

/// The secrets of credentials and service parameters, as they are and as they are sent.
fn secrets(
    credentials: &client::Credentials,
    parameters: &[types::ServiceParameter],
) -> impl Iterator<Item = String> {
    let client::Credentials { bearer, api_key, basic, client_id, client_secret, .. } = credentials;
    let all =
        [bearer, api_key, basic, client_secret].into_iter().flatten().map(|one| one.0.clone());
    let pair = basic.iter().map(|pair| BASE64_STANDARD.encode(&pair.0));
    let client = client_id.iter().zip(client_secret);
    let client = client.flat_map(|(id, secret)| basic_forms(id, &secret.0));
    let parameters = parameters.iter().map(|one| one.0.1.clone());
    let password = basic.iter().filter_map(|pair| Some(pair.0.split_once(':')?.1.into()));
    let short = parameters.chain(password).filter(|value: &String| value.len() >= SHORTEST_SECRET);
    all.chain(pair).chain(client).chain(short)
}

/// The flags that every command takes.
pub(crate) fn global_flags() -> impl Iterator<Item = Arg> {
    let flags = Client::sections().iter().flat_map(arguments);
    // The values are checked with those of all sources.
    flags.map(|flag| flag.global(true).ignore_case(false).value_parser(ValueParser::string()))
}

/// The file of the working directory that a reference from here names without `./`.
fn bare_file(reference: Option<&str>) -> Option<PathBuf> {
    let path = match reference?.parse().ok()? {
        CardReference::File(path) => path,
        CardReference::Catalog { catalog: CatalogLocation::File(path), .. } => path,
        _ => return None,
    };
    let is_bare = matches!(path.components().next(), Some(Component::Normal(_)));
    is_bare.then_some(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The settings of flags, by the names without dashes, and of variables.
    fn resolve(
        flags: &[(&str, serde_json::Value)],
        variables: &[(&str, &str)],
        stream: bool,
    ) -> Result<Settings, Failure> {
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut sources = Sources::of_environment(&variables.collect());
        for (name, value) in flags {
            sources.layer.insert(name, value.clone(), Source::Flag(format!("--{name}")));
        }
        Settings::resolve(&sources, stream)
    }

    #[test]
    fn flag_overrides_variable_and_variable_overrides_default() {
        let variables = [
            ("A2ACLI_AGENT_CARD", "env:1"),
            ("A2ACLI_TRANSPORT", "grpc, rest"),
            ("A2ACLI_POLL_INTERVAL", "1s"),
            ("A2ACLI_SVC_PARAM", r#"["a:1","b=2"]"#),
        ];
        let settings = resolve(&[("agent-card", json!("flag:1"))], &variables, false).unwrap();
        assert_eq!(settings.agent_card.as_deref(), Some("flag:1"));
        assert_eq!(settings.transport, [Transport::Grpc, Transport::Rest]);
        assert_eq!(settings.poll, PollPolicy::every(Duration::from_secs(1)));
        let defaults = resolve(&[], &[], false).unwrap();
        assert_eq!(defaults.poll.interval, Duration::from_millis(100));
        assert_eq!(settings.timeout, Some(Duration::from_secs(300)));
        assert_eq!(settings.service_parameters.len(), 2);
    }

    #[test]
    fn invalid_variables_are_named_together() {
        let variables = [
            ("A2ACLI_COMPACT", "maybe"),
            ("A2ACLI_TIMEOUT", "soon"),
            ("A2ACLI_TRANSPORT", "carrier-pigeon"),
            ("A2ACLI_SVC_PARAM", "A2A-Version:1.0"),
            ("A2ACLI_CREDENTIAL_ORIGIN", "https://a.example,/b"),
            ("A2ACLI_PIN_SHA256", "ab"),
            ("A2ACLI_METADATA", "[]"),
            ("A2ACLI_POLL_INTERVAL", "1ms"),
        ];
        for (name, value) in variables {
            let failure = resolve(&[], &[(name, value)], false).unwrap_err();
            assert!(failure.message().starts_with(&format!("{name}: ")), "{name}: {failure}");
            assert_eq!(failure.code.exit(), 2, "{name}");
        }
        let failure = resolve(&[], &variables, false).unwrap_err();
        for (name, _) in variables {
            assert!(failure.message().contains(name), "{name}: {failure}");
        }
    }

    #[test]
    fn stream_has_no_default_timeout_and_zero_disables_it() {
        assert_eq!(resolve(&[], &[], true).unwrap().timeout, None);
        assert_eq!(resolve(&[("timeout", json!("0"))], &[], false).unwrap().timeout, None);
    }

    #[test]
    fn stronger_source_overrides_a_setting_that_excludes_it() {
        let variables = [
            ("A2ACLI_AGENT_CARD", "a.example"),
            ("A2ACLI_BASIC", "ann:secret"),
            ("A2ACLI_ASYNC", "yes"),
        ];
        let flags = [
            ("endpoint", json!("https://b.example")),
            ("bearer", json!("t0ken")),
            ("wait", json!(true)),
        ];
        let settings = resolve(&flags, &variables, false).unwrap();
        assert_eq!((settings.agent_card, settings.basic), (None, None));
        assert_eq!(settings.waiting, Waiting::Yes);

        let variables = [
            ("A2ACLI_ENDPOINT", "https://b.example"),
            ("A2ACLI_TENANT", "t"),
            ("A2ACLI_WAIT", "1"),
        ];
        let settings = resolve(&[("agent-card", json!("a.example"))], &variables, false).unwrap();
        assert_eq!((settings.endpoint, settings.tenant), (None, None));

        let both = [("A2ACLI_ASYNC", "1"), ("A2ACLI_WAIT", "1")];
        let failure = resolve(&[], &both, false).unwrap_err();
        assert!(failure.message().contains("mutually exclusive"), "{failure}");
    }
}
