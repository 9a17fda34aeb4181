//! The sections `[store]` and `[webhooks]`.

use std::path::PathBuf;

use super::{
    section::section,
    types::{Address, Duration},
};

section! {
    /// Store
    store: Store {
        /// Task store: memory, the path of a SQLite file, or postgres://user@host/database
        /// [default: a2a.db; a2a-gateway.db with --proxy]
        location: Address, "--store <LOCATION>";
        /// NATS servers for notifications between nodes, as nats://host or, for one of several
        /// clusters, nats://host/name [default: the database]
        cluster: Address, "--cluster <URL>";
        /// Name of this node [default: random]
        node: String, "--node <NAME>";
        /// File with the keys that encrypt webhook secrets at rest, newest first. Without it,
        /// A2ACLI_SECRET_KEY has the keys themselves
        secret_key_file: PathBuf, "--secret-key-file";
        /// Retention of tasks after they end [default: forever]
        retention: Duration, "--retention";
        /// Retention of tasks in state INPUT_REQUIRED or AUTH_REQUIRED
        parked_retention: Duration = "720h", "--parked-retention";
    }
}

section! {
    /// Webhooks
    webhooks: Webhooks {
        /// Push notifications
        enabled: bool = true, "--no-push";
        /// Network, IP address or host that webhooks may use although it is not public, as
        /// CIDR|HOST[:PORT]; a port also allows a well-known port; repeatable
        allow: Vec<String> = [], "--allow-webhook <NETWORK>";
        /// Deliver to webhooks.allow only, not to the public internet
        allowed_only: bool = false, "--webhooks-allowed-only";
        /// Reject webhooks with http:// URLs
        https_only: bool = false, "--webhooks-https-only";
        /// PEM file with the private key that signs deliveries. The public key is served at
        /// /.well-known/jwks.json
        key_file: PathBuf, "--webhook-key";
    }
}
