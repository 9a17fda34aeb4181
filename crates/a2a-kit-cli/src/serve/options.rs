//! The options of a server, from its settings and its script.

use std::{error::Error, path::Path};

use a2a_core::AgentCard;
use a2a_kit::Revisions;
use a2a_kit_auth::{
    jose::SigningKey,
    server::{Guard, Throttle},
};
use a2a_kit_client::Transport;
use a2a_kit_http::{
    Allowed, Limits, WebhookPolicy,
    rate::AddressRate,
    tls::{ClientTls, Tls},
};
use a2a_kit_script::Script;

use super::{
    access::{self, Access},
    bearer::{Bearer, Protects},
    built_in, encryption,
};
use crate::{
    failure::Failure,
    log::{Detail, Observe},
    settings::{
        PREFIX, Settings,
        serve::{Profile, Secret, Serve},
    },
};

/// The options of a server.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) grpc_port: Option<u16>,
    /// The bindings, in the order of the card.
    pub(super) bindings: Vec<Transport>,
    pub(super) revisions: Revisions,
    pub(super) streaming: bool,
    pub(super) push: bool,
    pub(super) extended_card: bool,
    /// The token of a conformance suite, or of the extended card.
    pub(super) bearer: Option<Bearer>,
    /// Authentication; `None` if all callers are anonymous.
    pub(super) access: Option<Access>,
    pub(super) webhooks: WebhookPolicy,
    /// Signs webhook deliveries.
    pub(super) webhook_key: Option<SigningKey>,
    /// Signs the card.
    pub(super) card_key: Option<SigningKey>,
    pub(super) limits: Limits,
    /// Rate limit per client address.
    pub(super) address_rate: Option<AddressRate>,
    pub(super) tls: Option<Tls>,
    /// TLS configuration of outgoing connections.
    pub(super) trust: ClientTls,
    /// The script of the demo agent, or that of `--script`.
    pub(super) script: Script,
    pub(super) log: Detail,
    pub(super) observe: Observe,
    pub(super) metrics_listen: Option<String>,
}

impl Options {
    /// The URL scheme of this server.
    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Removes the disabled capabilities from a card.
    pub(super) fn within_capabilities(&self, card: AgentCard) -> AgentCard {
        let streaming = card.can_stream() && self.streaming;
        let push = card.can_push() && self.push;
        let extended = card.has_extended_card() && self.extended_card;
        card.with_streaming(streaming).with_push_notifications(push).with_extended_card(extended)
    }

    /// Reads the flags of a server, its script, and the variables that the script names.
    ///
    /// # Errors
    ///
    /// A usage failure.
    pub(super) fn new(serve: &Serve, settings: &Settings) -> Result<Self, Failure> {
        check_exec_env(serve)?;
        let completes = serve.agent.default.is_some();
        let access = Access::read(serve, &settings.trust)?;
        let webhooks = webhooks(serve)?;
        // Authenticated callers must not reach addresses that only this machine can reach.
        let reach = (access.is_some() || serve.listen.production).then(|| webhooks.clone());
        let builtins = built_in::builtins(reach, settings.trust.clone());
        let script = match &serve.agent.script_file {
            Some(path) => built_in::read(path, builtins)?,
            None => built_in::of_profile(serve.agent.profile, completes, &builtins)?,
        };
        let is_reduced = script.has_reduced_capabilities();
        if completes && serve.agent.profile != Profile::Conformance {
            return Err(Failure::usage("--default is only for --profile conformance"));
        }
        let bearer = match (&serve.auth.extended_card_token, script.required_token()) {
            // Suites send wrong tokens on purpose, and the right one is public.
            (_, Some(token)) => {
                let guard =
                    Guard::new().with_throttle(Throttle::default().with_failures_allowed(u32::MAX));
                Some(Bearer::new(token, Protects::Everything, guard)?)
            }
            (Some(Secret(token)), None) => {
                Some(Bearer::new(token, Protects::ExtendedCard, access::guard(serve)?)?)
            }
            (None, None) => None,
        };
        let bearer = bearer.map(|bearer| bearer.with_insufficient(script.insufficient_token()));
        check_access(serve, access.as_ref(), bearer.as_ref())?;
        let push = serve.webhooks.enabled && !is_reduced && script.card().can_push();
        let is_bench = serve.agent.profile == Profile::Bench;
        Ok(Self {
            host: serve.listen.host.clone(),
            port: serve.listen.port,
            grpc_port: serve.listen.grpc_port,
            bindings: bindings(serve, settings)?,
            revisions: serve.listen.protocol.0.clone(),
            streaming: serve.agent.streaming && !is_reduced,
            push,
            extended_card: serve.agent.extended_card && !is_reduced,
            bearer,
            access,
            webhooks,
            webhook_key: webhook_key(serve, push)?,
            card_key: match &serve.agent.card_key_file {
                Some(path) => Some(signing_key("--card-key", path)?),
                None => None,
            },
            limits: serve.limits.http(),
            address_rate: address_rate(serve)?,
            tls: encryption::tls(&serve.tls)?,
            trust: settings.trust.clone(),
            script,
            log: match settings.debug {
                true => Detail::Debug,
                false if serve.telemetry.log_traffic && !is_bench => Detail::Operations,
                false => Detail::Warnings,
            },
            observe: Observe {
                is_json: serve.telemetry.log_json,
                otlp_metrics: serve.telemetry.otlp_metrics,
                otlp_logs: serve.telemetry.otlp_logs,
                is_buffered: true,
                otlp_endpoint: serve.telemetry.otlp_endpoint.as_ref().map(|url| url.0.clone()),
                // The bench profile measures the library, which records no metrics by default.
                metrics: serve.telemetry.metrics
                    && (!is_bench || serve.telemetry.metrics_listen.is_some()),
                audit: serve.telemetry.audit_file.clone(),
                trust: settings.trust.clone(),
            },
            metrics_listen: serve.telemetry.metrics_listen.clone(),
        })
    }
}

