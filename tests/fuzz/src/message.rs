//! The messages of 1.0, from JSON and from protobuf, and the rules of the proto.

use std::fmt::Debug;

use a2a_core::{Validate, json, v1};
use prost::Message;
use serde_json::Value;

/// The first byte selects the message, and whether JSON or protobuf follows.
pub(crate) fn round_trip(input: &[u8]) {
    let [kind, document @ ..] = input else { return };
    let is_json = kind & 1 == 0;
    match (kind >> 1) % 5 {
        0 => of::<v1::SendMessageRequest>(is_json, document),
        1 => of::<v1::Task>(is_json, document),
        2 => of::<v1::StreamResponse>(is_json, document),
        3 => of::<v1::AgentCard>(is_json, document),
        _ => of::<v1::TaskPushNotificationConfig>(is_json, document),
    }
}

fn of<T>(is_json: bool, document: &[u8])
where
    T: Message + Default + PartialEq + Debug + Validate,
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    let read =
        if is_json { json::from_slice::<T>(document).ok() } else { T::decode(document).ok() };
    let Some(message) = read else { return };
    let _violations = message.validate();
    let bytes = message.encode_to_vec();
    let again = T::decode(&*bytes).expect("what was written is read");
    assert_eq!(again.encode_to_vec(), bytes, "protobuf is written one way");
    let written = serde_json::to_vec(&message);
    // Values without a JSON form, such as NaN, are errors.
    let Ok(written) = written else { return };
    let text: Value = serde_json::from_slice(&written).expect("what was written is JSON");
    let again = match json::from_slice::<T>(&written) {
        Ok(again) => again,
        // The depth limit of JSON is lower than that of protobuf.
        Err(_) if !is_json => return,
        Err(error) => panic!("{error} of what was written: {text}"),
    };
    let written = serde_json::to_value(&again).expect("it was written before");
    assert_eq!(written, text, "{message:?}");
}
