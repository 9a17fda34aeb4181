//! A model of a provider, over HTTP.

use std::sync::Arc;

use a2a_kit_http::{
    client::{ByteStream, HeldBytes, HttpClient},
    content_type, redaction, sse,
};
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::{HeaderMap, Method, Request};
use serde_json::Value;

use super::{
    body::Object,
    endpoint::Endpoint,
    failure,
    output::{Decoder, Output},
};
use crate::{
    ChatModel, ModelError, ModelInfo, ProviderSettings, SetupError,
    model::{ChatRequest, ModelErrorKind, ModelEvent},
};

/// Maximum size of a list of models, in bytes.
const MAX_MODEL_LIST: usize = 8 << 20;

/// A model of a provider, reached over HTTP, cheap to clone.
///
/// A name is `provider/model`, and the model may have slashes of its own:
///
/// | Provider | API | Base URL | Key |
/// |---|---|---|---|
/// | `openai` | responses | `https://api.openai.com/v1`, or `OPENAI_BASE_URL` | `OPENAI_API_KEY` |
/// | `openai-chat` | chat completions | the same | the same |
/// | `anthropic` | messages | `https://api.anthropic.com`, or `ANTHROPIC_BASE_URL` | `ANTHROPIC_API_KEY` |
/// | `gemini` | generate content | `https://generativelanguage.googleapis.com/v1beta` | `GOOGLE_API_KEY`, else `GEMINI_API_KEY` |
/// | `ollama` | chat completions | `http://127.0.0.1:11434/v1`, or `OLLAMA_HOST` | `OLLAMA_API_KEY`, optional |
/// | `openrouter` | chat completions | `https://openrouter.ai/api/v1` | `OPENROUTER_API_KEY` |
///
/// A variable of a key with the suffix `_FILE` names a file with the key. The key is sent to the
/// origin of the base URL only.
#[derive(Clone, Debug)]
pub struct ProviderModel {
    call: Arc<Call>,
}

/// What every call of a model shares.
#[derive(Debug)]
struct Call {
    endpoint: Endpoint,
    info: ModelInfo,
    http: HttpClient,
    headers: HeaderMap,
    extra: Object,
}

impl ProviderModel {
    /// Sets up a model by its name. Makes no request.
    ///
    /// # Errors
    ///
    /// [`SetupError`] for an unknown provider, an invalid base URL, header or extra member, and a
    /// missing or invalid key.
    pub fn new(name: &str, settings: ProviderSettings) -> Result<Self, SetupError> {
        let variable = |name: &str| std::env::var(name).ok();
        let ProviderSettings { base_url, key, headers: mut more_headers, extra, client } = settings;
        let endpoint = Endpoint::resolve(name, base_url.as_deref(), key.as_deref(), variable)?;
        let wire = endpoint.wire;
        if let Some(member) = wire.reserved.iter().find(|member| extra.contains_key(**member)) {
            let reason = format!("the member {member:?} can't be set");
            return Err(SetupError::InvalidSetting { setting: "model.extra", reason });
        }
        let mut headers = wire.headers(endpoint.key.as_ref())?;
        for (name, value) in &mut more_headers {
            if redaction::is_secret(name.as_str()) {
                value.set_sensitive(true);
            }
        }
        for name in more_headers.keys() {
            headers.remove(name);
        }
        headers.extend(more_headers);
        let info = ModelInfo {
            provider: endpoint.provider.name.to_owned(),
            name: endpoint.model.clone(),
            server: endpoint.server(),
            media_types: (wire.accepted)(endpoint.is_openai()).media_types(),
        };
        let http = HttpClient::new(client).map_err(SetupError::Client)?;
        let call = Call { endpoint, info, http, headers, extra };
        Ok(Self { call: Arc::new(call) })
    }

    /// The base URL, without a trailing slash.
    pub fn base_url(&self) -> String {
        self.call.endpoint.base()
    }

    /// Where the key comes from: the name of an environment variable, or `model.key`. `None`
    /// without a key.
    pub fn key_source(&self) -> Option<&str> {
        self.call.endpoint.key_source.as_deref()
    }

    /// Whether the key is sent in plaintext to another machine.
    pub fn exposes_key(&self) -> bool {
        self.call.endpoint.exposes_key()
    }

