//! The addresses that a server listens on, and whether clients can reach them.

use std::{error::Error, io, net::SocketAddr};

use tokio::net::TcpListener;
use url::Url;

use super::{chain, encryption::insecure};
use crate::{
    failure::{Code, Failure},
    output::Output,
    settings::{
        serve::{GrpcInCard, Serve},
        value,
    },
};

/// Binds a host and a port.
/// Errors: a failure that says which flag to change.
pub(crate) async fn bind(host: &str, port: u16) -> Result<(TcpListener, SocketAddr), Failure> {
    let address = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    bind_at(&address, "--host", "--port").await
}

/// Binds an address. `host` and `port` are the flags that name it.
pub(super) async fn bind_at(
    address: &str,
    host: &str,
    port: &str,
) -> Result<(TcpListener, SocketAddr), Failure> {
    let failure = |error: &dyn Error| {
        let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        let hint = match cause.map(io::Error::kind) {
            Some(io::ErrorKind::AddrInUse) => {
                let hint = format!(
                    "another program listens there: choose another {port}; 0 takes any that is free"
                );
                return Failure::new(Code::AddressInUse, chain(error)).with_hint(hint);
            }
            Some(io::ErrorKind::PermissionDenied) => {
                format!("choose a {port} from 1024 on, or allow this program to use lower ones")
            }
            _ => format!("{host} must be a name or an address of this machine, without a port"),
        };
        Failure::usage(chain(error)).with_hint(hint)
    };
    let listener = a2a_kit_http::bind(address).await.map_err(|error| failure(&error))?;
    let address = listener.local_addr().map_err(|error| failure(&error))?;
    Ok((listener, address))
}

/// Warns if the card names localhost although the server listens on all addresses, or can't list
/// gRPC.
/// Errors: a usage failure for an address with credentials, and in place of the warning with
/// `--production`.
pub(super) fn check_public_url(
    serve: &Serve,
    address: SocketAddr,
    output: Output,
) -> Result<(), Failure> {
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
