//! Reading a request body within bounds.

use std::{error::Error as StdError, pin::pin, time::Duration};

use a2a_core::{Error, ErrorKind, Result};
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt as _;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use crate::Limits;

/// How much of a body that is too large is read and thrown away, in bytes, so that the
/// connection can be used again and a peer that sends before it reads sees the answer.
const MAX_DISCARDED_BYTES: usize = 64 << 20;

/// When a peer may come back for whose body there was no room: those before it are read by then,
/// or given up soon.
const COME_BACK: Duration = Duration::from_secs(1);

/// Reads a request body. A body in one piece is not copied.
///
/// # Errors
///
/// [`PayloadTooLarge`](ErrorKind::PayloadTooLarge) beyond [`Limits::max_body_bytes`];
/// [`DeadlineExceeded`](ErrorKind::DeadlineExceeded) after silence of
/// [`Limits::body_read_timeout`], or where the whole takes longer than [`Limits::body_time`];
/// [`Unavailable`](ErrorKind::Unavailable) beyond [`Limits::max_pending_body_bytes`];
/// [`InvalidRequest`](ErrorKind::InvalidRequest) where the body breaks off.
pub async fn read(body: Body, limits: &Limits) -> Result<Bytes> {
    let mut reading = pin!(read_in_time(body, limits));
    // A body that has already arrived needs no timer.
    if let Some(read) = (&mut reading).now_or_never() {
        return read;
    }
    timeout(limits.body_time, reading).await.unwrap_or_else(|_elapsed| Err(GivenUp::Whole.into()))
}

async fn read_in_time(mut body: Body, limits: &Limits) -> Result<Bytes> {
    let read = collect(&mut body, limits).await;
    let kind = read.as_ref().err().map(Error::kind);
    // The rest is on its way, and the peer waits until it is sent.
    if matches!(kind, Some(ErrorKind::PayloadTooLarge | ErrorKind::Unavailable)) {
        discard(body, limits).await;
    }
    read
}

async fn collect(body: &mut Body, limits: &Limits) -> Result<Bytes> {
    let limit = limits.max_body_bytes;
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(too_large(limit));
    }
    let Some(first) = next(body, limits).await? else { return Ok(Bytes::new()) };
    if first.len() > limit {
        return Err(too_large(limit));
    }
    let Some(second) = next(body, limits).await? else { return Ok(first) };
    // Never more than 1 MiB ahead of what has arrived: the length is only a claim.
    let mut whole = BytesMut::with_capacity(announced.min(1 << 20).max(first.len()));
    whole.extend_from_slice(&first);
    let mut piece = second;
    loop {
        if whole.len().saturating_add(piece.len()) > limit {
            return Err(too_large(limit));
        }
        whole.extend_from_slice(&piece);
        match next(body, limits).await? {
            Some(next) => piece = next,
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
                .map_err(|_elapsed| Error::from(GivenUp::Silent))?,
        };
        match frame {
            None => return Ok(None),
            Some(Err(error)) => {
                if let Some(failure) = failure(&error) {
                    return Err(failure);
                }
                return Err(Error::new(ErrorKind::InvalidRequest, "the request body broke off")
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

/// Reads a body that nobody needs and throws it away, up to a bound: a connection over which a
/// body is still on its way can't be used again.
pub async fn discard(mut body: Body, limits: &Limits) {
    if body.size_hint().lower() > MAX_DISCARDED_BYTES as u64 {
        return;
    }
    let discarding = async {
        let mut discarded = 0_usize;
        while discarded <= MAX_DISCARDED_BYTES
            && let Ok(Some(piece)) = next(&mut body, limits).await
        {
            discarded = discarded.saturating_add(piece.len());
        }
    };
    // Nobody waits for it to be over.
    drop(timeout(limits.body_time, discarding).await);
}

/// Finds what the server gave a body up for behind the failure of the body, for bindings that
/// read it in their own way. `None` where the body failed by itself.
pub fn failure(error: &(dyn StdError + 'static)) -> Option<Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(given_up) = error.downcast_ref::<GivenUp>() {
            return Some((*given_up).into());
        }
        cause = error.source();
    }
    None
}

/// Why a body is not read any further.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(crate) enum GivenUp {
    #[error("the request body stopped arriving")]
    Silent,
    #[error("the request body took too long to arrive")]
    Whole,
    #[error("there is no room for the request body beside those of other requests")]
    NoRoom,
}

impl From<GivenUp> for Error {
    fn from(given_up: GivenUp) -> Self {
        let message = given_up.to_string();
        match given_up {
            GivenUp::Silent | GivenUp::Whole => Self::new(ErrorKind::DeadlineExceeded, message),
            GivenUp::NoRoom => {
                Self::new(ErrorKind::Unavailable, message).with_retry_after(COME_BACK)
            }
        }
    }
}

fn too_large(limit: usize) -> Error {
    Error::new(ErrorKind::PayloadTooLarge, format!("the body is larger than {limit} bytes"))
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

    fn chunked(pieces: &'static [&'static str]) -> Body {
        Body::from_stream(stream::iter(pieces).map(|piece| Ok::<_, Infallible>(*piece)))
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_the_limit() {
        for (body, limit, expected) in [
            (Body::empty(), 0, Some("")),
            (Body::from("1234"), 4, Some("1234")),
            (Body::from("12345"), 4, None),
            (chunked(&["12", "34"]), 4, Some("1234")),
            (chunked(&["12", "34", "5"]), 4, None),
            (chunked(&["12345"]), 4, None),
        ] {
            let result = read(body, &limits(limit)).await;
            match expected {
                Some(text) => assert_eq!(result.unwrap(), text),
                None => assert_eq!(result.unwrap_err().kind(), ErrorKind::PayloadTooLarge),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_falls_silent_is_given_up() {
        let silent = stream::iter([Ok::<_, Infallible>("1")]).chain(stream::pending());
        let limits = limits(10).with_body_read_timeout(Duration::from_secs(5));
        let error = read(Body::from_stream(silent), &limits).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        assert_eq!(error.message(), "the request body stopped arriving");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_comes_a_byte_at_a_time_is_given_up() {
        let drip = stream::repeat(Ok::<_, Infallible>("1")).then(async |byte| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            byte
        });
        let limits = limits(1000).with_body_time(Duration::from_secs(20));
        let begun = tokio::time::Instant::now();
        let error = read(Body::from_stream(drip), &limits).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        assert_eq!(error.message(), "the request body took too long to arrive");
        assert_eq!(begun.elapsed().as_secs(), 20);
    }
}
