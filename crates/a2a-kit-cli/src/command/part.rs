//! The parts of a message, in the order of the command line.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use a2a_core::{Part, media_type};
use clap::{ArgMatches, parser::ValueSource};

use crate::failure::Failure;

/// Default maximum size of an inline part, in bytes.
pub(super) const MAX_INLINE: usize = 10 << 20;

/// A flag that adds or describes a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartFlag {
    /// The positional text; `-` is not standard input.
    Literal(String),
    Text(String),
    File(String),
    Data(String),
    MediaType(String),
}

/// Returns the part flags in the order of the command line.
pub(super) fn in_order(matches: &ArgMatches) -> Vec<PartFlag> {
    type Make = fn(String) -> PartFlag;
    let kinds: [(&str, Make); 5] = [
        ("message", PartFlag::Literal),
        ("text", PartFlag::Text),
        ("file", PartFlag::File),
        ("data", PartFlag::Data),
        ("media_type", PartFlag::MediaType),
    ];
    let mut flags = Vec::new();
    for (id, flag) in kinds {
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let values = matches.get_many::<String>(id).into_iter().flatten().cloned();
        let places = matches.indices_of(id).into_iter().flatten();
        flags.extend(places.zip(values.map(flag)));
    }
    flags.sort_by_key(|(place, _)| *place);
    flags.into_iter().map(|(_, flag)| flag).collect()
}

/// Creates the parts of a message. `-` reads standard input, at most once.
/// Errors: a usage failure for unreadable input, and for a media type without a preceding part.
pub(crate) fn parts(flags: Vec<PartFlag>, max_inline: usize) -> Result<Vec<Part>, Failure> {
    let mut reader = Reader { max_inline, stdin_is_read: false };
    let mut parts: Vec<Part> = Vec::new();
    let mut typed = true;
    for flag in flags {
        let part = match flag {
            PartFlag::Literal(text) => Part::text(text),
            PartFlag::Text(text) if text == "-" => Part::text(reader.stdin_text("--text")?),
            PartFlag::Text(text) => Part::text(text),
            PartFlag::File(place) => reader.file(&place)?,
            PartFlag::Data(place) => reader.data(&place)?,
            PartFlag::MediaType(media_type) => {
                let last = parts.last_mut().filter(|_| !typed).ok_or_else(|| {
                    Failure::usage(format!("--media-type {media_type}: no preceding part"))
                        .with_hint("put it directly after its --text, --file or --data")
                })?;
                last.media_type = media_type;
                typed = true;
                continue;
            }
        };
        parts.push(part);
        typed = false;
    }
    Ok(parts)
}

/// Reads a file or, for `-`, standard input.
pub(super) fn document(place: &str) -> Result<Vec<u8>, Failure> {
    let mut reader = Reader { max_inline: usize::MAX, stdin_is_read: false };
    if place == "-" { reader.stdin("--request-payload") } else { reader.path(Path::new(place)) }
}

/// Reads the content of parts.
struct Reader {
    max_inline: usize,
    stdin_is_read: bool,
}

impl Reader {
    fn file(&mut self, place: &str) -> Result<Part, Failure> {
        if place == "-" {
            let bytes = self.stdin("--file")?;
            let media_type = media_type::guess(None, &bytes);
            return Ok(Part::raw(bytes).with_media_type(media_type));
        }
        let path = match place.strip_prefix("file://") {
            Some(path) => PathBuf::from(path),
            None if place.contains("://") => {
                let part = Part::url(place);
                let path = place.split(['?', '#']).next().unwrap_or(place);
                let name = path.rsplit('/').next().unwrap_or_default();
                return Ok(match media_type::of_name(name) {
                    Some(media_type) => part.with_media_type(media_type),
                    None => part,
                });
            }
            None => PathBuf::from(place),
        };
        let bytes = self.path(&path)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let media_type = media_type::guess(name.as_deref(), &bytes);
        Ok(Part::raw(bytes).with_filename(name.unwrap_or_default()).with_media_type(media_type))
    }

    fn data(&mut self, place: &str) -> Result<Part, Failure> {
        let bytes = if place == "-" {
            self.stdin("--data")?
        } else if Path::new(place).is_file() {
            self.path(Path::new(place))?
        } else {
            place.as_bytes().to_vec()
        };
        let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| {
            Failure::usage(format!("--data {place}: neither a file nor JSON: {error}"))
        })?;
        Ok(Part::data(value))
    }

    fn path(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        let unreadable = |error: std::io::Error| {
            Failure::usage(format!("failed to read {}: {error}", path.display()))
        };
        let length = std::fs::metadata(path).map_err(unreadable)?.len();
        if usize::try_from(length).unwrap_or(usize::MAX) > self.max_inline {
            return Err(self.too_large(&path.display().to_string()));
        }
        std::fs::read(path).map_err(unreadable)
    }

    fn stdin_text(&mut self, flag: &str) -> Result<String, Failure> {
        String::from_utf8(self.stdin(flag)?)
            .map_err(|error| Failure::usage(format!("standard input is not UTF-8: {error}")))
    }

    fn stdin(&mut self, flag: &str) -> Result<Vec<u8>, Failure> {
        if std::mem::replace(&mut self.stdin_is_read, true) {
            return Err(Failure::usage(format!(
                "{flag} -: standard input is already used by another flag"
            )));
        }
        let limit = u64::try_from(self.max_inline).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::usage(format!("failed to read standard input: {error}")))?;
        if bytes.len() > self.max_inline {
            return Err(self.too_large("standard input"));
        }
        Ok(bytes)
    }

    fn too_large(&self, what: &str) -> Failure {
        Failure::usage(format!("{what} exceeds {} bytes", self.max_inline))
            .with_hint("use a URL instead, or raise --max-inline")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_type_applies_to_the_preceding_part() {
        let media_type = |text: &str| PartFlag::MediaType(text.into());
        let made = parts(
            vec![
                PartFlag::Text("a".into()),
                media_type("text/x"),
                PartFlag::Literal("b".into()),
                PartFlag::Data("{\"n\":1}".into()),
                media_type("application/x"),
            ],
            100,
        )
        .unwrap();
        let types: Vec<_> = made.iter().map(|part| part.media_type.as_str()).collect();
        assert_eq!(types, ["text/x", "", "application/x"]);
        for flags in [
            vec![media_type("text/x")],
            vec![PartFlag::Text("a".into()), media_type("a/b"), media_type("c/d")],
        ] {
            assert_eq!(parts(flags, 100).unwrap_err().code.exit(), 2);
        }
    }

    #[test]
    fn file_is_inlined_with_its_name_and_url_is_a_reference() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        std::fs::write(&path, "{}").unwrap();
        let place = path.to_str().unwrap().to_owned();
        let flags =
            vec![PartFlag::File(place.clone()), PartFlag::File("https://a.b/c.png?x".into())];
        let made = parts(flags, 100).unwrap();
        assert_eq!(
            made,
            [
                Part::raw("{}").with_filename("a.json").with_media_type("application/json"),
                Part::url("https://a.b/c.png?x").with_media_type("image/png"),
            ]
        );
        let failure = parts(vec![PartFlag::File(place)], 1).unwrap_err();
        assert!(failure.hint().unwrap().contains("--max-inline"));
    }
}
