//! Counts the bytes of response messages that are being read.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use a2a_core::Result;
use a2a_kit_http::client::{HeldBytes, ReadBudget};
use bytes::Bytes;
use http::{Extensions, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tonic::{Status, body::Body};

/// The bytes of a response that have been received and not yet decoded. Shared by its body, which
/// adds to them, and the reader of its messages, which releases them.
#[derive(Clone, Debug)]
pub struct HeldMessage(Arc<Mutex<(HeldBytes, usize)>>);

impl HeldMessage {
    /// Finds the one in the extensions of a response, if its bytes are counted.
    pub fn of(extensions: &Extensions) -> Option<Self> {
        extensions.get().cloned()
    }

    fn add(&self, more: usize) -> Result<()> {
        let (held, bytes) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *bytes += more;
        held.set(*bytes)
    }

    /// Releases the bytes of a message that has been decoded.
    pub fn release(&self) {
        let (held, bytes) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *bytes = 0;
        // Fewer bytes are never refused.
        let _ = held.set(0);
    }
}

/// Counts the bytes of a response.
pub(super) fn counted(mut response: Response<Body>, budget: ReadBudget) -> Response<Body> {
    let held = HeldMessage(Arc::new(Mutex::new((HeldBytes::new(Some(budget)), 0))));
    response.extensions_mut().insert(held.clone());
    response.map(|body| Body::new(CountedBody { body, held }))
}

struct CountedBody {
    body: Body,
    held: HeldMessage,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
            && let Err(error) = self.held.add(data.len())
        {
            return Poll::Ready(Some(Err(Status::unavailable(error.message()))));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
