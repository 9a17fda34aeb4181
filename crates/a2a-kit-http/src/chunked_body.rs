//! Response bodies in several chunks, with a known length.

use std::{
    array,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// Minimum size of a result that is sent as a chunk of its own, in bytes.
const MIN_SHARED: usize = 64 << 10;

/// Creates a body from `text`, an envelope whose result starts at `begin`, and `end`, the rest of
/// the envelope. A large result becomes a chunk of its own, so that equal results share one buffer
/// even in different envelopes.
pub fn enveloped(mut text: Vec<u8>, begin: usize, end: &'static [u8]) -> Body {
    if text.len() < MIN_SHARED || begin > text.len() {
        text.extend_from_slice(end);
        return Body::from(text);
    }
    let head = Bytes::copy_from_slice(&text[..begin]);
    let result = Bytes::from(text).slice(begin..);
    Body::new(Chunks([head, result, Bytes::from_static(end)].into_iter()))
}

struct Chunks(array::IntoIter<Bytes, 3>);

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_slice().is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_slice().iter().map(|chunk| chunk.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn envelope_has_the_same_bytes_in_one_chunk_and_in_several() {
        for size in [10, MIN_SHARED, 3 * MIN_SHARED] {
            let mut text = b"{\"id\":1,\"result\":".to_vec();
            let begin = text.len();
            text.resize(begin + size, b'7');
            let expected = [&text[..], b"}"].concat();
            let mut body = enveloped(text, begin, b"}");
            assert_eq!(body.size_hint().exact(), Some(expected.len() as u64));
            if size >= MIN_SHARED {
                let head = body.frame().await.unwrap().unwrap().into_data().unwrap();
                assert_eq!(*head, expected[..begin]);
                let result = body.frame().await.unwrap().unwrap().into_data().unwrap();
                assert_eq!(result.len(), size);
                assert_eq!(body.collect().await.unwrap().to_bytes(), "}");
            } else {
                assert_eq!(body.collect().await.unwrap().to_bytes(), expected);
            }
        }
    }
}
