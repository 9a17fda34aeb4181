//! Parts.

use a2a_core::{
    ErrorKind, Message, Part,
    v1::{StreamResponse, stream_response::Payload},
    well_known::Struct,
};
use serde_json::{Value, json};

use super::{V0_3, rejection, sent};
use crate::Dialect;

fn part(part: Value) -> Part {
    let params = json!({"message": {"messageId": "m", "role": "user", "parts": [part]}});
    sent(params).message.unwrap().parts.remove(0)
}

fn written(part: Part) -> Value {
    let message = Message { message_id: "m".into(), ..Message::agent(part) };
    let event = StreamResponse { payload: Some(Payload::Message(message)) };
    V0_3.write_event(&event, false)["parts"][0].take()
}

//
#[test]
fn parts_round_trip_with_kind() {
    for (v1, v0_3) in [
        (Part::text("hi"), json!({"kind": "text", "text": "hi"})),
        (
            Part::raw(vec![0xff, 0xfe]).with_filename("x.png").with_media_type("image/png"),
            json!({"kind": "file",
                "file": {"name": "x.png", "mimeType": "image/png", "bytes": "//4="}}),
        ),
        (Part::url("https://a"), json!({"kind": "file", "file": {"uri": "https://a"}})),
        (Part::data(json!({"a": 1})), json!({"kind": "data", "data": {"a": 1}})),
        (
            Part::data(json!([1])),
            json!({"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": true}}),
        ),
        (
            Part::text("x").with_metadata(Struct::from([("k", 1)])),
            json!({"kind": "text", "text": "x", "metadata": {"k": 1}}),
        ),
    ] {
        assert_eq!(written(v1.clone()), v0_3);
        assert_eq!(part(v0_3), v1);
    }
}

#[test]
fn media_type_of_text_is_stored_in_metadata() {
    let v1 = Part::text("x").with_media_type("text/markdown").with_filename("x.md");
    assert_eq!(
        written(v1),
        json!({"kind": "text", "text": "x",
            "metadata": {"mediaType": "text/markdown", "filename": "x.md",
                "part_members_compat": ["mediaType", "filename"]}})
    );
}

//
#[test]
fn parts_are_read_in_all_known_formats() {
    let bytes = Part::raw(vec![0xff, 0xfe]);
    for (form, expected) in [
        (json!({"type": "text", "text": "hi"}), Part::text("hi")),
        (json!({"kind": "TextPart", "text": "hi"}), Part::text("hi")),
        (json!({"text": "hi", "metadata": null}), Part::text("hi")),
        (json!({"kind": null, "data": {"a": 1}}), Part::data(json!({"a": 1}))),
        (json!({"kind": "data", "data": [1, 2]}), Part::data(json!([1, 2]))),
        (json!({"kind": "file", "file": {"data": "//4="}}), bytes.clone()),
        (json!({"kind": "file", "file": {"bytes": "__4", "uri": null}}), bytes.clone()),
        (json!({"file": {"fileWithBytes": "//4="}}), bytes.clone()),
        (
            json!({"kind": "FilePart", "mimeType": "image/png", "fileWithBytes": "//4="}),
            bytes.with_media_type("image/png"),
        ),
        (
            json!({"kind": "FilePart", "name": "x", "fileWithUri": "https://a"}),
            Part::url("https://a").with_filename("x"),
        ),
    ] {
        assert_eq!(part(form.clone()), expected, "{form}");
    }
}

//
#[test]
fn part_without_content_is_rejected_with_its_path() {
    for form in [
        json!({"kind": "text"}),
        json!({"kind": "data", "data": null}),
        json!({"kind": "file"}),
        json!({"kind": "file", "file": {"name": "x"}}),
        json!({"kind": "file", "file": {"bytes": "AA==", "uri": "https://a"}}),
        json!({"kind": "file", "file": {"bytes": "no base64!"}}),
        json!({"kind": "video", "text": "x"}),
        json!({}),
        json!("text"),
    ] {
        let params = json!({"message": {"messageId": "m", "role": "user",
            "parts": [{"kind": "text", "text": "x"}, form]}});
        let error = rejection("message/send", params);
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{form}");
        let field = &error.violations()[0].field;
        assert!(field.starts_with("message.parts[1]"), "{form}: {field}");
    }
}
