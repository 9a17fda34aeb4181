//! Messages on the wire: that of a request, and those of a response with its status.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use a2a_core::{Error, ErrorKind, Result, value_limit::decode_protobuf};
use a2a_kit_http::{
    body,
    parse::{PendingBody, parse},
};
use axum::{
    body::{Body, HttpBody},
    extract::Request,
    response::Response,
};
use bytes::{BufMut as _, Bytes};
use futures_core::Stream;
use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE, request::Parts};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use prost::Message;
use tonic::{Status, metadata::MetadataValue};

use crate::status;

/// Length of what precedes a message: a flag, whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Preallocated for a message in several frames, in bytes: its length is not trusted.
const MAX_PREALLOCATED: usize = 1 << 20;

/// Largest payload of an HTTP/2 frame, in bytes, unless clients allow more.
const FRAME: usize = 16 << 10;

/// Size from which a frame of events is sent, although more are ready, in bytes.
const FULL_FRAME: usize = FRAME - 1024;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const OK: HeaderValue = HeaderValue::from_static("0");

/// A request whose message has not been decoded.
#[derive(Debug)]
pub struct Received {
    /// Its head. The headers include the trailers.
    pub parts: Parts,
    message: Bytes,
}

impl Received {
    /// Reads a request.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and the status of a body that the server stopped reading.
    pub(super) async fn read(request: Request, limit: usize) -> Result<Self, Status> {
        let (mut parts, body) = request.into_parts();
        let body = read_body(&mut parts.headers, body, limit).await;
        Self::new(parts, body, limit)
    }

    /// Takes the first message of a body; further ones are ignored.
    ///
    /// # Errors
    ///
    /// The status of an error, and of a message that is compressed, incomplete, or larger than
    /// `limit` bytes.
    pub(super) fn new(parts: Parts, body: Result<Bytes>, limit: usize) -> Result<Self, Status> {
        if let Some(encoding) = parts.headers.get("grpc-encoding").filter(|it| *it != "identity") {
            return Err(compressed(encoding));
        }
        match body.and_then(|body| message(&body, limit)) {
            Ok(message) => Ok(Self { parts, message }),
            Err(error) => Err(status::encode(error)),
        }
    }

    /// Decodes the message, which may have at most `max_values` JSON values. Large messages are
    /// decoded on another thread.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](ErrorKind::InvalidParams) for too many values;
    /// [`ParseError`](ErrorKind::ParseError) for a malformed message.
    pub async fn decode<M>(&mut self, max_values: usize) -> Result<M>
    where
        M: Message + Default + 'static,
    {
        let bytes = std::mem::take(&mut self.message);
        let bytes = PendingBody::hold(&self.parts.extensions, bytes);
        parse(bytes.len(), move || decode_protobuf(bytes, max_values)).await
    }
}

/// Reads a body up to the frame with the end of the first message. Adds the trailers to `headers`.
async fn read_body(headers: &mut HeaderMap, mut body: Body, limit: usize) -> Result<Bytes> {
    let mut first = Bytes::new();
    let mut whole = Vec::new();
    let mut end = None;
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        let data = match frame.map_err(failed)?.into_data() {
            Ok(data) => data,
            Err(frame) => {
                headers.extend(frame.into_trailers().unwrap_or_default());
                continue;
            }
        };
        if first.is_empty() {
            end = end_of_message(&data, limit)?;
            first = data;
        } else if end.is_none_or(|end| whole.len().max(first.len()) < end) {
            if whole.is_empty() {
                whole.extend_from_slice(&first);
            }
            whole.extend_from_slice(&data);
            end = end_of_message(&whole, limit)?;
            let missing = end.unwrap_or_default().saturating_sub(whole.len());
            whole.reserve(missing.min(MAX_PREALLOCATED));
        }
    }
    Ok(if whole.is_empty() { first } else { whole.into() })
}

/// The first message of a body.
fn message(body: &Bytes, limit: usize) -> Result<Bytes> {
    match end_of_message(body, limit)? {
        // Part of a small message would keep the whole read buffer of the connection in memory.
        Some(end) if end <= body.len().min(FRAME) => Ok(Bytes::copy_from_slice(&body[PREFIX..end])),
        Some(end) if end <= body.len() => Ok(body.slice(PREFIX..end)),
        _ if body.is_empty() => Err(invalid("missing request message".to_owned())),
        _ => Err(invalid("incomplete request message".to_owned())),
    }
}

