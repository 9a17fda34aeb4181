//! Reading the envelope of a request (JSON-RPC 2.0 §4, spec §9.3).

use std::borrow::Cow;

use a2a_core::{
    Error, ErrorKind, Operation, Request, Result, Violation, json, value_limit::check_json,
};
use a2a_kit_http::{dispatch::Source, parse::MAX_INLINE_BYTES};
use bytes::Bytes;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::value::RawValue;

/// Longest accepted `id`, in bytes: every event of a stream repeats it.
const MAX_ID_BYTES: usize = 1 << 10;

/// Number of characters of an unknown method that the error repeats.
const MAX_ECHOED_CHARS: usize = 64;

/// The `id` of a request as written, or `null`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Id(Cow<'static, str>);

impl Id {
    pub(super) const NULL: Self = Self(Cow::Borrowed("null"));

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Checks the `id` of a request as written, which responses repeat: a string or a number of at most
/// 1,024 bytes, or `null` (JSON-RPC 2.0 §4). Numbers must fit into a 64-bit floating-point number.
///
/// # Errors
///
/// [`ErrorKind::InvalidRequest`].
pub fn check_id(id: &str) -> Result<()> {
    match id.as_bytes() {
        b"null" => Ok(()),
        [b'"' | b'-' | b'0'..=b'9', ..] if id.len() > MAX_ID_BYTES => {
            Err(invalid("id", format!("must have at most {MAX_ID_BYTES} bytes")))
        }
        [b'-' | b'0'..=b'9', ..] if !id.parse().is_ok_and(f64::is_finite) => {
            Err(invalid("id", "must be a number that fits into 64 bits of floating point"))
        }
        [b'"' | b'-' | b'0'..=b'9', ..] => Ok(()),
        _ => Err(invalid("id", "must be a string, a number or null")),
    }
}

/// The envelope of a request, before validation: its members as written.
#[derive(Debug, Default, Deserialize)]
pub struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) jsonrpc: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) id: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) method: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) params: Option<&'a str>,
}

// An `Option` would read `null` as absent, and an absent id is not the id `null`.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a str>, D::Error> {
    <&RawValue>::deserialize(from).map(|raw| Some(raw.get()))
}

impl<'a> Envelope<'a> {
    /// Reads the envelope.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ParseError`] for malformed JSON, [`ErrorKind::InvalidRequest`] for anything but
    /// an object. The id is unknown in either case.
    pub fn read(body: &'a [u8]) -> Result<Self> {
        // A derived deserializer would also accept an array of the member values.
        if body.trim_ascii_start().first() == Some(&b'{') {
            // UTF-8 is validated once for the whole text; `from_slice` validates each string.
            let read = match str::from_utf8(body) {
                Ok(text) => serde_json::from_str(text),
                Err(_) => serde_json::from_slice(body),
            };
            match read {
                Ok(envelope) => Ok(envelope),
                Err(error) => Err(explain(body, &error)),
            }
        } else {
            Err(explain(body, &"expected an object"))
        }
    }

