//! Every setting of a server: where it stands in the file, and which flag it is.

use super::Form;

/// What the variables of a server start with.
pub(crate) const PREFIX: &str = "A2ACLI_SERVE_";

/// A setting of a server.
#[derive(Debug)]
pub(crate) struct Key {
    /// The table of the file that it stands in.
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    /// What clap knows its flag by.
    pub(crate) flag: &'static str,
    pub(crate) form: Form,
    /// A variable that has the value too, from before there was a rule for the names.
    pub(crate) older_variable: Option<&'static str>,
    /// Whether the flag is one that every command takes.
    pub(crate) is_global: bool,
}

impl Key {
    const fn new(
        section: &'static str,
        name: &'static str,
        flag: &'static str,
        form: Form,
    ) -> Self {
        Self { section, name, flag, form, older_variable: None, is_global: false }
    }

    const fn global(mut self) -> Self {
        self.is_global = true;
        self
    }

    const fn or_variable(mut self, name: &'static str) -> Self {
        self.older_variable = Some(name);
        self
    }

    /// The key as it is written about: `listen.port`.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The variable that has the same value: `A2ACLI_SERVE_LISTEN_PORT`.
    pub(crate) fn variable(&self) -> String {
        format!("{PREFIX}{}_{}", self.section, self.name).to_ascii_uppercase()
    }
}

/// A table of the file.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
}

/// The tables of the file, in the order in which they are shown.
pub(crate) const SECTIONS: &[Section] = &[
    Section { name: "listen", about: "Where the agent is, and what it speaks" },
    Section { name: "agent", about: "Which agent it is, and what its card says" },
    Section { name: "exec", about: "An agent made of a command" },
    Section { name: "proxy", about: "An agent that is elsewhere" },
    Section { name: "store", about: "Where tasks are kept" },
    Section { name: "webhooks", about: "Calls of webhooks" },
    Section { name: "auth", about: "Who may call" },
    Section { name: "tls", about: "How connections are encrypted, and who is trusted" },
    Section { name: "limits", about: "What callers are held to" },
    Section { name: "telemetry", about: "What is logged" },
];

