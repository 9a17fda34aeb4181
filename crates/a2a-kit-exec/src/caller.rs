//! What a command learns about its task and its caller: never a credential.

use std::{ffi::OsString, io};

use a2a_kit_operations::{RequestContext, trace};
use serde_json::json;

use crate::run_directory::{CommandDirectory, write_private};

/// Maximum bytes of `A2A_SCOPES`; further scopes are left out.
const MAX_SCOPES: usize = 8 << 10;

/// Writes the metadata of the message and its request to a file, and returns the variables that
/// describe the task and its caller. Ids, subjects and tenants are at most 1 KiB, without NUL: the
/// engine rejects others. All variables are set, if only empty, so that none is inherited.
pub(crate) fn describe(
    context: &RequestContext,
    directory: &CommandDirectory,
) -> io::Result<Vec<(&'static str, OsString)>> {
    let metadata = directory.file("metadata.json");
    let message = context.message();
    let none = Default::default();
    let json = json!({
        "message": message.metadata.as_ref().unwrap_or(&none),
        "request": context.metadata().unwrap_or(&none),
    });
    write_private(&metadata, json.to_string().as_bytes())?;
    let caller = &context.call().caller;
    let mut variables = vec![
        ("A2A_TASK_ID", context.task_id().into()),
        ("A2A_CONTEXT_ID", context.context_id().into()),
        ("A2A_MESSAGE_ID", OsString::from(&message.message_id)),
        ("A2A_TENANT", context.tenant().into()),
        ("A2A_CALLER", caller.subject().unwrap_or_default().into()),
        ("A2A_SCOPES", scopes(caller.scopes()).into()),
        ("A2A_REPLAYED_ANSWERS", context.recorded_answers().to_string().into()),
        ("A2A_METADATA_FILE", metadata.into()),
        ("A2A_INPUT_DIR", directory.input().into()),
        ("A2A_OUTPUT_DIR", directory.output().into()),
    ];
    // The command continues the trace of the caller.
    let trace = trace::current().map(|context| ("TRACEPARENT", context.to_string().into()));
    variables.extend(trace);
    Ok(variables)
}

/// The scopes, separated by spaces. One that is not a scope of RFC 6749, section 3.3, would read as
/// several, and is left out.
fn scopes<'a>(scopes: impl IntoIterator<Item = &'a String>) -> String {
    let mut text = String::new();
    for scope in scopes {
        let is_scope = !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic());
        if is_scope && text.len() + scope.len() < MAX_SCOPES {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(scope);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_bounded_and_none_reads_as_several() {
        let of =
            |texts: &[&str]| scopes(&texts.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(of(&["read", "admin root", "a\0b", "line\nbreak", "", "write"]), "read write");
        let long = "x".repeat(MAX_SCOPES);
        assert_eq!(of(&["read", &long, "write"]), "read write");
    }
}
