//! Providers of models: their names, wires, base URLs and keys.

use std::fs;

use a2a_core::host;
use a2a_kit_http::{redaction::redact_url, uri};
use http::{HeaderValue, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{anthropic, gemini, kind::Wire, openai_chat, responses};
use crate::SetupError;

/// A provider: what the part of a name before the first slash stands for.
#[derive(Debug)]
pub(crate) struct Provider {
    /// The name, such as `openai`.
    pub(crate) name: &'static str,
    wire: &'static Wire,
    base_url: &'static str,
    /// The variable that replaces the base URL.
    base_variable: Option<&'static str>,
    key_variables: &'static [&'static str],
    key_is_optional: bool,
}

const OPENAI: Provider = Provider {
    name: "openai",
    wire: &responses::WIRE,
    base_url: "https://api.openai.com/v1",
    base_variable: Some("OPENAI_BASE_URL"),
    key_variables: &["OPENAI_API_KEY"],
    key_is_optional: false,
};

/// All providers, in the order of messages.
static PROVIDERS: [Provider; 6] = [
    OPENAI,
    Provider { name: "openai-chat", wire: &openai_chat::WIRE, ..OPENAI },
    Provider {
        name: "anthropic",
        wire: &anthropic::WIRE,
        base_url: "https://api.anthropic.com",
        base_variable: Some("ANTHROPIC_BASE_URL"),
        key_variables: &["ANTHROPIC_API_KEY"],
        ..OPENAI
    },
    Provider {
        name: "gemini",
        wire: &gemini::WIRE,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        base_variable: None,
        // In the order of the official client.
        key_variables: &["GOOGLE_API_KEY", "GEMINI_API_KEY"],
        ..OPENAI
    },
    Provider {
        name: "ollama",
        wire: &openai_chat::WIRE,
        base_url: "http://127.0.0.1:11434/v1",
        base_variable: Some("OLLAMA_HOST"),
        key_variables: &["OLLAMA_API_KEY"],
        key_is_optional: true,
    },
    Provider {
        name: "openrouter",
        wire: &openai_chat::WIRE,
        base_url: "https://openrouter.ai/api/v1",
        base_variable: None,
        key_variables: &["OPENROUTER_API_KEY"],
        ..OPENAI
    },
];

/// Where a model is, and the key for it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) provider: &'static Provider,
    pub(crate) wire: &'static Wire,
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
        let wire = provider.wire;
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
            // A key from the environment is only for the provider's own URL.
            None if base_url_of_provider => key_of(provider, variable)?,
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

    /// The URL of a path of the wire.
    pub(super) fn url(&self, path: &str) -> String {
        let base = self.base();
        let model = utf8_percent_encode(&self.model, SEGMENT).to_string();
        base.clone() + &appended(&base, path).replace("{model}", &model)
    }
}

