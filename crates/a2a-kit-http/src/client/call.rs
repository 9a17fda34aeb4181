//! Request headers of a call.

use a2a_core::{Error, Operation, ProtocolVersion, Result};
use a2a_kit_operations::{CallContext, Credential, CredentialLocation};
use http::{
    HeaderValue, Request, Uri,
    header::ACCEPT,
    uri::{InvalidUri, PathAndQuery},
};

use crate::{content_type, service_parameters};

/// Parses the URL of an agent.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) if it is not an absolute URL.
pub fn agent_url(text: &str) -> Result<Uri> {
    let invalid = |why: String| Error::invalid_params("url", why);
    let url: Uri = text.parse().map_err(|error: InvalidUri| invalid(error.to_string()))?;
    let is_absolute = url.scheme().is_some() && url.authority().is_some();
    if is_absolute { Ok(url) } else { Err(invalid("must be absolute".to_owned())) }
}

/// Adds the context of a call to a request: its service parameters in revision 1.0, its credential
/// and `Accept`. The URL of the request has to be set.
///
/// `Last-Event-ID` is sent only with a subscription, `Idempotency-Key` only with a send.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) if a query credential makes the URL too
/// long.
pub fn place_call<B>(
    request: &mut Request<B>,
    operation: Operation,
    mut context: CallContext,
) -> Result<()> {
    context.version = ProtocolVersion::V1_0;
    if operation != Operation::SubscribeToTask {
        context.last_event_id = None;
    }
    if !matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage) {
        context.idempotency_key = None;
    }
    if let Some(credential) = &context.credential {
        append_query(request.uri_mut(), credential)?;
    }
    let headers = request.headers_mut();
    headers.clear();
    service_parameters::write(&context, headers);
    let accept = if operation.is_streaming() {
        // Errors are JSON. Known servers test for `application/json`.
        HeaderValue::from_static("text/event-stream, application/json")
    } else {
        content_type::JSON
    };
    headers.insert(ACCEPT, accept);
    Ok(())
}

fn append_query(uri: &mut Uri, credential: &Credential) -> Result<()> {
    let secrets: Vec<_> = credential
        .expose()
        .filter_map(|(place, secret)| match place {
            CredentialLocation::Query(name) => Some((&**name, secret)),
            CredentialLocation::Authorization
            | CredentialLocation::Header(_)
            | CredentialLocation::Cookie(_) => None,
        })
        .collect();
    if secrets.is_empty() {
        return Ok(());
    }
    let pairs = form_urlencoded::Serializer::new(String::new()).extend_pairs(secrets).finish();
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let separator = if path.contains('?') { '&' } else { '?' };
    // The error is dropped: it has no detail, and the URL contains a secret.
    let path = PathAndQuery::try_from(format!("{path}{separator}{pairs}"));
    let too_long = || Error::invalid_params("", "the URL is too long with the credential");
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path.ok().ok_or_else(too_long)?);
    *uri = Uri::from_parts(parts).ok().ok_or_else(too_long)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_encoded_in_headers_cookies_and_query() {
        let places = [
            (CredentialLocation::Authorization, "Bearer a"),
            (CredentialLocation::Header("x-api-key".into()), "b"),
            (CredentialLocation::Cookie("one".into()), "c"),
            (CredentialLocation::Cookie("two".into()), "d"),
            (CredentialLocation::Query("key".into()), "e&f=g h"),
        ];
        let credential = places.map(|(place, secret)| (place, secret.into())).into_iter().collect();
        let mut context = CallContext::default();
        context.credential = Some(credential);
        for (address, expected) in [
            ("http://a.example", "http://a.example/?key=e%26f%3Dg+h"),
            ("http://a.example/b?c=d", "http://a.example/b?c=d&key=e%26f%3Dg+h"),
        ] {
            let mut request = Request::new(());
            *request.uri_mut() = address.parse().unwrap();
            place_call(&mut request, Operation::GetTask, context.clone()).unwrap();
            assert_eq!(request.uri(), expected);
            assert_eq!(request.headers()["authorization"], "Bearer a");
            assert_eq!(request.headers()["x-api-key"], "b");
            assert_eq!(request.headers()["cookie"], "one=c; two=d");
            for name in ["authorization", "x-api-key", "cookie"] {
                assert!(request.headers()[name].is_sensitive(), "{name}");
            }
        }
        assert!(!format!("{context:?}").contains("Bearer a"));
    }
}
