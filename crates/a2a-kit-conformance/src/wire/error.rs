//! Reading of error objects.

use serde_json::Value;

use crate::exchange::ErrorAnswer;

/// Reads the error object of JSON-RPC or HTTP+JSON.
pub(super) fn read(object: &Value) -> ErrorAnswer {
    let details = ["data", "details"].into_iter().find_map(|member| object.get(member));
    let details = match details {
        Some(Value::Array(details)) => details.clone(),
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![other.clone()],
    };
    let info = details.iter().find(|detail| {
        let kind = detail.get("@type").and_then(Value::as_str).unwrap_or_default();
        kind.ends_with("google.rpc.ErrorInfo")
    });
    // The draft has a plain object with the reason.
    let info = info.or_else(|| details.iter().find(|detail| detail.get("reason").is_some()));
    let member = |name: &str| Some(info?.get(name)?.as_str()?.to_owned());
    let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
    ErrorAnswer {
        code: object.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: text("message").or_else(|| text("detail")).or_else(|| text("title")),
        reason: member("reason"),
        domain: member("domain"),
        details,
        object: object.clone(),
    }
}
