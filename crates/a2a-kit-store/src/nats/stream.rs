//! The NATS connection and the signal stream.

use std::{io, time::Duration};

use async_nats::{
    Client, ConnectOptions, ServerAddr,
    connection::State,
    jetstream::{
        Context,
        context::{ContextBuilder, CreateStreamError},
        stream::{Config, DiscardPolicy, StorageType, Stream},
    },
};

use percent_encoding::percent_decode_str;

use super::{BoxError, NatsConfig, NatsError};

/// Maximum age of signals, for nodes that lost their connection.
pub(super) const MAX_AGE: Duration = Duration::from_secs(60);
/// Maximum size of the stream.
const MAX_BYTES: i64 = 64 << 20;

const ANSWER: Duration = Duration::from_secs(3);
const PING: Duration = Duration::from_secs(5);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

/// The connection of a node, which reconnects by itself, and the name of its cluster.
#[derive(Clone)]
pub(super) struct Link {
    client: Client,
    pub(super) context: Context,
    config: NatsConfig,
}

impl Link {
    pub(super) async fn open(config: &NatsConfig, node: &str) -> Result<Self, NatsError> {
        let is_plain = |message: char| message.is_ascii_alphanumeric() || "-_".contains(message);
        if config.cluster.is_empty() || !config.cluster.chars().all(is_plain) {
            return Err(NatsError::ClusterName(config.cluster.clone()));
        }
        let mut options = ConnectOptions::new()
            .name(format!("a2a {node}"))
            .ping_interval(PING)
            .request_timeout(Some(ANSWER))
            .connection_timeout(ANSWER)
            .max_reconnects(None)
            .reconnect_delay_callback(backoff)
            // Also for a server that insists on TLS where the address does not say so.
            .tls_client_config(config.tls().map_err(|error| NatsError::Credentials(error.into()))?);
        let wants_tls = config.roots.is_some()
            || config.certificate.is_some()
            || config.url.split(',').any(|url| url.trim().starts_with("tls:"));
        if wants_tls {
            options = options.require_tls(true);
        }
        if let Some(file) = &config.credentials {
            let read = options.credentials_file(file).await;
            options = read.map_err(|error| NatsError::Credentials(error.into()))?;
        }
        let refused = |cause| NatsError::Connect { url: config.public_url(), cause };
        let servers: Result<Vec<ServerAddr>, _> =
            config.url.split(',').map(|url| url.trim().parse()).collect();
        let servers = servers.map_err(|error: io::Error| refused(error.into()))?;
        // The first server with a user sets the credentials for all.
        let login = servers.iter().find_map(|server| Some((server.username()?, server.password())));
        options = match login {
            Some((user, Some(password))) => options.user_and_password(plain(user), plain(password)),
            Some((token, None)) => options.token(plain(token)),
            None => options,
        };
        let client = options.connect(&*servers).await.map_err(|error| refused(error.into()))?;
        let context =
            ContextBuilder::new().timeout(ANSWER).ack_timeout(ANSWER).build(client.clone());
        Ok(Self { client, context, config: config.clone() })
    }

    pub(super) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Maximum message size of the server.
    pub(super) fn max_payload(&self) -> usize {
        self.client.server_info().max_payload
    }

    pub(super) fn subject(&self) -> String {
        format!("a2a.cluster.{}", self.config.cluster)
    }

    /// The signal stream, created if missing. A restarted server has lost it.
    pub(super) async fn stream(&self) -> Result<Stream, CreateStreamError> {
        let config = Config {
            name: format!("a2a_cluster_{}", self.config.cluster),
            subjects: vec![self.subject()],
            description: Some("what the nodes of an A2A agent tell each other".to_owned()),
            max_age: MAX_AGE,
            max_bytes: MAX_BYTES,
            discard: DiscardPolicy::Old,
            storage: StorageType::Memory,
            num_replicas: self.config.replicas,
            ..Config::default()
        };
        self.context.get_or_create_stream(config).await
    }

    /// Maps an error of a reachable server.
    pub(super) fn fault(&self, cause: impl Into<BoxError>) -> NatsError {
        NatsError::JetStream { url: self.config.public_url(), cause: cause.into() }
    }
}

/// Decodes a percent-encoded part of an address.
fn plain(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

/// The delay before an attempt to connect, or to retry anything else.
pub(super) fn backoff(attempt: usize) -> Duration {
    let doublings = u32::try_from(attempt.min(10)).unwrap_or_default();
    (Duration::from_millis(10) * 2_u32.pow(doublings)).min(MAX_BACKOFF)
}
