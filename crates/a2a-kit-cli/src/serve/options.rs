//! The options of a server, from its settings and its script.

use std::{error::Error, path::Path};

use a2a_kit_auth::jose::{KeyError, SigningKey};
use a2a_kit_client::Transport;
use a2a_kit_http::{
    Allowed, Limits, WebhookPolicy,
    rate::AddressRate,
    tls::{ClientTls, Tls},
};
use a2a_kit_script::Script;

use super::{
    access::{self, Access},
    built_in::{self, DemoAgent},
    encryption,
    model::Models,
};
use crate::{
    failure::Failure,
    settings::{PREFIX, Settings, serve::Serve},
};

/// What the settings of a server stand for: the contents of files, and texts that are parsed.
#[derive(Debug)]
pub(super) struct Options {
    /// The bindings, in the order of the card.
    pub(super) bindings: Vec<Transport>,
    /// Whether the agent delivers webhooks.
    pub(super) push: bool,
    /// Authentication; `None` if it is not configured.
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
    /// The script of the demo agent, or that of `--echo` or `--script`.
    pub(super) script: Script,
    /// Those of `--model` and `--fallback`.
    pub(super) models: Option<Models>,
}

impl Options {
    /// The URL scheme of this server.
    pub(super) fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Whether this server authenticates callers, and not only for the extended card.
    pub(super) fn authenticates(&self) -> bool {
        self.access.as_ref().is_some_and(Access::is_for_all)
    }

    /// Reads the files that the settings name, and the script.
    pub(super) fn new(
        serve: &Serve,
        settings: &Settings,
        demo: &dyn DemoAgent,
    ) -> Result<Self, Failure> {
        check_exec_env(serve)?;
        let access = Access::read(serve, &settings.trust)?;
        check_access(serve, access.as_ref())?;
        let webhooks = webhooks(serve)?;
        let authenticates = access.as_ref().is_some_and(Access::is_for_all);
        // Authenticated callers must not reach addresses that only this machine can reach.
        let reach = (authenticates || serve.listen.production).then(|| webhooks.clone());
        let builtins = built_in::builtins(reach, settings.trust.clone());
        let script = match &serve.agent.script_file {
            Some(path) => built_in::read(path, builtins)?,
            None if serve.agent.echo => built_in::echo()?,
            None => demo.script(built_in::demo(builtins)?),
        };
        let push = serve.webhooks.enabled && script.card().can_push();
        Ok(Self {
            bindings: bindings(serve, settings)?,
            push,
            access,
            webhooks,
            webhook_key: webhook_key(serve, push)?,
            card_key: match &serve.agent.card_key_file {
                Some(path) => Some(signing_key("--card-key", path, SigningKey::from_pem)?),
                None => None,
            },
            limits: serve.limits.http(),
            address_rate: address_rate(serve)?,
            tls: encryption::tls(&serve.tls)?,
            trust: settings.trust.clone(),
            script,
            models: Models::read(serve, settings)?,
        })
    }
}

/// Rejects contradictory settings of authentication.
fn check_access(serve: &Serve, access: Option<&Access>) -> Result<(), Failure> {
    match access {
        Some(_) if serve.proxy.forwards_auth() => {
            Err(Failure::usage("--forward-auth can't be used with authentication")
                .with_hint("this server or the upstream agent authenticates callers, not both"))
        }
        None if serve.listen.production && !serve.auth.anonymous => {
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
    for text in &serve.webhooks.allow {
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
    signing_key("--webhook-key", path, SigningKey::from_pem).map(Some)
}

/// Reads a private key from a file.
pub(crate) fn signing_key(
    flag: &str,
    path: &Path,
    parse: impl FnOnce(&str) -> Result<SigningKey, KeyError>,
) -> Result<SigningKey, Failure> {
    let place = path.display();
    let failure = |error: &dyn Error| {
        let text = format!("{flag} {place}: {}", super::chain(error));
        Failure::usage(text).with_hint(format!(
            "create a key with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 \
             -out {place}"
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|error| failure(&error))?;
    parse(&text).map_err(|error| failure(&error))
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
