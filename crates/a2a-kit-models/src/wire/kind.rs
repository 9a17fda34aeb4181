//! What the APIs of providers differ in.

use a2a_kit_http::content_type;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};

use super::{body::Object, output::Decoder, part::Accepted};
use crate::{ModelError, SetupError, model::ChatRequest};

/// An API: its paths and headers, its requests, and a decoder of its events.
#[derive(Debug)]
pub(crate) struct Wire {
    /// What is appended to a base URL. `{model}` stands for the model.
    pub(super) path: &'static str,
    /// What is appended for the list of models.
    pub(super) models_path: &'static str,
    /// The header with the key, and the text before the key.
    pub(super) key: (HeaderName, &'static str),
    /// The header with the version.
    pub(super) version: Option<(HeaderName, HeaderValue)>,
    /// Members of a body that settings can't replace.
    pub(super) reserved: &'static [&'static str],
    /// Maximum size of an event, in bytes.
    pub(super) max_event: usize,
    /// The files that models read; the argument is whether they are OpenAI's own.
    pub(super) accepted: fn(bool) -> Accepted,
    /// Writes the body of a request to a model, which may be OpenAI's own.
    ///
    /// Fails with [`File`](crate::model::ModelErrorKind::File) for a file that can't be sent.
    pub(super) body: fn(&str, &ChatRequest, bool) -> Result<Object, ModelError>,
    /// Returns a decoder of one answer.
    pub(super) decoder: fn() -> Box<dyn Decoder>,
}

/// The usual maximum size of an event, in bytes.
pub(super) const MAX_EVENT: usize = 1 << 20;

impl Wire {
    /// The ends of URLs that are no base of any wire.
    pub(super) const PATHS: [&str; 5] =
        ["/chat/completions", "/responses", "/v1/messages", "/messages", "/models"];

    /// The headers of the API, with the credential.
    pub(super) fn headers(&self, key: Option<&HeaderValue>) -> Result<HeaderMap, SetupError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, content_type::JSON);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        headers.extend(self.version.clone());
        if let Some(key) = key {
            let (name, prefix) = &self.key;
            let credential = [prefix.as_bytes(), key.as_bytes()].concat();
            let mut credential = HeaderValue::from_bytes(&credential)
                .map_err(|_invalid| SetupError::InvalidKey { source_name: "the key".to_owned() })?;
            credential.set_sensitive(true);
            headers.insert(name, credential);
        }
        Ok(headers)
    }
}