/// Every setting, in the order in which they are shown.
pub(crate) const KEYS: &[Key] = &[
    Key::new("listen", "host", "host", Form::Text),
    Key::new("listen", "port", "port", Form::Whole),
    Key::new("listen", "grpc_port", "grpc_port", Form::Whole),
    Key::new("listen", "public_url", "public_url", Form::Text),
    Key::new("listen", "transport", "transport", Form::List).global(),
    Key::new("listen", "grpc", "no_grpc", Form::Inverse),
    Key::new("listen", "grpc_in_card", "grpc_in_card", Form::Text),
    Key::new("listen", "protocol", "protocol", Form::Joined),
    Key::new("listen", "rpc_path", "rpc_path", Form::Text),
    Key::new("listen", "rest_prefix", "rest_prefix", Form::Text),
    Key::new("listen", "trusted_proxies", "trusted_proxy", Form::List),
    Key::new("listen", "allowed_origins", "allowed_origin", Form::List),
    Key::new("listen", "allowed_hosts", "allowed_host", Form::List),
    Key::new("listen", "production", "production", Form::Switch),
    Key::new("agent", "demo", "demo", Form::Switch),
    Key::new("agent", "script_file", "script", Form::Path),
    Key::new("agent", "echo", "echo", Form::Switch),
    Key::new("agent", "profile", "profile", Form::Text),
    Key::new("agent", "default", "default", Form::Text),
    Key::new("agent", "card_file", "card", Form::Path),
    Key::new("agent", "card_key_file", "card_key", Form::Path),
    Key::new("agent", "name", "name", Form::Text),
    Key::new("agent", "description", "description", Form::Text),
    Key::new("agent", "streaming", "no_streaming", Form::Inverse),
    Key::new("agent", "extended_card", "no_extended_card", Form::Inverse),
    Key::new("agent", "required_extensions", "required_extension", Form::List),
    Key::new("exec", "command", "exec", Form::Text),
    Key::new("exec", "program", "program", Form::List),
    Key::new("exec", "concurrency", "concurrency", Form::Whole),
    Key::new("exec", "timeout", "exec_timeout", Form::Duration),
    Key::new("exec", "chunk", "chunk", Form::Text),
    Key::new("exec", "io", "io", Form::Text),
    Key::new("exec", "env", "exec_env", Form::List),
    Key::new("exec", "expose_stderr", "exec_expose_stderr", Form::Switch),
    Key::new("exec", "log_bytes", "exec_log_bytes", Form::Bytes),
    Key::new("exec", "log_rate", "exec_log_rate", Form::Text),
    Key::new("proxy", "to", "reference", Form::Text),
    Key::new("proxy", "transport", "upstream_transport", Form::List),
    Key::new("proxy", "version", "upstream_version", Form::Text),
    Key::new("proxy", "forward_auth", "forward_auth", Form::Switch),
    Key::new("proxy", "record_file", "record", Form::Path),
    Key::new("store", "location", "store", Form::Address),
    Key::new("store", "cluster", "cluster", Form::Address),
    Key::new("store", "node", "node", Form::Text),
    Key::new("store", "secret_key_file", "secret_key_file", Form::Path)
        .or_variable("A2ACLI_SECRET_KEY_FILE"),
    Key::new("store", "retention", "retention", Form::Duration),
    Key::new("store", "parked_retention", "parked_retention", Form::Duration),
    Key::new("webhooks", "enabled", "no_push", Form::Inverse),
    Key::new("webhooks", "allow", "allow_webhook", Form::List),
    Key::new("webhooks", "allowed_only", "webhooks_allowed_only", Form::Switch),
    Key::new("webhooks", "https_only", "webhooks_https_only", Form::Switch),
    Key::new("webhooks", "key_file", "webhook_key", Form::Path),
    Key::new("auth", "require_bearer", "require_bearer", Form::Secret),
    Key::new("auth", "require_api_key", "require_api_key", Form::Secret),
    Key::new("auth", "api_key_in", "api_key_in", Form::Text),
    Key::new("auth", "api_key_name", "api_key_name", Form::Text),
    Key::new("auth", "realm", "realm", Form::Text),
    Key::new("auth", "anonymous", "anonymous", Form::Switch),
    Key::new("auth", "free_failures", "free_failures", Form::Whole),
    Key::new("auth", "first_pause", "first_pause", Form::Duration),
    Key::new("auth", "longest_pause", "longest_pause", Form::Duration),
    Key::new("auth", "extended_card_token", "extended_card_token", Form::Secret),
    Key::new("tls", "cert_file", "tls_cert", Form::Path),
    Key::new("tls", "key_file", "tls_key", Form::Path),
    Key::new("tls", "ca_file", "ca_cert", Form::Path).global().or_variable("A2ACLI_CA_CERT"),
    Key::new("tls", "client_ca_file", "tls_client_ca", Form::Path),
    Key::new("tls", "client_auth", "tls_client_auth", Form::Text),
    Key::new("tls", "revocations_file", "tls_revocations", Form::Path),
    Key::new("tls", "only_13", "tls_only_13", Form::Switch),
    Key::new("tls", "hsts", "hsts", Form::Duration),
    Key::new("tls", "handshake_timeout", "handshake_timeout", Form::Duration),
    Key::new("tls", "max_handshakes", "max_handshakes", Form::Whole),
    Key::new("limits", "max_body", "max_body", Form::Bytes),
    Key::new("limits", "max_json_values", "max_json_values", Form::Whole),
    Key::new("limits", "max_pending_bodies", "max_pending_bodies", Form::Bytes),
    Key::new("limits", "max_pending_responses", "max_pending_responses", Form::Bytes),
    Key::new("limits", "max_list_page", "max_list_page", Form::Bytes),
    Key::new("limits", "body_timeout", "body_timeout", Form::Duration),
    Key::new("limits", "body_time", "body_time", Form::Duration),
    Key::new("limits", "max_header", "max_header", Form::Bytes),
    Key::new("limits", "header_timeout", "header_timeout", Form::Duration),
    Key::new("limits", "first_request_timeout", "first_request_timeout", Form::Duration),
    Key::new("limits", "write_timeout", "write_timeout", Form::Duration),
    Key::new("limits", "idle_timeout", "idle_timeout", Form::Duration),
    Key::new("limits", "max_connections", "max_connections", Form::Whole),
    Key::new("limits", "max_connections_per_address", "max_connections_per_address", Form::Whole),
    Key::new("limits", "max_reset_streams", "max_reset_streams", Form::Whole),
    Key::new("limits", "max_control_frames", "max_control_frames", Form::Whole),
    Key::new("limits", "max_http2_streams", "max_http2_streams", Form::Whole),
    Key::new("limits", "max_health_watches", "max_health_watches", Form::Whole),
    Key::new("limits", "http2_ping", "http2_ping", Form::Duration),
    Key::new("limits", "keep_alive", "keep_alive", Form::Duration),
    Key::new("limits", "stream_grace", "stream_grace", Form::Duration),
    Key::new("limits", "grace", "grace", Form::Duration),
    Key::new("limits", "address_rate", "address_rate", Form::Text),
    Key::new("limits", "caller_rate", "caller_rate", Form::Text),
    Key::new("limits", "max_running_tasks", "max_running_tasks", Form::Whole),
    Key::new("limits", "max_open_streams", "max_open_streams", Form::Whole),
    Key::new("limits", "max_open_tasks", "max_open_tasks", Form::Whole),
    Key::new("limits", "max_stored_bytes", "max_stored_bytes", Form::Bytes),
    Key::new("limits", "max_task_messages", "max_task_messages", Form::Whole),
    Key::new("limits", "max_task_history", "max_task_history", Form::Bytes),
    Key::new("limits", "max_task_artifacts", "max_task_artifacts", Form::Bytes),
    Key::new("limits", "max_task_turns", "max_task_turns", Form::Whole),
    Key::new("limits", "max_run_time", "max_run_time", Form::Duration),
    Key::new("limits", "max_silence", "max_silence", Form::Duration),
    Key::new("limits", "limit_anonymous", "limit_anonymous", Form::Switch),
    Key::new("telemetry", "log_traffic", "quiet", Form::Inverse),
    Key::new("telemetry", "log_json", "log_json", Form::Switch),
    Key::new("telemetry", "otlp_endpoint", "otlp_endpoint", Form::Address),
    Key::new("telemetry", "metrics", "no_metrics", Form::Inverse),
    Key::new("telemetry", "metrics_listen", "metrics_listen", Form::Text),
    Key::new("telemetry", "audit_file", "audit_log", Form::Path),
];