/// Rejects contradictory settings of authentication.
fn check_access(
    serve: &Serve,
    access: Option<&Access>,
    bearer: Option<&Bearer>,
) -> Result<(), Failure> {
    match (access, bearer) {
        (Some(_), Some(_)) => {
            Err(Failure::usage("--extended-card-token can't be used with authentication")
                .with_hint("all authenticated callers get the extended card"))
        }
        (Some(_), None) if serve.proxy.forwards_auth() => {
            Err(Failure::usage("--forward-auth can't be used with authentication")
                .with_hint("this server or the upstream agent authenticates callers, not both"))
        }
        (None, None) if serve.listen.production && !serve.auth.anonymous => {
            Err(Failure::usage("--production requires authentication").with_hint(
                "configure [auth] or use --require-bearer; on the loopback, --anonymous accepts \
             unauthenticated callers",
            ))
        }
        _ => Ok(()),
    }
}

fn bindings(serve: &Serve, settings: &Settings) -> Result<Vec<Transport>, Failure> {
    let mut bindings = Vec::new();
    let wanted =
        if settings.transport.is_empty() { &Transport::ALL[..] } else { &settings.transport };
    for binding in wanted {
        let is_off = !serve.listen.grpc && *binding == Transport::Grpc;
        if !is_off && !bindings.contains(binding) {
            bindings.push(*binding);
        }
    }
    if bindings.is_empty() {
        return Err(Failure::usage("all bindings are disabled"));
    }
    Ok(bindings)
}

fn webhooks(serve: &Serve) -> Result<WebhookPolicy, Failure> {
    let mut policy = WebhookPolicy::default()
        .with_public(!serve.webhooks.allowed_only)
        .with_http(!serve.webhooks.https_only);
    let loopback: &[&str] = match serve.agent.profile {
        Profile::Conformance => &["127.0.0.0/8", "::1", "localhost"],
        Profile::Demo | Profile::Bench => &[],
    };
    let given = serve.webhooks.allow.iter().map(String::as_str);
    for text in given.chain(loopback.iter().copied()) {
        let allowed: Allowed = text
            .parse()
            .map_err(|error| Failure::usage(format!("--allow-webhook {text}: {error}")))?;
        policy = policy.with_allowed(allowed);
    }
    Ok(policy)
}

fn webhook_key(serve: &Serve, push: bool) -> Result<Option<SigningKey>, Failure> {
    let Some(path) = &serve.webhooks.key_file else { return Ok(None) };
    if let Some(mode) = serve.without_engine() {
        return Err(Failure::usage(format!("--webhook-key can't be used with {mode}"))
            .with_hint("only an agent that this server runs delivers webhooks"));
    }
    if !push {
        return Err(Failure::usage("--webhook-key requires webhooks"));
    }
    signing_key("--webhook-key", path).map(Some)
}

/// Reads a private key from a file.
fn signing_key(flag: &str, path: &Path) -> Result<SigningKey, Failure> {
    let place = path.display();
    let failure = |error: &dyn Error| {
        let text = format!("{flag} {place}: {}", super::chain(error));
        Failure::usage(text).with_hint(format!(
            "create a key with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 \
             -out {place}"
        ))
    };
    let pem = std::fs::read_to_string(path).map_err(|error| failure(&error))?;
    SigningKey::from_pem(&pem).map_err(|error| failure(&error))
}

fn address_rate(serve: &Serve) -> Result<Option<AddressRate>, Failure> {
    let Some(rate) = serve.limits.rate_limit_per_address else { return Ok(None) };
    Ok(Some(AddressRate::new(rate.0).with_proxies(access::proxies(serve)?)))
}

/// Checks the variables that commands inherit.
fn check_exec_env(serve: &Serve) -> Result<(), Failure> {
    for name in &serve.exec.env {
        let starts_with = |prefix| name.to_ascii_uppercase().starts_with(prefix);
        let reason = if name.is_empty() || name.contains(['=', '\0']) {
            format!("{name:?} is not the name of an environment variable")
        } else if starts_with(PREFIX) || serve.secret_variables.contains(name) {
            format!("{name} holds a secret of the server")
        } else if starts_with("A2A_") {
            format!("{name} is set for each task")
        } else {
            continue;
        };
        return Err(Failure::usage(format!("--exec-env: {reason}")));
    }
    Ok(())
}