/// What is encoded in a segment of a path.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What is appended to a base URL, which may have the version that a path begins with.
fn appended<'a>(base: &str, path: &'a str) -> &'a str {
    let rest = path.strip_prefix("/v1").filter(|_| base.ends_with("/v1"));
    rest.unwrap_or(path)
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
fn parse_base(text: &str, wire: &Wire) -> Result<Uri, SetupError> {
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
    let path = url.path().trim_end_matches('/');
    let of_model = path.ends_with("enerateContent").then(|| path.rfind("/models/")).flatten();
    let at = of_model.or_else(|| {
        let end = Wire::PATHS.into_iter().find(|end| path.ends_with(end))?;
        Some(path.len() - end.len())
    });
    let Some((base, end)) = at.map(|at| path.split_at(at)) else { return Ok(url) };
    let scheme = url.scheme_str().unwrap_or_default();
    let authority = url.authority().map_or("", |authority| authority.as_str());
    let base = format!("{scheme}://{authority}{base}");
    let appended = appended(&base, wire.path);
    invalid(format!("it ends in {end}; the base is {base}, {appended} is appended"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves a name in an environment.
    fn resolve(
        name: &str,
        base_url: Option<&str>,
        key: Option<&str>,
        environment: &[(&str, &str)],
    ) -> Result<Endpoint, SetupError> {
        let known = |name: &str| environment.iter().find(|(known, _)| *known == name);
        Endpoint::resolve(name, base_url, key, |name| known(name).map(|(_, text)| (*text).into()))
    }

    const KEYS: [(&str, &str); 5] = [
        ("OPENAI_API_KEY", "k1"),
        ("ANTHROPIC_API_KEY", "k2"),
        ("OPENROUTER_API_KEY", "k3"),
        ("GEMINI_API_KEY", "k5"),
        ("GOOGLE_API_KEY", "k4"),
    ];

    #[test]
    fn name_leads_to_the_provider_and_the_model_as_it_is_written() {
        for (name, model, base, key) in [
            ("openai/gpt-x", "gpt-x", "https://api.openai.com/v1", Some("k1")),
            ("openai-chat/gpt-x-high", "gpt-x-high", "https://api.openai.com/v1", Some("k1")),
            ("anthropic/claude-x", "claude-x", "https://api.anthropic.com", Some("k2")),
            ("ollama/qwen3:8b", "qwen3:8b", "http://127.0.0.1:11434/v1", None),
            ("openrouter/a/b:free", "a/b:free", "https://openrouter.ai/api/v1", Some("k3")),
            ("openai// x ", "/ x ", "https://api.openai.com/v1", Some("k1")),
            ("gemini/gem", "gem", "https://generativelanguage.googleapis.com/v1beta", Some("k4")),
        ] {
            let endpoint = resolve(name, None, None, &KEYS).unwrap();
            assert_eq!((&*endpoint.model, &*endpoint.base()), (model, base), "{name}");
            assert_eq!(endpoint.key.as_ref().map(|key| key.to_str().unwrap()), key, "{name}");
            assert!(endpoint.key.is_none_or(|key| key.is_sensitive()), "{name}");
        }
    }

    #[test]
    fn unknown_provider_is_an_error_that_lists_all() {
        for name in ["gpt-x", "", "openai", "openai/", "/gpt-x", "OpenAI/gpt-x", "azure/gpt-x"] {
            let error = resolve(name, None, None, &KEYS).unwrap_err();
            assert!(matches!(error, SetupError::UnknownProvider(_)), "{name}: {error}");
            let text = error.to_string();
            for provider in &PROVIDERS {
                assert!(text.contains(provider.name), "{text}");
            }
        }
    }

    #[test]
    fn key_is_that_of_the_settings_the_variable_or_its_file() {
        let folder = std::env::temp_dir().join(format!("a2a-kit-models-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (full, empty) = (file("full", "from-file\n"), file("empty", "\n"));
        for (key, environment, expected) in [
            (Some("given"), &[("OPENAI_API_KEY", "k1")][..], Some(("given", "model.key"))),
            (Some(" "), &[("OPENAI_API_KEY", "k1")], Some(("k1", "OPENAI_API_KEY"))),
            (
                None,
                &[("OPENAI_API_KEY", ""), ("OPENAI_API_KEY_FILE", &*full)],
                Some(("from-file", "OPENAI_API_KEY_FILE")),
            ),
            (None, &[("OPENAI_API_KEY_FILE", &*empty)], None),
            (None, &[], None),
        ] {
            match (resolve("openai/x", None, key, environment), expected) {
                (Ok(endpoint), Some((key, source))) => {
                    assert_eq!(endpoint.key.unwrap(), key);
                    assert_eq!(endpoint.key_source.unwrap(), source);
                }
                (Err(error), None) => assert_eq!(
                    error.to_string(),
                    "openai/x needs an API key: set OPENAI_API_KEY or OPENAI_API_KEY_FILE"
                ),
                (result, expected) => panic!("{environment:?}: {result:?}, not {expected:?}"),
            }
        }
        fs::remove_dir_all(&folder).unwrap();
        let missing = [("OPENAI_API_KEY_FILE", &*full)];
        let error = resolve("openai/x", None, None, &missing).unwrap_err();
        assert_eq!(error.to_string(), "the file that OPENAI_API_KEY_FILE names can't be read");
        for key in ["a b", "a\nb", "\u{e9}"] {
            let error = resolve("openai/x", None, Some(key), &[]).unwrap_err();
            assert!(matches!(error, SetupError::InvalidKey { .. }), "{error}");
            assert!(!format!("{error:?}").contains(key), "{error:?}");
        }
    }

    #[test]
    fn key_of_a_variable_is_not_for_a_given_base_url() {
        let url = "http://127.0.0.1:8000/v1";
        let endpoint = resolve("openai-chat/x", Some(url), None, &KEYS).unwrap();
        assert_eq!((endpoint.key, endpoint.key_source), (None, None));
        let endpoint = resolve("openai-chat/x", Some(url), Some("mine"), &KEYS).unwrap();
        assert_eq!(endpoint.key.unwrap(), "mine");
        let moved = [("OPENAI_API_KEY", "k1"), ("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1/")];
        let endpoint = resolve("openai/x", None, None, &moved).unwrap();
        assert_eq!((&*endpoint.base(), endpoint.key.unwrap().to_str().unwrap()), (url, "k1"));
        assert!(resolve("openai/x", None, None, &moved[1..]).is_err());
    }

    #[test]
    fn host_of_ollama_needs_no_scheme() {
        for (host, expected) in [
            ("127.0.0.1:81", "http://127.0.0.1:81/v1"),
            ("box", "http://box:11434/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("[::1]:81", "http://[::1]:81/v1"),
            ("https://box.example/", "https://box.example/v1"),
            ("http://box:81/v1/", "http://box:81/v1"),
        ] {
            let environment = [("OLLAMA_HOST", host)];
            let endpoint = resolve("ollama/x", None, None, &environment).unwrap();
            assert_eq!(endpoint.base(), expected);
        }
    }

    #[test]
    fn base_url_is_an_http_url_without_what_is_appended() {
        for (base, shown) in [
            ("a.example/v1", "a.example/v1"),
            ("ftp://a.example/v1", "ftp://a.example/v1"),
            ("https://ann:pw@a.example/v1", "https://[redacted]@a.example/v1"),
            ("https://a.example/v1?key=pw", "https://a.example/v1?[redacted]"),
            ("https://a.example/v1#pw", "https://a.example/v1#[redacted]"),
            ("https://a.example/v1/chat/completions", "the base is https://a.example/v1,"),
            ("https://a.example/v1/chat/completions/", "the base is https://a.example/v1,"),
            ("https://a.example/v1/responses", "the base is https://a.example/v1,"),
            ("https://a.example/v1/messages", "the base is https://a.example,"),
            ("https://a.example/x/messages", "the base is https://a.example/x,"),
            ("https://a.example/v1beta/models/m:generateContent", "is https://a.example/v1beta,"),
        ] {
            let error = resolve("openai-chat/x", Some(base), None, &[]).unwrap_err();
            let text = error.to_string();
            assert!(
                text.starts_with("invalid base URL ") && text.contains(shown),
                "{base}: {text}"
            );
            assert!(!text.contains("pw"), "{text}");
        }
        let endpoint = resolve("openai-chat/x", Some("HTTPS://A.example/v1//"), None, &[]).unwrap();
        assert_eq!(endpoint.base(), "https://a.example/v1");
        assert_eq!(endpoint.server(), Some(("a.example".to_owned(), 443)));
    }

    #[test]
    fn key_over_plaintext_is_exposed_beyond_the_loopback() {
        for (base, key, expected) in [
            ("http://box.example/v1", Some("k"), true),
            ("http://10.0.0.1:8000", Some("k"), true),
            ("http://box.example/v1", None, false),
            ("http://localhost:8000", Some("k"), false),
            ("http://[::1]:8000", Some("k"), false),
            ("https://box.example/v1", Some("k"), false),
        ] {
            let endpoint = resolve("openai-chat/x", Some(base), key, &[]).unwrap();
            assert_eq!(endpoint.exposes_key(), expected, "{base}");
        }
    }

    #[test]
    fn host_of_openai_is_known_in_every_region() {
        for (base, expected) in [
            ("https://api.openai.com/v1", true),
            ("https://eu.api.openai.com/v1", true),
            ("https://api.openai.com.example/v1", false),
            ("https://notapi.openai.com/v1", false),
        ] {
            let endpoint = resolve("openai-chat/x", Some(base), None, &[]).unwrap();
            assert_eq!(endpoint.is_openai(), expected, "{base}");
        }
    }
}
