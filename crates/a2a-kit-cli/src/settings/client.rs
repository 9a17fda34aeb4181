//! The declared settings of commands that call an agent.

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use a2a_kit_http::tls::{ClientTls, Pem};
use serde::{Deserialize, Serialize};

use super::{
    section::{Declared, Section, section},
    types::{
        Binding, Duration, Metadata, Pin, PollInterval, Secret, ServiceParameter, TrustedOrigin,
        Version,
    },
    value::Format,
    variables::PREFIX,
};
use crate::failure::{Failure, chain};

/// The settings of commands that call an agent, as they are declared.
#[derive(Deserialize, Serialize)]
pub(super) struct Client {
    pub(super) agent: Agent,
    pub(super) waiting: Waiting,
    pub(super) request: Request,
    pub(super) credentials: Credentials,
    pub(super) tls: Tls,
    pub(super) output: Output,
}

impl Declared for Client {
    const TITLE: &'static str = "Settings of commands that call an agent";
    const HINT: &'static str = "see --help";

    fn sections() -> &'static [Section] {
        static SECTIONS: LazyLock<[Section; 6]> = LazyLock::new(|| {
            [
                Agent::section(),
                Waiting::section(),
                Request::section(),
                Credentials::section(),
                Tls::section(),
                Output::section(),
            ]
            .map(|section| section.named_by_flags(PREFIX))
        });
        &*SECTIONS
    }
}

section! {
    /// Agent
    #[derive(Serialize)]
    agent: Agent {
        /// Agent to call: host, host:port, URL of its card, card file, or
        /// catalog+<URL or file>#<name> for an entry of a catalog
        card: String, "-a --agent-card <REF>";
        /// Interface URL to call without a card; requires exactly one --transport, or with --proxy
        /// --upstream-transport
        endpoint: String, "-e --endpoint <URL>";
        /// Binding to use: jsonrpc, http+json (or rest), grpc; repeatable, in order of preference
        /// [default: order of the card]
        transport: Vec<Binding> = [], "--transport";
        /// Tenant to send with each request; requires --endpoint
        tenant: String, "--tenant <TENANT>";
        /// Protocol version to use: 1.0, draft, 0.3, 0.2, 0.1
        /// [default: highest common version, at least 1.0]
        version: Version, "--a2a-version";
        /// Fetch the card of the agent even if a cached one is fresh, and don't cache it
        no_cache: bool = false, "--no-cache";
        /// Use plaintext for a gRPC interface that is a host:port without a scheme
        grpc_plaintext: bool = false, "--grpc-plaintext";
    }
}

section! {
    /// Waiting
    #[derive(Serialize)]
    waiting: Waiting {
        /// Do not wait for the task
        no_wait: bool = false, "--async --no-wait --return-immediately";
        /// Wait until the task ends or is interrupted
        /// [default: on for send, off for task get]
        wait: bool, "--wait --watch";
        /// Poll interval, at least 100ms. The default one is reached through shorter ones
        poll_interval: PollInterval = "2s", "--poll-interval";
        /// Total timeout of waiting; 0 disables it. There is no default with --stream
        timeout: Duration = "300s", "--timeout";
        /// Timeout for connecting, reads and sends that do not wait
        request_timeout: Duration = "30s", "--request-timeout";
    }
}

section! {
    /// Request
    #[derive(Serialize)]
    request: Request {
        /// Task to continue, or to operate on
        task_id: String, "--task-id <ID>";
        /// Context to continue
        context_id: String, "--context-id <ID>";
        /// URI of an extension to activate; repeatable
        extension: Vec<String> = [], "--extension <URI>";
        /// Metadata of the request, as a JSON object
        metadata: Metadata, "--metadata";
        /// Service parameter (HTTP header or gRPC metadata), as name:value; repeatable
        service_parameters: Vec<ServiceParameter> = [], "--svc-param <NAME:VALUE>";
    }
}

