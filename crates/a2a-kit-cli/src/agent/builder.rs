//! The client of a command, configured by the settings.

use std::{path::Path, time::Duration};

use a2a_core::{ProtocolVersion, host};
use a2a_kit_client::{
    CardCache, CardReference, Client, ClientBuilder, ClientEvent, Preference, RetryPolicy, Timeouts,
};
use http::{HeaderName, HeaderValue};

use super::credentials;
use crate::{
    failure::{Failure, with_sources},
    output::Output,
    settings::{Settings, UNLIMITED},
};

/// The maximum delay between two attempts to open a subscription.
const MAX_DELAY: Duration = Duration::from_secs(30);
/// How long subscribing is retried without success, unless `--timeout` limits it.
const RECONNECT_TIME: Duration = Duration::from_secs(60);

/// How often requests and lost streams are retried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    requests: RetryPolicy,
    streams: RetryPolicy,
}

impl Retries {
    /// Requests are not retried: that is for the script that runs the command. A lost stream is
    /// resumed once, immediately; if that does not last, the task is polled.
    pub(crate) fn of_command() -> Self {
        let once = RetryPolicy::NEVER
            .with_attempts(1)
            .with_first_delay(Duration::ZERO)
            .with_short_streams(2);
        Self { streams: once, ..Self::none() }
    }

    /// Subscribing is retried with growing delays.
    pub(crate) fn of_subscription(settings: &Settings) -> Self {
        let policy = RetryPolicy::STREAMS
            .with_attempts(u32::MAX)
            .with_first_delay(settings.poll.max_interval)
            .with_max_delay(MAX_DELAY)
            .with_within(settings.timeout.map_or(RECONNECT_TIME, |_| Duration::MAX))
            .with_jitter(false);
        Self { requests: policy, streams: policy }
    }

    /// A read is repeated once, if the agent says when (`Retry-After`) and that is within
    /// `--timeout`.
    pub(crate) fn of_read(settings: &Settings) -> Self {
        let once = RetryPolicy::NEVER
            .with_attempts(1)
            .with_only_if_requested(true)
            .with_within(settings.timeout.unwrap_or(Duration::MAX));
        Self { requests: once, ..Self::none() }
    }

    /// Nothing is retried.
    pub(crate) fn none() -> Self {
        Self { requests: RetryPolicy::NEVER, streams: RetryPolicy::NEVER }
    }
}

/// Which interface of a card is used. Older protocol versions can't express everything, so they
/// have to be requested.
pub(crate) fn preference(settings: &Settings) -> Preference {
    let current = Some(ProtocolVersion::LATEST).filter(|_| !settings.any_version);
    Preference::default()
        .with_transports(settings.transport.iter().copied())
        .with_version(settings.version.or(current))
}

/// Creates the builder of a client.
/// Errors: a usage failure for a malformed credential or service parameter.
pub(super) fn builder(settings: &Settings, retries: Retries) -> Result<ClientBuilder, Failure> {
    let output = settings.output;
    let defaults = Timeouts::default();
    let timeouts = defaults
        // Less than for the whole request, so that it is known what took too long.
        .with_connect(settings.request_timeout.mul_f64(0.9))
        .with_request(settings.request_timeout)
        // `--timeout` covers the whole wait.
        .with_send(UNLIMITED)
        // An agent may send nothing until its work is done.
        .with_idle(defaults.idle.max(settings.timeout));
    let mut builder = Client::builder()
        .http(settings.http())
        .timeouts(timeouts)
        .preference(preference(settings))
        .extensions(&settings.extensions)
        .retry(retries.requests)
        .resume(retries.streams)
        .on_event(move |event| note(&event, output));
    if let Some(directory) = &settings.cache_directory {
        builder = builder.card_cache(card_cache(settings, directory));
    }
    if settings.has_credential() {
        builder = builder.credentials(credentials::of_settings(settings)?);
    }
    if settings.card_auth {
        for (name, value) in credentials::card_headers(settings)? {
            builder = builder.card_header(name, value);
        }
    }
    if settings.passes_credentials {
        builder = builder.only_trusted_origins();
    }
    for origin in &settings.credential_origins {
        builder = builder.trusted_origin(origin.clone());
    }
    for (name, value) in service_headers(settings)? {
        builder = builder.header(name, value);
    }
    Ok(builder)
}

/// The cache of cards. Agents on this machine are often restarted with another card, so theirs are
/// always revalidated.
fn card_cache(settings: &Settings, directory: &Path) -> CardCache {
    let cache = CardCache::new().with_directory(directory);
    let reference = settings.agent_card.as_deref().map(str::parse);
    match reference {
        Some(Ok(CardReference::Url(url))) if url.host().is_some_and(host::is_loopback) => {
            cache.with_revalidation()
        }
        _ => cache,
    }
}

fn note(event: &ClientEvent, output: Output) {
    match event {
        ClientEvent::InterfaceSkipped { preferred, used } => output.note(&format!(
            "using {} at {}: credentials are not sent to {} at {}, another origin than the card's",
            used.transport, used.interface.url, preferred.transport, preferred.interface.url
        )),
        ClientEvent::Retrying { error, delay, .. } => {
            output.note(&format!("{}: retrying in {delay:?}", error.message()));
        }
        ClientEvent::Reconnecting { error, delay, .. } => {
            let when = if delay.is_zero() { String::new() } else { format!(" in {delay:?}") };
            let why = with_sources(error);
            output.note(&format!("the stream was lost ({why}): subscribing again{when}"));
        }
        ClientEvent::FellBackToPolling { error, .. } => {
            output.note(&format!("polling instead: {}", with_sources(error)));
        }
        _ => {}
    }
}

/// The service parameters as headers.
pub(crate) fn service_headers(
    settings: &Settings,
) -> Result<Vec<(HeaderName, HeaderValue)>, Failure> {
    let header = |(name, value): &(String, String)| {
        let invalid = || Failure::usage(format!("--svc-param {name}: invalid in a header"));
        let name: HeaderName = name.parse().map_err(|_error| invalid())?;
        let mut value = HeaderValue::try_from(value).map_err(|_error| invalid())?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    settings.service_parameters.iter().map(header).collect()
}
