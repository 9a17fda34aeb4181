//! Checks that other machines can reach the addresses in the card.

use std::net::SocketAddr;

use url::Url;

use super::encryption::insecure;
use crate::{
    failure::Failure,
    output::Output,
    settings::{
        serve::{GrpcInCard, Serve},
        value,
    },
};

/// Warns if the card names localhost although the server listens on all addresses, or can't list
/// gRPC.
///
/// # Errors
///
/// A usage failure for an address with credentials, and in place of the warning with `--production`.
pub(super) fn check(serve: &Serve, address: SocketAddr, output: Output) -> Result<(), Failure> {
    let listen = &serve.listen;
    for (flag, address) in
        [("--public-url", &listen.public_url), ("--grpc-address", &listen.grpc_address)]
    {
        let problem = address.as_deref().map_or(Ok(()), value::public_address);
        problem.map_err(|problem| Failure::usage(format!("{flag} {problem}")))?;
    }
    let public = listen.public_url.as_ref().and_then(|url| Url::parse(url).ok());
    let has_path = public.is_some_and(|url| url.path() != "/");
    let has_grpc = listen.grpc && listen.grpc_in_card == GrpcInCard::Always;
    if has_path && has_grpc && listen.grpc_address.is_none() && listen.grpc_port.is_none() {
        output.warning(
            "the card does not list gRPC, because --public-url has a path: name the address of gRPC \
             with --grpc-address, or use --no-grpc",
        );
    }
    if listen.public_url.is_some() || !address.ip().is_unspecified() {
        return Ok(());
    }
    let said = format!(
        "{address} is every address of this machine, and the card names localhost: clients on \
         other machines can't follow it"
    );
    insecure(serve, &said, "name the URL that clients use with --public-url", output)
}

/// Returns the authority by which clients reach `address`: with the host of the public URL if the
/// server listens on all addresses.
pub(super) fn reachable(serve: &Serve, address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let public = serve.listen.public_url.as_ref().and_then(|url| Url::parse(url).ok());
    let host = public.as_ref().and_then(Url::host_str).unwrap_or("localhost");
    format!("{host}:{}", address.port())
}