    /// Asks the provider for its models: whether it can be reached, accepts the key, and has this
    /// one.
    ///
    /// # Errors
    ///
    /// [`ModelErrorKind::Unavailable`] and [`Timeout`](ModelErrorKind::Timeout) if it can't be
    /// reached; [`Credentials`](ModelErrorKind::Credentials) if it refuses the key;
    /// [`UnknownModel`](ModelErrorKind::UnknownModel); [`Cut`](ModelErrorKind::Cut) if the response
    /// is not a list of models.
    pub async fn check(&self) -> Result<(), ModelError> {
        let call = &self.call;
        let Endpoint { wire, model, .. } = &call.endpoint;
        let (_, body) = call.send(Method::GET, wire.models_path, Vec::new()).await?;
        let body = body.read_all(MAX_MODEL_LIST).await.map_err(failure::of_transport)?;
        let list: Value = serde_json::from_slice(&body).map_err(failure::malformed)?;
        // Gemini has both members under other names.
        let models = list["data"].as_array().or_else(|| list["models"].as_array());
        let models = models.ok_or(ModelError::new(ModelErrorKind::Cut))?;
        let is_listed = models.iter().any(|listed| {
            let name = listed["name"].as_str().and_then(|name| name.strip_prefix("models/"));
            listed["id"].as_str().or(name) == Some(model)
        });
        if is_listed { Ok(()) } else { Err(ModelError::new(ModelErrorKind::UnknownModel)) }
    }
}

impl ChatModel for ProviderModel {
    fn info(&self) -> &ModelInfo {
        &self.call.info
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let call = Arc::clone(&self.call);
        stream::once(async move { call.open(&request).await }).try_flatten().boxed()
    }
}

impl Call {
    /// Sends a request, and returns the events of the answer.
    async fn open(
        &self,
        request: &ChatRequest,
    ) -> Result<BoxStream<'static, Result<ModelEvent, ModelError>>, ModelError> {
        let Endpoint { wire, model, .. } = &self.endpoint;
        let mut body = (wire.body)(model, request, self.endpoint.is_openai())?;
        merge(&mut body, &self.extra);
        let body = serde_json::to_vec(&body).map_err(failure::cut)?;
        let (request_id, body) = self.send(Method::POST, wire.path, body).await?;
        let events = sse::decode(body, wire.max_event, HeldBytes::new(None));
        let decoder = (wire.decoder)();
        let reader = Reader { events, decoder, output: Output::default(), request_id };
        Ok(stream::unfold(reader, async |mut reader| Some((reader.next().await?, reader))).boxed())
    }

    /// Sends a request, and returns the provider's id of it with the body of a successful response.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<(Option<String>, ByteStream), ModelError> {
        let mut request = Request::new(body.into());
        *request.method_mut() = method;
        *request.uri_mut() = self.endpoint.url(path).parse().map_err(failure::cut)?;
        *request.headers_mut() = self.headers.clone();
        let response = self.http.open(request).await.map_err(failure::of_transport)?;
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            return Err(failure::of_response(head.status, &head.headers, body).await);
        }
        content_type::require_identity(&head.headers).map_err(failure::cut)?;
        Ok((failure::request_id(&head.headers), body))
    }
}

/// Merges settings into a body (RFC 7396): objects member by member, and `null` removes.
fn merge(body: &mut Object, patch: &Object) {
    for (name, value) in patch {
        match (body.get_mut(name), value) {
            (_, Value::Null) => drop(body.remove(name)),
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (_, Value::Object(new)) => {
                let mut old = Object::new();
                merge(&mut old, new);
                body.insert(name.clone(), Value::Object(old));
            }
            _ => drop(body.insert(name.clone(), value.clone())),
        }
    }
}

/// An answer that is being read. Dropping it closes the connection.
struct Reader {
    events: sse::Decoded<ByteStream>,
    decoder: Box<dyn Decoder>,
    output: Output,
    request_id: Option<String>,
}

impl Reader {
    /// The next event; `None` after the end, and after an error.
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.output.pop() {
                return Some(Ok(event));
            }
            if self.output.has_ended() {
                return None;
            }
            let read = match self.events.next().await {
                Some(Ok(event)) if event.data.trim_ascii().is_empty() => Ok(()),
                Some(Ok(event)) => self.decoder.read(&event.data, &mut self.output),
                Some(Err(error)) => Err(failure::of_stream(error)),
                None => self.decoder.end(&mut self.output),
            };
            if let Err(mut error) = read {
                self.output.end();
                error.request_id = self.request_id.take();
                return Some(Err(error));
            }
        }
    }
}
