//! The codec of the client: encodes requests, decodes responses.

use std::marker::PhantomData;

use a2a_core::{Error, ErrorKind};
use prost::Message;
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

use crate::status;

/// Writes requests of type `M`, reads responses of type `D`.
#[derive(Debug)]
pub(super) struct ClientCodec<M, D>(PhantomData<(M, D)>);

impl<M, D> Default for ClientCodec<M, D> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<M: Message + 'static, D: Message + Default + 'static> Codec for ClientCodec<M, D> {
    type Encode = M;
    type Decode = D;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self::default()
    }

    fn decoder(&mut self) -> Self {
        Self::default()
    }
}

impl<M: Message, D> Encoder for ClientCodec<M, D> {
    type Item = M;
    type Error = Status;

    fn encode(&mut self, item: M, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(buffer).map_err(|error| status::encode(Error::internal(error)))
    }
}

impl<M, D: Message + Default> Decoder for ClientCodec<M, D> {
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
