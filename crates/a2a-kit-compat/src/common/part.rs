//! Parts: nested files and data instead of flat ones. Properties that older revisions do not have
//! are encoded in the metadata.

use a2a_core::{
    v1::{self, part::Content},
    well_known::{Struct, Value},
};
use serde_json::Value as Json;

use super::{
    Format,
    json::{Object, has, object, take},
};
/// The metadata key that marks wrapped data which is not an object, a convention of the official
/// SDKs.
const WRAPPED: &str = "data_part_compat";

/// Encodes the properties of a part that older revisions do not have in its metadata.
pub(crate) fn encode(part: &mut v1::Part) {
    let is_file = matches!(part.content, Some(Content::Raw(_) | Content::Url(_)));
    if is_file {
        return;
    }
    part.metadata = with_lost_members(part);
    part.media_type.clear();
    part.filename.clear();
    if let Some(Content::Data(data)) = &mut part.content {
        let (object, metadata) = wrap_data(std::mem::take(data), part.metadata.take());
        *data = Value::Object(object);
        part.metadata = metadata;
    }
}

/// The reverse of [`encode`].
pub(crate) fn decode(part: &mut v1::Part) {
    if let Some(Content::Data(data)) = &mut part.content {
        let (unwrapped, metadata) = unwrap_data(std::mem::take(data), part.metadata.take());
        *data = unwrapped;
        part.metadata = metadata;
    }
    *part = with_found_members(std::mem::take(part));
}

/// The data and metadata of a data part. Data is always an object in older revisions.
fn wrap_data(data: Value, metadata: Option<Struct>) -> (Struct, Option<Struct>) {
    match data {
        Value::Object(object) => (object, metadata),
        other => {
            let mut metadata = metadata.unwrap_or_default();
            metadata.insert(WRAPPED, true);
            (Struct::from([("value", other)]), Some(metadata))
        }
    }
}

/// The reverse of [`wrap_data`]. Leaves data that is not wrapped unchanged.
fn unwrap_data(data: Value, metadata: Option<Struct>) -> (Value, Option<Struct>) {
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

/// The metadata key that lists the members which this project stored in the metadata. Others of
/// these names are metadata of the client, and are left alone.
const STORED: &str = "part_members_compat";

/// The metadata of a part without members for media type and file name: both are stored in the
/// metadata and listed there, unless the keys are in use.
pub(crate) fn with_lost_members(part: &v1::Part) -> Option<Struct> {
    let mut metadata = part.metadata.clone();
    let is_free = |name: &str| metadata.as_ref().is_none_or(|known| !known.contains_key(name));
    let mut lost = vec![("mediaType", &part.media_type), ("filename", &part.filename)];
    lost.retain(|(name, text)| !text.is_empty() && is_free(name) && is_free(STORED));
    if lost.is_empty() {
        return metadata;
    }
    let names: Vec<Value> = lost.iter().map(|(name, _)| Value::from(*name)).collect();
    let fields = &mut metadata.get_or_insert_default().fields;
    fields.insert(STORED.to_owned(), names.into());
    fields.extend(lost.into_iter().map(|(name, text)| (name.to_owned(), text.as_str().into())));
    metadata
}

/// The reverse of [`with_lost_members`]: restores media type and file name of text and data parts.
pub(crate) fn with_found_members(mut part: v1::Part) -> v1::Part {
    let has_no_place = matches!(part.content, Some(Content::Text(_) | Content::Data(_)));
    let Some(metadata) = part.metadata.as_mut().filter(|_| has_no_place) else { return part };
    let Some(Value::Array(stored)) = metadata.fields.get(STORED).cloned() else { return part };
    metadata.fields.remove(STORED);
    let mut take = |name: &str| match metadata.fields.get(name) {
        Some(Value::String(text)) if stored.contains(&Value::from(name)) => {
            let text = text.clone();
            metadata.fields.remove(name);
            text
        }
        _ => String::new(),
    };
    part.media_type = take("mediaType");
    part.filename = take("filename");
    if part.metadata.as_ref().is_some_and(|metadata| metadata.fields.is_empty()) {
        part.metadata = None;
    }
    part
}

impl Format {
    /// Rewrites a part as one of 1.0. Names of all revisions and of the examples are accepted.
    ///
    /// # Errors
    ///
    /// A description, if the part is invalid.
    pub(super) fn read_part(self, part: &mut Json) -> Result<(), String> {
        let Some(older) = part.as_object_mut() else { return Err("must be an object".into()) };
        let kind = self.part_kind(older)?;
        let mut current = Object::new();
        match kind {
            "file" => read_file(older, &mut current)?,
            _ => {
                let mut content = older.remove(kind);
                if kind == "data" && self == Self::Draft {
                    content = content.and_then(|mut data| data.as_object_mut()?.remove("data"));
                }
                // In 0.1 and the draft, null is data.
                let is_set =
                    |content: &Json| !content.is_null() || (kind == "data" && self != Self::V0_3);
                let content = content.filter(is_set);
                let missing = || format!("{kind} is required in a {kind} part");
                current.insert(kind.into(), content.ok_or_else(missing)?);
            }
        }
        current.extend(take(older, &["metadata"]).map(|metadata| ("metadata".into(), metadata)));
        *part = current.into();
        Ok(())
    }

    /// The member with the content of a part: that of its discriminator, or else the only one.
    fn part_kind(self, part: &Object) -> Result<&'static str, String> {
        let is_set = |kind: &&Json| !kind.is_null() && **kind != "" && self != Self::Draft;
        let named = |name: &&str| part.get(*name).filter(is_set);
        let present = |name: &&&str| match **name {
            "data" if self == Self::V0_1 => part.contains_key("data"),
            name => has(part, name),
        };
        match ["kind", "type"].iter().find_map(named) {
            Some(kind) => match kind.as_str() {
                Some("text" | "TextPart") => Ok("text"),
                Some("file" | "FilePart") => Ok("file"),
                Some("data" | "DataPart") => Ok("data"),
                _ => Err(format!("unknown part kind {kind}: must be text, file or data")),
            },
            None => {
                let mut members = ["text", "data", "file"].iter().filter(present);
                match (self, members.next(), members.next()) {
                    (Self::Draft, Some(_), Some(_)) | (Self::Draft, None, _) => {
                        Err("must have exactly one of text, file and data".into())
                    }
                    (_, Some(member), _) => Ok(member),
                    (Self::V0_1, None, _) => Err("type is required: text, file or data".into()),
                    (_, None, _) => Err("kind is required: text, file or data".into()),
                }
            }
        }
    }

    /// Rewrites a part of 1.0, after [`encode`].
    pub(super) fn write_part(self, part: &mut Object) {
        let mut current = std::mem::take(part);
        let (kind, content) = match take(&mut current, &["text"]) {
            Some(text) => ("text", text),
            None => match current.remove("data") {
                Some(data) if self == Self::Draft => ("data", object([("data", data)])),
                Some(data) => ("data", data),
                None => match self.write_file(&mut current) {
                    Some(file) => ("file", file),
                    // 1.0 rejects parts without content, so only a non-compliant agent has one.
                    None => ("text", "".into()),
                },
            },
        };
        match self {
            Self::V0_1 => drop(part.insert("type".into(), kind.into())),
            Self::V0_3 => drop(part.insert("kind".into(), kind.into())),
            Self::Draft => {}
        }
        part.insert(kind.into(), content);
        part.extend(current.remove("metadata").map(|metadata| ("metadata".into(), metadata)));
    }

    fn write_file(self, part: &mut Object) -> Option<Json> {
        let names = match self {
            Self::V0_1 | Self::V0_3 => ["bytes", "uri", "mimeType"],
            Self::Draft => ["fileWithBytes", "fileWithUri", "mediaType"],
        };
        if !has(part, "raw") && !has(part, "url") {
            return None;
        }
        let members = ["raw", "url", "mediaType"].into_iter().zip(names);
        let members = members.chain([("filename", "name")]);
        let file = members.filter_map(|(current, older)| Some((older, part.remove(current)?)));
        Some(file.map(|(name, member)| (name.to_owned(), member)).collect())
    }
}

