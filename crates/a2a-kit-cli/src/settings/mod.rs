//! The settings of a run: flags override variables, variables override settings files, and files
//! override defaults.

mod directories;
mod effective;
mod env_file;
mod environment;
mod flags;
mod layers;
mod permissions;
mod resolver;
mod secret_policy;
pub(crate) mod serve;
mod source;
mod tls;
pub(crate) mod value;
mod waiting;

use std::{path::PathBuf, sync::Arc, time::Duration};

use a2a_core::{ProtocolVersion, well_known::Struct};
use a2a_kit_client::{ClientSettings, PollPolicy, Transport, credentials::Origin};
use a2a_kit_http::{
    client::{ReadBudget, WireObserver},
    tls::ClientTls,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};

pub(crate) use directories::Directories;
pub(crate) use effective::{Effective, EffectiveSettings};
pub(crate) use environment::{Environment, PREFIX};
pub(crate) use flags::Flags;
pub(crate) use layers::Layers;
pub(crate) use permissions::is_readable_by_others;
use resolver::{Resolver, Shown as _};
pub(crate) use secret_policy::UserSecret;
pub(crate) use source::Source;
use value::Format;
pub(crate) use waiting::Waiting;

use crate::{
    failure::Failure,
    redaction::{Redaction, SHORTEST_SECRET, TokenRedaction, basic_forms},
};

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
    /// Tokens that diagnostics must not show.
    pub(crate) token_redaction: TokenRedaction,
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
    pub(crate) format: Format,
    pub(crate) compact: bool,
    pub(crate) verbose: bool,
    /// Whether Markdown is rendered on a terminal.
    pub(crate) render: bool,
    pub(crate) debug: bool,
    /// Observer of the messages on the wire.
    pub(crate) observer: Option<Arc<dyn WireObserver>>,
    /// All settings with their sources.
    pub(crate) effective: EffectiveSettings,
}

const POLL_INTERVAL: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(300);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

impl Settings {
    /// Redacts the secrets of these settings.
    pub(crate) fn redaction(&self) -> Redaction {
        let credentials = [&self.bearer, &self.api_key, &self.basic, &self.client_secret];
        let credentials = credentials.into_iter().flatten().cloned();
        let basic = self.basic.iter().map(|pair| BASE64_STANDARD.encode(pair));
        let client = self.client_id.iter().zip(&self.client_secret);
        let client = client.flat_map(|(id, secret)| basic_forms(id, secret));
        let parameters = self.service_parameters.iter().map(|(_, value)| value.clone());
        let password = self.basic.iter().filter_map(|pair| Some(pair.split_once(':')?.1.into()));
        let short = parameters.chain(password).filter(|value| value.len() >= SHORTEST_SECRET);
        let all = credentials.chain(basic).chain(client).chain(short);
        Redaction::new(all, self.token_redaction.clone())
    }