/// Flags of which at most one can hold: what stands higher puts out what stands lower.
pub(super) const EXCLUSIVE: &[&[&str]] =
    &[&["demo", "script", "echo", "exec", "program", "reference"], &["chunk", "io"]];

/// A flag that is short for a value of another one.
pub(super) struct Shorthand {
    pub(super) flag: &'static str,
    pub(super) of: &'static str,
    pub(super) value: &'static str,
}

/// The flags that are short for a value of another one, and have no key of their own.
pub(super) const SHORTHANDS: &[Shorthand] =
    &[Shorthand { flag: "no_compat", of: "protocol", value: "1.0" }];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::command::Cli;

    #[test]
    fn every_flag_of_a_server_has_a_key_and_every_key_a_flag() {
        let tree = Cli::command();
        let serve = tree.find_subcommand("serve").unwrap();
        let about_the_settings = ["settings", "print_settings", "help"];
        let flags: BTreeSet<_> = serve
            .get_arguments()
            .map(|flag| flag.get_id().as_str())
            .filter(|flag| !about_the_settings.contains(flag))
            .filter(|flag| SHORTHANDS.iter().all(|shorthand| shorthand.flag != *flag))
            .collect();
        let own = KEYS.iter().filter(|key| !key.is_global).map(|key| key.flag);
        assert_eq!(own.collect::<BTreeSet<_>>(), flags);
        for key in KEYS.iter().filter(|key| key.is_global) {
            assert!(tree.get_arguments().any(|flag| flag.get_id() == key.flag), "{}", key.flag);
        }
    }

    #[test]
    fn every_key_stands_once_and_in_a_section() {
        let paths: BTreeSet<_> = KEYS.iter().map(Key::path).collect();
        let variables: BTreeSet<_> = KEYS.iter().map(Key::variable).collect();
        assert_eq!((paths.len(), variables.len()), (KEYS.len(), KEYS.len()));
        for key in KEYS {
            assert!(SECTIONS.iter().any(|section| section.name == key.section), "{key:?}");
        }
    }
}
