//! The credentials of the command line.

use a2a_core::AgentCard;
use a2a_kit_client::{
    SelectedInterface,
    credentials::{ApiKey, Basic, Bearer, Credentials},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderName, HeaderValue, header::AUTHORIZATION};

use crate::{failure::Failure, settings::Settings};

/// The credentials of the settings, for the schemes that the card declares.
/// Errors: a usage failure for a malformed credential.
pub(super) fn of_settings(settings: &Settings) -> Result<Credentials, Failure> {
    credentials(settings.basic.as_deref(), settings.bearer.as_deref(), settings.api_key.as_deref())
}

fn credentials(
    basic: Option<&str>,
    bearer: Option<&str>,
    api_key: Option<&str>,
) -> Result<Credentials, Failure> {
    // The user names the agent; `http` in its address is their decision.
    let mut credentials = Credentials::new().unconditional().allow_plaintext();
    if let Some(pair) = basic {
        let (user, password) = pair
            .split_once(':')
            .ok_or_else(|| Failure::usage("--basic: expected user:password"))?;
        let source = Basic::new(user, password);
        let source = source.map_err(|error| Failure::usage(format!("--basic: {error}")))?;
        credentials = credentials.with(source);
    }
    if let Some(token) = bearer {
        check("--bearer", token)?;
        credentials = credentials.with(Bearer::new(token));
    }
    if let Some(key) = api_key {
        check("--api-key", key)?;
        credentials = credentials.with(ApiKey::new(key));
    }
    Ok(credentials)
}

/// The headers of the credentials, for `--card-auth`. Without the card, the name of an API key is not
/// known.
/// Errors: a usage failure for a malformed credential.
pub(super) fn card_headers(settings: &Settings) -> Result<Vec<(HeaderName, HeaderValue)>, Failure> {
    let basic = settings.basic.as_ref().map(|pair| format!("Basic {}", STANDARD.encode(pair)));
    let bearer = settings.bearer.as_ref().map(|token| format!("Bearer {token}"));
    let headers = [
        ("--bearer", AUTHORIZATION, basic.or(bearer)),
        ("--api-key", HeaderName::from_static("x-api-key"), settings.api_key.clone()),
    ];
    let mut read = Vec::new();
    for (flag, name, value) in headers {
        let Some(value) = value else { continue };
        let value = HeaderValue::try_from(value);
        let mut value =
            value.map_err(|_error| Failure::usage(format!("{flag}: invalid characters")))?;
        value.set_sensitive(true);
        read.push((name, value));
    }
    Ok(read)
}

fn check(flag: &str, secret: &str) -> Result<(), Failure> {
    if secret.contains(char::is_control) {
        return Err(Failure::usage(format!("{flag}: invalid characters")));
    }
    Ok(())
}

/// Warns of each credential for which the card declares no scheme.
pub(super) fn warn_if_unused(
    settings: &Settings,
    card: &AgentCard,
    selected: &SelectedInterface,
) -> Result<(), Failure> {
    let [basic, bearer, api_key] =
        [&settings.basic, &settings.bearer, &settings.api_key].map(Option::as_deref);
    for (flag, credentials) in [
        ("--basic", basic.map(|_| credentials(basic, None, None))),
        ("--bearer", bearer.map(|_| credentials(None, bearer, None))),
        ("--api-key", api_key.map(|_| credentials(None, None, api_key))),
    ] {
        let Some(credentials) = credentials.transpose()? else { continue };
        let used = credentials.for_agent(card, &selected.interface, None);
        if used.is_ok_and(|used| used.is_empty()) {
            let schemes: Vec<_> = card.security_schemes.keys().map(String::as_str).collect();
            settings.output.warning(&format!(
                "{flag} is not sent: it fits none of the agent's security schemes ({}) over {}; \
                 use --svc-param to send any header",
                schemes.join(", "),
                selected.transport
            ));
        }
    }
    Ok(())
}
