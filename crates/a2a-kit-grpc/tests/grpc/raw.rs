//! Calls with raw bytes.

use a2a_core::SERVICE;
use bytes::{Buf as _, BufMut as _, Bytes};
use tonic::{
    Request, Response, Status,
    client::{Grpc, GrpcService},
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

/// A codec that passes bytes through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let length = buffer.remaining();
        Ok(Some(buffer.copy_to_bytes(length)))
    }
}

/// Calls a method of the service, with version 1.0 unless set in the metadata.
pub(crate) async fn call<S>(
    service: S,
    method: &str,
    message: impl Into<Bytes>,
    metadata: &[(&'static str, &str)],
) -> Result<Response<Bytes>, Status>
where
    S: GrpcService<tonic::body::Body>,
    S::ResponseBody: http_body::Body<Data = Bytes> + Send + 'static,
    <S::ResponseBody as http_body::Body>::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut grpc = Grpc::new(service);
    grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
    let mut request = Request::new(message.into());
    request.metadata_mut().insert("a2a-version", "1.0".parse().unwrap());
    for (name, value) in metadata {
        request.metadata_mut().append(*name, value.parse().unwrap());
    }
    let path = match method.starts_with('/') {
        true => method.to_owned(),
        false => format!("/{SERVICE}/{method}"),
    };
    grpc.unary(request, path.parse().unwrap(), Raw).await
}
