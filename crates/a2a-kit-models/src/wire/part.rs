//! Parts of messages as models read them: text, files, or the reason why not.

use std::{borrow::Cow, fmt::Write as _};

use a2a_core::{Part, media_type, v1::part::Content};
use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::{ModelError, model::ModelErrorKind};

/// Maximum size of a file that is sent as text, in bytes.
const MAX_TEXT_FILE: usize = 256 << 10;

/// Images that every wire sends.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const PDF: &str = "application/pdf";

/// Files that a wire sends besides text and images.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepted {
    pub(super) pdf: bool,
    pub(super) audio: bool,
    pub(super) image_url: bool,
}

impl Accepted {
    /// The media types of files, without text.
    pub(super) fn media_types(self) -> Vec<Cow<'static, str>> {
        let pdf = self.pdf.then_some(PDF);
        let audio = if self.audio { &["audio/wav", "audio/mpeg"][..] } else { &[] };
        IMAGES.iter().copied().chain(pdf).chain(audio.iter().copied()).map(Cow::Borrowed).collect()
    }
}

/// What a part is for a model.
#[derive(Debug, PartialEq)]
pub(super) enum Input<'a> {
    /// Text, data or a text file.
    Text(Cow<'a, str>),
    /// An image, in base64.
    Image { media_type: &'static str, base64: String },
    /// An image at a URL, which the provider fetches.
    ImageUrl(&'a str),
    /// A document, in base64.
    Pdf { name: &'a str, base64: String },
    /// Sound, in base64: `wav` or `mp3`.
    Audio { format: &'static str, base64: String },
}

/// Reads the parts of a message; those without content are left out.
///
/// # Errors
///
/// [`ModelErrorKind::File`] with the file and the reason, for the first file that can't be sent.
pub(super) fn inputs(parts: &[Part], accepted: Accepted) -> Result<Vec<Input<'_>>, ModelError> {
    parts.iter().filter_map(|part| input(part, accepted).transpose()).collect()
}

/// Joins text, if the inputs are nothing else.
pub(super) fn only_text(inputs: &[Input<'_>]) -> Option<String> {
    let texts = inputs.iter().map(|input| match input {
        Input::Text(text) => Some(&**text),
        _ => None,
    });
    let texts: Option<Vec<&str>> = texts.collect();
    Some(texts?.join("\n\n"))
}

fn input(part: &Part, accepted: Accepted) -> Result<Option<Input<'_>>, ModelError> {
    match &part.content {
        None => Ok(None),
        Some(Content::Text(text)) if text.is_empty() => Ok(None),
        Some(Content::Text(text)) => Ok(Some(Input::Text(text.into()))),
        Some(Content::Data(data)) => {
            let json = serde_json::Value::from(data.clone());
            Ok(Some(Input::Text(format!("```json\n{json:#}\n```").into())))
        }
        Some(Content::Raw(bytes)) => file(part, bytes, accepted).map(Some),
        Some(Content::Url(url)) => {
            let is_http = url.starts_with("https://") || url.starts_with("http://");
            let is_image = image(&essence(&part.media_type)).is_some();
            match (is_image, is_http) {
                (true, true) if accepted.image_url => Ok(Some(Input::ImageUrl(url))),
                (true, true) => Err(refused(part, None, "the model can't read files by URL")),
                (true, false) => Err(refused(part, None, "its URL is neither https nor http")),
                _ if part.media_type.is_empty() => {
                    Err(refused(part, None, "a file given by URL needs a media type"))
                }
                _ => Err(refused(part, None, "only images can be given by URL")),
            }
        }
    }
}

fn file<'a>(part: &'a Part, bytes: &[u8], accepted: Accepted) -> Result<Input<'a>, ModelError> {
    let base64 = || BASE64_STANDARD.encode(bytes);
    let media_type = media_type_of(part, bytes);
    let refused = |reason: &str| Err(refused(part, Some(bytes), reason));
    if let Some(media_type) = image(&media_type) {
        return Ok(Input::Image { media_type, base64: base64() });
    }
    let audio = match &*media_type {
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    };
    match audio {
        Some(format) if accepted.audio => return Ok(Input::Audio { format, base64: base64() }),
        None if media_type == PDF && accepted.pdf => {
            let name = if part.filename.is_empty() { "document.pdf" } else { &part.filename };
            return Ok(Input::Pdf { name, base64: base64() });
        }
        None if is_text(&media_type) => {}
        _ => return refused("the model can't read this type"),
    }
    if bytes.len() > MAX_TEXT_FILE {
        return refused("text files are limited to 256 KiB");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return refused("it is not UTF-8") };
    let name = if part.filename.is_empty() { "file" } else { &part.filename };
    Ok(Input::Text(format!("[{name}, {media_type}]\n{text}").into()))
}

/// The media type in lower case and without parameters; that of the name or the content, if the
/// part has none.
fn media_type_of(part: &Part, bytes: &[u8]) -> String {
    match &*part.media_type {
        "" => {
            let name = Some(&*part.filename).filter(|name| !name.is_empty());
            media_type::guess(name, bytes).to_owned()
        }
        media_type => essence(media_type),
    }
}

fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn image(media_type: &str) -> Option<&'static str> {
    let media_type = if media_type == "image/jpg" { "image/jpeg" } else { media_type };
    IMAGES.into_iter().find(|known| *known == media_type)
}

fn is_text(media_type: &str) -> bool {
    const TYPES: [&str; 4] =
        ["application/json", "application/xml", "application/yaml", "application/x-yaml"];
    const SUFFIXES: [&str; 3] = ["+json", "+xml", "+yaml"];
    media_type.starts_with("text/")
        || TYPES.contains(&media_type)
        || SUFFIXES.iter().any(|suffix| media_type.ends_with(suffix))
}

/// The error for a file that can't be sent. `bytes` is `None` for a URL.
fn refused(part: &Part, bytes: Option<&[u8]>, reason: &str) -> ModelError {
    let media_type = match bytes {
        Some(bytes) => media_type_of(part, bytes),
        None if part.media_type.is_empty() => "unknown type".to_owned(),
        None => essence(&part.media_type),
    };
    // What a caller wrote is shown in part and without control characters.
    let shown = |text: &str| -> String {
        text.chars().filter(|char| !char.is_control()).take(128).collect()
    };
    let mut message = "The file ".to_owned();
    if !part.filename.is_empty() {
        message += &shown(&part.filename);
        message += " ";
    }
    let size = match bytes {
        None => "by URL".to_owned(),
        Some(bytes) if bytes.len() < 1 << 10 => format!("{} bytes", bytes.len()),
        Some(bytes) if bytes.len() < 1 << 20 => format!("{} KiB", bytes.len().div_ceil(1 << 10)),
        Some(bytes) => format!("{} MiB", bytes.len().div_ceil(1 << 20)),
    };
    // Writing to a string can't fail.
    let _ = write!(message, "({}, {size}) can't be used: {reason}.", shown(&media_type));
    ModelError { message: Some(message), ..ModelError::new(ModelErrorKind::File) }
}
