//! Codecs of the server, between messages and gRPC bytes, without avoidable copies.

use std::{marker::PhantomData, sync::Arc};

use a2a_core::{Error, ErrorKind, Result, value_limit::decode_protobuf};
use a2a_kit_http::parse::{PendingBody, parse};
use bytes::{Buf as _, BufMut as _, Bytes};
use prost::Message;
use tonic::{
    Request, Status,
    codec::{DecodeBuf, Decoder, EncodeBuf, Encoder},
};

use crate::codec::{MessageCodec, MessageEncoder, write};

/// A response message of the server, possibly shared or already encoded.
#[derive(Clone, Debug)]
pub(crate) enum Shared<M> {
    /// A message created for this response.
    Owned(M),
    /// A message that is shared with the store or other readers.
    Held(Arc<M>),
    /// An encoded message, shared by all readers.
    Encoded(Bytes),
}

impl<M> From<M> for Shared<M> {
    fn from(message: M) -> Self {
        Self::Owned(message)
    }
}

impl<M> From<Arc<M>> for Shared<M> {
    fn from(message: Arc<M>) -> Self {
        Self::Held(message)
    }
}

impl<M: Message> Shared<M> {
    /// Checks that the message has at most `limit` bytes. tonic only checks this after the response
    /// has started, and with a status code that the protocol does not use.
    pub(crate) fn within(self, limit: usize) -> Result<Self> {
        if limit == usize::MAX {
            return Ok(self);
        }
        let length = match &self {
            Self::Owned(message) => message.encoded_len(),
            Self::Held(message) => message.encoded_len(),
            Self::Encoded(bytes) => bytes.len(),
        };
        if length > limit {
            let message = "the response exceeds the size limit";
            return Err(Error::new(ErrorKind::PayloadTooLarge, message));
        }
        Ok(self)
    }
}

/// A received request that has not been decoded.
#[derive(Debug)]
pub struct Undecoded<M> {
    bytes: Bytes,
    message: PhantomData<fn() -> M>,
}

impl<M: Message + Default + Send + 'static> Undecoded<M> {
    /// Decodes the message of a request, which may have at most `max_values` JSON values. Large
    /// messages are decoded on the blocking pool.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](ErrorKind::InvalidParams) for too many values;
    /// [`ParseError`](ErrorKind::ParseError) for a malformed message.
    pub async fn decode(request: &mut Request<Self>, max_values: usize) -> Result<M> {
        let bytes = std::mem::take(&mut request.get_mut().bytes);
        let bytes = PendingBody::hold(request.extensions(), bytes);
        parse(bytes.len(), move || decode_protobuf(bytes, max_values)).await
    }
}

/// A decoder that defers decoding to [`Undecoded::decode`].
#[derive(Debug, Default)]
pub struct Undecoder<M>(PhantomData<fn() -> M>);

impl<M: 'static> Decoder for Undecoder<M> {
    type Item = Undecoded<M>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Undecoded<M>>, Status> {
        let bytes = buffer.copy_to_bytes(buffer.remaining());
        Ok(Some(Undecoded { bytes, message: PhantomData }))
    }
}

/// The codec of the server: reads requests, writes [`Shared`] messages.
pub(crate) type ServerCodec<M, D> = MessageCodec<SharedEncoder<M>, Undecoder<D>>;

/// The codec of a server with owned responses: reads requests, writes messages.
pub type OwnedCodec<M, D> = MessageCodec<MessageEncoder<M>, Undecoder<D>>;

#[derive(Debug, Default)]
pub(crate) struct SharedEncoder<M>(PhantomData<M>);

impl<M: Message> Encoder for SharedEncoder<M> {
    type Item = Shared<M>;
    type Error = Status;

    fn encode(&mut self, item: Shared<M>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        match item {
            Shared::Owned(message) => write(&message, buffer),
            Shared::Held(message) => write(message.as_ref(), buffer),
            Shared::Encoded(bytes) => {
                buffer.reserve(bytes.len());
                buffer.put_slice(&bytes);
                Ok(())
            }
        }
    }
}