/// Where the first message ends, if its length has arrived.
fn end_of_message(read: &[u8], limit: usize) -> Result<Option<usize>> {
    let Some((&[flag, ref length @ ..], _)) = read.split_first_chunk::<PREFIX>() else {
        return Ok(None);
    };
    if flag != 0 {
        return Err(invalid(format!(
            "invalid compression flag {flag}: no compression is supported"
        )));
    }
    let length = u32::from_be_bytes(*length) as usize;
    if length > limit {
        let message = "the message exceeds the size limit";
        return Err(Error::new(ErrorKind::PayloadTooLarge, message));
    }
    Ok(Some(PREFIX + length))
}

#[cold]
fn failed(error: axum::Error) -> Error {
    body::failure(&error).unwrap_or_else(|| {
        Error::new(ErrorKind::InvalidRequest, "incomplete request body").with_source(error)
    })
}

#[cold]
fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidRequest, message)
}

#[cold]
fn compressed(encoding: &HeaderValue) -> Status {
    let encoding = String::from_utf8_lossy(encoding.as_bytes());
    let message = format!("compression {encoding:?} is not supported");
    let mut status = status::encode(Error::new(ErrorKind::MethodNotFound, message));
    let accepted = MetadataValue::from_static("identity");
    status.metadata_mut().insert("grpc-accept-encoding", accepted);
    status
}

/// Responds with one message.
///
/// # Errors
///
/// [`PayloadTooLarge`](ErrorKind::PayloadTooLarge) if it has more than `limit` bytes.
pub fn respond(message: &impl Message, limit: usize) -> Result<Response> {
    let length = message.encoded_len();
    let prefix = u32::try_from(length).ok().filter(|_| length <= limit).ok_or_else(too_large)?;
    let mut data = Vec::with_capacity(PREFIX + length);
    data.put_u8(0);
    data.put_u32(prefix);
    message.encode_raw(&mut data);
    Ok(response(Unary { message: Some(data.into()), has_ended: false }))
}

/// The error of a response message beyond the limit.
#[cold]
pub(super) fn too_large() -> Error {
    Error::new(ErrorKind::PayloadTooLarge, "the response exceeds the size limit")
}

/// Responds with a stream of encoded messages. An error is its final status.
pub fn respond_with_stream<S>(messages: S) -> Response
where
    S: Stream<Item = Result<Bytes, Status>> + Send + Unpin + 'static,
{
    response(Messages { messages: Some(messages), trailers: None })
}

/// Responds with a status only.
#[cold]
pub fn reject(status: Status) -> Response {
    status.into_http()
}

fn response<B>(body: B) -> Response
where
    B: HttpBody<Data = Bytes, Error = Status> + Send + 'static,
{
    let mut response = Response::new(Body::new(body));
    let media_type = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// The body of a response with one message.
struct Unary {
    message: Option<Bytes>,
    has_ended: bool,
}

impl HttpBody for Unary {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(message) = self.message.take() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        let has_ended = std::mem::replace(&mut self.has_ended, true);
        Poll::Ready((!has_ended).then(|| Ok(Frame::trailers(trailers(None)))))
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended
    }

    /// Not exact: gRPC responses have no `content-length`.
    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_upper(self.message.as_ref().map_or(0, |message| message.len() as u64 + 1));
        hint
    }
}

/// The body of a response with a stream of messages.
struct Messages<S> {
    /// `None` after the end.
    messages: Option<S>,
    trailers: Option<HeaderMap>,
}

impl<S> HttpBody for Messages<S>
where
    S: Stream<Item = Result<Bytes, Status>> + Unpin,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        let mut data = Vec::new();
        while let Some(messages) = &mut this.messages
            && data.len() < FULL_FRAME
        {
            match Pin::new(messages).poll_next(cx) {
                Poll::Ready(Some(Ok(message))) => {
                    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
                    data.reserve(PREFIX + message.len());
                    data.put_u8(0);
                    data.put_u32(length);
                    data.extend_from_slice(&message);
                }
                Poll::Ready(ended) => {
                    this.messages = None;
                    this.trailers = Some(trailers(ended.and_then(Result::err)));
                }
                Poll::Pending if data.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        if !data.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(data.into()))));
        }
        Poll::Ready(this.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.messages.is_none() && self.trailers.is_none()
    }
}

