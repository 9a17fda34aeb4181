//! Providers of models: their names, wires, base URLs and keys.

use std::fs;

use a2a_core::host;
use a2a_kit_http::{redaction::redact_url, uri};
use http::{HeaderValue, Uri};

use super::kind::Wire;
use crate::SetupError;

/// A provider: what the part of a name before the first slash stands for.
#[derive(Debug)]
pub(crate) struct Provider {
    /// The name, such as `openai`.
    pub(crate) name: &'static str,
    /// `None` for a wire that is not built yet.
    wire: Option<Wire>,
    base_url: &'static str,
    /// The variable that replaces the base URL.
    base_variable: Option<&'static str>,
    key_variables: &'static [&'static str],
    key_is_optional: bool,
}

/// All providers, in the order of messages.
const PROVIDERS: [Provider; 6] = [
    Provider {
        name: "openai",
        // The chat wire reaches the same models until the Responses wire exists.
        wire: Some(Wire::OpenAiChat),
        base_url: "https://api.openai.com/v1",
        base_variable: Some("OPENAI_BASE_URL"),
        key_variables: &["OPENAI_API_KEY"],
        key_is_optional: false,
    },
    Provider {
        name: "openai-chat",
        wire: Some(Wire::OpenAiChat),
        base_url: "https://api.openai.com/v1",
        base_variable: Some("OPENAI_BASE_URL"),
        key_variables: &["OPENAI_API_KEY"],
        key_is_optional: false,
    },
    Provider {
        name: "anthropic",
        wire: Some(Wire::Anthropic),
        base_url: "https://api.anthropic.com",
        base_variable: Some("ANTHROPIC_BASE_URL"),
        key_variables: &["ANTHROPIC_API_KEY"],
        key_is_optional: false,
    },
    Provider {
        name: "gemini",
        wire: None,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        base_variable: None,
        // In the order of the official client.
        key_variables: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        key_is_optional: false,
    },
    Provider {
        name: "ollama",
        wire: Some(Wire::OpenAiChat),
        base_url: "http://127.0.0.1:11434/v1",
        base_variable: Some("OLLAMA_HOST"),
        key_variables: &["OLLAMA_API_KEY"],
        key_is_optional: true,
    },
    Provider {
        name: "openrouter",
        wire: Some(Wire::OpenAiChat),
        base_url: "https://openrouter.ai/api/v1",
        base_variable: None,
        key_variables: &["OPENROUTER_API_KEY"],
        key_is_optional: false,
    },
];

/// Where a model is, and the key for it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) provider: &'static Provider,
    pub(crate) wire: Wire,
    /// The model, as it was written.
    pub(crate) model: String,
    /// Without a trailing slash.
    pub(crate) base_url: Uri,
    /// The key, marked as sensitive.
    pub(crate) key: Option<HeaderValue>,
    /// Where the key comes from: the name of a variable, or `model.key`.
    pub(crate) key_source: Option<String>,
}

impl Endpoint {
    /// Resolves a name `provider/model`. A base URL and a key that are given take precedence over
    /// those of the environment, which `variable` reads.
    ///
    /// # Errors
    ///
    /// [`SetupError`] for an unknown provider, an invalid base URL, and a missing or invalid key.
    pub(crate) fn resolve(
        name: &str,
        base_url: Option<&str>,
        key: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SetupError> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        // The model may have slashes of its own.
        let found = name.split_once('/').filter(|(_, model)| !model.is_empty());
        let found = found.and_then(|(provider, model)| {
            Some((PROVIDERS.iter().find(|known| known.name == provider)?, model))
        });
        let Some((provider, model)) = found else {
            return Err(SetupError::UnknownProvider(name.to_owned()));
        };
        let Some(wire) = provider.wire else {
            return Err(SetupError::UnsupportedProvider(provider.name));
        };
        let text = match (base_url, provider.base_variable.and_then(&variable)) {
            (Some(text), _) => text.to_owned(),
            (None, Some(text)) if provider.name == "ollama" => ollama_url(text.trim()),
            (None, Some(text)) => text.trim().to_owned(),
            (None, None) => provider.base_url.to_owned(),
        };
        let base_url_of_provider = base_url.is_none();
        let base_url = parse_base(&text, wire)?;
        let given = key.filter(|key| !key.trim().is_empty());
        let found = match given {
            Some(key) => Some(("model.key".to_owned(), key.to_owned())),
            // The key of a provider is not for the host of somebody else.
            None if base_url_of_provider => key_of(provider, &variable)?,
            None => None,
        };
        if found.is_none() && base_url_of_provider && !provider.key_is_optional {
            let variable = provider.key_variables[0];
            return Err(SetupError::MissingKey { model: name.to_owned(), variable });
        }
        let (key_source, key) = match found {
            None => (None, None),
            Some((source, key)) => (Some(source.clone()), Some(key_value(&key, source)?)),
        };
        Ok(Self { provider, wire, model: model.to_owned(), base_url, key, key_source })
    }