section! {
    /// Credentials
    #[derive(Serialize)]
    credentials: Credentials {
        /// Bearer token. Flags are visible in the process list and the shell history: prefer
        /// A2ACLI_BEARER or A2ACLI_BEARER_FILE
        bearer: Secret, "--bearer <TOKEN>";
        /// API key; prefer A2ACLI_API_KEY or A2ACLI_API_KEY_FILE
        api_key: Secret, "--api-key <KEY>";
        /// HTTP Basic credentials; prefer A2ACLI_BASIC or A2ACLI_BASIC_FILE
        basic: Secret, "--basic <USER:PASSWORD>";
        /// ID of the OAuth client
        client_id: String, "client-id";
        /// Secret of the OAuth client
        client_secret: Secret, "client-secret";
        /// Send the credential with the first request for the card, instead of after it was asked
        /// for
        card_auth: bool = false, "--card-auth";
        /// Additional origin that credentials and service parameters may be sent to, as
        /// https://agents.example; repeatable [default: origin of the card]
        origins: Vec<TrustedOrigin> = [], "--credential-origin";
    }
}

section! {
    /// TLS of outgoing connections
    #[derive(Serialize)]
    tls: Tls {
        /// Skip TLS certificate verification (insecure; for local testing only)
        insecure: bool = false, "--insecure";
        /// PEM file with additional certificate authorities, for agents and, with serve, for all
        /// outgoing connections
        ca_cert: PathBuf, "--ca-cert <FILE>";
        /// SHA-256 fingerprint of the certificate or public key of the agent, in place of all other
        /// checks of it: for self-signed certificates; repeatable
        pins: Vec<Pin> = [], "--pin-sha256";
        /// PEM file with the client certificate (mutual TLS)
        client_cert: PathBuf, "--client-cert <FILE>";
        /// PEM file with the private key of the client certificate
        client_key: PathBuf, "--client-key <FILE>";
    }
}

impl Tls {
    /// Reads the trust anchors for all connections, and for those to agents adds the pins and the
    /// client certificate.
    pub(super) fn read(&self) -> Result<(ClientTls, ClientTls), Failure> {
        let invalid = |flag: &str, path: &Path, error: &dyn Error| {
            Failure::usage(format!("{flag} {}: {}", path.display(), chain(error)))
        };
        if self.insecure && !self.pins.is_empty() {
            return Err(Failure::usage("--insecure and --pin-sha256 are mutually exclusive"));
        }
        let trust = match &self.ca_cert {
            None => ClientTls::new(),
            Some(roots) => ClientTls::new()
                .with_more_roots(&Pem::file(roots))
                .map_err(|error| invalid("--ca-cert", roots, &error))?,
        };
        let tls = match (&self.client_cert, &self.client_key) {
            (Some(certificate), Some(key)) => trust
                .clone()
                .with_identity(&Pem::file(certificate), &Pem::file(key))
                .map_err(|error| invalid("--client-cert", certificate, &error))?,
            (Some(_), None) => return Err(Failure::usage("--client-cert needs --client-key")),
            (None, Some(_)) => return Err(Failure::usage("--client-key needs --client-cert")),
            (None, None) => trust.clone(),
        };
        let tls = self.pins.iter().fold(tls, |tls, pin| tls.with_pin(pin.0));
        Ok((trust, if self.insecure { tls.without_verification() } else { tls }))
    }
}

section! {
    /// Output
    #[derive(Serialize)]
    output: Output {
        /// Output format: text or json
        format: Format = "text", "-o --output <FORMAT>";
        /// Print JSON documents on one line
        compact: bool = false, "--compact";
        /// Print all parts, the sent message, history and metadata
        verbose: bool = false, "--verbose";
        /// Render Markdown in text parts; only on a terminal
        render: bool = false, "--render";
        /// Print diagnostics on stderr and, except with serve, raw messages without secrets
        debug: bool = false, "--debug";
    }
}
