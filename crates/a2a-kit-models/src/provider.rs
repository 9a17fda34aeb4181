//! How a provider of models is reached.

use std::{fmt, time::Duration};

use a2a_kit_http::client::ClientSettings;
use http::HeaderMap;
use serde_json::{Map, Value};

/// How a provider is reached: by default at its own URL, with the key in its environment variable.
///
/// `Debug` shows neither the key nor the values of headers.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProviderSettings {
    /// The base URL, such as `http://127.0.0.1:8000/v1`; `None` for that of the provider. With one,
    /// the environment variable of the provider's key is not read.
    pub base_url: Option<String>,
    /// The key; `None` for that in the environment.
    pub key: Option<String>,
    /// Headers of each request, besides those of the provider's API. Default: none.
    pub headers: HeaderMap,
    /// Members of the body of each request, merged last. Messages, tools and `stream` can't be set.
    /// Default: none.
    pub extra: Map<String, Value>,
    /// Timeouts, TLS, proxies and the observer of the HTTP client. Its idle timeout is 3 min by
    /// default, and bounds the time without a byte, also before the head.
    pub client: ClientSettings,
}

impl Default for ProviderSettings {
    fn default() -> Self {
        Self {
            base_url: None,
            key: None,
            headers: HeaderMap::new(),
            extra: Map::new(),
            client: ClientSettings::default().with_idle_timeout(Duration::from_secs(180)),
        }
    }
}

impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderSettings")
            .field("base_url", &self.base_url)
            .field("has_key", &self.key.is_some())
            .finish_non_exhaustive()
    }
}

/// Why an agent with a model can't be set up.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The name has no provider, or an unknown one.
    #[error(
        "unknown model {0:?}: expected provider/model, with openai, openai-chat, anthropic, gemini, ollama or openrouter as the provider; openai-chat and a base URL reach any compatible server"
    )]
    UnknownProvider(String),
    /// The base URL is no HTTP URL, has a user, a query or a fragment, or ends in a path that is
    /// appended.
    #[error("invalid base URL {url}: {reason}")]
    InvalidBaseUrl {
        /// The URL, without its user.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no key.
    #[error("{model} needs an API key: set {variable} or {variable}_FILE")]
    MissingKey {
        /// The model, as it was named.
        model: String,
        /// The environment variable of the provider's key.
        variable: &'static str,
    },
    /// The key can't be sent in a header.
    #[error("{source_name} is not a key: it has characters that a header can't have")]
    InvalidKey {
        /// Where the key comes from: the name of a variable, or `model.key`.
        source_name: String,
    },
    /// The file that a variable names for the key can't be read.
    #[error("the file that {variable} names can't be read")]
    KeyFile {
        /// The variable.
        variable: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A setting can't have this value.
    #[error("invalid {setting}: {reason}")]
    InvalidSetting {
        /// The setting, such as `model.extra`.
        setting: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A tool can't be offered to a model.
    #[error("invalid tool {name:?}: {reason}")]
    InvalidTool {
        /// The name of the tool.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The HTTP client can't be set up.
    #[error("invalid settings of the HTTP client")]
    Client(#[source] a2a_core::Error),
}

a2a_core::debug_as_chain!(SetupError);
