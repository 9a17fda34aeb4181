//! Models of providers, over HTTP: what the wires of all of them share.

mod anthropic;
mod endpoint;
mod failure;
mod openai_chat;
mod output;
mod part;

use std::sync::Arc;

use a2a_kit_http::{
    client::{ByteStream, HeldBytes, HttpClient},
    content_type, redaction, sse,
};
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use serde_json::{Map, Value};

use self::{endpoint::Endpoint, output::Output, part::Accepted};
use crate::{
    ChatModel, ModelError, ModelInfo, ProviderSettings, SetupError,
    model::{ChatRequest, ModelErrorKind, ModelEvent},
};

/// Maximum size of an event, in bytes.
const MAX_EVENT: usize = 1 << 20;

/// Maximum size of a list of models, in bytes.
const MAX_MODEL_LIST: usize = 8 << 20;

/// The JSON object of a request or a part of one.
type Object = Map<String, Value>;

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
    const PATHS: [&str; 5] =
        ["/chat/completions", "/responses", "/v1/messages", "/messages", "/models"];

    /// What is appended to a base URL with this path.
    fn path(self, base: &str) -> &'static str {
        match self {
            Self::OpenAiChat => "/chat/completions",
            Self::Anthropic if base.ends_with("/v1") => "/messages",
            Self::Anthropic => "/v1/messages",
        }
    }

    /// The path of the list of models.
    fn models_path(self, base: &str) -> &'static str {
        match self {
            Self::OpenAiChat => "/models",
            Self::Anthropic if base.ends_with("/v1") => "/models?limit=1000",
            Self::Anthropic => "/v1/models?limit=1000",
        }
    }

    /// Members of a body that settings can't replace.
    fn reserved(self) -> &'static [&'static str] {
        match self {
            Self::OpenAiChat => &["messages", "model", "stream", "tools"],
            Self::Anthropic => &["messages", "model", "stream", "system", "tools"],
        }
    }

    /// The headers of the API, with the credential.
    fn headers(self, key: Option<&HeaderValue>) -> Result<HeaderMap, SetupError> {
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
    fn accepted(self, is_openai: bool) -> Accepted {
        match self {
            Self::OpenAiChat => Accepted { pdf: is_openai, audio: is_openai },
            Self::Anthropic => Accepted { pdf: true, audio: false },
        }
    }

    fn decoder(self) -> Box<dyn Decoder> {
        match self {
            Self::OpenAiChat => Box::new(openai_chat::Chunks::default()),
            Self::Anthropic => Box::new(anthropic::Events::default()),
        }
    }
}

/// Decodes the events of a stream.
trait Decoder: Send {
    /// Reads the data of an event.
    ///
    /// # Errors
    ///
    /// The error of the provider; [`ModelErrorKind::Cut`] for an event that can't be read, and
    /// beyond the bounds of [`Output`].
    fn read(&mut self, data: &[u8], output: &mut Output) -> Result<(), ModelError>;

    /// Reads the regular end of the stream.
    ///
    /// # Errors
    ///
    /// [`ModelErrorKind::Cut`] if the answer has not ended.
    fn end(&mut self, output: &mut Output) -> Result<(), ModelError>;
}

/// A model of a provider, reached over HTTP, cheap to clone.
///
/// A name is `provider/model`, and the model may have slashes of its own:
///
/// | Provider | API | Base URL | Key |
/// |---|---|---|---|
/// | `openai`, `openai-chat` | chat completions | `https://api.openai.com/v1`, or `OPENAI_BASE_URL` | `OPENAI_API_KEY` |
/// | `anthropic` | messages | `https://api.anthropic.com`, or `ANTHROPIC_BASE_URL` | `ANTHROPIC_API_KEY` |
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
    accepted: Accepted,
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
        Self::with_environment(name, settings, |name| std::env::var(name).ok())
    }

    fn with_environment(
        name: &str,
        settings: ProviderSettings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SetupError> {
        let ProviderSettings { base_url, key, headers: more_headers, extra, client } = settings;
        let endpoint = Endpoint::resolve(name, base_url.as_deref(), key.as_deref(), variable)?;
        let wire = endpoint.wire;
        if let Some(member) = wire.reserved().iter().find(|member| extra.contains_key(**member)) {
            let reason = format!("the member {member:?} can't be set");
            return Err(SetupError::InvalidSetting { setting: "model.extra", reason });
        }
        let mut headers = wire.headers(endpoint.key.as_ref())?;
        let mut more_headers = more_headers;
        for (name, value) in &mut more_headers {
            if redaction::is_secret(name.as_str()) {
                value.set_sensitive(true);
            }
        }
        for name in more_headers.keys() {
            headers.remove(name);
        }
        headers.extend(more_headers);
        let accepted = wire.accepted(endpoint.is_openai());
        let info = ModelInfo {
            provider: endpoint.provider.name.to_owned(),
            name: endpoint.model.clone(),
            server: endpoint.server(),
            media_types: accepted.media_types(),
        };
        let http = HttpClient::new(client).map_err(SetupError::Client)?;
        let call = Call { endpoint, info, accepted, http, headers, extra };
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
        let path = call.endpoint.wire.models_path(call.endpoint.base_url.path());
        let (_, body) = call.send(Method::GET, path, Vec::new()).await?;
        let body = body.read_all(MAX_MODEL_LIST).await.map_err(failure::of_transport)?;
        let list: Value = serde_json::from_slice(&body).map_err(failure::malformed)?;
        let models = list["data"].as_array().ok_or(ModelError::new(ModelErrorKind::Cut))?;
        let is_listed = models.iter().any(|model| model["id"] == call.endpoint.model.as_str());
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
        let wire = self.endpoint.wire;
        let body = serde_json::to_vec(&self.body(request)?).map_err(failure::cut)?;
        let path = wire.path(self.endpoint.base_url.path());
        let (request_id, body) = self.send(Method::POST, path, body).await?;
        let events = sse::decode(body, MAX_EVENT, HeldBytes::new(None));
        let reader =
            Reader { events, decoder: wire.decoder(), output: Output::default(), request_id };
        Ok(stream::unfold(reader, async |mut reader| Some((reader.next().await?, reader))).boxed())
    }

    /// The body of a request.
    fn body(&self, request: &ChatRequest) -> Result<Value, ModelError> {
        let model = self.endpoint.model.as_str();
        let mut body = match self.endpoint.wire {
            Wire::OpenAiChat => {
                openai_chat::body(model, request, self.accepted, self.endpoint.is_openai())?
            }
            Wire::Anthropic => anthropic::body(model, request, self.accepted)?,
        };
        merge(&mut body, &self.extra);
        Ok(Value::Object(body))
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
        let url = format!("{}{path}", self.endpoint.base());
        *request.uri_mut() = url.parse().map_err(failure::cut)?;
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
