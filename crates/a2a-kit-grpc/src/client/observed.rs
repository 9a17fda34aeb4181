//! Reports requests and responses to an observer, with messages as JSON.

use a2a_core::{Operation, SERVICE};
use a2a_kit_http::client::{ClientSettings, HttpExchange, WirePart};
use http::StatusCode;
use serde::Serialize;
use tonic::{Request, Status, metadata::MetadataMap};

/// A call with an optional observer.
pub(super) struct Observed(Option<HttpExchange>);

impl Observed {
    /// Reports the request of a call.
    pub(super) fn begin<Q: Serialize>(
        settings: &ClientSettings,
        target: &str,
        operation: Operation,
        request: &Request<Q>,
    ) -> Self {
        let Some(observer) = &settings.observer else { return Self(None) };
        let exchange = HttpExchange::begin(observer);
        let url = format!("grpc://{target}/{SERVICE}/{}", operation.name());
        // Metadata of the call precedes that of every call.
        let mut headers = settings.headers.clone();
        headers.extend(request.metadata().clone().into_headers());
        exchange.show(WirePart::Request { method: "POST", url: &url, headers: &headers });
        exchange.show(WirePart::RequestBody(&json(request.get_ref())));
        Self(Some(exchange))
    }

    /// Reports the metadata of a response.
    pub(super) fn head(&self, metadata: &MetadataMap) {
        self.show(WirePart::Response { status: StatusCode::OK, headers: metadata.as_ref() });
    }

    /// Reports a message of a response.
    pub(super) fn message(&self, message: &impl Serialize) {
        if self.0.is_some() {
            self.show(WirePart::ResponseBody(&json(message)));
        }
    }

    /// Reports a failed call.
    pub(super) fn status(&self, status: &Status) {
        if self.0.is_some() {
            self.head(status.metadata());
            self.show(WirePart::Failed(&format!("{:?}: {}", status.code(), status.message())));
        }
    }

    /// Reports the end of a response.
    pub(super) fn end(&self) {
        self.show(WirePart::End);
    }

    fn show(&self, part: WirePart<'_>) {
        if let Some(exchange) = &self.0 {
            exchange.show(part);
        }
    }
}

/// A message as a line of JSON, or why it has no JSON form.
fn json(message: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(message);
    let mut line = json.unwrap_or_else(|error| error.to_string().into_bytes());
    line.push(b'\n');
    line
}
