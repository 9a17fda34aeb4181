//! YAML documents whose members keep their order.

use std::borrow::Cow;

use saphyr::{Mapping, Scalar, Yaml, YamlEmitter};

use crate::Result;

/// A text.
pub(super) fn text(text: impl Into<String>) -> Yaml<'static> {
    Yaml::Value(Scalar::String(Cow::Owned(text.into())))
}

/// A number.
pub(super) fn number(number: impl TryInto<i64>) -> Yaml<'static> {
    Yaml::Value(number.try_into().map_or(Scalar::Null, Scalar::Integer))
}

/// A list of texts.
pub(super) fn texts<'a>(list: impl IntoIterator<Item = &'a String>) -> Yaml<'static> {
    Yaml::Sequence(list.into_iter().map(text).collect())
}

/// A mapping with these members.
pub(super) fn mapping<const N: usize>(members: [(&str, Yaml<'static>); N]) -> Yaml<'static> {
    let members = members.into_iter().map(|(name, value)| (text(name), value));
    Yaml::Mapping(members.collect::<Mapping<'static>>())
}

/// The text of a document.
pub(super) fn document(yaml: &Yaml<'_>) -> Result<String> {
    let mut document = String::new();
    YamlEmitter::new(&mut document).dump(yaml)?;
    document.push('\n');
    Ok(document)
}