    /// Combines flags, variables, settings files and defaults. Each setting is declared here: its
    /// name, how it is read, and its default.
    ///
    /// # Errors
    ///
    /// A usage failure for an invalid value, and for mutually exclusive settings.
    pub(crate) fn resolve(flags: &Flags, layers: &Layers) -> Result<Self, Failure> {
        let mut read = Resolver::new(layers);
        let mut agent_card = read.text("agent-card", flags.agent_card.as_ref());
        let mut endpoint = read.text("endpoint", flags.endpoint.as_ref());
        let transport =
            read.list("transport", &flags.transport, value::binding, "order of the card")?;
        let mut tenant = read.text("tenant", flags.tenant.as_ref());
        let version = read.optional(
            "a2a-version",
            flags.a2a_version.as_ref(),
            value::version,
            "highest common version, at least 1.0",
        )?;
        // A card reference and an endpoint exclude each other, and a tenant belongs to an endpoint.
        read.exclude(("agent-card", &mut agent_card), ("endpoint", &mut endpoint));
        if endpoint.is_none() {
            read.exclude(("agent-card", &mut agent_card), ("tenant", &mut tenant));
        }

        let waiting = Waiting::resolve(flags, &mut read)?;
        let interval = flags.poll_interval.as_ref();
        let interval =
            read.with_default("poll-interval", interval, value::poll_interval, POLL_INTERVAL)?;
        let poll = match read.is_default("poll-interval") {
            // A short answer is not to take a whole interval.
            true => PollPolicy::default().with_max_interval(interval),
            false => PollPolicy::every(interval),
        };
        let timeout = read.optional("timeout", flags.timeout.as_ref(), value::duration, "none")?;
        let timeout = timeout.or(Some(TIMEOUT).filter(|_| !flags.stream));
        if let Some(timeout) = &timeout {
            read.show("timeout", timeout.shown());
        }
        let limit = flags.request_timeout.as_ref();
        let request_timeout =
            read.with_default("request-timeout", limit, value::duration, REQUEST_TIMEOUT)?;

        let task_id = read.text("task-id", flags.task_id.as_ref());
        let context_id = read.text("context-id", flags.context_id.as_ref());
        let extension = |uri: &str| Ok(uri.to_owned());
        let extensions = read.list("extension", &flags.extension, extension, "none")?;
        let metadata =
            read.optional("metadata", flags.metadata.as_ref(), value::json_object, "none")?;
        let parameters = Some(&flags.svc_param).filter(|parameters| !parameters.is_empty());
        let parameters =
            read.optional("svc-param", parameters, value::service_parameters, "none")?;

        let mut bearer = read.credential("bearer", flags.bearer.as_ref());
        let api_key = read.credential("api-key", flags.api_key.as_ref());
        let mut basic = read.credential("basic", flags.basic.as_ref());
        // Both are sent in one header.
        read.exclude(("bearer", &mut bearer), ("basic", &mut basic));
        let client_id = read.text("client-id", None);
        let client_secret = read.credential("client-secret", None);
        let credential_origins = read.list(
            "credential-origin",
            &flags.credential_origin,
            value::origin,
            "origin of the card",
        )?;

        let insecure = read.switch("insecure", flags.insecure)?;
        let ca_cert = read.path("ca-cert", flags.ca_cert.as_ref());
        let client_cert = read.path("client-cert", flags.client_cert.as_ref());
        let client_key = read.path("client-key", flags.client_key.as_ref());
        let trust = tls::trust(ca_cert.as_deref())?;
        let pins = read.list("pin-sha256", &flags.pin_sha256, value::fingerprint, "none")?;
        if insecure && !pins.is_empty() {
            return Err(Failure::usage("--insecure and --pin-sha256 are mutually exclusive"));
        }
        let tls = tls::identified(trust.clone(), client_cert.as_deref(), client_key.as_deref())?;
        let tls = pins.iter().fold(tls, |tls, pin| tls.with_pin(pin.0));

        let card_auth = read.switch("card-auth", flags.card_auth)?;
        let grpc_plaintext = read.switch("grpc-plaintext", flags.grpc_plaintext)?;
        let no_cache = read.switch("no-cache", flags.no_cache)?;
        let format = flags.output.as_ref();
        let format = read.with_default("output", format, value::format, Format::default())?;
        let compact = read.switch("compact", flags.compact)?;
        let verbose = read.switch("verbose", flags.verbose)?;
        let render = read.switch("render", flags.render)?;
        let debug = read.switch("debug", flags.debug)?;

        let effective = read.finish();
        Ok(Self {
            bare_file: effective.source("agent-card").bare_file(agent_card.as_deref()),
            agent_card,
            catalog: None,
            endpoint,
            transport,
            tenant,
            version,
            any_version: false,
            stream: flags.stream,
            waiting,
            poll,
            timeout: timeout.filter(|limit| !limit.is_zero()),
            request_timeout,
            task_id,
            context_id,
            extensions,
            metadata,
            service_parameters: parameters.unwrap_or_default(),
            bearer,
            api_key,
            basic,
            client_id,
            client_secret,
            uses_stored_tokens: true,
            read_budget: None,
            token_redaction: TokenRedaction::default(),
            credential_origins,
            passes_credentials: false,
            tls: if insecure { tls.without_verification() } else { tls },
            trust,
            insecure,
            card_auth,
            grpc_plaintext,
            no_cache,
            cache_directory: None,
            format,
            compact,
            verbose,
            render,
            debug,
            observer: None,
            effective,
        })
    }

    /// Returns whether a credential is configured.
    pub(crate) fn has_credential(&self) -> bool {
        self.bearer.is_some() || self.api_key.is_some() || self.basic.is_some()
    }

