//! Faults of revision 0.3.

use serde_json::Value;

use super::{
    error::status_200,
    json::{each_object, remove_beside},
};
use crate::{Exchange, Fault, Interface, Mutant};

const JSONRPC: &[Interface] = &[Interface::JSONRPC_0_3];

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "0.3-stream-without-final",
        requirement: "R-039",
        also: &[],
        fault: Fault::Json(JSONRPC, |_, document| remove_beside(document, "final", "final")),
    },
    Mutant {
        name: "0.3-parts-without-kind",
        requirement: "R-244",
        also: &[],
        fault: Fault::Json(JSONRPC, parts_without_kind),
    },
    Mutant {
        name: "0.3-wrong-code",
        requirement: "R-172",
        also: &["R-046", "R-060"],
        fault: Fault::Json(JSONRPC, not_found_is_internal),
    },
    Mutant {
        name: "0.3-rest-errors-with-status-200",
        requirement: "R-302",
        also: &["R-046", "R-059", "R-060"],
        fault: Fault::Head(&[Interface::REST_0_3], status_200),
    },
];

fn parts_without_kind(_exchange: &Exchange, document: &mut Value) {
    each_object(document, &mut |object| {
        let parts = object.get_mut("parts").and_then(Value::as_array_mut);
        for part in parts.into_iter().flatten().filter_map(Value::as_object_mut) {
            part.remove("kind");
        }
    });
}

/// `TaskNotFoundError` is an internal error.
fn not_found_is_internal(_exchange: &Exchange, document: &mut Value) {
    if document["error"]["code"] == -32001 {
        document["error"]["code"] = (-32603).into();
    }
}
