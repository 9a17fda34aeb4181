//! Consecutive parts of an artifact that are the chunks of one text or file.

use std::borrow::Cow;

use a2a_core::{Part, v1::part::Content};

/// The parts of an artifact, with the chunks of one text or file joined: consecutive texts, and
/// consecutive bytes with a file name, of one name and media type.
pub fn joined_parts(parts: &[Part]) -> impl Iterator<Item = Cow<'_, Part>> {
    part_runs(parts).filter_map(joined)
}

/// Splits the parts of an artifact into runs: each is one text, one file, or one other part.
pub(crate) fn part_runs(parts: &[Part]) -> impl Iterator<Item = &[Part]> {
    parts.chunk_by(|part, next| {
        let is_continued = match (&part.content, &next.content) {
            (Some(Content::Text(_)), Some(Content::Text(_))) => true,
            // Bytes without a file name may be several images.
            (Some(Content::Raw(_)), Some(Content::Raw(_))) => !part.filename.is_empty(),
            _ => false,
        };
        is_continued && part.filename == next.filename && part.media_type == next.media_type
    })
}

/// Joins a run of parts; `None` if it is empty.
pub(crate) fn joined(run: &[Part]) -> Option<Cow<'_, Part>> {
    let (first, rest) = run.split_first()?;
    if rest.is_empty() {
        return Some(Cow::Borrowed(first));
    }
    let content = match &first.content {
        Some(Content::Text(_)) => {
            Content::Text(run.iter().filter_map(Part::as_text).collect::<String>())
        }
        _ => {
            let bytes = run.iter().filter_map(|part| match &part.content {
                Some(Content::Raw(bytes)) => Some(&bytes[..]),
                _ => None,
            });
            Content::Raw(bytes.collect::<Vec<_>>().concat().into())
        }
    };
    Some(Cow::Owned(Part { content: Some(content), ..first.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_one_text_or_file_are_joined() {
        let csv = |bytes: &'static str| {
            Part::raw(bytes).with_filename("a.csv").with_media_type("text/csv")
        };
        let parts = [
            Part::text("a"),
            Part::text("b"),
            Part::text("c").with_media_type("text/html"),
            csv("1,"),
            csv("2"),
            csv("3").with_filename("b.csv"),
            Part::raw("x"),
            Part::raw("y"),
            Part::data(1),
            Part::data(2),
        ];
        let runs: Vec<_> = part_runs(&parts).map(<[_]>::len).collect();
        assert_eq!(runs, [2, 1, 2, 1, 1, 1, 1, 1]);
        assert_eq!(joined(&parts[..2]).unwrap().as_text(), Some("ab"));
        assert_eq!(joined(&parts[3..5]).unwrap().as_ref(), &csv("1,2"));
        assert!(joined(&[]).is_none());
    }
}
