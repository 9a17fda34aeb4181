//! Media types of input and output.

use std::collections::HashSet;

use crate::{Edit, Findings, Rule, Subject, strings::quote};

rules! {
    error MISSING = "missing-default-modes":
        "defaultInputModes or defaultOutputModes is missing or empty",
        "list the media types, for example text/plain";
    warning(fixable) TYPE = "invalid-media-type":
        "a mode is not a media type (RFC 6838)",
        "write type/subtype, for example text/plain or application/json";
    warning(fixable) DUPLICATE = "duplicate-mode":
        "a list has the same media type twice",
        "remove one of them";
}

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let card = &*subject.card;
    for (member, modes) in [
        ("defaultInputModes", &card.default_input_modes),
        ("defaultOutputModes", &card.default_output_modes),
    ] {
        // Cards of 0.1 may leave them out.
        if modes.is_empty() && subject.version != a2a_core::ProtocolVersion::V0_1 {
            findings.add(&MISSING, format!("/{member}"), format!("{member} lists no media type"));
        }
        list(&format!("/{member}"), modes, findings);
    }
    for (index, skill) in card.skills.iter().enumerate() {
        list(&format!("/skills/{index}/inputModes"), &skill.input_modes, findings);
        list(&format!("/skills/{index}/outputModes"), &skill.output_modes, findings);
    }
}

fn list(pointer: &str, modes: &[String], findings: &mut Findings) {
    let mut seen = HashSet::new();
    for (index, mode) in modes.iter().enumerate() {
        let pointer = format!("{pointer}/{index}");
        if !seen.insert(mode.to_ascii_lowercase()) {
            let message = format!("duplicate media type {}", quote(mode));
            findings.add_with_edit(&DUPLICATE, pointer, message, Edit::Remove);
        } else if !is_media_type(mode) {
            let message = format!("{} is not a media type", quote(mode));
            let edit = meant(mode).map(|meant| Edit::Replace(meant.to_owned()));
            findings.add_with_edit(&TYPE, pointer, message, edit);
        }
    }
}

/// Media types, and ranges such as `image/*`, with parameters.
fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    let is_token = |name: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        name == "*" || (!name.is_empty() && name.bytes().all(is_plain))
    };
    essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// The media type that a common abbreviation stands for.
fn meant(mode: &str) -> Option<&'static str> {
    Some(match mode.trim().to_ascii_lowercase().trim_start_matches('.') {
        "text" | "txt" | "plain" => "text/plain",
        "markdown" | "md" => "text/markdown",
        "html" => "text/html",
        "csv" => "text/csv",
        "json" | "data" => "application/json",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_distinguished_from_words() {
        for text in ["text/plain", "text/plain; charset=utf-8", "image/*", "*/*", "a/b+json"] {
            assert!(is_media_type(text), "{text}");
        }
        for text in ["", "text", "text/", "/plain", "a/b/c", "text plain/x"] {
            assert!(!is_media_type(text), "{text}");
        }
    }
}
