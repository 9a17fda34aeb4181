//! The agent that a command talks to: found by its card or by an address, called with the
//! settings of this run.

mod credential;
mod discovery;

use std::{future::Future, sync::Arc, time::Duration};

use a2a_client::{
    Client, Preference, RetryPolicy, SelectedInterface, Timeouts, Transport, credentials::Origin,
};
use a2a_core::{AgentCard, Error, ErrorKind, ProtocolVersion, Result as Answer};
use a2a_operations::{Agent, Call, CallContext, Reply};
use http::{HeaderName, HeaderValue};

pub(crate) use discovery::{document, invalid_card};

use crate::{
    failure::Failure,
    output::{Output, quoted},
    settings::{Settings, value},
};

/// The agent that a command talks to.
#[derive(Debug)]
pub(crate) struct Target {
    client: Client,
    agent: Erased,
    /// The flags that name the agent.
    flags: String,
    /// Whether an address was given and no card was read, so that nothing is known beforehand.
    is_direct: bool,
    has_credential: bool,
    request_timeout: Duration,
}

struct Erased(Arc<dyn Agent>);

impl std::fmt::Debug for Erased {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Agent")
    }
}

impl Target {
    /// Finds the agent that the settings name.
    pub(crate) async fn connect(settings: &Settings, output: Output) -> Result<Self, Failure> {
        Self::connect_limited(settings, output, |card| card).await
    }

    /// The same, going by the card that `limited` makes of the agent's.
    pub(crate) async fn connect_limited(
        settings: &Settings,
        output: Output,
        limited: impl FnOnce(AgentCard) -> AgentCard,
    ) -> Result<Self, Failure> {
        let (card, from) = match &settings.endpoint {
            Some(url) => (direct_card(settings, url)?, None),
            None => {
                if settings.tenant.is_some() {
                    return Err(Failure::usage("--tenant is only for --endpoint")
                        .with_hint("with a card, the card says which tenant it is"));
                }
                let document = document(settings, output).await?;
                (Arc::unwrap_or_clone(document.card), credential::card_origin(settings))
            }
        };
        let mut card = limited(card);
        let selected = match from.as_ref().filter(|_| settings.has_secret()) {
            Some(from) => credential::keep_to(from, &mut card, settings, output)?,
            None => select(&card, settings)?,
        };
        if !settings.transport.is_empty() && !settings.transport.contains(&selected.transport) {
            output.warning(&format!(
                "the agent offers none of the bindings asked for: using {}",
                selected.transport
            ));
        }
        if selected.version != ProtocolVersion::LATEST {
            output.note(&format!("speaking version {}", value::version_name(selected.version)));
        }
        let placed = credential::placed(settings, &card, selected.transport, output)?;
        let mut context = CallContext::default();
        context.credential = placed.query;
        let mut builder = Client::builder()
            .http(settings.http())
            .context(context)
            .version(selected.version)
            .extensions(&settings.extensions)
            .timeouts(
                Timeouts::default()
                    .with_connect(settings.request_timeout)
                    .with_request(settings.request_timeout)
                    .with_send(settings.timeout.unwrap_or(Duration::from_secs(24 * 3600))),
            )
            // Waiting and trying again is this tool's own contract: see `follow`.
            .retry(RetryPolicy::NEVER)
            .resume(RetryPolicy::NEVER);
        if !settings.transport.is_empty() {
            builder = builder.only([selected.transport]);
        }
        if let Some(from) = from {
            builder = builder.card_from(from);
        }
        for origin in &settings.credential_origins {
            builder = builder.with_origin(origin.clone());
        }
        for (name, value) in placed.headers {
            builder = builder.header(name, value);
        }
        for (name, value) in &settings.service_parameters {
            let (name, value) = service_parameter(name, value)?;
            builder = builder.header(name, value);
        }
        let client = builder.build(card).map_err(|error| discovery::failure(error, settings))?;
        Ok(Self {
            agent: Erased(client.agent()),
            client,
            flags: flags(settings, selected.transport),
            is_direct: settings.endpoint.is_some(),
            has_credential: settings.has_credential(),
            request_timeout: settings.request_timeout,
        })
    }

    /// The agent itself.
    pub(crate) fn agent(&self) -> &dyn Agent {
        &*self.agent.0
    }

    /// The agent itself, to be kept.
    pub(crate) fn shared(&self) -> Arc<dyn Agent> {
        Arc::clone(&self.agent.0)
    }

    /// The binding and the address of the agent.
    pub(crate) fn place(&self) -> String {
        let interface = self.client.interface();
        interface.map_or_else(String::new, |some| format!("{} {}", some.protocol_binding, some.url))
    }

    /// The card that is gone by, also where only an address is known.
    pub(crate) fn effective_card(&self) -> Arc<AgentCard> {
        self.client.card()
    }

    /// Puts the context of this run around a request.
    pub(crate) fn call<R>(&self, request: R) -> Call<R> {
        self.client.call(request)
    }

    /// The flags that name the agent, ready to be pasted.
    pub(crate) fn flags(&self) -> &str {
        &self.flags
    }

