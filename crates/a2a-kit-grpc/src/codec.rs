//! Codecs of the client, between messages and gRPC bytes.

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
#[derive(Debug)]
pub(crate) struct ClientCodec<M, D>(PhantomData<(M, D)>);

impl<M, D> Default for ClientCodec<M, D> {
    fn default() -> Self {
        Self(PhantomData)
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
        MessageDecoder(PhantomData)
    }
}

/// Encodes messages.
#[derive(Debug)]
pub struct MessageEncoder<M>(pub(crate) PhantomData<M>);

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
#[derive(Debug)]
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
