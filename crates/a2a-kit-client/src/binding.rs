//! The clients of the bindings that are compiled in.

use std::sync::Arc;

use a2a_core::{Error, ProtocolVersion, Result};
use a2a_kit_http::client::HttpClient;
use a2a_kit_operations::Agent;

use crate::{SelectedInterface, Transport};

impl Transport {
    /// Returns whether the features of this crate include the binding in a protocol version.
    pub(crate) const fn is_compiled(self, version: ProtocolVersion) -> bool {
        let has_binding = match self {
            Self::JsonRpc => cfg!(feature = "jsonrpc"),
            Self::Rest => cfg!(feature = "rest"),
            Self::Grpc => cfg!(feature = "grpc"),
        };
        has_binding && (cfg!(feature = "compat") || matches!(version, ProtocolVersion::LATEST))
    }
}

/// Returns the remote agent behind an interface.
pub(crate) fn connect(selected: &SelectedInterface, http: &HttpClient) -> Result<Arc<dyn Agent>> {
    let url = selected.interface.url.as_str();
    if selected.version < ProtocolVersion::LATEST {
        return older(selected, url, http);
    }
    match selected.transport {
        #[cfg(feature = "jsonrpc")]
        Transport::JsonRpc => Ok(Arc::new(a2a_kit_jsonrpc::Client::with_http(url, http.clone())?)),
        #[cfg(feature = "rest")]
        Transport::Rest => Ok(Arc::new(a2a_kit_rest::Client::with_http(url, http.clone())?)),
        #[cfg(feature = "grpc")]
        Transport::Grpc => {
            let client = a2a_kit_grpc::Client::connect_with(url, http.settings().clone());
            Ok(Arc::new(client.map_err(Error::internal)?))
        }
        #[cfg(not(all(feature = "grpc", feature = "jsonrpc", feature = "rest")))]
        _ => Err(missing(selected)),
    }
}

#[cfg(feature = "compat")]
fn older(selected: &SelectedInterface, url: &str, http: &HttpClient) -> Result<Arc<dyn Agent>> {
    use a2a_kit_compat::client::{JsonRpcClient, RestClient};
    let revision = selected.version;
    match selected.transport {
        Transport::JsonRpc => Ok(Arc::new(JsonRpcClient::new(url, revision, http.clone())?)),
        Transport::Rest => Ok(Arc::new(RestClient::new(url, revision, http.clone())?)),
        #[cfg(feature = "grpc")]
        Transport::Grpc => {
            let settings = http.settings().clone();
            let client = a2a_kit_compat::grpc::GrpcClient::connect(url, revision, settings);
            Ok(Arc::new(client.map_err(Error::internal)?))
        }
        #[cfg(not(feature = "grpc"))]
        Transport::Grpc => Err(missing(selected)),
    }
}

#[cfg(not(feature = "compat"))]
fn older(selected: &SelectedInterface, _: &str, _: &HttpClient) -> Result<Arc<dyn Agent>> {
    Err(missing(selected))
}

/// The error of an interface that was selected although its binding is not compiled in.
#[cfg(not(all(feature = "compat", feature = "grpc", feature = "jsonrpc", feature = "rest")))]
fn missing(selected: &SelectedInterface) -> Error {
    let SelectedInterface { transport, version, .. } = selected;
    Error::internal(format!("{transport} in version {version} is not among the enabled features"))
}