    /// Whether the key is sent in plaintext beyond this machine.
    pub(crate) fn exposes_key(&self) -> bool {
        let is_local = self.base_url.host().is_some_and(host::is_loopback);
        self.key.is_some() && self.base_url.scheme_str() == Some("http") && !is_local
    }

    /// Whether the endpoint is OpenAI's own, in any region, and not a compatible one.
    pub(crate) fn is_openai(&self) -> bool {
        let host = self.base_url.host().unwrap_or_default();
        host == "api.openai.com" || host.ends_with(".api.openai.com")
    }

    /// Host and port.
    pub(crate) fn server(&self) -> Option<(String, u16)> {
        let default = if self.base_url.scheme_str() == Some("https") { 443 } else { 80 };
        Some((self.base_url.host()?.to_owned(), self.base_url.port_u16().unwrap_or(default)))
    }

    /// The base URL as text, without a trailing slash.
    pub(crate) fn base(&self) -> String {
        self.base_url.to_string().trim_end_matches('/').to_owned()
    }
}

/// Returns the key of a provider from its variables, or the files that they name, and its source.
fn key_of(
    provider: &Provider,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<(String, String)>, SetupError> {
    for name in provider.key_variables {
        if let Some(key) = variable(name) {
            return Ok(Some(((*name).to_owned(), key)));
        }
        let file_variable = format!("{name}_FILE");
        let Some(path) = variable(&file_variable) else { continue };
        match fs::read_to_string(path.trim()) {
            Ok(key) if key.trim().is_empty() => {}
            Ok(key) => return Ok(Some((file_variable, key))),
            Err(source) => return Err(SetupError::KeyFile { variable: file_variable, source }),
        }
    }
    Ok(None)
}

fn key_value(key: &str, source_name: String) -> Result<HeaderValue, SetupError> {
    let is_visible = key.trim().bytes().all(|byte| byte.is_ascii_graphic());
    match HeaderValue::from_str(key.trim()) {
        Ok(mut value) if is_visible => {
            value.set_sensitive(true);
            Ok(value)
        }
        _ => Err(SetupError::InvalidKey { source_name }),
    }
}

/// The base URL of a value of `OLLAMA_HOST`: often a host and a port, without a scheme.
fn ollama_url(value: &str) -> String {
    let value = value.trim_end_matches('/');
    let url = match value.split_once("://") {
        Some(_) => value.to_owned(),
        None => {
            let address = value.rsplit_once(']').map_or(value, |(_, rest)| rest);
            let port = if address.contains(':') { "" } else { ":11434" };
            format!("http://{value}{port}")
        }
    };
    if url.ends_with("/v1") { url } else { format!("{url}/v1") }
}

/// Parses a base URL, to which `wire` appends its path.
fn parse_base(text: &str, wire: Wire) -> Result<Uri, SetupError> {
    let invalid = |reason: String| {
        Err(SetupError::InvalidBaseUrl { url: redact_url(text).into_owned(), reason })
    };
    let url = match uri::parse(text.trim_end_matches('/')) {
        Ok(url) => url,
        Err(error) => return invalid(error.to_string()),
    };
    if !matches!(url.scheme_str(), Some("http" | "https")) {
        return invalid("the scheme is neither http nor https".to_owned());
    }
    if uri::has_credentials(&url) {
        return invalid("it has a user".to_owned());
    }
    if text.contains(['?', '#']) {
        return invalid("it has a query or a fragment".to_owned());
    }
    for path in Wire::PATHS {
        let at_end = url.path().trim_end_matches('/').strip_suffix(path);
        if let Some(base) = at_end {
            let scheme = url.scheme_str().unwrap_or_default();
            let authority = url.authority().map_or("", |authority| authority.as_str());
            let base = format!("{scheme}://{authority}{base}");
            let appended = wire.path(url.path());
            return invalid(format!(
                "it ends in {path}; the base is {base}, {appended} is appended"
            ));
        }
    }
    Ok(url)
}
