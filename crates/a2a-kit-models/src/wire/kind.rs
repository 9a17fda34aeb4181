//! The APIs of providers: their paths, headers, bodies and decoders.

use a2a_kit_http::content_type;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};

use super::{
    anthropic, openai_chat,
    output::{Decoder, Object},
    part::Accepted,
};
use crate::{ModelError, SetupError, model::ChatRequest};

/// How requests and streams of a provider are written. Another wire is another variant: its paths,
/// its request, and a decoder of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Chat completions of OpenAI, and of the many servers that are compatible.
    OpenAiChat,
    /// Messages of Anthropic.
    Anthropic,
}

impl Wire {
    /// The ends of URLs that are no base of any wire.
    pub(super) const PATHS: [&str; 5] =
        ["/chat/completions", "/responses", "/v1/messages", "/messages", "/models"];

    /// What is appended to a base URL with this path.
    pub(super) fn path(self, base: &str) -> &'static str {
        match self {
            Self::OpenAiChat => "/chat/completions",
            Self::Anthropic if base.ends_with("/v1") => "/messages",
            Self::Anthropic => "/v1/messages",
        }
    }

    /// The path of the list of models.
    pub(super) fn models_path(self, base: &str) -> &'static str {
        match self {
            Self::OpenAiChat => "/models",
            Self::Anthropic if base.ends_with("/v1") => "/models?limit=1000",
            Self::Anthropic => "/v1/models?limit=1000",
        }
    }

    /// Members of a body that settings can't replace.
    pub(super) fn reserved(self) -> &'static [&'static str] {
        match self {
            Self::OpenAiChat => &["messages", "model", "stream", "tools"],
            Self::Anthropic => &["messages", "model", "stream", "system", "tools"],
        }
    }

    /// The headers of the API, with the credential.
    pub(super) fn headers(self, key: Option<&HeaderValue>) -> Result<HeaderMap, SetupError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, content_type::JSON);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        match self {
            Self::OpenAiChat => {
                if let Some(key) = key {
                    let bearer = [b"Bearer ", key.as_bytes()].concat();
                    let mut bearer = HeaderValue::from_bytes(&bearer).map_err(|_invalid| {
                        SetupError::InvalidKey { source_name: "the key".to_owned() }
                    })?;
                    bearer.set_sensitive(true);
                    headers.insert(AUTHORIZATION, bearer);
                }
            }
            Self::Anthropic => {
                let version = HeaderValue::from_static(anthropic::VERSION);
                headers.insert(HeaderName::from_static("anthropic-version"), version);
                if let Some(key) = key {
                    headers.insert(HeaderName::from_static("x-api-key"), key.clone());
                }
            }
        }
        Ok(headers)
    }

    /// The files that models read.
    pub(super) fn accepted(self, is_openai: bool) -> Accepted {
        match self {
            Self::OpenAiChat => Accepted { pdf: is_openai, audio: is_openai },
            Self::Anthropic => Accepted { pdf: true, audio: false },
        }
    }

    /// Writes the body of a request.
    ///
    /// # Errors
    ///
    /// [`File`](crate::model::ModelErrorKind::File) for a file that can't be sent.
    pub(super) fn body(
        self,
        model: &str,
        request: &ChatRequest,
        is_openai: bool,
    ) -> Result<Object, ModelError> {
        let accepted = self.accepted(is_openai);
        match self {
            Self::OpenAiChat => openai_chat::body(model, request, accepted, is_openai),
            Self::Anthropic => anthropic::body(model, request, accepted),
        }
    }

    /// Returns a decoder of one answer.
    pub(super) fn decoder(self) -> Box<dyn Decoder> {
        match self {
            Self::OpenAiChat => Box::new(openai_chat::Chunks::default()),
            Self::Anthropic => Box::new(anthropic::Events::default()),
        }
    }
}
