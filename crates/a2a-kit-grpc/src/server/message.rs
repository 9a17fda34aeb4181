//! Messages on the wire: that of a request, and those of a response with its status.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use a2a_core::{Error, ErrorKind, Result, value_limit::decode_protobuf};
use a2a_kit_http::parse::{PendingBody, parse};
use axum::{
    body::{Body, HttpBody},
    response::Response,
};
use bytes::{BufMut as _, Bytes};
use futures_core::Stream;
use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE, request::Parts};
use http_body::{Frame, SizeHint};
use prost::Message;
use tonic::{Status, metadata::MetadataValue};

use crate::status;

/// Length of what precedes a message: a flag, whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Largest payload of an HTTP/2 frame, in bytes, unless clients allow more.
const FRAME: usize = 16 << 10;

/// Size from which a frame of events is sent, although more are ready, in bytes.
const FULL_FRAME: usize = FRAME - 1024;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const OK: HeaderValue = HeaderValue::from_static("0");

/// A request whose message has not been decoded.
#[derive(Debug)]
pub struct Received {
    /// Its head.
    pub parts: Parts,
    message: Bytes,
}

impl Received {
    /// Takes the first message of a body; further ones are ignored.
    ///
    /// # Errors
    ///
    /// The status of a body that was not read, and of a message that is compressed or incomplete.
    pub(super) fn new(parts: Parts, body: Result<Bytes>) -> Result<Self, Status> {
        if let Some(encoding) = parts.headers.get("grpc-encoding").filter(|it| *it != "identity") {
            return Err(compressed(encoding));
        }
        match body.and_then(|body| first_message(&body)) {
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

/// The first message of a body.
fn first_message(body: &Bytes) -> Result<Bytes> {
    let Some((&[flag, ref length @ ..], rest)) = body.split_first_chunk::<PREFIX>() else {
        let what = if body.is_empty() { "missing" } else { "incomplete" };
        return Err(invalid(format!("{what} request message")));
    };
    if flag != 0 {
        return Err(invalid(format!(
            "invalid compression flag {flag}: no compression is supported"
        )));
    }
    let length = u32::from_be_bytes(*length) as usize;
    if length > rest.len() {
        return Err(invalid("incomplete request message".to_owned()));
    }
    // Part of a small message would keep the whole read buffer of the connection in memory.
    if length <= FRAME {
        return Ok(Bytes::copy_from_slice(&rest[..length]));
    }
    Ok(body.slice(PREFIX..PREFIX + length))
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
    use a2a_core::v1::GetTaskRequest;
    use futures_util::{FutureExt as _, stream};
    use http_body_util::BodyExt as _;

    use super::*;

    fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
        let mut framed = vec![flag];
        framed.put_u32(u32::try_from(message.len()).unwrap());
        framed.extend_from_slice(message);
        framed
    }

    #[test]
    fn first_message_is_read_and_malformed_frames_are_rejected() {
        let whole = framed(0, b"message");
        let further = [&whole[..], &framed(0, b"further")].concat();
        for (body, message) in [
            (whole.clone(), Some(&b"message"[..])),
            (further, Some(b"message")),
            (framed(0, b""), Some(b"")),
            (framed(0, &[7; 20_000]), Some(&[7; 20_000])),
            (vec![], None),
            (whole[..3].to_vec(), None),
            (whole[..9].to_vec(), None),
            (framed(1, b"message"), None),
            (framed(2, b"message"), None),
        ] {
            match (first_message(&body.into()), message) {
                (Ok(read), Some(message)) => assert_eq!(read, message),
                (Err(error), None) => assert_eq!(error.kind(), ErrorKind::InvalidRequest),
                (read, _) => panic!("{read:?}"),
            }
        }
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