/// The trailers with the final status, which is OK unless given.
fn trailers(status: Option<Status>) -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    match status {
        None => drop(trailers.insert(STATUS, OK)),
        Some(status) => {
            if let Err(unwritable) = status.add_header(&mut trailers) {
                trailers.insert(STATUS, HeaderValue::from(i32::from(unwritable.code())));
            }
        }
    }
    trailers
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use a2a_core::v1::GetTaskRequest;
    use futures_util::{FutureExt as _, stream};

    use super::*;

    fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
        let mut framed = vec![flag];
        framed.put_u32(u32::try_from(message.len()).unwrap());
        framed.extend_from_slice(message);
        framed
    }

    fn read(body: Body) -> Result<Bytes> {
        let mut headers = HeaderMap::new();
        let body = read_body(&mut headers, body, 100).now_or_never().unwrap();
        message(&body?, 100)
    }

    fn chunked(bytes: &[u8], size: usize) -> Body {
        let chunks: Vec<_> = bytes.chunks(size).map(Bytes::copy_from_slice).map(Ok).collect();
        Body::from_stream(stream::iter(chunks.into_iter().map(|it: Result<_, Infallible>| it)))
    }

    #[test]
    fn message_is_read_from_frames_of_any_size() {
        let message = [7; 100];
        let further = framed(0, b"further");
        let bytes = [framed(0, &message), further].concat();
        for size in 1..=bytes.len() {
            assert_eq!(read(chunked(&bytes, size)).unwrap(), &message[..], "{size}");
        }
        assert_eq!(read(Body::from(framed(0, &message))).unwrap(), &message[..]);
        assert!(read(Body::from(framed(0, b""))).unwrap().is_empty());
    }

    #[test]
    fn malformed_frames_are_rejected() {
        let whole = framed(0, b"message");
        for (bytes, kind) in [
            (&b""[..], ErrorKind::InvalidRequest),
            (&whole[..3], ErrorKind::InvalidRequest),
            (&whole[..9], ErrorKind::InvalidRequest),
            (&framed(1, b"message"), ErrorKind::InvalidRequest),
            (&framed(2, b"message"), ErrorKind::InvalidRequest),
            (&framed(0, &[0; 101]), ErrorKind::PayloadTooLarge),
        ] {
            for size in [1, 4, 1_000] {
                assert_eq!(read(chunked(bytes, size)).unwrap_err().kind(), kind, "{bytes:?}");
            }
        }
    }

    #[test]
    fn oversized_message_is_rejected_before_it_arrives() {
        let start = stream::iter([Ok::<_, Infallible>(Bytes::from_static(&[0, 0, 0, 1, 0]))]);
        let body = Body::from_stream(futures_util::StreamExt::chain(start, stream::pending()));
        assert_eq!(read(body).unwrap_err().kind(), ErrorKind::PayloadTooLarge);
    }

    #[test]
    fn trailers_of_a_request_are_metadata() {
        let mut trailers = HeaderMap::new();
        trailers.insert("a2a-late", HeaderValue::from_static("1"));
        let trailers = std::future::ready(Some(Ok(trailers)));
        let body = Body::from(framed(0, b"message")).with_trailers(trailers);
        let mut headers = HeaderMap::new();
        let read = read_body(&mut headers, Body::new(body), 100).now_or_never().unwrap();
        assert_eq!(read.unwrap(), framed(0, b"message"));
        assert_eq!(headers["a2a-late"], "1");
    }

    #[test]
    fn response_has_a_message_and_trailers_but_no_length() {
        let message = GetTaskRequest { id: "t".into(), ..Default::default() };
        assert!(respond(&message, 2).is_err());
        let mut body = respond(&message, 3).unwrap().into_body();
        assert_eq!(body.size_hint().exact(), None);
        let mut frame = || body.frame().now_or_never().unwrap();
        let data = frame().unwrap().unwrap().into_data().unwrap();
        assert_eq!(data, framed(0, &message.encode_to_vec()));
        assert_eq!(frame().unwrap().unwrap().into_trailers().unwrap()["grpc-status"], "0");
        assert!(frame().is_none() && body.is_end_stream());
    }

    #[test]
    fn ready_messages_share_frames_and_an_error_is_the_final_status() {
        let message = || Ok(Bytes::from(vec![1; 1_000]));
        let ended = [Err(Status::unavailable("later"))];
        let messages = stream::iter((0..20).map(move |_| message()).chain(ended));
        let mut body = respond_with_stream(messages).into_body();
        let mut frame = || body.frame().now_or_never().unwrap().map(Result::unwrap);
        for count in [16, 4] {
            let data = frame().unwrap().into_data().unwrap();
            assert_eq!(data, framed(0, &[1; 1_000]).repeat(count));
        }
        assert_eq!(frame().unwrap().into_trailers().unwrap()["grpc-status"], "14");
        assert!(frame().is_none() && body.is_end_stream());
    }
}
