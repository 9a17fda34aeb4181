//! JSON objects, and conversions between JSON values and typed values.

use a2a_core::{
    Error, Result, Violation,
    json::{from_value, response_from_value},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// The members of a JSON object.
pub(crate) type Object = Map<String, Value>;

/// Returns whether an object has a member that is not null.
pub(crate) fn has(object: &Object, name: &str) -> bool {
    object.get(name).is_some_and(|member| !member.is_null())
}

/// Removes the first of several members that is present and not null.
pub(crate) fn take(object: &mut Object, names: &[&str]) -> Option<Value> {
    names.iter().find_map(|name| object.remove(*name).filter(|member| !member.is_null()))
}

/// Renames a member. Replaces the member of the new name, also if the old one is missing or null.
pub(crate) fn rename(object: &mut Object, from: &str, to: &str) {
    object.remove(to);
    if let Some(member) = take(object, &[from]) {
        object.insert(to.to_owned(), member);
    }
}

/// Removes members in `snake_case`, which only 1.0 accepts: it rejects members in both spellings.
pub(crate) fn retain_camel_case(object: &mut Object) {
    object.retain(|name, _| !name.contains('_'));
}

/// Removes a required member that is an object.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with its name.
pub(crate) fn take_object(object: &mut Object, name: &str) -> Result<Object> {
    match take(object, &[name]) {
        Some(Value::Object(members)) => Ok(members),
        Some(_) => Err(Error::invalid_params(name, "must be an object")),
        None => Err(Error::invalid_params(name, "is required")),
    }
}

/// A member that is an object.
pub(crate) fn object_in<'a>(object: &'a mut Object, name: &str) -> Option<&'a mut Object> {
    object.get_mut(name)?.as_object_mut()
}

/// The objects in a member that is a list.
pub(crate) fn objects_in<'a>(
    object: &'a mut Object,
    name: &str,
) -> impl Iterator<Item = &'a mut Object> {
    let list = object.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Rejects an object without one of the members. `path` is the path of the object, with a dot.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the path of the missing member.
pub(crate) fn require(object: &Object, path: &str, names: &[&str]) -> Result<()> {
    match names.iter().find(|name| !has(object, name)) {
        Some(name) => Err(Error::invalid_params(format!("{path}{name}"), "is required")),
        None => Ok(()),
    }
}

/// Reads the parameters of a request as an object.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) for another value.
pub(crate) fn params_object(params: Value) -> Result<Object> {
    match params {
        Value::Object(members) => Ok(members),
        _ => Err(Error::invalid_params("", "must be an object")),
    }
}

/// Reads the parameters of a request.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the path of the invalid member.
pub(crate) fn read_params<T: DeserializeOwned>(params: &Value) -> Result<T> {
    if !params.is_object() {
        return Err(Error::invalid_params("", "must be an object"));
    }
    from_value(params)
}

/// Reads a part of the parameters. `path` is its path, with a dot if it is an object.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the path of the invalid member.
pub(crate) fn read_at<T: DeserializeOwned>(value: &Value, path: &str) -> Result<T> {
    from_value(value).map_err(|error| {
        let violations = error.violations().iter().map(|violation| {
            let field = format!("{path}{}", violation.field);
            Violation::new(field.trim_end_matches('.'), violation.description.clone())
        });
        Error::from_violations(violations.collect()).with_source(error)
    })
}

/// Reads a response.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub(crate) fn read_result<T: DeserializeOwned>(response: &Value) -> Result<T> {
    read_response(response).map_err(unreadable)
}

/// Reads a response that has been rewritten as one of 1.0.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the path of the invalid member.
pub(crate) fn read_response<T: DeserializeOwned>(response: &Value) -> Result<T> {
    if !response.is_object() {
        return Err(Error::invalid_params("", "must be an object"));
    }
    response_from_value(response)
}

/// Converts an error of reading to one about a response.
pub(crate) fn unreadable(error: Error) -> Error {
    let message = format!("failed to read the response: {}", error.message());
    Error::invalid_response(message).with_source(error)
}

/// Writes a value. Infallible: the types of all revisions have string keys and finite numbers.
pub(crate) fn write<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Writes a message of 1.0 as an object.
pub(crate) fn write_object<T: Serialize>(message: &T) -> Object {
    match write(message) {
        Value::Object(members) => members,
        _ => Object::new(),
    }
}

/// Creates an object of the members that are not null.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let set = members.into_iter().filter(|(_, member)| !member.is_null());
    set.map(|(name, member)| (name.to_owned(), member)).collect()
}

/// Returns `None` for the empty string, which means unset in 1.0.
pub(crate) fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
