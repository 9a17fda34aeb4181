//! What a call carries beside its body.

use a2a_core::{Error, Operation, ProtocolVersion, Result};
use a2a_operations::{CallContext, Credential, Place};
use http::{HeaderValue, Request, Uri, header::ACCEPT, uri::PathAndQuery};
use url::form_urlencoded;

use crate::{media, parameters};

/// Writes what goes beside a call into a request that has its address: its service parameters,
/// in revision 1.0, its credential, and the answers that the client reads.
///
/// A position to go on from is sent with a subscription alone, a key of idempotency with what
/// it names: a send.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) where a secret for the query makes the
/// address longer than an address can be.
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
    parameters::write(&context, headers);
    let accept = if operation.is_streaming() {
        // A refusal is JSON. `application/json` is what every known server tests for.
        HeaderValue::from_static("text/event-stream, application/json")
    } else {
        media::JSON
    };
    headers.insert(ACCEPT, accept);
    Ok(())
}

fn append_query(uri: &mut Uri, credential: &Credential) -> Result<()> {
    let secrets: Vec<_> = credential
        .expose()
        .filter_map(|(place, secret)| match place {
            Place::Query(name) => Some((&**name, secret)),
            Place::Authorization | Place::Header(_) | Place::Cookie(_) => None,
        })
        .collect();
    if secrets.is_empty() {
        return Ok(());
    }
    let pairs = form_urlencoded::Serializer::new(String::new()).extend_pairs(secrets).finish();
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let separator = if path.contains('?') { '&' } else { '?' };
    // The source of the error would be of no use, and what is too long has a secret in it.
    let path = PathAndQuery::try_from(format!("{path}{separator}{pairs}"));
    let unfit = || Error::invalid_params("", "the credential does not fit into a URL");
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path.ok().ok_or_else(unfit)?);
    *uri = Uri::from_parts(parts).ok().ok_or_else(unfit)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_where_they_belong_and_are_encoded_for_it() {
        let places = [
            (Place::Authorization, "Bearer a"),
            (Place::Header("x-api-key".into()), "b"),
            (Place::Cookie("one".into()), "c"),
            (Place::Cookie("two".into()), "d"),
            (Place::Query("key".into()), "e&f=g h"),
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
