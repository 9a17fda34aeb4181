//! Reads request bodies within limits, and writes those of responses.

use std::{
    error::Error as StdError,
    pin::{Pin, pin},
    result::Result as StdResult,
    task::{Context, Poll},
    time::Duration,
};

use a2a_core::{Error, ErrorKind, Result};
use axum::body::Body;
use bytes::{Buf as _, Bytes, BytesMut};
use futures_util::{FutureExt as _, future::ready, stream};
use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use crate::{Limits, error_log::causes, parse::MAX_INLINE_BYTES};

type BoxError = Box<dyn StdError + Send + Sync>;

/// How much of an oversized body is discarded, in bytes, so that the connection stays usable and a
/// peer that sends before it reads gets the response.
const MAX_DISCARDED_BYTES: usize = 64 << 20;

/// `Retry-After` of a body over budget: pending bodies have completed or time out soon.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A byte order mark in UTF-8, which readers of JSON may ignore (RFC 8259 §8.1).
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Responds with a body and the number of a status.
pub fn respond(status: u16, media_type: HeaderValue, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// Reads a request body without the byte order mark that some clients write. A body in a single
/// frame is not copied.
///
/// # Errors
///
/// [`PayloadTooLarge`](ErrorKind::PayloadTooLarge) beyond [`Limits::max_body_bytes`];
/// [`DeadlineExceeded`](ErrorKind::DeadlineExceeded) if no data arrives for
/// [`Limits::body_read_timeout`], or the whole body takes longer than
/// [`Limits::body_total_timeout`]; [`Unavailable`](ErrorKind::Unavailable) beyond
/// [`Limits::max_pending_body_bytes`];
/// [`InvalidRequest`](ErrorKind::InvalidRequest) if the body is incomplete.
pub async fn read(body: Body, limits: &Limits) -> Result<Bytes> {
    let mut reading = pin!(read_or_discard(body, limits));
    // A body that has already arrived needs no timer.
    if let Some(read) = (&mut reading).now_or_never() {
        return read;
    }
    timeout(limits.body_total_timeout, reading)
        .await
        .unwrap_or_else(|_elapsed| Err(BodyError::TotalTimeout.into()))
}

/// A body after the first look at it.
pub(crate) enum Arrived {
    /// All of it, as [`read`] returns it.
    Whole(Bytes),
    /// A body for [`read`].
    Partly(Body),
}

/// Reads a body that has arrived in one frame, without a future and a box.
pub(crate) fn read_arrived<B>(mut body: B, limits: &Limits, cx: &mut Context<'_>) -> Arrived
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let first = match Pin::new(&mut body).poll_frame(cx) {
        Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        Poll::Ready(None) => Bytes::new(),
        Poll::Ready(Some(Err(error))) => {
            let failed = stream::once(ready(Err::<Bytes, BoxError>(error.into())));
            return Arrived::Partly(Body::from_stream(failed));
        }
        Poll::Pending => return Arrived::Partly(Body::new(body)),
    };
    if body.is_end_stream() && first.len() <= MAX_INLINE_BYTES.min(limits.max_body_bytes) {
        return Arrived::Whole(without_mark(first));
    }
    Arrived::Partly(Body::new(Continued { start: Some(first), rest: Body::new(body) }))
}

fn without_mark(mut text: Bytes) -> Bytes {
    if text.starts_with(BYTE_ORDER_MARK) {
        text.advance(BYTE_ORDER_MARK.len());
    }
    text
}

async fn read_or_discard(mut body: Body, limits: &Limits) -> Result<Bytes> {
    let read = collect(&mut body, limits).await.map(without_mark);
    let kind = read.as_ref().err().map(Error::kind);
    // The peer may read the response only after it has sent the rest.
    if matches!(kind, Some(ErrorKind::PayloadTooLarge | ErrorKind::Unavailable)) {
        discard(body, limits).await;
    }
    read
}

async fn collect(body: &mut Body, limits: &Limits) -> Result<Bytes> {
    let limit = limits.max_body_bytes;
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if declared > limit {
        return Err(too_large(limit));
    }
    let Some(first) = next(body, limits).await? else { return Ok(Bytes::new()) };
    if first.len() > limit {
        return Err(too_large(limit));
    }
    if body.is_end_stream() {
        return Ok(first);
    }
    let Some(second) = next(body, limits).await? else { return Ok(first) };
    // Preallocates at most 1 MiB: the declared length is not trusted.
    let mut whole = BytesMut::with_capacity(declared.min(1 << 20).max(first.len()));
    whole.extend_from_slice(&first);
    let mut chunk = second;
    loop {
        if whole.len().saturating_add(chunk.len()) > limit {
            return Err(too_large(limit));
        }
        whole.extend_from_slice(&chunk);
        match next(body, limits).await? {
            Some(next) => chunk = next,
            None => return Ok(whole.freeze()),
        }
    }
}

async fn next(body: &mut Body, limits: &Limits) -> Result<Option<Bytes>> {
    loop {
        let frame = match body.frame().now_or_never() {
            Some(frame) => frame,
            None => timeout(limits.body_read_timeout, body.frame())
                .await
                .map_err(|_elapsed| Error::from(BodyError::ReadTimeout))?,
        };
        match frame {
            None => return Ok(None),
            Some(Err(error)) => {
                if let Some(failure) = failure(&error) {
                    return Err(failure);
                }
                return Err(Error::new(ErrorKind::InvalidRequest, "incomplete request body")
                    .with_source(error));
            }
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

/// Reads the start of a body: at least so many bytes, or all of a shorter one.
///
/// # Errors
///
/// As [`read`], except for the size.
pub async fn read_start(mut body: Body, bytes: usize, limits: &Limits) -> Result<BodyStart> {
    let reading = async {
        let mut start = BytesMut::new();
        while start.len() < bytes {
            match next(&mut body, limits).await? {
                Some(chunk) => start.extend_from_slice(&chunk),
                None => return Ok::<_, Error>((start.freeze(), true)),
            }
        }
        Ok((start.freeze(), false))
    };
    let read = timeout(limits.body_total_timeout, reading).await;
    let (start, is_whole) = read.unwrap_or_else(|_elapsed| Err(BodyError::TotalTimeout.into()))?;
    Ok(BodyStart { start, rest: (!is_whole).then_some(body) })
}

/// The start of a body, and the rest of it.
#[derive(Debug)]
pub struct BodyStart {
    start: Bytes,
    rest: Option<Body>,
}

impl BodyStart {
    /// The bytes that were read.
    pub fn bytes(&self) -> &[u8] {
        &self.start
    }

    /// Whether they are the whole body.
    pub fn is_whole(&self) -> bool {
        self.rest.is_none()
    }

    /// Returns the whole body.
    pub fn into_body(self) -> Body {
        match self.rest {
            None => self.start.into(),
            Some(rest) => Body::new(Continued { start: Some(self.start), rest }),
        }
    }
}

/// A body whose start was read already.
struct Continued {
    start: Option<Bytes>,
    rest: Body,
}

impl http_body::Body for Continued {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<StdResult<Frame<Bytes>, axum::Error>>> {
        match self.start.take() {
            Some(start) => Poll::Ready(Some(Ok(Frame::data(start)))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let start = self.start.as_ref().map_or(0, |start| start.len() as u64);
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(start));
        }
        hint.set_lower(rest.lower().saturating_add(start));
        hint
    }
}

/// Reads and discards a body, up to a limit: a connection with an unread body cannot be reused.
pub async fn discard(mut body: Body, limits: &Limits) {
    if body.size_hint().lower() > MAX_DISCARDED_BYTES as u64 {
        return;
    }
    let discarding = async {
        let mut discarded = 0_usize;
        while discarded <= MAX_DISCARDED_BYTES
            && let Ok(Some(chunk)) = next(&mut body, limits).await
        {
            discarded = discarded.saturating_add(chunk.len());
        }
    };
    // The result does not matter.
    drop(timeout(limits.body_total_timeout, discarding).await);
}

/// Returns the server limit that made a body fail, for bindings that read bodies themselves. `None`
/// if the body failed for another reason.
pub fn failure(error: &(dyn StdError + 'static)) -> Option<Error> {
    causes(error).find_map(|cause| cause.downcast_ref::<BodyError>()).map(|error| (*error).into())
}

/// Why the server stopped reading a body.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("timed out waiting for request body data")]
    ReadTimeout,
    #[error("timed out reading the request body")]
    TotalTimeout,
    #[error("too many pending request body bytes")]
    OverBudget,
}

impl From<BodyError> for Error {
    fn from(body_error: BodyError) -> Self {
        let message = body_error.to_string();
        match body_error {
            BodyError::ReadTimeout | BodyError::TotalTimeout => {
                Self::new(ErrorKind::DeadlineExceeded, message)
            }
            BodyError::OverBudget => {
                Self::new(ErrorKind::Unavailable, message).with_retry_after(RETRY_AFTER)
            }
        }
    }
}

fn too_large(limit: usize) -> Error {
    Error::new(ErrorKind::PayloadTooLarge, format!("request body exceeds {limit} bytes"))
        .with_metadata("maxBodyBytes", limit.to_string())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{StreamExt as _, stream};

    use super::*;

    fn limits(bytes: usize) -> Limits {
        Limits::default().with_max_body_bytes(bytes)
    }

    fn chunked(chunks: &'static [&'static str]) -> Body {
        Body::from_stream(stream::iter(chunks).map(|chunk| Ok::<_, Infallible>(*chunk)))
    }

    #[tokio::test]
    async fn body_is_read_up_to_the_limit() {
        for (body, limit, expected) in [
            (Body::empty(), 0, Some("")),
            (Body::from("1234"), 4, Some("1234")),
            (Body::from("12345"), 4, None),
            (chunked(&["12", "34"]), 4, Some("1234")),
            (chunked(&["12", "34", "5"]), 4, None),
            (chunked(&["12345"]), 4, None),
            (Body::from("\u{feff}1"), 4, Some("1")),
            (chunked(&["\u{feff}", "\u{feff}"]), 6, Some("\u{feff}")),
        ] {
            let result = read(body, &limits(limit)).await;
            match expected {
                Some(text) => assert_eq!(result.unwrap(), text),
                None => assert_eq!(result.unwrap_err().kind(), ErrorKind::PayloadTooLarge),
            }
        }
    }

    #[tokio::test]
    async fn body_is_read_at_once_only_if_all_of_it_has_arrived() {
        let failed = stream::iter([Err::<&str, _>("reset")]);
        for (body, at_once, later) in [
            (Body::from("1234"), Some("1234"), Ok("")),
            (Body::from("\u{feff}1"), Some("1"), Ok("")),
            (Body::empty(), Some(""), Ok("")),
            (Body::from("12345"), None, Ok("12345")),
            (chunked(&["12", "34"]), None, Ok("1234")),
            (Body::from_stream(failed), None, Err(ErrorKind::InvalidRequest)),
        ] {
            let mut cx = Context::from_waker(std::task::Waker::noop());
            match read_arrived(body, &limits(4), &mut cx) {
                Arrived::Whole(text) => assert_eq!(Some(&*text), at_once.map(str::as_bytes)),
                Arrived::Partly(rest) => {
                    let text = read(rest, &limits(5)).await.map_err(|error| error.kind());
                    assert_eq!(text.as_deref(), later.as_ref().map(|text| text.as_bytes()));
                    assert_eq!(at_once, None);
                }
            }
        }
    }

    #[tokio::test]
    async fn body_whose_start_was_read_is_complete() {
        for (chunks, bytes, start, is_whole) in [
            (&[][..], 2, "", true),
            (&["1"][..], 2, "1", true),
            (&["1", "2", "3"], 2, "12", false),
            (&["123", "4"], 2, "123", false),
            (&["12"], 2, "12", false),
        ] {
            let read = read_start(chunked(chunks), bytes, &limits(10)).await.unwrap();
            assert_eq!((read.bytes(), read.is_whole()), (start.as_bytes(), is_whole), "{chunks:?}");
            let whole = super::read(read.into_body(), &limits(10)).await.unwrap();
            assert_eq!(whole, chunks.concat(), "{chunks:?}");
        }
        let sized = read_start(Body::from("123"), 1, &limits(10)).await.unwrap().into_body();
        assert_eq!(sized.size_hint().exact(), Some(3));
        let stalled = stream::pending::<Result<&str, Infallible>>();
        tokio::time::pause();
        let error = read_start(Body::from_stream(stalled), 1, &limits(10)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    }

    #[tokio::test(start_paused = true)]
    async fn stalled_body_times_out() {
        let silent = stream::iter([Ok::<_, Infallible>("1")]).chain(stream::pending());
        let limits = limits(10).with_body_read_timeout(Duration::from_secs(5));
        let error = read(Body::from_stream(silent), &limits).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        assert_eq!(error.message(), "timed out waiting for request body data");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_body_exceeds_the_total_timeout() {
        let drip = stream::repeat(Ok::<_, Infallible>("1")).then(async |byte| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            byte
        });
        let limits = limits(1000).with_body_total_timeout(Duration::from_secs(20));
        let start = tokio::time::Instant::now();
        let error = read(Body::from_stream(drip), &limits).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        assert_eq!(error.message(), "timed out reading the request body");
        assert_eq!(start.elapsed().as_secs(), 20);
    }
}
