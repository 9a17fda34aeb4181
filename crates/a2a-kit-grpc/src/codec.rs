//! Codecs between messages and gRPC bytes.

use std::marker::PhantomData;

use a2a_core::{Error, ErrorKind};
use prost::Message;
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

use crate::status;

/// `google.protobuf.Empty`.
pub(crate) type Empty = ();

/// The codec of the client: writes requests, reads responses.
pub(crate) type ClientCodec<M, D> = MessageCodec<MessageEncoder<M>, MessageDecoder<D>>;

/// A codec of an encoder and a decoder.
#[derive(Debug)]
pub struct MessageCodec<E, D>(PhantomData<(E, D)>);

impl<E, D> Default for MessageCodec<E, D> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<E, D> Codec for MessageCodec<E, D>
where
    E: Encoder<Item: Send + 'static, Error = Status> + Default + Send + 'static,
    D: Decoder<Item: Send + 'static, Error = Status> + Default + Send + 'static,
{
    type Encode = E::Item;
    type Decode = D::Item;
    type Encoder = E;
    type Decoder = D;

    fn encoder(&mut self) -> E {
        E::default()
    }

    fn decoder(&mut self) -> D {
        D::default()
    }
}

/// Encodes messages.
#[derive(Debug, Default)]
pub struct MessageEncoder<M>(PhantomData<M>);

impl<M: Message> Encoder for MessageEncoder<M> {
    type Item = M;
    type Error = Status;

    fn encode(&mut self, item: M, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        write(&item, buffer)
    }
}

pub(crate) fn write(message: &impl Message, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
    message.encode(buffer).map_err(|error| status::encode(Error::internal(error)))
}

/// Decodes responses.
#[derive(Debug, Default)]
pub(crate) struct MessageDecoder<D>(PhantomData<D>);

impl<D: Message + Default> Decoder for MessageDecoder<D> {
    type Item = D;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<D>, Status> {
        match D::decode(buffer) {
            Ok(message) => Ok(Some(message)),
            Err(error) => {
                let message = format!("malformed response message: {error}");
                Err(status::encode(Error::new(ErrorKind::InvalidAgentResponse, message)))
            }
        }
    }
}
