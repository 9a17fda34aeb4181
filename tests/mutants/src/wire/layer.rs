//! The layer that changes requests and responses.

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{StatusCode, header};
use http_body_util::BodyExt as _;
use serde_json::Value;

use super::{
    exchange::{Exchange, media_type},
    text,
};
use crate::Fault;

/// Largest body that is read, in bytes.
const MAX_BODY_BYTES: usize = 32 << 20;

/// Adds a fault to everything that a server sends.
pub(crate) fn apply(fault: Fault, router: Router) -> Router {
    router.layer(middleware::from_fn(move |request, next| changed(fault, request, next)))
}

async fn changed(fault: Fault, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    if let Fault::Card(change) = fault
        && Exchange::is_card(&head)
    {
        let response = next.run(Request::from_parts(head, body)).await;
        return with_document(response, change).await;
    }
    let is_grpc = media_type(&head.headers).starts_with("application/grpc");
    let (body, bytes) = if is_grpc {
        (body, Bytes::new())
    } else {
        match to_bytes(body, MAX_BODY_BYTES).await {
            Ok(bytes) => (Body::from(bytes.clone()), bytes),
            Err(_too_long) => return StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        }
    };
    let exchange = Exchange::read(&head, &bytes)
        .filter(|exchange| fault.interfaces().contains(&exchange.interface));
    let Some(exchange) = exchange else {
        return next.run(Request::from_parts(head, body)).await;
    };
    match fault {
        Fault::Request(_, change) => change(&mut head),
        Fault::Respond(_, respond) => {
            if let Some(response) = respond(&exchange) {
                return response;
            }
        }
        _ => {}
    }
    let response = next.run(Request::from_parts(head, body)).await;
    match fault {
        Fault::Head(_, change) => {
            let (mut head, body) = response.into_parts();
            change(&exchange, &mut head);
            Response::from_parts(head, body)
        }
        Fault::Json(_, change) => with_json(response, exchange, change).await,
        Fault::Events(_, change) if is_stream(&response) => {
            response.map(|body| text::join(change(&exchange, text::split(body))))
        }
        Fault::Trailers(_, change) => {
            let (mut head, body) = response.into_parts();
            change(&mut head.headers);
            let body = body.map_frame(move |mut frame| {
                if let Some(trailers) = frame.trailers_mut() {
                    change(trailers);
                }
                frame
            });
            Response::from_parts(head, Body::new(body))
        }
        _ => response,
    }
}

fn is_stream(response: &Response) -> bool {
    media_type(response.headers()).starts_with("text/event-stream")
}

/// Changes each JSON document of a response.
async fn with_json(
    response: Response,
    exchange: Exchange,
    change: fn(&Exchange, &mut Value),
) -> Response {
    if !is_stream(&response) {
        return with_document(response, |document| change(&exchange, document)).await;
    }
    response.map(|body| {
        let texts = text::split(body).map(move |text| {
            text.map(|text| text::with_data(&text, |document| change(&exchange, document)))
        });
        text::join(texts.boxed())
    })
}

/// Changes the JSON document that is the body of a response, if it is one.
async fn with_document(response: Response, change: impl Fn(&mut Value)) -> Response {
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_BODY_BYTES).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let Ok(mut document) = serde_json::from_slice::<Value>(&bytes) else {
        return Response::from_parts(head, Body::from(bytes));
    };
    change(&mut document);
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, Body::from(document.to_string()))
}
