//! A connection to the agent that the settings name.

use std::sync::Arc;

use a2a_core::{AgentCard, Error, ErrorKind, ProtocolVersion};
use a2a_kit_client::{
    CardReference, Client, ClientBuilder, DiscoveryError, SelectedInterface, Transport,
};
use a2a_kit_http::client::{ResponseError, TransportError};

use super::{
    builder::{Retries, builder},
    card, credentials,
    discovery_failure::discovery_failure,
    login_hint,
};
use crate::{
    failure::{Code, Failure},
    output::{Output, TaskDetail, quoted},
    redaction::Redaction,
    settings::{Settings, UserSecret, value},
    token::{self, StoredCredentials, StoredToken},
};

/// The agent that a command calls.
#[derive(Debug)]
pub(crate) struct RemoteAgent {
    pub(crate) client: Client,
    /// How the command prints.
    pub(crate) output: Output,
    /// The flags that name the agent, to be pasted into a shell.
    pub(crate) flags: String,
    credential: Credential,
    has_client_id: bool,
    redaction: Redaction,
    /// Where the card says the agent is, if that is elsewhere than the card.
    elsewhere: Option<String>,
    /// What to check of an endpoint that was given without a card.
    at_endpoint: Option<String>,
    /// Whether the server may ask for a certificate that the client lacks.
    lacks_certificate: bool,
}

/// The credential that is sent to the agent.
#[derive(Debug)]
enum Credential {
    None,
    /// Of a flag or a variable.
    Given,
    /// Of `a2a auth login`.
    Stored(Vec<StoredToken>),
}

impl RemoteAgent {
    /// Connects to the agent that the settings name.
    pub(crate) async fn connect(settings: &Settings, retries: Retries) -> Result<Self, Failure> {
        Self::connect_with(settings, retries, |card| card).await
    }

    /// Connects to the agent, and uses the card that `change` returns.
    pub(crate) async fn connect_with(
        settings: &Settings,
        retries: Retries,
        change: impl FnOnce(AgentCard) -> AgentCard,
    ) -> Result<Self, Failure> {
        let mut builder = builder(settings, retries)?;
        let card = match &settings.endpoint {
            Some(url) => card::of_endpoint(settings, url)?,
            None if settings.tenant.is_some() => {
                return Err(Failure::usage("--tenant needs --endpoint")
                    .with_hint("with a card, the card determines the tenant"));
            }
            None => {
                let document = card::fetch(&mut builder, settings).await?;
                Arc::unwrap_or_clone(document.card)
            }
        };
        let mut card = change(card);
        if settings.grpc_plaintext {
            use_plaintext_grpc(&mut card);
        }
        let (client, credential) = connect_card(builder, card, settings)?;
        let selected = client.selected_interface();
        let selected = selected.ok_or_else(|| Failure::internal("no interface was selected"))?;
        if selected.version != ProtocolVersion::LATEST {
            settings
                .output
                .note(&format!("speaking version {}", value::version_name(selected.version)));
        }
        credentials::warn_if_unused(settings, &client.card(), selected)?;
        let interface = &selected.interface;
        let lacks_certificate = !settings.tls.has_identity() && interface.url.starts_with("https:");
        Ok(Self {
            flags: flags(settings, selected.transport),
            elsewhere: elsewhere(settings, selected),
            at_endpoint: settings.endpoint.as_ref().map(|url| {
                let binding = selected.transport.as_str();
                format!(
                    "{url} does not serve {binding}: check its path, and --transport; the card of \
                     the agent names both: `a2a card get -a <host>`"
                )
            }),
            lacks_certificate,
            credential,
            client,
            output: settings.output,
            has_client_id: settings.client_id.is_some(),
            redaction: settings.redaction.clone(),
        })
    }

    /// Converts an error of an operation.
    pub(crate) fn failure(&self, error: &Error) -> Failure {
        let is_sent = !matches!(self.credential, Credential::None) && !token::is_unsent(error);
        let failure = Failure::of_operation(error, is_sent);
        let hint = match (failure.code, &self.credential) {
            (Code::AuthFailed | Code::CredentialsMissing, Credential::Stored(tokens)) => {
                Some(login_hint::again(tokens, &self.flags))
            }
            (Code::CredentialsMissing, _) => {
                login_hint::of_card(&self.client.card(), &self.flags, self.has_client_id)
            }
            (Code::Unreachable, _) if failure.is_unsent => {
                let elsewhere = self.elsewhere.as_ref();
                elsewhere.map(|text| format!("{}; {text}", failure.hint().unwrap_or_default()))
            }
            (Code::Unreachable, _) if self.lacks_certificate && is_lost(error) => {
                Some("the server may require a client certificate, --client-cert".to_owned())
            }
            _ if self.at_endpoint.is_some()
                && matches!(
                    error.kind(),
                    ErrorKind::MethodNotFound | ErrorKind::MethodNotAllowed
                ) =>
            {
                self.at_endpoint.clone()
            }
            // Nothing at that address knows the protocol.
            _ if ResponseError::of(error).is_some() => self.elsewhere.clone(),
            _ => None,
        };
        let failure = match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        };
        failure.redacted(|value| self.redaction.apply_to(value)).with_agent(&self.flags)
    }

    /// How much of a task is printed.
    pub(crate) fn detail(&self, history: bool) -> TaskDetail<'_> {
        TaskDetail { verbose: self.output.verbose, history, agent: Some(&self.flags) }
    }

    /// The command that follows a task.
    pub(crate) fn follow(&self, task_id: &str) -> String {
        let verb = if self.client.card().can_stream() { "subscribe" } else { "get --wait" };
        format!("a2a task {verb} {} {}", quoted(task_id), self.flags)
    }
}