    /// The card; `None` where only an address is known.
    pub(crate) fn card(&self) -> Option<Arc<AgentCard>> {
        (!self.is_direct).then(|| self.client.card())
    }

    /// Returns whether it is worth while to ask for a stream.
    pub(crate) fn may_stream(&self) -> bool {
        self.card().is_none_or(|card| card.can_stream())
    }

    /// Refuses what the card rules out.
    pub(crate) fn require_streaming(&self) -> Result<(), Failure> {
        self.require(AgentCard::can_stream, ErrorKind::UnsupportedOperation, "does not stream")
    }

    /// Refuses what the card rules out.
    pub(crate) fn require_push(&self) -> Result<(), Failure> {
        let kind = ErrorKind::PushNotificationNotSupported;
        self.require(AgentCard::can_push, kind, "does not call webhooks")
    }

    /// Refuses what the card rules out.
    pub(crate) fn require_extended_card(&self) -> Result<(), Failure> {
        let kind = ErrorKind::UnsupportedOperation;
        self.require(AgentCard::has_extended_card, kind, "has no extended card")
    }

    fn require(
        &self,
        has: impl Fn(&AgentCard) -> bool,
        kind: ErrorKind,
        lack: &str,
    ) -> Result<(), Failure> {
        match self.card() {
            Some(card) if !has(&card) => {
                Err(Failure::protocol(kind, format!("the agent {lack}, as its card says")))
            }
            _ => Ok(()),
        }
    }

    /// Awaits the answer to one request, not longer than `--request-timeout`.
    pub(crate) async fn unary<T>(
        &self,
        answer: impl Future<Output = Answer<Reply<T>>>,
    ) -> Result<T, Failure> {
        match self.in_time(answer).await {
            Ok(reply) => Ok(reply.response),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// Awaits an answer, not longer than `--request-timeout`.
    pub(crate) async fn in_time<T>(&self, answer: impl Future<Output = Answer<T>>) -> Answer<T> {
        match tokio::time::timeout(self.request_timeout, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::new(
                ErrorKind::DeadlineExceeded,
                "no answer within the time of one request",
            )),
        }
    }

    /// What an error of an operation means to the person who runs this tool.
    pub(crate) fn failure(&self, error: &Error) -> Failure {
        Failure::of_operation(error, self.has_credential)
    }
}

/// Warns of what is not safe to do.
pub(crate) fn warn(settings: &Settings, output: Output) {
    if settings.insecure {
        output.warning(if settings.has_credential() {
            "CERTIFICATES ARE NOT VERIFIED (--insecure), AND A CREDENTIAL IS SENT: anybody on the \
             way can read and keep it"
        } else {
            "certificates are not verified (--insecure): anybody on the way can read and change \
             everything"
        });
    }
}

/// The interface that would be used, were there no credentials.
pub(crate) fn select(card: &AgentCard, settings: &Settings) -> Result<SelectedInterface, Failure> {
    select_at(card, settings, &[])
}

/// The interface that would be used of those at these origins; of none in particular if there are
/// none.
fn select_at(
    card: &AgentCard,
    settings: &Settings,
    origins: &[Origin],
) -> Result<SelectedInterface, Failure> {
    let mut preference = Preference::default().with_origins(origins.iter().cloned());
    preference.transports.clone_from(&settings.transport);
    // Older revisions lose some of what is said, so that they are for those who ask for them.
    let unasked = Some(ProtocolVersion::LATEST).filter(|_| !settings.any_version);
    preference.version = settings.version.or(unasked);
    let found = preference.select(card).map_err(|error| discovery::failure(error, settings))?;
    found.into_iter().next().ok_or_else(|| Failure::internal("no interface was chosen"))
}

/// The flags that name the agent, ready to be pasted.
fn flags(settings: &Settings, transport: Transport) -> String {
    match &settings.endpoint {
        Some(url) => {
            let binding = transport.as_str().to_ascii_lowercase();
            format!("-e {} --transport {binding}", quoted(url))
        }
        None => format!("-a {}", quoted(settings.agent_card.as_deref().unwrap_or_default())),
    }
}

/// A card for an address of which nothing else is known: whatever is asked of it is tried.
fn direct_card(settings: &Settings, url: &str) -> Result<AgentCard, Failure> {
    if settings.agent_card.is_some() {
        return Err(Failure::usage("--endpoint and --agent-card exclude each other"));
    }
    let [binding] = settings.transport.as_slice() else {
        return Err(Failure::usage("--endpoint needs exactly one --transport"));
    };
    let mut card = AgentCard::new("", "")
        .with_push_notifications(true)
        .with_extended_card(true)
        .with_interface(binding.as_str(), url);
    for interface in &mut card.supported_interfaces {
        interface.tenant = settings.tenant.clone().unwrap_or_default();
        if let Some(version) = settings.version {
            version.as_str().clone_into(&mut interface.protocol_version);
        }
    }
    Ok(card)
}

fn service_parameter(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let unfit = || Failure::usage(format!("--svc-param {name} is not fit for a header"));
    let name: HeaderName = name.parse().map_err(|_error| unfit())?;
    let mut value = HeaderValue::try_from(value).map_err(|_error| unfit())?;
    value.set_sensitive(true);
    Ok((name, value))
}
