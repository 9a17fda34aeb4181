//! Which secrets of the user are used for the agent that the settings name.

use a2a_kit_client::{CardReference, credentials::Origin};

use super::{
    Settings,
    client::Client,
    layer::{SettingsFile, Source},
    section::{Declared as _, Setting},
    sources::agent_file_name,
};
use crate::{failure::Failure, output::quoted};

/// A secret of the user.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UserSecret {
    /// The value of a setting, by the long name of its flag.
    Setting(&'static str),
    /// The value of a flag that only one command has, by its long name.
    Flag(&'static str),
    /// A token of `a2a auth login`, which is sent only to the origins of its login.
    StoredToken,
    /// What a user authorizes by `a2a auth login`, and the secret of the OAuth client.
    SignIn,
}

/// Settings that are secrets, or that prove who the user is.
const SECRETS: [&str; 5] = ["bearer", "api-key", "basic", "svc-param", "client-cert"];
/// Settings that decide which interface is called.
const ADDRESS: [&str; 5] = ["agent-card", "endpoint", "transport", "tenant", "a2a-version"];
/// Settings that decide how a secret is protected.
const PROTECTION: [&str; 8] = [
    "insecure",
    "ca-cert",
    "pin-sha256",
    "client-cert",
    "client-key",
    "credential-origin",
    "card-auth",
    "grpc-plaintext",
];

impl Settings {
    /// Checks every secret that the settings have: see [`check_secret`](Self::check_secret).
    /// Errors: the failure for the first one that must not be used.
    pub(crate) fn check_secrets(&self) -> Result<(), Failure> {
        SECRETS.iter().try_for_each(|name| self.check_secret(UserSecret::Setting(name)))
    }

    /// Decides whether a secret is used for the agent that the settings name. What somebody else
    /// wrote must not decide where a secret of the user goes:
    ///
    /// 1. A file that was found in the working directory or above it may come with a project of
    ///    another author. If it names the agent or weakens the protection of secrets, only its own
    ///    secrets are used, unless the user names the file with `--config`, or overrides the setting
    ///    with a flag or a variable.
    /// 2. A variable or a settings file that names `card.json` means another file in each working
    ///    directory. The secrets of the user are used only if it names `./card.json`, or a flag does.
    /// 3. A catalog on a server names agents of its own origin. For an agent elsewhere, secrets are
    ///    used only if the user names its origin with `--credential-origin`.
    ///
    /// Stored tokens, and the secrets in the file of the agent (`agents/<host>.env`), are bound to
    /// their agent already: whatever names that agent, they reach it alone, over TLS or on this
    /// machine. So they are refused only where the first rule is about protection. All else that
    /// restricts a secret to origins is in [`ClientBuilder`](a2a_kit_client::ClientBuilder).
    /// Errors: a usage failure that names both sources, and how to allow it.
    pub(crate) fn check_secret(&self, secret: UserSecret) -> Result<(), Failure> {
        let source = match secret {
            UserSecret::Setting(name) => Some(self.source(name)),
            UserSecret::Flag(name) => Some(Source::Flag(format!("--{name}"))),
            UserSecret::StoredToken | UserSecret::SignIn => None,
        };
        let source = source.as_ref();
        if source == Some(&Source::Default) {
            return Ok(());
        }
        let is_of_found_file = source.is_some_and(Source::is_found);
        let is_bound = match source {
            Some(source) => self.is_file_of_agent(source),
            None => matches!(secret, UserSecret::StoredToken),
        };
        let address = ADDRESS.iter().filter(|_| !is_bound);
        let mut guarded = PROTECTION.iter().chain(address).filter(|_| !is_of_found_file);
        let found = guarded.find(|name| self.is_from_found_file(name));
        if let Some(name) = found {
            let weak = self.source(name);
            let path = weak.path().map_or_else(String::new, |path| path.display().to_string());
            let secret = secret.describe(source);
            return Err(Failure::usage(format!(
                "{secret} is not used with {} of {path}, a file that was found and not named",
                variable(name)
            ))
            .with_hint(format!(
                "if the file is yours, name it with --config {}; otherwise override it with --{name}",
                quoted(&path)
            )));
        }
        if let Some(path) = self.bare_file.as_ref().filter(|_| !is_bound && !is_of_found_file) {
            let path = path.display();
            return Err(Failure::usage(format!(
                "{} is not used with {path}, which A2ACLI_AGENT_CARD names in any working directory",
                secret.describe(source)
            ))
            .with_hint(format!("if the file is yours, name it ./{path}, or use --agent-card")));
        }
        let elsewhere = self.catalog.as_ref().zip(self.origin()).filter(|(catalog, origin)| {
            let allowed = &self.credential_origins;
            !is_bound
                && std::iter::once(*catalog).chain(allowed).all(|one| !one.is_equivalent(origin))
        });
        let Some((catalog, origin)) = elsewhere else { return Ok(()) };
        Err(Failure::usage(format!(
            "{} is not used for {origin}, which the catalog at {catalog} names",
            secret.describe(source)
        ))
        .with_hint(format!(
            "to use it, add --credential-origin {origin}, or name the agent with --agent-card"
        )))
    }

    /// Returns whether a setting has an effect, and comes from a file that was found.
    fn is_from_found_file(&self, name: &str) -> bool {
        self.source(name).is_found() && self.layer.values.get(name).is_some_and(|one| *one != false)
    }

    /// Returns whether a source is the file of the agent, which is called securely.
    fn is_file_of_agent(&self, source: &Source) -> bool {
        let Source::File { file: SettingsFile::Agent, path, .. } = source else { return false };
        let name = self.agent().and_then(agent_file_name);
        name.is_some_and(|name| path.ends_with(name))
            && self.origin().is_some_and(|one| one.is_secure())
    }

    fn agent(&self) -> Option<&str> {
        self.endpoint.as_deref().or(self.agent_card.as_deref())
    }

    /// The origin of the card or the endpoint; `None` for a file.
    fn origin(&self) -> Option<Origin> {
        let reference = self.agent()?;
        match reference.parse() {
            Ok(CardReference::Url(url)) => Origin::of(&url),
            Ok(_) => None,
            Err(_) => reference.parse().ok(),
        }
    }
}

impl UserSecret {
    /// What it is and where it comes from.
    fn describe(self, source: Option<&Source>) -> String {
        let name = match self {
            Self::Setting(name) | Self::Flag(name) => name,
            Self::StoredToken => return "a stored token".to_owned(),
            Self::SignIn => return "a login".to_owned(),
        };
        match source {
            Some(Source::Flag(flag)) => flag.clone(),
            Some(Source::Variable(name)) => name.clone(),
            Some(Source::File { path, .. }) => {
                format!("{} of {}", variable(name), path.display())
            }
            Some(Source::Default) | None => variable(name),
        }
    }
}

/// The variable of a setting, by the long name of its flag.
fn variable(name: &str) -> String {
    Client::setting(name).map_or_else(String::new, Setting::variable)
}
