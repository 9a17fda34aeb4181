//! Between messages and the bytes of gRPC, without a copy that can be spared.

use std::{marker::PhantomData, sync::Arc};

use a2a_core::{Error, ErrorKind};
use bytes::{BufMut as _, Bytes};
use prost::Message;
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

use crate::status;

/// `google.protobuf.Empty`.
pub(crate) type Empty = ();

/// An answer of the server: a message that may be held by others, too, or is encoded already.
#[derive(Clone, Debug)]
pub(crate) enum Shared<M> {
    /// A message made for this answer.
    Owned(M),
    /// A message that the store, or another reader, holds as well.
    Held(Arc<M>),
    /// The bytes of a message, encoded once for all its readers.
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
    /// Checks that the answer has at most `limit` bytes. tonic would find out as well, but when
    /// the answer has begun, and in a code that the protocol does not have.
    pub(crate) fn within(self, limit: usize) -> Result<Self, Error> {
        if limit == usize::MAX {
            return Ok(self);
        }
        let length = match &self {
            Self::Owned(message) => message.encoded_len(),
            Self::Held(message) => message.encoded_len(),
            Self::Encoded(bytes) => bytes.len(),
        };
        if length > limit {
            let message = "the answer is larger than this server sends";
            return Err(Error::new(ErrorKind::PayloadTooLarge, message));
        }
        Ok(self)
    }
}

/// The codec of the server: reads requests, writes [`Shared`] answers.
#[derive(Debug)]
pub(crate) struct ServerCodec<M, D>(PhantomData<(M, D)>);

/// The codec of the client: writes requests, reads answers.
#[derive(Debug)]
pub(crate) struct ClientCodec<M, D>(PhantomData<(M, D)>);

impl<M, D> Default for ServerCodec<M, D> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<M, D> Default for ClientCodec<M, D> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<M, D> Codec for ServerCodec<M, D>
where
    M: Message + 'static,
    D: Message + Default + 'static,
{
    type Encode = Shared<M>;
    type Decode = D;
    type Encoder = SharedEncoder<M>;
    type Decoder = MessageDecoder<D>;

    fn encoder(&mut self) -> Self::Encoder {
        SharedEncoder(PhantomData)
    }

    fn decoder(&mut self) -> Self::Decoder {
        MessageDecoder { failure: ErrorKind::ParseError, message: PhantomData }
    }
}

impl<M, D> Codec for ClientCodec<M, D>
where
    M: Message + 'static,
    D: Message + Default + 'static,
{
    type Encode = M;
    type Decode = D;
    type Encoder = MessageEncoder<M>;
    type Decoder = MessageDecoder<D>;

    fn encoder(&mut self) -> Self::Encoder {
        MessageEncoder(PhantomData)
    }

    fn decoder(&mut self) -> Self::Decoder {
        MessageDecoder { failure: ErrorKind::InvalidAgentResponse, message: PhantomData }
    }
}

#[derive(Debug)]
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

#[derive(Debug)]
pub(crate) struct MessageEncoder<M>(PhantomData<M>);

impl<M: Message> Encoder for MessageEncoder<M> {
    type Item = M;
    type Error = Status;

    fn encode(&mut self, item: M, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        write(&item, buffer)
    }
}

fn write(message: &impl Message, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
    message.encode(buffer).map_err(|error| status::encode(Error::internal(error)))
}

/// Reads messages; one that can't be read is a failure of kind `failure`.
#[derive(Debug)]
pub(crate) struct MessageDecoder<D> {
    failure: ErrorKind,
    message: PhantomData<D>,
}

impl<D: Message + Default> Decoder for MessageDecoder<D> {
    type Item = D;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<D>, Status> {
        match D::decode(buffer) {
            Ok(message) => Ok(Some(message)),
            // Where the bytes stop making sense is a fact about what the peer sent, so it may
            // read it.
            Err(error) => {
                let message = format!("not a message of this method: {error}");
                Err(status::encode(Error::new(self.failure, message)))
            }
        }
    }
}
