//! Requests, responses and events of older revisions: parsed messages can be written and parsed
//! again.

use std::fmt::Debug;

use a2a_core::{Operation, Result};
use a2a_kit_compat::{Dialect, v0_1::V0_1, v0_3::V0_3, v1_draft::V1Draft};
use serde_json::Value;

const METHODS: [&str; 24] = [
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/send",
    "tasks/sendSubscribe",
    "tasks/pushNotification/set",
    "tasks/pushNotification/get",
    "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/get",
    "tasks/pushNotificationConfig/list",
    "tasks/pushNotificationConfig/delete",
    "agent/getAuthenticatedExtendedCard",
    "agent/authenticatedExtendedCard",
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "SetTaskPushNotificationConfig",
    "GetExtendedAgentCard",
];

/// The first byte selects the revision and the kind of the rest, the second the method.
pub(crate) fn round_trip(input: &[u8]) {
    let [kind, method, document @ ..] = input else { return };
    let Ok(document) = serde_json::from_slice::<Value>(document) else { return };
    match kind % 3 {
        0 => of(&V0_1, kind / 3, *method, document),
        1 => of(&V0_3, kind / 3, *method, document),
        _ => of(&V1Draft, kind / 3, *method, document),
    }
}

fn of(dialect: &dyn Dialect, kind: u8, method: u8, document: Value) {
    let operation = Operation::ALL[usize::from(method) % Operation::ALL.len()];
    match kind % 3 {
        0 => request(dialect, METHODS[usize::from(method) % METHODS.len()], document),
        1 => response(dialect, operation, document),
        _ => event(dialect, document),
    }
}

fn request(dialect: &dyn Dialect, method: &str, document: Value) {
    let Ok(read) = dialect.read_request(method, document) else { return };
    settles(read, |read| {
        let (method, written) = dialect.write_request(read.clone()).ok()?;
        Some((dialect.read_request(method, written.clone()), written))
    });
}

fn response(dialect: &dyn Dialect, operation: Operation, document: Value) {
    let Ok(read) = dialect.read_response(operation, document) else { return };
    settles(read, |read| {
        let written = dialect.write_response(operation, read.clone());
        Some((dialect.read_response(operation, written.clone()), written))
    });
}

fn event(dialect: &dyn Dialect, document: Value) {
    let Ok(read) = dialect.read_event(document) else { return };
    for is_last in [false, true] {
        settles(read.clone(), |read| {
            let written = dialect.write_event(read, is_last);
            Some((dialect.read_event(written.clone()), written))
        });
    }
}

/// Writes and parses a message twice. The first round trip may be lossy and fill in defaults; the
/// second changes nothing.
fn settles<T: Debug>(first: T, round: impl Fn(&T) -> Option<(Result<T>, Value)>) {
    let Some((second, written)) = round(&first) else { return };
    let Ok(second) = second else { panic!("{second:?} of what was written: {written}") };
    let (third, settled) = round(&second).expect("it was written before");
    let Ok(third) = third else { panic!("{third:?} of what was written: {settled}") };
    let (_, settled_again) = round(&third).expect("it was written before");
    assert_eq!(settled_again, settled, "{first:?}");
}