    /// The `jsonrpc` member, if it is a string.
    pub fn jsonrpc(&self) -> Option<Cow<'a, str>> {
        text(self.jsonrpc)
    }

    /// Returns whether there is a `jsonrpc` member other than `null`.
    pub fn has_jsonrpc(&self) -> bool {
        self.jsonrpc.is_some_and(|jsonrpc| jsonrpc != "null")
    }

    /// The `id` as written, if there is one.
    pub fn id_text(&self) -> Option<&'a str> {
        self.id
    }

    /// The `method`, if it is a string.
    pub fn method(&self) -> Option<Cow<'a, str>> {
        text(self.method)
    }

    /// The `params` as written, if there are any.
    pub fn params(&self) -> Option<&'a str> {
        self.params
    }

    /// The request id.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] if it is missing or has an invalid type. A request without an
    /// id is a notification, which A2A does not have.
    pub(super) fn id(&self) -> Result<Id> {
        let Some(id) = self.id else {
            return Err(invalid("id", "is required: a string, a number or null"));
        };
        check_id(id)?;
        Ok(if id == "null" { Id::NULL } else { Id(Cow::Owned(id.to_owned())) })
    }

    /// The operation of the method, and the `params` as written.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] and [`ErrorKind::MethodNotFound`].
    pub(super) fn operation(&self) -> Result<(Operation, Option<&'a str>)> {
        if self.jsonrpc().as_deref() != Some("2.0") {
            return Err(invalid("jsonrpc", "must be \"2.0\""));
        }
        let Some(method) = self.method() else {
            return Err(invalid("method", "is required: a string"));
        };
        let operation = Operation::ALL.into_iter().find(|operation| operation.name() == method);
        let Some(operation) = operation else {
            let method: String = method.chars().take(MAX_ECHOED_CHARS).collect();
            return Err(Error::new(
                ErrorKind::MethodNotFound,
                format!("method not found: {method}"),
            ));
        };
        Ok((operation, self.params()))
    }
}

fn text<'a>(member: Option<&'a str>) -> Option<Cow<'a, str>> {
    let raw = member?;
    match raw.as_bytes() {
        [b'"', text @ .., b'"'] if !text.contains(&b'\\') => {
            Some(Cow::Borrowed(&raw[1..raw.len() - 1]))
        }
        _ => serde_json::from_str(raw).ok(),
    }
}

/// A request whose envelope has been read.
#[derive(Debug)]
pub struct Opened {
    /// The id of the response, also when `request` is an error.
    pub(super) id: Id,
    pub(super) request: Result<(Operation, Params)>,
    /// The body, if its envelope was skimmed.
    pub(super) skimmed: Option<Bytes>,
}

impl Opened {
    /// Reads the envelope of a request of at most `max_values` JSON values.
    pub(super) fn read(body: &Bytes, max_values: usize) -> Self {
        let skimmed = Self::skim(body, max_values, |_| true);
        skimmed.unwrap_or_else(|| Self::read_whole(body, max_values))
    }

    /// [Skims](Envelope::skim) the envelope of a small request with `params` that are `expected`.
    /// Whether its JSON is well formed is known once the `params` have been read.
    pub fn skim(
        body: &Bytes,
        max_values: usize,
        expected: impl FnOnce(&str) -> bool,
    ) -> Option<Self> {
        if body.len() > MAX_INLINE_BYTES {
            return None;
        }
        let envelope = Envelope::skim(body).filter(|it| it.params.is_some_and(expected))?;
        let Self { id, request, .. } = Self::of(&envelope, body, check_json(body, max_values));
        let (operation, mut params) = request.ok()?;
        params.whole = Some(body.clone());
        Some(Self { id, request: Ok((operation, params)), skimmed: Some(body.clone()) })
    }

    /// Reads the envelope of a request of at most `max_values` JSON values.
    #[cold]
    pub(super) fn read_whole(body: &Bytes, max_values: usize) -> Self {
        match Envelope::read(body) {
            Ok(envelope) => Self::of(&envelope, body, check_json(body, max_values)),
            Err(error) => Self::rejected(error),
        }
    }

    /// A body that is not an envelope.
    pub fn rejected(error: Error) -> Self {
        Self { id: Id::NULL, request: Err(error), skimmed: None }
    }

    /// Opens the envelope of a body; `bounded` says whether the body has too many JSON values.
    pub fn of(envelope: &Envelope<'_>, body: &Bytes, bounded: Result<()>) -> Self {
        let id = match envelope.id() {
            Ok(id) => id,
            Err(error) => return Self::rejected(error),
        };
        let opened = bounded.and_then(|()| envelope.operation());
        let request = opened.map(|(operation, params)| {
            let text = params.map(|params| body.slice_ref(params.as_bytes()));
            (operation, Params { text, bytes: body.len(), whole: None })
        });
        Self { id, request, skimmed: None }
    }

