//! The settings of a run: flags take precedence over variables, and these over defaults.

mod flags;
pub(crate) mod serve;
mod source;
mod tls;
pub(crate) mod value;

use std::{sync::Arc, time::Duration};

use a2a_core::{ProtocolVersion, well_known::Struct};
use a2a_kit_client::{ClientSettings, Transport, credentials::Origin};
use a2a_kit_http::{client::WireObserver, tls::ClientTls};

pub(crate) use flags::Flags;
pub(crate) use source::{Environment, PREFIX};
use value::Format;

use crate::{failure::Failure, redaction::TokenRedaction};

/// The effective settings of one run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) agent_card: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) transport: Vec<Transport>,
    pub(crate) tenant: Option<String>,
    pub(crate) version: Option<ProtocolVersion>,
    /// Whether older protocol versions are used without being requested.
    pub(crate) any_version: bool,
    pub(crate) stream: bool,
    pub(crate) waiting: Waiting,
    pub(crate) poll_interval: Duration,
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
    pub(crate) format: Format,
    pub(crate) compact: bool,
    pub(crate) verbose: bool,
    /// Whether Markdown is rendered on a terminal.
    pub(crate) render: bool,
    pub(crate) debug: bool,
    /// Observer of the messages on the wire.
    pub(crate) observer: Option<Arc<dyn WireObserver>>,
}

/// Whether to wait for a task to settle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The default of the command: `send` waits, `task get` does not.
    #[default]
    Default,
    Yes,
    No,
}

const POLL_INTERVAL: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(300);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

impl Settings {
    /// Combines flags and variables.
    ///
    /// # Errors
    ///
    /// A usage failure for an invalid variable, and for mutually exclusive settings.
    pub(crate) fn resolve(flags: &Flags, environment: &Environment) -> Result<Self, Failure> {
        let text = |flag: &Option<String>, name| flag.clone().or_else(|| environment.text(name));
        let switch = |flag: bool, name| {
            if flag {
                Ok(true)
            } else {
                Ok(environment.read(name, value::switch)?.unwrap_or(false))
            }
        };

        let transport = if flags.transport.is_empty() {
            let list = |text: &str| text.split(',').map(value::binding).collect();
            environment.read("transport", list)?.unwrap_or_default()
        } else {
            flags.transport.clone()
        };
        let timeout = match flags.timeout {
            Some(timeout) => Some(timeout),
            None => environment.read("timeout", value::duration)?,
        };
        let poll_interval = match flags.poll_interval {
            Some(interval) => Some(interval),
            None => environment.read("poll-interval", value::poll_interval)?,
        };
        let request_timeout = match flags.request_timeout {
            Some(timeout) => Some(timeout),
            None => environment.read("request-timeout", value::duration)?,
        };
        let metadata = match &flags.metadata {
            Some(metadata) => Some(metadata.clone()),
            None => environment.read("metadata", value::json_object)?,
        };
        let service_parameters = if flags.svc_param.is_empty() {
            environment.read("svc-param", service_parameters)?.unwrap_or_default()
        } else {
            flags.svc_param.clone()
        };
        let extensions = if flags.extension.is_empty() {
            let list = |text: &str| Ok(text.split(',').map(|uri| uri.trim().to_owned()).collect());
            environment.read("extension", list)?.unwrap_or_default()
        } else {
            flags.extension.clone()
        };
        let credential_origins = if flags.credential_origin.is_empty() {
            let list = |text: &str| text.split(',').map(value::origin).collect();
            environment.read("credential-origin", list)?.unwrap_or_default()
        } else {
            flags.credential_origin.clone()
        };
        let insecure = switch(flags.insecure, "insecure")?;
        let trust = tls::trust(flags, environment)?;
        let settings = Self {
            agent_card: text(&flags.agent_card, "agent-card"),
            endpoint: text(&flags.endpoint, "endpoint"),
            transport,
            tenant: text(&flags.tenant, "tenant"),
            version: match flags.a2a_version {
                Some(version) => Some(version),
                None => environment.read("a2a-version", value::version)?,
            },
            any_version: false,
            stream: flags.stream,
            waiting: waiting(flags, environment)?,
            poll_interval: poll_interval.unwrap_or(POLL_INTERVAL),
            timeout: match timeout {
                Some(limit) => Some(limit).filter(|limit| !limit.is_zero()),
                None => Some(TIMEOUT).filter(|_| !flags.stream),
            },
            request_timeout: request_timeout.unwrap_or(REQUEST_TIMEOUT),
            task_id: text(&flags.task_id, "task-id"),
            context_id: text(&flags.context_id, "context-id"),
            extensions,
            metadata,
            service_parameters,
            bearer: text(&flags.bearer, "bearer"),
            api_key: text(&flags.api_key, "api-key"),
            basic: text(&flags.basic, "basic"),
            client_id: environment.text("client-id"),
            client_secret: environment.text("client-secret"),
            uses_stored_tokens: true,
            token_redaction: TokenRedaction::default(),
            credential_origins,
            passes_credentials: false,
            tls: {
                let tls = tls::identified(trust.clone(), flags, environment)?;
                if insecure { tls.without_verification() } else { tls }
            },
            trust,
            insecure,
            format: match flags.output {
                Some(format) => format,
                None => environment.read("output", value::format)?.unwrap_or_default(),
            },
            compact: switch(flags.compact, "compact")?,
            verbose: switch(flags.verbose, "verbose")?,
            render: switch(flags.render, "render")?,
            debug: switch(flags.debug, "debug")?,
            observer: None,
        };
        Ok(settings)
    }

