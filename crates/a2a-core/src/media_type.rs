//! Media types of files, by name and content, and the extensions of their names: the few types that
//! agents exchange.

/// Extensions and media types. The first extension of a type is the one that files get.
const TYPES: [(&str, &str); 28] = [
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("xml", "application/xml"),
    ("xml", "text/xml"),
    ("json", "application/json"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
    ("bin", OCTET_STREAM),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
];

/// The type of unknown content.
pub const OCTET_STREAM: &str = "application/octet-stream";

/// The media type of a file with this name, by its extension.
pub fn of_name(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let found = TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    found.map(|(_, media_type)| *media_type)
}

/// The media type of a file by its name, else by its content.
pub fn guess(name: Option<&str>, content: &[u8]) -> &'static str {
    name.and_then(of_name).unwrap_or_else(|| match std::str::from_utf8(content) {
        Ok(text) if !text.contains('\0') => "text/plain",
        _ => OCTET_STREAM,
    })
}

/// The extension of files with this media type, whose parameters are ignored.
pub fn extension(media_type: &str) -> Option<&'static str> {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let found = TYPES.iter().find(|(_, known)| known.eq_ignore_ascii_case(essence));
    let suffix = || match essence.rsplit_once('+') {
        Some((_, "json")) => Some("json"),
        Some((_, "xml")) => Some("xml"),
        _ => None,
    };
    found.map(|(extension, _)| *extension).or_else(suffix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_is_found_without_regard_to_case_and_parameters() {
        for (media_type, expected) in [
            ("text/plain", Some("txt")),
            ("Text/HTML; charset=utf-8", Some("html")),
            ("image/jpeg", Some("jpg")),
            ("image/svg+xml", Some("svg")),
            ("application/problem+json", Some("json")),
            ("application/octet-stream", Some("bin")),
            ("application/x-unknown", None),
            ("", None),
        ] {
            assert_eq!(extension(media_type), expected, "{media_type:?}");
        }
    }

    #[test]
    fn type_is_guessed_by_name_and_else_by_content() {
        assert_eq!(guess(Some("A.PNG"), b"text"), "image/png");
        assert_eq!(guess(Some("notes"), b"text"), "text/plain");
        assert_eq!(guess(None, b"\xff\x00"), OCTET_STREAM);
    }
}
