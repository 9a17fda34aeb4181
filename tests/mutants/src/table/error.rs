//! Faults of errors.

use http::{HeaderMap, HeaderValue, StatusCode, response};
use serde_json::Value;

use crate::{Exchange, Fault, Interface, Mutant};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "jsonrpc-wrong-code",
        requirement: "R-172",
        also: &[],
        fault: Fault::Json(&[Interface::JSONRPC], wrong_code),
    },
    Mutant {
        name: "rest-errors-with-status-200",
        requirement: "R-172",
        also: &["R-293"],
        fault: Fault::Head(&[Interface::REST], status_200),
    },
    Mutant {
        name: "grpc-wrong-status",
        requirement: "R-172",
        also: &[],
        fault: Fault::Trailers(&[Interface::GRPC], unknown_instead_of_not_found),
    },
    Mutant {
        name: "grpc-errors-without-details",
        requirement: "R-288",
        also: &["R-163", "R-173"],
        fault: Fault::Trailers(&[Interface::GRPC], without_details),
    },
];

/// `TaskNotCancelableError` has a code that servers define.
fn wrong_code(_exchange: &Exchange, document: &mut Value) {
    if document["error"]["code"] == -32002 {
        document["error"]["code"] = (-32000).into();
    }
}

/// Every rejected request has status 200.
pub(super) fn status_200(_exchange: &Exchange, head: &mut response::Parts) {
    if head.status.is_client_error() {
        head.status = StatusCode::OK;
    }
}

const GRPC_STATUS: &str = "grpc-status";
const GRPC_DETAILS: &str = "grpc-status-details-bin";

/// NOT_FOUND (5) is UNKNOWN (2).
fn unknown_instead_of_not_found(trailers: &mut HeaderMap) {
    if trailers.get(GRPC_STATUS).is_some_and(|status| status == "5") {
        trailers.insert(GRPC_STATUS, HeaderValue::from_static("2"));
    }
}

fn without_details(trailers: &mut HeaderMap) {
    trailers.remove(GRPC_DETAILS);
}