    /// The operation and its `params` as written; `None` if the request is invalid.
    pub fn operation(&self) -> Option<(Operation, &str)> {
        let (operation, params) = self.request.as_ref().ok()?;
        let text = params.text.as_deref().unwrap_or_default();
        // Valid UTF-8, because it was parsed as JSON.
        Some((*operation, str::from_utf8(text).unwrap_or_default()))
    }
}

/// The `params` of a request.
#[derive(Debug, Default)]
pub(super) struct Params {
    /// The JSON text; `None` if there are none.
    text: Option<Bytes>,
    /// Size of the whole body.
    bytes: usize,
    /// The body, if its envelope was skimmed: `text` then contains what follows the `params`.
    whole: Option<Bytes>,
}

impl Source for Params {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn read<T: Request + DeserializeOwned>(self) -> Result<T> {
        let read = read_params(self.text.as_deref());
        match self.whole {
            Some(body) if read.is_err() => {
                read_params(Envelope::read(&body)?.params().map(str::as_bytes))
            }
            _ => read,
        }
    }
}

fn read_params<T: DeserializeOwned>(text: Option<&[u8]>) -> Result<T> {
    match text {
        Some(params) if params.starts_with(b"{") => json::from_slice(params),
        None | Some(b"null") => json::from_slice(b"{}"),
        Some(_) => Err(Error::invalid_params("params", "must be an object")),
    }
}

fn invalid(field: &str, description: impl Into<String>) -> Error {
    let violation = Violation::new(field, description);
    let message =
        format!("request payload validation error: {} {}", violation.field, violation.description);
    Error::new(ErrorKind::InvalidRequest, message)
}

#[cold]
fn explain(body: &[u8], error: &dyn std::fmt::Display) -> Error {
    let not_json = |error: &dyn std::fmt::Display| {
        Error::new(ErrorKind::ParseError, format!("invalid JSON payload: {error}"))
    };
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(body) {
        return not_json(&error);
    }
    // Ignored values are not validated.
    if let Err(error) = str::from_utf8(body) {
        return not_json(&error);
    }
    let why = match body.trim_ascii_start().first() {
        Some(b'[') => "batch requests are not supported; send a single request object".into(),
        _ => error.to_string(),
    };
    Error::new(ErrorKind::InvalidRequest, format!("request payload validation error: {why}"))
}

#[cfg(test)]
mod tests {
    use a2a_core::v1::GetTaskRequest;

    use super::*;

    fn outcome(body: &str) -> Result<(Id, Operation), (Id, ErrorKind)> {
        let envelope = Envelope::read(body.as_bytes()).map_err(|error| (Id::NULL, error.kind()))?;
        let id = envelope.id().map_err(|error| (Id::NULL, error.kind()))?;
        match envelope.operation() {
            Ok((operation, _)) => Ok((id, operation)),
            Err(error) => Err((id, error.kind())),
        }
    }

    fn id(text: &str) -> Id {
        Id(Cow::Owned(text.to_owned()))
    }