    /// Returns whether a credential is configured.
    pub(crate) fn has_credential(&self) -> bool {
        self.bearer.is_some() || self.api_key.is_some() || self.basic.is_some()
    }

    /// The settings of the HTTP client.
    pub(crate) fn http(&self) -> ClientSettings {
        ClientSettings::default().with_tls(self.tls.clone()).with_observer(self.observer.clone())
    }

    /// The end of `--help`: the effective defaults.
    pub(crate) fn effective_defaults(&self) -> String {
        let transport = match self.transport.as_slice() {
            [] => "order of the card".to_owned(),
            wanted => wanted.iter().map(|binding| binding.as_str()).collect::<Vec<_>>().join(", "),
        };
        let agent = self.agent_card.as_deref().or(self.endpoint.as_deref()).unwrap_or("none");
        let seconds = |duration: Duration| format!("{}s", duration.as_secs_f64());
        format!(
            "Effective defaults:\n  agent            {agent}\n  transport        {transport}\n  \
             a2a-version      {}\n  output           {}\n  wait             on for send\n  \
             poll-interval    {}\n  timeout          {}\n  request-timeout  {}",
            self.version.map_or("highest common version, at least 1.0", value::version_name),
            if self.format == Format::Json { "json" } else { "text" },
            seconds(self.poll_interval),
            self.timeout.map_or_else(|| "none".to_owned(), seconds),
            seconds(self.request_timeout),
        )
    }
}

fn waiting(flags: &Flags, environment: &Environment) -> Result<Waiting, Failure> {
    if flags.no_wait && flags.wait {
        return Err(Failure::usage("--async and --wait are mutually exclusive"));
    }
    if flags.no_wait && flags.stream {
        return Err(Failure::usage("--async and --stream are mutually exclusive"));
    }
    if flags.no_wait {
        return Ok(Waiting::No);
    }
    if flags.wait {
        return Ok(Waiting::Yes);
    }
    if environment.read("async", value::switch)? == Some(true) && !flags.stream {
        return Ok(Waiting::No);
    }
    Ok(match environment.read("wait", value::switch)? {
        Some(true) => Waiting::Yes,
        Some(false) => Waiting::No,
        None => Waiting::Default,
    })
}

/// One pair, or a JSON array of pairs.
fn service_parameters(text: &str) -> Result<Vec<(String, String)>, String> {
    if text.trim_start().starts_with('[') {
        let pairs: Vec<String> = serde_json::from_str(text)
            .map_err(|error| format!("expected a JSON array of pairs: {error}"))?;
        pairs.iter().map(|pair| value::service_parameter(pair)).collect()
    } else {
        value::service_parameter(text).map(|pair| vec![pair])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
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
        assert_eq!(settings.poll_interval, Duration::from_secs(1));
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
        assert_eq!(Settings::resolve(&stream, &Environment::default()).unwrap().timeout, None);
        let zero = Flags { timeout: Some(Duration::ZERO), ..Flags::default() };
        assert_eq!(Settings::resolve(&zero, &Environment::default()).unwrap().timeout, None);
    }
}