fn read_file(part: &mut Object, current: &mut Object) -> Result<(), String> {
    let mut file = match take(part, &["file"]) {
        Some(Json::Object(file)) => file,
        Some(_) => return Err("file must be an object".into()),
        // The draft's description of 0.3 has the members of the file in the part.
        None => part.clone(),
    };
    let bytes = take(&mut file, &["bytes", "data", "fileWithBytes"]);
    let uri = take(&mut file, &["uri", "fileWithUri"]);
    let content = match (bytes, uri) {
        (Some(bytes), None) => ("raw", bytes),
        (None, Some(uri)) => ("url", uri),
        _ => {
            return Err("file is required in a file part, with exactly one of bytes and uri".into());
        }
    };
    current.extend([(content.0.to_owned(), content.1)]);
    let name = take(&mut file, &["name"]);
    let media_type = take(&mut file, &["mimeType", "mediaType"]);
    current.extend(name.map(|name| ("filename".to_owned(), name)));
    current.extend(media_type.map(|media_type| ("mediaType".to_owned(), media_type)));
    Ok(())
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
                let (object, marked) = wrap_data(data.clone(), metadata.clone());
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
        let stored = json!({"mediaType": "text/x", "filename": "x.txt",
            STORED: ["mediaType", "filename"]});
        assert_eq!(Value::Object(kept), Value::from(stored));
        let taken = part.with_metadata(Struct::from([("mediaType", "mine")]));
        let kept = with_lost_members(&taken).unwrap();
        let stored = json!({"mediaType": "mine", "filename": "x.txt", STORED: ["filename"]});
        assert_eq!(Value::Object(kept), Value::from(stored));
    }

    #[test]
    fn media_type_is_restored_from_metadata() {
        let part = v1::Part::text("x").with_media_type("text/x").with_filename("x.txt");
        for metadata in [None, Some(Struct::from([("k", 1)]))] {
            let part = v1::Part { metadata, ..part.clone() };
            let written = v1::Part { metadata: with_lost_members(&part), ..v1::Part::text("x") };
            assert_eq!(with_found_members(written), part);
        }
        // Not stored by this project, not a string, or a part that has its own member.
        let mine = v1::Part::text("x").with_metadata(Struct::from([("mediaType", "text/x")]));
        let number = v1::Part::text("x").with_metadata(Struct::from([("filename", 1)]));
        let file = v1::Part::url("https://a").with_metadata(Struct::from([("mediaType", "a/b")]));
        for part in [mine, number, file] {
            assert_eq!(with_found_members(part.clone()), part);
        }
    }
}
