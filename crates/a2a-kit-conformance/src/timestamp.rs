//! Timestamps in the form of RFC 3339, as the protocol restricts it.

/// What is wrong with a timestamp, or nothing (spec §5.6.1).
pub(crate) fn fault(text: &str) -> Option<&'static str> {
    let Some(stem) = text.strip_suffix('Z') else {
        return Some(match text.get(..19).and_then(parse_local) {
            Some(_) if has_offset(text) => "has an offset instead of `Z`",
            Some(_) => "has no zone: it needs `Z`",
            None => "is not RFC 3339",
        });
    };
    match parse_stem(stem) {
        Some(_) => None,
        None => Some("is not RFC 3339"),
    }
}

/// The digits of the fraction of a second.
pub(crate) fn fraction_digits(text: &str) -> usize {
    let fraction = text.split_once('.').map(|(_, rest)| rest).unwrap_or_default();
    fraction.bytes().take_while(u8::is_ascii_digit).count()
}

/// A timestamp with `Z`, in a form that is ordered like the time: date and time, nanoseconds.
pub(crate) fn parse(text: &str) -> Option<(String, u32)> {
    parse_stem(text.strip_suffix('Z')?)
}

fn parse_stem(stem: &str) -> Option<(String, u32)> {
    let (seconds, fraction) = stem.split_once('.').unwrap_or((stem, "0"));
    let local = parse_local(seconds)?;
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanoseconds = format!("{fraction:0<9}").parse().ok()?;
    Some((local.to_owned(), nanoseconds))
}

/// `YYYY-MM-DDTHH:MM:SS`.
fn parse_local(text: &str) -> Option<&str> {
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, shape): (u8, &u8)| match shape {
        b'd' => byte.is_ascii_digit(),
        other => byte == *other,
    };
    (text.len() == shape.len() && text.bytes().zip(shape).all(fits)).then_some(text)
}

fn has_offset(text: &str) -> bool {
    text.get(19..).is_some_and(|rest| rest.contains(['+', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_with_another_zone_or_none_are_faults() {
        for (text, is_fine) in [
            ("2026-01-02T03:04:05Z", true),
            ("2026-01-02T03:04:05.123Z", true),
            ("2026-01-02T03:04:05.123456789Z", true),
            ("2026-01-02T03:04:05.123+00:00", false),
            ("2026-01-02T03:04:05.123", false),
            ("2026-01-02 03:04:05Z", false),
            ("2026-01-02T03:04:05.Z", false),
            ("yesterday", false),
            ("", false),
            ("éééééééééééééééééééé", false),
        ] {
            assert_eq!(fault(text).is_none(), is_fine, "{text}");
        }
    }

    #[test]
    fn timestamps_are_ordered_by_time() {
        assert!(parse("2026-01-02T03:04:05.9Z") > parse("2026-01-02T03:04:05.12Z"));
    }
}
