//! Times relative to now.

use a2a_core::well_known::Timestamp;

/// Describes a time relative to `now`: `3 minutes ago`, `in 2 hours`, `just now`.
pub(super) fn relative(time: Timestamp, now: Timestamp) -> String {
    const UNITS: [(u64, &str); 5] = [
        (365 * 86_400, "year"),
        (30 * 86_400, "month"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
    ];
    let millis = now.as_millis().saturating_sub(time.as_millis());
    let seconds = millis.unsigned_abs() / 1_000;
    if seconds < 1 {
        return "just now".to_owned();
    }
    let (count, unit) = UNITS
        .iter()
        .find(|(length, _)| seconds >= *length)
        .map_or((seconds, "second"), |(length, unit)| (seconds / length, *unit));
    let plural = if count == 1 { "" } else { "s" };
    if millis < 0 {
        format!("in {count} {unit}{plural}")
    } else {
        format!("{count} {unit}{plural} ago")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_whole_unit_is_shown() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        for (seconds, shown) in [
            (0, "just now"),
            (1, "1 second ago"),
            (59, "59 seconds ago"),
            (60, "1 minute ago"),
            (200, "3 minutes ago"),
            (7_200, "2 hours ago"),
            (86_400, "1 day ago"),
            (40 * 86_400, "1 month ago"),
            (800 * 86_400, "2 years ago"),
            (-90, "in 1 minute"),
        ] {
            let time = Timestamp::from_millis(now.as_millis() - seconds * 1_000);
            assert_eq!(relative(time, now), shown, "{seconds}");
        }
        let first = Timestamp::from_millis(i64::MIN);
        assert!(relative(first, now).ends_with(" years ago"));
    }
}