/// Says that the interface of a card has another origin than the card.
fn elsewhere(settings: &Settings, selected: &SelectedInterface) -> Option<String> {
    let reference = settings.agent_card.as_deref()?;
    let Ok(CardReference::Url(url)) = reference.parse() else { return None };
    let interface = &selected.interface;
    let is_there = interface.url.contains(url.authority()?.as_str());
    let binding = selected.transport.as_str().to_ascii_lowercase();
    (!is_there).then(|| {
        format!(
            "the card at {url} says that the agent is at {}; if it is elsewhere, name that \
             address: -e <url> --transport {binding}",
            interface.url
        )
    })
}

/// Returns whether the connection was lost, and not because of a timeout.
fn is_lost(error: &Error) -> bool {
    TransportError::of(error).is_some_and(|error| error.maybe_sent() && !error.is_timeout())
}

/// Creates the client for a card, with the credentials of the settings or else with stored tokens.
fn connect_card(
    builder: ClientBuilder,
    card: AgentCard,
    settings: &Settings,
) -> Result<(Client, Credential), Failure> {
    let failure = |error: DiscoveryError| discovery_failure(&error, settings);
    if let Some(StoredCredentials { credentials, tokens }) = stored(&card, settings)? {
        let with_tokens = builder.clone().credentials(credentials);
        match build(with_tokens, card.clone(), settings) {
            Ok(client) => {
                warn_of_interception(settings);
                return Ok((client, Credential::Stored(tokens)));
            }
            Err(DiscoveryError::Credentials(reason)) => {
                settings.output.warning(&format!("the stored token is not sent: {reason}"));
            }
            Err(error) => return Err(failure(error)),
        }
    }
    let client = build(builder, card, settings).map_err(failure)?;
    let given = settings.has_credential();
    Ok((client, if given { Credential::Given } else { Credential::None }))
}

/// The stored tokens for a card, unless the settings have a credential.
pub(super) fn stored(
    card: &AgentCard,
    settings: &Settings,
) -> Result<Option<StoredCredentials>, Failure> {
    if settings.has_credential() || !settings.uses_stored_tokens || settings.endpoint.is_some() {
        return Ok(None);
    }
    let Some(origin) = card::origin(settings, card) else { return Ok(None) };
    let tokens = token::for_card(card, &origin, settings)?;
    if tokens.is_some() {
        settings.check_secret(UserSecret::StoredToken)?;
    }
    Ok(tokens)
}

/// Makes gRPC plaintext at the addresses that have no scheme.
pub(super) fn use_plaintext_grpc(card: &mut AgentCard) {
    for interface in &mut card.supported_interfaces {
        let is_grpc = interface.protocol_binding.eq_ignore_ascii_case(a2a_core::card::GRPC);
        if is_grpc && !interface.url.contains("://") {
            interface.url.insert_str(0, "http://");
        }
    }
}

/// Selects an interface: with `--transport` one with a requested binding, if there is one.
fn build(
    builder: ClientBuilder,
    card: AgentCard,
    settings: &Settings,
) -> Result<Client, DiscoveryError> {
    if settings.transport.is_empty() {
        return builder.build(card);
    }
    match builder.clone().only(settings.transport.iter().copied()).build(card.clone()) {
        Err(
            DiscoveryError::NoCommonBinding(_)
            | DiscoveryError::NoCommonVersion(_)
            | DiscoveryError::Invalid(_),
        ) => {}
        result => return result,
    }
    let client = builder.build(card)?;
    if let Some(SelectedInterface { transport, .. }) = client.selected_interface() {
        settings
            .output
            .warning(&format!("the agent has none of the requested bindings: using {transport}"));
    }
    Ok(client)
}

/// Warns of `--insecure`.
pub(crate) fn warn_if_insecure(settings: &Settings) {
    if settings.has_credential() {
        warn_of_interception(settings);
    } else if settings.insecure {
        settings.output.warning(
            "certificates are not verified (--insecure): anyone on the network path can read and \
             modify all traffic",
        );
    }
}

/// Warns of `--insecure` with a credential.
pub(crate) fn warn_of_interception(settings: &Settings) {
    if settings.insecure {
        settings.output.warning(
            "CERTIFICATES ARE NOT VERIFIED (--insecure), AND A CREDENTIAL IS SENT: anyone on the \
             network path can intercept it",
        );
    }
}

/// The flags that name the agent, to be pasted into a shell.
fn flags(settings: &Settings, transport: Transport) -> String {
    let mut flags = match &settings.endpoint {
        Some(url) => {
            let binding = transport.as_str().to_ascii_lowercase();
            format!("-e {} --transport {binding}", quoted(url))
        }
        None => format!("-a {}", quoted(settings.agent_card.as_deref().unwrap_or_default())),
    };
    if let Some(version) = settings.version.filter(|version| *version != ProtocolVersion::LATEST) {
        flags.push_str(" --a2a-version ");
        flags.push_str(value::version_name(version));
    }
    if let Some(tenant) = &settings.tenant {
        flags.push_str(&format!(" --tenant {}", quoted(tenant)));
    }
    flags
}
