//! Encodes properties of parts that older revisions don't support in metadata.

use a2a_core::{
    v1::{self, part::Content},
    well_known::{Struct, Value},
};

/// The metadata key that marks wrapped data which is not an object, a convention of the official
/// SDKs.
const WRAPPED: &str = "data_part_compat";

/// The data and metadata of a data part. Data is always an object in older revisions.
pub(crate) fn wrap_data(data: &Value, metadata: Option<Struct>) -> (Struct, Option<Struct>) {
    match data {
        Value::Object(object) => (object.clone(), metadata),
        other => {
            let mut metadata = metadata.unwrap_or_default();
            metadata.insert(WRAPPED, true);
            (Struct::from([("value", other.clone())]), Some(metadata))
        }
    }
}

/// The reverse of [`wrap_data`]. Leaves data that is not wrapped unchanged.
pub(crate) fn unwrap_data(data: Value, metadata: Option<Struct>) -> (Value, Option<Struct>) {
    let marked = |metadata: &Struct| metadata.get(WRAPPED) == Some(&Value::Bool(true));
    match (data, metadata) {
        (Value::Object(mut object), Some(mut metadata))
            if object.len() == 1 && object.contains_key("value") && marked(&metadata) =>
        {
            metadata.fields.remove(WRAPPED);
            let value = object.fields.remove("value").unwrap_or_default();
            (value, (!metadata.is_empty()).then_some(metadata))
        }
        (data, metadata) => (data, metadata),
    }
}

/// The metadata of a part without members for media type and file name: both are stored in the
/// metadata, unless the keys are in use.
pub(crate) fn with_lost_members(part: &v1::Part) -> Option<Struct> {
    let mut metadata = part.metadata.clone();
    for (name, text) in [("mediaType", &part.media_type), ("filename", &part.filename)] {
        if !text.is_empty() {
            let fields = &mut metadata.get_or_insert_default().fields;
            fields.entry(name.to_owned()).or_insert_with(|| text.as_str().into());
        }
    }
    metadata
}

/// The reverse of [`with_lost_members`]: restores media type and file name of text and data parts.
pub(crate) fn with_found_members(mut part: v1::Part) -> v1::Part {
    let has_no_place = matches!(part.content, Some(Content::Text(_) | Content::Data(_)));
    let Some(metadata) = part.metadata.as_mut().filter(|_| has_no_place) else { return part };
    let mut take = |name: &str, fits: fn(&str) -> bool| match metadata.fields.get(name) {
        Some(Value::String(text)) if fits(text) => {
            let text = text.clone();
            metadata.fields.remove(name);
            text
        }
        _ => String::new(),
    };
    // Other values of these keys are left in the metadata.
    part.media_type = take("mediaType", |text| text.contains('/'));
    part.filename = take("filename", |text| !text.is_empty());
    let has_found = !part.media_type.is_empty() || !part.filename.is_empty();
    if has_found && part.metadata.as_ref().is_some_and(|metadata| metadata.fields.is_empty()) {
        part.metadata = None;
    }
    part
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrapped_data_round_trips() {
        for data in [json!(null), json!(1), json!("x"), json!([1, {"a": 2}]), json!({"a": 1})] {
            for metadata in [None, Some(Struct::from([("k", 1)]))] {
                let data = Value::from(data.clone());
                let (object, marked) = wrap_data(&data, metadata.clone());
                let back = unwrap_data(Value::Object(object), marked);
                assert_eq!(back, (data, metadata));
            }
        }
    }

    #[test]
    fn unmarked_data_is_unchanged() {
        let data = Value::from(json!({"value": 1}));
        for metadata in [None, Some(Struct::from([(WRAPPED, false)]))] {
            assert_eq!(unwrap_data(data.clone(), metadata.clone()), (data.clone(), metadata));
        }
    }

    #[test]
    fn media_type_is_stored_in_metadata_unless_the_key_is_in_use() {
        let part = v1::Part::text("x").with_media_type("text/x").with_filename("x.txt");
        let kept = with_lost_members(&part).unwrap();
        assert_eq!(kept, Struct::from([("mediaType", "text/x"), ("filename", "x.txt")]));
        let taken = part.with_metadata(Struct::from([("mediaType", "mine")]));
        let kept = with_lost_members(&taken).unwrap();
        assert_eq!(kept, Struct::from([("mediaType", "mine"), ("filename", "x.txt")]));
    }

    #[test]
    fn media_type_is_restored_from_metadata() {
        let part = v1::Part::text("x").with_media_type("text/x").with_filename("x.txt");
        for metadata in [None, Some(Struct::from([("k", 1)]))] {
            let part = v1::Part { metadata, ..part.clone() };
            let written = v1::Part { metadata: with_lost_members(&part), ..v1::Part::text("x") };
            assert_eq!(with_found_members(written), part);
        }
        // Not a media type, not a string, or a part that has its own member.
        let mine = v1::Part::text("x").with_metadata(Struct::from([("mediaType", "mine")]));
        let number = v1::Part::text("x").with_metadata(Struct::from([("filename", 1)]));
        let file = v1::Part::url("https://a").with_metadata(Struct::from([("mediaType", "a/b")]));
        for part in [mine, number, file] {
            assert_eq!(with_found_members(part.clone()), part);
        }
    }
}
