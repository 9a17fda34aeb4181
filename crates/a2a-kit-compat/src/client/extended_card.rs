//! Reads the extended card of an agent of 0.2, which is a document with its own URL.

use a2a_core::{Error, Operation, ProtocolVersion, Result, json};
use a2a_kit_http::{
    client::{HttpClient, place_call, read_answer},
    service_parameters,
};
use a2a_kit_operations::{CallContext, Reply};
use bytes::Bytes;
use http::{Request, StatusCode, Uri, uri::PathAndQuery};

use crate::{AnyResponse, Dialect as _, common::extensions, v0_3::V0_3};

/// Reads the document; `None` if it does not exist: the agent may have a method instead.
pub(super) async fn read(
    http: &HttpClient,
    endpoint: &Uri,
    context: &CallContext,
) -> Result<Option<Reply<AnyResponse>>> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = url(endpoint)?;
    place_call(&mut request, Operation::GetExtendedAgentCard, context.clone())?;
    request.headers_mut().remove(service_parameters::VERSION);
    extensions::rename_header(ProtocolVersion::V0_2, request.headers_mut());
    let response = http.send(request).await?;
    if matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) {
        return Ok(None);
    }
    let (headers, card) = read_answer(response, json::response_from_slice)?;
    let response = V0_3.read_response(Operation::GetExtendedAgentCard, card)?;
    Ok(Some(Reply { response, activated: extensions::read_activated(&headers) }))
}

/// `{endpoint}/../agent/authenticatedExtendedCard`.
fn url(endpoint: &Uri) -> Result<Uri> {
    let path = endpoint.path().trim_end_matches('/');
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let path = format!("{parent}/agent/authenticatedExtendedCard");
    let mut parts = endpoint.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(path).map_err(Error::internal)?);
    Uri::from_parts(parts).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_url_is_relative_to_the_endpoint() {
        for (endpoint, card) in [
            ("http://a", "http://a/agent/authenticatedExtendedCard"),
            ("http://a/", "http://a/agent/authenticatedExtendedCard"),
            ("http://a/rpc", "http://a/agent/authenticatedExtendedCard"),
            ("https://a:1/b/rpc/", "https://a:1/b/agent/authenticatedExtendedCard"),
        ] {
            assert_eq!(url(&endpoint.parse().unwrap()).unwrap(), card, "{endpoint}");
        }
    }
}