    #[test]
    fn id_is_preserved_as_written() {
        for text in
            ["1", "-7", "1.50", "1e3", "123456789012345678901234567890", r#""a\u0062""#, "null"]
        {
            let body = format!(r#"{{"jsonrpc":"2.0","id": {text} ,"method":"GetTask"}}"#);
            assert_eq!(outcome(&body), Ok((id(text), Operation::GetTask)), "{text}");
        }
    }

    #[test]
    fn invalid_requests_are_rejected_with_their_id_if_readable() {
        use ErrorKind::{InvalidRequest, MethodNotFound, ParseError};
        for (body, id_text, kind) in [
            ("", "null", ParseError),
            ("{", "null", ParseError),
            ("{\"jsonrpc\":\"2.0\",}", "null", ParseError),
            ("[1,", "null", ParseError),
            ("\u{feff}{}", "null", ParseError),
            ("{} {}", "null", ParseError),
            ("null", "null", InvalidRequest),
            ("\"text\"", "null", InvalidRequest),
            ("[]", "null", InvalidRequest),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]"#, "null", InvalidRequest),
            (r#"["2.0",1,"GetTask",{}]"#, "null", InvalidRequest),
            ("{}", "null", InvalidRequest),
            (r#"{"jsonrpc":"2.0","method":"GetTask"}"#, "null", InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":true,"method":"GetTask"}"#, "null", InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, "null", InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"GetTask"}"#, "null", InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":1e999,"method":"GetTask"}"#, "null", InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":-1e999,"method":"GetTask"}"#, "null", InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}"#, "null", InvalidRequest),
            (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, "1", InvalidRequest),
            (r#"{"jsonrpc":2.0,"id":1,"method":"GetTask"}"#, "1", InvalidRequest),
            (r#"{"jsonrpc":null,"id":1,"method":"GetTask"}"#, "1", InvalidRequest),
            (r#"{"id":"a","method":"GetTask"}"#, "\"a\"", InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":1}"#, "1", InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "1", InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":1,"method":"getTask"}"#, "1", MethodNotFound),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get"}"#, "1", MethodNotFound),
        ] {
            assert_eq!(outcome(body), Err((id(id_text), kind)), "{body}");
        }
        let long = format!(
            r#"{{"jsonrpc":"2.0","id":"{}","method":"GetTask"}}"#,
            "x".repeat(MAX_ID_BYTES)
        );
        assert_eq!(outcome(&long), Err((Id::NULL, InvalidRequest)));
    }

    #[test]
    fn request_with_too_many_values_is_rejected_with_its_id() {
        let body = Bytes::from(
            r#"{"jsonrpc":"2.0","params":{"id":"t","x":[0,0]},"id":7,"method":"GetTask"}"#,
        );
        assert!(Opened::read(&body, 9).request.is_ok());
        let opened = Opened::read(&body, 8);
        assert_eq!(opened.id.as_str(), "7");
        assert_eq!(opened.request.err().map(|error| error.kind()), Some(ErrorKind::InvalidParams));
    }

    #[test]
    fn what_follows_params_is_read_if_they_cannot_be_read_alone() {
        let read = |rest: &str| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{rest}"#);
            let (_, params) = Opened::read(&Bytes::from(body), 100).request?;
            params.read::<GetTaskRequest>()
        };
        assert_eq!(read(r#"{"id":"t"},"other":{}}"#).unwrap().id, "t");
        for rest in [r#"{"id":"t"}x}"#, r#"{"id":"t"}}}"#, r#"{"id":"t"}"#, r#"{"id":"t","x":{}"#] {
            assert_eq!(read(rest).unwrap_err().kind(), ErrorKind::ParseError, "{rest}");
        }
        let repeated = read(r#"{"id":"t"},"id":{}}"#).unwrap_err();
        assert_eq!(repeated.kind(), ErrorKind::InvalidRequest);
    }

    #[test]
    fn params_are_an_object_or_missing() {
        let read = |params: &str| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"GetTask"{params}}}"#);
            let (_, params) = Opened::read(&Bytes::from(body), 100).request?;
            params.read::<GetTaskRequest>()
        };
        assert_eq!(read(r#","params":{"id":"t","unknown":[]}"#).unwrap().id, "t");
        for nothing in ["", r#","params":null"#, r#","params":{}"#] {
            assert_eq!(read(nothing).unwrap(), GetTaskRequest::default(), "{nothing}");
        }
        for (params, field) in [
            (r#","params":["t"]"#, "params"),
            (r#","params":"t""#, "params"),
            (r#","params":{"id":7}"#, "id"),
            (r#","params":{"historyLength":"x"}"#, "historyLength"),
        ] {
            let error = read(params).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{params}");
            assert_eq!(error.violations()[0].field, field, "{params}");
        }
    }
}
