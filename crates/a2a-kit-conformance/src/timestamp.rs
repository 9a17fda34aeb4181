//! Timestamps in the form of RFC 3339, as the protocol restricts it.

use a2a_core::well_known::Timestamp;

/// What is wrong with a timestamp, or nothing (spec §5.6.1).
pub(crate) fn fault(text: &str) -> Option<&'static str> {
    let has_t = text.as_bytes().get(10) == Some(&b'T');
    let is_time = |text: &str| has_t && text.parse::<Timestamp>().is_ok();
    if is_time(text) {
        return (!text.ends_with('Z')).then_some("has an offset instead of `Z`");
    }
    let has_no_zone = is_time(&format!("{text}Z"));
    Some(if has_no_zone { "has no zone: it needs `Z`" } else { "is not RFC 3339" })
}

/// The digits of the fraction of a second.
pub(crate) fn fraction_digits(text: &str) -> usize {
    let fraction = text.split_once('.').map(|(_, rest)| rest).unwrap_or_default();
    fraction.bytes().take_while(u8::is_ascii_digit).count()
}

/// A timestamp with `Z`.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    text.parse().ok().filter(|_| fault(text).is_none())
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
