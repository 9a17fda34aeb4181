//! Parts: constructors, and their JSON form, a union with additional members.

use std::{borrow::Cow, fmt};

use bytes::Bytes;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned, MapAccess, Visitor},
    ser::SerializeMap as _,
};

use crate::{
    Error,
    json::{Base64, Borrowed, read_member},
    v1::{Part, part::Content},
    well_known::{Struct, Value},
};

impl Part {
    /// Creates a part of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Some(Content::Text(text.into())), ..Self::default() }
    }

    /// Creates a part of inline bytes.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self { content: Some(Content::Raw(bytes.into())), ..Self::default() }
    }

    /// Creates a part of inline bytes with a file name and a media type.
    ///
    /// ```
    /// use a2a_core::Part;
    ///
    /// let part = Part::file("plan.csv", "text/csv", "day,city\n1,Oslo\n");
    /// assert_eq!(part.as_raw().map(|bytes| bytes.len()), Some(16));
    /// ```
    pub fn file(
        filename: impl Into<String>,
        media_type: impl Into<String>,
        bytes: impl Into<Bytes>,
    ) -> Self {
        Self::raw(bytes).with_filename(filename).with_media_type(media_type)
    }

    /// Creates a part that refers to a URL.
    pub fn url(url: impl Into<String>) -> Self {
        Self { content: Some(Content::Url(url.into())), ..Self::default() }
    }

    /// Creates a part with structured data: any JSON value.
    pub fn data(data: impl Into<Value>) -> Self {
        Self { content: Some(Content::Data(data.into())), ..Self::default() }
    }

    /// Creates a part with structured data: a value of any serializable type. [`parse`](Self::parse)
    /// reads it.
    ///
    /// ```
    /// use a2a_core::Part;
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Forecast {
    ///     city: String,
    ///     degrees: i8,
    /// }
    ///
    /// let part = Part::json(&Forecast { city: "Oslo".into(), degrees: -3 })?;
    /// let forecast: Forecast = part.parse()?;
    /// assert_eq!(forecast.degrees, -3);
    /// # Ok::<(), a2a_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Internal`](crate::ErrorKind::Internal) if the value has no JSON form, such as a
    /// map whose keys are not strings.
    pub fn json(value: &(impl Serialize + ?Sized)) -> crate::Result<Self> {
        serde_json::to_value(value).map(Self::data).map_err(Error::internal)
    }

    /// Sets the media type, for example `image/png`.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = media_type.into();
        self
    }

    /// Sets the suggested file name.
    #[must_use]
    pub fn with_filename(mut self, filename: impl Into<String>) -> Self {
        self.filename = filename.into();
        self
    }

    /// Sets the metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Struct) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// The text, if this is a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Some(Content::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The data, if this is a data part.
    pub fn as_data(&self) -> Option<&Value> {
        match &self.content {
            Some(Content::Data(data)) => Some(data),
            _ => None,
        }
    }

    /// The bytes, if this is a part of inline bytes.
    pub fn as_raw(&self) -> Option<&Bytes> {
        match &self.content {
            Some(Content::Raw(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// The URL, if this is a part that refers to one.
    pub fn as_url(&self) -> Option<&str> {
        match &self.content {
            Some(Content::Url(url)) => Some(url),
            _ => None,
        }
    }

    /// Returns whether this is a file: inline bytes or a URL.
    pub fn is_file(&self) -> bool {
        matches!(&self.content, Some(Content::Raw(_) | Content::Url(_)))
    }

    /// Reads the data as a value of a type.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidParams`](crate::ErrorKind::InvalidParams) if this is not a data part, or
    /// with the path of the invalid member.
    pub fn parse<T: DeserializeOwned>(&self) -> crate::Result<T> {
        let data = self.as_data().ok_or_else(|| Error::invalid_params("data", "is required"))?;
        let json = serde_json::Value::from(data.clone());
        serde_path_to_error::deserialize(json).map_err(|error| {
            let field = match error.path().to_string() {
                root if root == "." => "data".to_owned(),
                index if index.starts_with('[') => format!("data{index}"),
                member => format!("data.{member}"),
            };
            Error::invalid_params(field, error.into_inner().to_string())
        })
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Value> for Part {
    fn from(data: Value) -> Self {
        Self::data(data)
    }
}

impl From<serde_json::Value> for Part {
    fn from(data: serde_json::Value) -> Self {
        Self::data(data)
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        match &self.content {
            Some(Content::Text(text)) => map.serialize_entry("text", text)?,
            Some(Content::Raw(bytes)) => {
                map.serialize_entry("raw", &Borrowed::<Base64<Bytes>>(bytes))?;
            }
            Some(Content::Url(url)) => map.serialize_entry("url", url)?,
            Some(Content::Data(data)) => map.serialize_entry("data", data)?,
            None => {}
        }
        if let Some(metadata) = &self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        if !self.filename.is_empty() {
            map.serialize_entry("filename", &self.filename)?;
        }
        if !self.media_type.is_empty() {
            map.serialize_entry("mediaType", &self.media_type)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part: an object with one of text, raw, url, data")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
        let mut part = Part::default();
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            let content = match &*key {
                "text" => map.next_value::<Option<String>>()?.map(Content::Text),
                "raw" => read_member::<Base64<Bytes>, A>(&mut map)?.map(Content::Raw),
                "url" => map.next_value::<Option<String>>()?.map(Content::Url),
                // `null` is content here, not an unset member (spec §4.1.6).
                "data" => Some(Content::Data(map.next_value()?)),
                other => {
                    match other {
                        "metadata" => part.metadata = map.next_value()?,
                        "filename" => part.filename = or_empty(&mut map)?,
                        "mediaType" | "media_type" => part.media_type = or_empty(&mut map)?,
                        _ => drop(map.next_value::<de::IgnoredAny>()?),
                    }
                    None
                }
            };
            if let Some(content) = content
                && part.content.replace(content).is_some()
            {
                return Err(de::Error::custom(
                    "a part must have exactly one of text, raw, url, data",
                ));
            }
        }
        Ok(part)
    }
}

fn or_empty<'de, A: MapAccess<'de>>(map: &mut A) -> Result<String, A::Error> {
    map.next_value::<Option<String>>().map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn parts_round_trip() {
        for (part, printed) in [
            (Part::text(""), json!({"text": ""})),
            (Part::raw(vec![0xff, 0xfe]), json!({"raw": "//4="})),
            (Part::url("https://a.b"), json!({"url": "https://a.b"})),
            (Part::data(Value::Null), json!({"data": null})),
            (Part::data(1), json!({"data": 1})),
            (
                Part::text("x").with_media_type("text/x").with_filename("x.txt"),
                json!({"text": "x", "mediaType": "text/x", "filename": "x.txt"}),
            ),
        ] {
            assert_eq!(serde_json::to_value(&part).unwrap(), printed);
            assert_eq!(serde_json::from_value::<Part>(printed).unwrap(), part);
        }
    }

    #[test]
    fn data_is_read_as_a_type_or_the_path_of_the_invalid_member_is_named() {
        #[derive(Debug, Deserialize, PartialEq)]
        struct Trip {
            days: Vec<u8>,
        }
        let parse = |json: serde_json::Value| Part::data(json).parse::<Trip>();
        assert_eq!(parse(json!({"days": [1, 2]})).unwrap(), Trip { days: vec![1, 2] });
        for (json, field) in [
            (json!({"days": [1, "two"]}), "data.days[1]"),
            (json!({}), "data"),
            (json!(null), "data"),
        ] {
            assert_eq!(parse(json.clone()).unwrap_err().violations()[0].field, field, "{json}");
        }
        let elements = Part::data(json!([true])).parse::<Vec<u8>>().unwrap_err();
        assert_eq!(elements.violations()[0].field, "data[0]");
        let text = Part::text("Oslo").parse::<Trip>().unwrap_err();
        assert_eq!(text.message(), "invalid parameters: data is required");
    }

    #[test]
    fn values_without_a_json_form_are_refused() {
        let error = Part::json(&BTreeMap::from([((1, 2), "x")])).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Internal);
    }

    #[test]
    fn part_has_at_most_one_content_which_may_be_null() {
        assert!(serde_json::from_value::<Part>(json!({"text": "a", "url": "b"})).is_err());
        assert!(serde_json::from_value::<Part>(json!({"text": "a", "data": null})).is_err());
        let part: Part = serde_json::from_value(json!({"text": "a", "url": null})).unwrap();
        assert_eq!(part, Part::text("a"));
    }

    #[test]
    fn bytes_are_read_in_both_alphabets_with_and_without_padding() {
        for text in ["//4=", "//4", "__4=", "__4"] {
            let part: Part = serde_json::from_value(json!({"raw": text})).unwrap();
            assert_eq!(part, Part::raw(vec![0xff, 0xfe]), "{text}");
        }
        assert!(serde_json::from_value::<Part>(json!({"raw": "a b"})).is_err());
    }
}
