//! A body in several pieces whose length is known.

use std::{
    array,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// Size from which on a result goes out as a piece of its own, in bytes.
const SHARED: usize = 64 << 10;

/// Makes a body of an envelope whose result begins at `begin`, and the rest of the envelope. A
/// large result becomes a piece of its own, so that equal results share their memory whatever is
/// around them.
pub fn enveloped(mut text: Vec<u8>, begin: usize, end: &'static [u8]) -> Body {
    if text.len() < SHARED || begin > text.len() {
        text.extend_from_slice(end);
        return Body::from(text);
    }
    let head = Bytes::copy_from_slice(&text[..begin]);
    let result = Bytes::from(text).slice(begin..);
    Body::new(Pieces([head, result, Bytes::from_static(end)].into_iter()))
}

struct Pieces(array::IntoIter<Bytes, 3>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_slice().is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_slice().iter().map(|piece| piece.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn an_envelope_is_the_same_in_one_piece_and_in_several() {
        for size in [10, SHARED, 3 * SHARED] {
            let mut text = b"{\"id\":1,\"result\":".to_vec();
            let begin = text.len();
            text.resize(begin + size, b'7');
            let expected = [&text[..], b"}"].concat();
            let mut body = enveloped(text, begin, b"}");
            assert_eq!(body.size_hint().exact(), Some(expected.len() as u64));
            if size >= SHARED {
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
