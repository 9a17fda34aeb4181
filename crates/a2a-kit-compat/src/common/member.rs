//! Lenient deserializers for members that older documents and implementations write in several
//! formats, for serde's `deserialize_with` and `with`.

use serde::{Deserialize, Deserializer, de::Error as _};

/// Reads a member in which `null` means unset.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// Reads an id, which examples of 0.1 also write as a number.
pub(crate) fn id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "an id: a string or an integer")]
    enum Form {
        Text(String),
        Number(i64),
    }
    Ok(match Form::deserialize(from)? {
        Form::Text(text) => text,
        Form::Number(number) => number.to_string(),
    })
}

/// Reads a list of strings, or a single string as a list.
pub(crate) fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a list of strings, or a string")]
    enum Form {
        List(Vec<String>),
        One(String),
        Unset(()),
    }
    Ok(match Form::deserialize(from)? {
        Form::List(list) => list,
        Form::One(text) => vec![text],
        Form::Unset(()) => Vec::new(),
    })
}

/// Reads a 64-bit integer: a number without fraction, or a decimal string.
pub(crate) fn int64<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "an integer, or a decimal string")]
    enum Form {
        Integer(i64),
        Float(f64),
        Text(String),
        Unset(()),
    }
    match Form::deserialize(from)? {
        Form::Integer(number) => Ok(Some(number)),
        // Integers of this size are exact in a double.
        Form::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            #[expect(clippy::cast_possible_truncation, reason = "in range and integral")]
            let whole = number as i64;
            Ok(Some(whole))
        }
        Form::Float(_) => Err(D::Error::custom("not an integer")),
        Form::Text(text) => text.trim().parse().map(Some).map_err(D::Error::custom),
        Form::Unset(()) => Ok(None),
    }
}

/// Reads a 32-bit integer like [`int64`].
pub(crate) fn int32<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i32>, D::Error> {
    int64(from)?.map(i32::try_from).transpose().map_err(D::Error::custom)
}

/// Reads a boolean, which is a string in a query.
pub(crate) fn boolean<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "true or false")]
    enum Form {
        Boolean(bool),
        Text(String),
        Unset(()),
    }
    match Form::deserialize(from)? {
        Form::Boolean(boolean) => Ok(Some(boolean)),
        Form::Text(text) => text.trim().parse().map(Some).map_err(D::Error::custom),
        Form::Unset(()) => Ok(None),
    }
}

/// A timestamp, whose time zone may be missing.
pub(crate) mod timestamp {
    use a2a_core::well_known::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use serde_json::Value;

    /// Writes RFC 3339 in UTC.
    pub(crate) fn serialize<S: Serializer>(
        timestamp: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match timestamp {
            Some(timestamp) => to.collect_str(timestamp),
            None => to.serialize_none(),
        }
    }

    /// Reads RFC 3339, as UTC if the time zone is missing. Drops malformed timestamps, so that they
    /// do not make a task unreadable.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::String(text) => {
                let timestamp = parse(&text);
                if timestamp.is_none() {
                    tracing::debug!(text, "malformed timestamp dropped");
                }
                timestamp
            }
            _ => None,
        })
    }

    /// Reads RFC 3339, as UTC if the time zone is missing.
    pub(crate) fn parse(text: &str) -> Option<Timestamp> {
        let text = text.trim();
        text.parse().ok().or_else(|| format!("{text}Z").parse().ok())
    }
}

/// Base64-encoded bytes.
pub(crate) mod base64 {
    use ::base64::{
        Engine as _, alphabet,
        engine::{
            DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD,
        },
    };
    use bytes::Bytes;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    const ANY_PADDING: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const STANDARD_ALPHABET: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, ANY_PADDING);
    const URL_SAFE_ALPHABET: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, ANY_PADDING);

    /// Writes the standard alphabet with padding.
    pub(crate) fn serialize<S: Serializer>(
        bytes: &Option<Bytes>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => to.serialize_str(&STANDARD.encode(bytes)),
            None => to.serialize_none(),
        }
    }

    /// Reads both alphabets, with or without padding and line breaks.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Bytes>, D::Error> {
        let Some(mut text) = Option::<String>::deserialize(from)? else { return Ok(None) };
        text.retain(|letter| !letter.is_ascii_whitespace());
        let url_safe = text.bytes().any(|byte| matches!(byte, b'-' | b'_'));
        let alphabet = if url_safe { &URL_SAFE_ALPHABET } else { &STANDARD_ALPHABET };
        alphabet.decode(text.as_bytes()).map(|bytes| Some(bytes.into())).map_err(D::Error::custom)
    }
}
