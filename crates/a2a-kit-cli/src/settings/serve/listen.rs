//! The sections `[listen]`, `[tls]` and `[telemetry]`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    section::section,
    types::{Address, Binding, Duration, Protocols, WebOrigin},
};

section! {
    /// Address and protocol
    listen: Listen {
        /// IP address or host name to listen on
        host: String = "127.0.0.1", "--host <HOST>";
        /// Port for all bindings; 0 picks a free one
        port: u16 = 8080, "--port";
        /// Separate port for gRPC
        grpc_port: u16, "--grpc-port";
        /// URL that clients use; in the agent card, and the issuer of signed webhooks
        public_url: String, "--public-url <URL>";
        /// Address of gRPC that clients use, as host:port or a URL; in the agent card. Without it, the
        /// card does not list gRPC if public_url has a path
        grpc_address: String, "--grpc-address <ADDRESS>";
        /// Binding to serve; repeatable, in the order of the agent card [default: all three]
        transport: Vec<Binding> = [], "--transport";
        /// The gRPC binding
        grpc: bool = true, "--no-grpc";
        /// Whether the agent card lists gRPC. Google ADK rejects cards with a gRPC interface
        grpc_in_card: GrpcInCard = "always", "--grpc-in-card <WHEN>";
        /// Protocol versions to serve; latest is 1.0
        protocol: Protocols = ["all"], "--protocol <VERSION>";
        /// Path of JSON-RPC [default: /]
        rpc_path: String, "--rpc-path <PATH>";
        /// Path prefix of HTTP+JSON
        rest_prefix: String, "--rest-prefix <PREFIX>";
        /// IP address or network of a trusted proxy, whose X-Forwarded-For is used; repeatable
        trusted_proxies: Vec<String> = [], "--trusted-proxy <NETWORK>";
        /// Origin of web pages that may call the agent, such as https://app.example; repeatable,
        /// * allows all. Default: none without authentication, all with it
        allowed_origins: Vec<WebOrigin> = [], "--allowed-origin";
        /// Host name that requests without authentication may use; repeatable, * allows all.
        /// Always allowed: loopback names, host, the host of public_url, and IP addresses unless
        /// the server listens on the loopback only
        allowed_hosts: Vec<String> = [], "--allowed-host <HOST>";
        /// Reject insecure settings: plaintext beyond the loopback, unless public_url is an https
        /// URL; a card that names localhost while listening on all addresses; no authentication,
        /// unless auth.anonymous is set; unauthenticated callers beyond the loopback
        production: bool = false, "--production";
    }
}

/// Whether the agent card lists gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GrpcInCard {
    Always,
    Never,
}

section! {
    /// TLS
    tls: Tls {
        /// PEM file with the server certificate and its chain; enables TLS on every port. TLS files
        /// are reloaded when they change
        cert_file: PathBuf, "--tls-cert";
        /// PEM file with the private key of the server certificate
        key_file: PathBuf, "--tls-key";
        /// PEM file with additional certificate authorities for outgoing connections: issuers,
        /// webhooks, the upstream agent and the trace collector
        ca_file: PathBuf, "--ca-cert";
        /// PEM file with the certificate authorities of client certificates (mutual TLS)
        client_ca_file: PathBuf, "--tls-client-ca";
        /// Whether clients must present a certificate
        client_auth: ClientAuth = "required", "--tls-client-auth <POLICY>";
        /// PEM file with certificate revocation lists of clients
        crl_file: PathBuf, "--tls-crl" advanced;
        /// Minimum TLS version
        min_version: TlsVersion = "1.2", "--tls-min-version <VERSION>" advanced;
        /// max-age of Strict-Transport-Security; 0 omits the header
        hsts_max_age: Duration = "8760h", "--hsts-max-age" advanced;
        /// TLS handshake timeout
        handshake_timeout: Duration = "10s", "--handshake-timeout" advanced;
        /// Max concurrent TLS handshakes
        max_handshakes: usize = 1024, "--max-handshakes" advanced;
    }
}

/// Whether clients must present a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClientAuth {
    Required,
    Optional,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum TlsVersion {
    #[serde(rename = "1.2")]
    V1_2,
    #[serde(rename = "1.3")]
    V1_3,
}

section! {
    /// Observability
    telemetry: Telemetry {
        /// The request log
        log_traffic: bool = true, "--quiet";
        /// Log as JSON lines
        log_json: bool = false, "--log-json";
        /// OTLP/HTTP endpoint for traces; OTEL_* variables are read too
        otlp_endpoint: Address, "--otlp-endpoint <URL>";
        /// Export metrics to the OTLP endpoint as well
        otlp_metrics: bool = false, "--otlp-metrics";
        /// Export the log to the OTLP endpoint as well
        otlp_logs: bool = false, "--otlp-logs";
        /// Metrics, served at /metrics to this machine
        metrics: bool = true, "--no-metrics";
        /// Separate address for /metrics, without TLS or authentication, as host:port
        metrics_listen: String, "--metrics-listen <ADDRESS>";
        /// File to append security events to, as JSON lines; - is stderr
        audit_file: PathBuf, "--audit-log";
    }
}