    /// Returns whether cards may be cached: not those that only a client certificate gives access
    /// to, and not those of an unverified server.
    pub(crate) fn caches_cards(&self) -> bool {
        !self.no_cache && !self.insecure && *self.effective.source("client-cert") == Source::Default
    }

    /// The settings of the HTTP client.
    pub(crate) fn http(&self) -> ClientSettings {
        ClientSettings::default()
            .with_tls(self.tls.clone())
            .with_observer(self.observer.clone())
            .with_read_budget(self.read_budget.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Layers {
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Layers::of_environment(&variables.collect())
    }

    #[test]
    fn flag_overrides_variable_and_variable_overrides_default() {
        let variables = environment(&[
            ("A2ACLI_AGENT_CARD", "env:1"),
            ("A2ACLI_TRANSPORT", "grpc, rest"),
            ("A2ACLI_POLL_INTERVAL", "1s"),
            ("A2ACLI_SVC_PARAM", r#"["a:1","b=2"]"#),
        ]);
        let flags = Flags { agent_card: Some("flag:1".into()), ..Flags::default() };
        let settings = Settings::resolve(&flags, &variables).unwrap();
        assert_eq!(settings.agent_card.as_deref(), Some("flag:1"));
        assert_eq!(settings.transport, [Transport::Grpc, Transport::Rest]);
        assert_eq!(settings.poll, PollPolicy::every(Duration::from_secs(1)));
        assert_eq!(
            Settings::resolve(&Flags::default(), &Layers::default()).unwrap().poll.interval,
            Duration::from_millis(100)
        );
        assert_eq!(settings.timeout, Some(TIMEOUT));
        assert_eq!(settings.service_parameters.len(), 2);
    }

    #[test]
    fn invalid_variable_is_named() {
        for (name, value) in [
            ("A2ACLI_COMPACT", "maybe"),
            ("A2ACLI_TIMEOUT", "soon"),
            ("A2ACLI_TRANSPORT", "carrier-pigeon"),
            ("A2ACLI_SVC_PARAM", "A2A-Version:1.0"),
            ("A2ACLI_CREDENTIAL_ORIGIN", "https://a.example,/b"),
        ] {
            let failure =
                Settings::resolve(&Flags::default(), &environment(&[(name, value)])).unwrap_err();
            assert!(failure.message().contains(name), "{name}: {failure}");
            assert_eq!(failure.code().exit(), 2, "{name}");
        }
    }

    #[test]
    fn stream_has_no_default_timeout_and_zero_disables_it() {
        let stream = Flags { stream: true, ..Flags::default() };
        assert_eq!(Settings::resolve(&stream, &Layers::default()).unwrap().timeout, None);
        let zero = Flags { timeout: Some(Duration::ZERO), ..Flags::default() };
        assert_eq!(Settings::resolve(&zero, &Layers::default()).unwrap().timeout, None);
    }

    #[test]
    fn stronger_source_overrides_a_setting_that_excludes_it() {
        let variables = environment(&[
            ("A2ACLI_AGENT_CARD", "a.example"),
            ("A2ACLI_BASIC", "ann:secret"),
            ("A2ACLI_ASYNC", "yes"),
        ]);
        let flags = Flags {
            endpoint: Some("https://b.example".into()),
            bearer: Some("t0ken".into()),
            wait: true,
            ..Flags::default()
        };
        let settings = Settings::resolve(&flags, &variables).unwrap();
        assert_eq!((settings.agent_card, settings.basic), (None, None));
        assert_eq!(settings.waiting, Waiting::Yes);

        let variables = environment(&[
            ("A2ACLI_ENDPOINT", "https://b.example"),
            ("A2ACLI_TENANT", "t"),
            ("A2ACLI_WAIT", "1"),
        ]);
        let flags = Flags { agent_card: Some("a.example".into()), ..Flags::default() };
        let settings = Settings::resolve(&flags, &variables).unwrap();
        assert_eq!((settings.endpoint, settings.tenant), (None, None));

        let both = environment(&[("A2ACLI_ASYNC", "1"), ("A2ACLI_WAIT", "1")]);
        let failure = Settings::resolve(&Flags::default(), &both).unwrap_err();
        assert!(failure.message().contains("mutually exclusive"), "{failure}");
    }
}
