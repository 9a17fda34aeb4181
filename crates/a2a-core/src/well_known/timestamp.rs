//! A timestamp: `google.protobuf.Timestamp`.

use std::{cell::Cell, fmt, fmt::Display, str::FromStr, time::SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use crate::ParseError;

/// A timestamp in UTC.
///
/// In JSON, it is an RFC 3339 string in UTC with milliseconds, or with micro- or nanoseconds if
/// needed: `2026-01-31T09:30:00.250Z`. In protobuf, it is `google.protobuf.Timestamp`.
///
/// Timestamps are ordered by time if `nanos` is in range, which all constructors guarantee; only
/// received values and struct literals may violate it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Message)]
pub struct Timestamp {
    /// Seconds since 1970-01-01T00:00:00Z; negative before.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds after `seconds`, 0 to 999,999,999.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl Timestamp {
    /// 0001-01-01T00:00:00Z, the earliest RFC 3339 timestamp.
    const MIN_SECONDS: i64 = -62_135_596_800;
    /// 9999-12-31T23:59:59Z, the last second of RFC 3339.
    const MAX_SECONDS: i64 = 253_402_300_799;

    /// Returns the current time, truncated to milliseconds, so that stored and written timestamps
    /// are equal.
    #[must_use]
    pub fn now() -> Self {
        let now = Self::from(SystemTime::now());
        Self { nanos: now.nanos - now.nanos % 1_000_000, ..now }
    }

    /// Creates a timestamp from milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a remainder of 1,000 is in range")]
        let subsecond = millis.rem_euclid(1_000) as i32;
        Self { seconds: millis.div_euclid(1_000), nanos: subsecond * 1_000_000 }
    }

    /// Returns the milliseconds since 1970-01-01T00:00:00Z, rounded down and saturating.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        let millis =
            i128::from(self.seconds) * 1_000 + i128::from(self.nanos.div_euclid(1_000_000));
        let nearest_end = if millis < 0 { i64::MIN } else { i64::MAX };
        i64::try_from(millis).unwrap_or(nearest_end)
    }

    /// Returns the same time with `nanos` in range, saturating.
    fn normalized(self) -> Self {
        let prost_types::Timestamp { seconds, nanos } = self.to_prost().normalized();
        Self { seconds, nanos }
    }

    /// Returns the same time, if RFC 3339 can represent it.
    fn in_range(self) -> Result<Self, ParseError> {
        let normal = self.normalized();
        if (Self::MIN_SECONDS..=Self::MAX_SECONDS).contains(&normal.seconds) {
            Ok(normal)
        } else {
            // As `Display` writes it, which calls this.
            let text = self.normalized().to_prost();
            Err(ParseError::new(format!("{text} is not in the years 1 to 9999")))
        }
    }

    fn to_prost(self) -> prost_types::Timestamp {
        prost_types::Timestamp { seconds: self.seconds, nanos: self.nanos }
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        // The conversion of prost-types panics for very early times.
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Self {
                seconds: 0_i64.saturating_add_unsigned(after.as_secs()),
                nanos: after.subsec_nanos().cast_signed(),
            },
            Err(error) => {
                let before = error.duration();
                Self {
                    seconds: 0_i64.saturating_sub_unsigned(before.as_secs()),
                    nanos: -before.subsec_nanos().cast_signed(),
                }
                .normalized()
            }
        }
    }
}

impl TryFrom<Timestamp> for SystemTime {
    type Error = ParseError;

    fn try_from(timestamp: Timestamp) -> Result<Self, ParseError> {
        // The error of prost-types has no further information.
        let converted = Self::try_from(timestamp.to_prost()).ok();
        converted
            .ok_or_else(|| ParseError::new(format!("{timestamp} is beyond this system's clock")))
    }
}

impl Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.in_range() {
            Ok(point) => f.write_str(point.write(&mut [0; MAX_TEXT])),
            // Only used in errors.
            Err(_) => self.normalized().to_prost().fmt(f),
        }
    }
}

/// Length of a string up to its seconds, and of the longest string, in bytes.
const HEAD: usize = "2026-01-31T09:30:00".len();
const MAX_TEXT: usize = "2026-01-31T09:30:00.123456789Z".len();

thread_local! {
    /// The last written second and its string: most timestamps are current.
    static LAST: Cell<(i64, [u8; HEAD])> = const { Cell::new((0, *b"1970-01-01T00:00:00")) };
}

impl Timestamp {
    /// Writes a timestamp in range, with at least milliseconds (spec §5.6.1).
    fn write(self, text: &mut [u8; MAX_TEXT]) -> &str {
        let (last, mut head) = LAST.get();
        if last != self.seconds {
            let whole = prost_types::Timestamp { seconds: self.seconds, nanos: 0 }.to_string();
            head.iter_mut().zip(whole.bytes()).for_each(|(to, from)| *to = from);
            LAST.set((self.seconds, head));
        }
        let (mut left, digits) = match self.nanos {
            nanos if nanos % 1_000_000 == 0 => (nanos / 1_000_000, 3),
            nanos if nanos % 1_000 == 0 => (nanos / 1_000, 6),
            nanos => (nanos, 9),
        };
        text[..HEAD].copy_from_slice(&head);
        text[HEAD] = b'.';
        let end = HEAD + 1 + digits;
        for digit in text[HEAD + 1..end].iter_mut().rev() {
            *digit = b'0' + u8::try_from(left % 10).unwrap_or(0);
            left /= 10;
        }
        text[end] = b'Z';
        // ASCII only.
        str::from_utf8(&text[..=end]).unwrap_or_default()
    }
}

impl FromStr for Timestamp {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let parsed = if is_full_date_time(text) {
            text.parse::<prost_types::Timestamp>().ok()
        } else {
            None
        };
        let prost_types::Timestamp { seconds, nanos } = parsed.ok_or_else(|| {
            let start: String = text.chars().take(64).collect();
            ParseError::new(format!("{start:?} is not an RFC 3339 date and time"))
        })?;
        Self { seconds, nanos }.in_range()
    }
}

/// Whether `text` has the structure of RFC 3339's `date-time`. The parser checks the digits, but
/// also accepts dates only and times without an offset, as UTC.
fn is_full_date_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let has_time = matches!(bytes.get(10), Some(b'T' | b't' | b' '));
    let has_zone = match bytes {
        [.., last, b'Z' | b'z'] | [.., last, b'+' | b'-', _, _, b':', _, _] => {
            last.is_ascii_digit()
        }
        _ => false,
    };
    has_time && has_zone
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let point = self.in_range().map_err(ser::Error::custom)?;
        serializer.serialize_str(point.write(&mut [0; MAX_TEXT]))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TimestampVisitor)
    }
}

struct TimestampVisitor;

impl de::Visitor<'_> for TimestampVisitor {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an RFC 3339 date and time")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::{any, prop_assert_eq, proptest};
    use prost::Message;

    use super::{ParseError, SystemTime, Timestamp};

    // covers: R-230, R-231, R-232, R-233
    #[test]
    fn rfc_3339_is_read_and_written_in_utc_with_milliseconds() {
        for (text, printed) in [
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
            ("1985-04-12T23:20:50.52Z", "1985-04-12T23:20:50.520Z"),
            ("1985-04-12t23:20:50.52z", "1985-04-12T23:20:50.520Z"),
            ("1985-04-12 23:20:50Z", "1985-04-12T23:20:50.000Z"),
            ("1996-12-19T16:39:57-08:00", "1996-12-20T00:39:57.000Z"),
            ("1937-01-01T12:00:27.87+00:20", "1937-01-01T11:40:27.870Z"),
            ("2026-03-01T00:00:00-00:00", "2026-03-01T00:00:00.000Z"),
            ("2024-02-29T12:00:00.1234Z", "2024-02-29T12:00:00.123400Z"),
            ("2024-02-29T12:00:00.123456Z", "2024-02-29T12:00:00.123456Z"),
            ("2024-02-29T12:00:00.123456789Z", "2024-02-29T12:00:00.123456789Z"),
            ("2024-02-29T12:00:00.123456789999Z", "2024-02-29T12:00:00.123456789Z"),
            ("2024-02-29T12:00:00.000000Z", "2024-02-29T12:00:00.000Z"),
            ("1990-12-31T23:59:60Z", "1990-12-31T23:59:59.000Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
            ("0000-12-31T23:00:00-01:00", "0001-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
        ] {
            let timestamp: Timestamp = text.parse().expect(text);
            assert_eq!(timestamp.to_string(), printed, "{text}");
            assert_eq!(printed.parse(), Ok(timestamp), "{text}");
        }
    }

    #[test]
    fn malformed_timestamps_are_rejected() {
        for text in [
            "",
            "Z",
            "now",
            "2024-02-29",
            "2024-02-29Z",
            "2024-02-29T12:00:00",
            "2024-02-29T12:00Z",
            "2024-02-29T12:00:00.Z",
            "2024-02-29T12:00:00,5Z",
            "2024-02-29T12:00:00 Z",
            "2024-02-29T12:00:00Z ",
            " 2024-02-29T12:00:00Z",
            "2024-02-29T12:00:00+01",
            "2024-02-29T12:00:00+0100",
            "2024-02-29T12:00:00+24:00",
            "2024-02-29T12:00:00+01:60",
            "2024-02-29T12:00:00+-1:00",
            "2024-02-29T12:00:61Z",
            "2024-02-29T12:60:00Z",
            "2024-02-29T24:00:00Z",
            "2023-02-29T12:00:00Z",
            "2024-13-01T12:00:00Z",
            "2024-00-01T12:00:00Z",
            "2024-01-00T12:00:00Z",
            "2024-02-29X12:00:00Z",
            "+12024-02-29T12:00:00Z",
            "-0001-02-29T12:00:00Z",
            "20240229T120000Z",
            "2024-02-29T12:00:00.5\u{e9}Z",
            "\u{ff12}024-02-29T12:00:00Z",
        ] {
            assert_eq!(
                text.parse::<Timestamp>(),
                Err(ParseError::new(format!("{text:?} is not an RFC 3339 date and time"))),
                "{text}"
            );
        }
    }

    #[test]
    fn years_out_of_range_are_rejected() {
        for text in
            ["0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"]
        {
            let rejected = text.parse::<Timestamp>();
            let error = rejected.unwrap_err().to_string();
            assert!(error.ends_with("is not in the years 1 to 9999"), "{text}: {error}");
        }
        for seconds in [i64::MIN, -62_135_596_801, 253_402_300_800, i64::MAX] {
            let timestamp = Timestamp { seconds, nanos: 0 };
            let error = serde_json::to_string(&timestamp).unwrap_err().to_string();
            assert!(error.ends_with("is not in the years 1 to 9999"), "{seconds}: {error}");
        }
    }

    #[test]
    fn nanos_out_of_range_are_carried_into_seconds() {
        for (seconds, nanos, printed) in [
            (0, -1, "1969-12-31T23:59:59.999999999Z"),
            (0, 1_500_000_000, "1970-01-01T00:00:01.500Z"),
            (0, -1_500_000_000, "1969-12-31T23:59:58.500Z"),
        ] {
            assert_eq!(Timestamp { seconds, nanos }.to_string(), printed);
        }
    }

    #[test]
    fn json_form_is_a_string() {
        let timestamp = Timestamp::from_millis(1_700_000_000_250);
        let json = r#""2023-11-14T22:13:20.250Z""#;
        assert_eq!(serde_json::to_string(&timestamp).unwrap(), json);
        assert_eq!(serde_json::from_str::<Timestamp>(json).unwrap(), timestamp);
        for json in ["1700000000", "null", "{}", r#""yesterday""#] {
            assert!(serde_json::from_str::<Timestamp>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn now_is_truncated_to_milliseconds() {
        let now = Timestamp::now();
        assert_eq!(now.nanos % 1_000_000, 0);
        assert_eq!(now.to_string().parse(), Ok(now));
        assert!(now.seconds > 1_700_000_000);
    }

    #[test]
    fn extreme_system_times_do_not_panic() {
        for seconds in [0, 1, i64::MAX.unsigned_abs(), i64::MIN.unsigned_abs(), u64::MAX] {
            for nanos in [0, 999_999_999] {
                let distance = Duration::new(seconds, nanos);
                let ends = [
                    SystemTime::UNIX_EPOCH.checked_sub(distance),
                    SystemTime::UNIX_EPOCH.checked_add(distance),
                ];
                for time in ends.into_iter().flatten() {
                    let timestamp = Timestamp::from(time);
                    assert!((0..1_000_000_000).contains(&timestamp.nanos), "{distance:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn no_timestamp_panics(seconds: i64, nanos: i32) {
            let timestamp = Timestamp { seconds, nanos };
            let _ = (timestamp.to_string(), timestamp.as_millis(), SystemTime::try_from(timestamp));
            let _ = serde_json::to_string(&timestamp);
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = text.parse::<Timestamp>();
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "[-+0-9tTzZ:. ]{0,40}") {
            let _ = text.parse::<Timestamp>();
        }

        #[test]
        fn timestamps_round_trip(
            seconds in Timestamp::MIN_SECONDS..=Timestamp::MAX_SECONDS,
            nanos in 0..1_000_000_000,
        ) {
            let timestamp = Timestamp { seconds, nanos };
            prop_assert_eq!(timestamp.to_string().parse(), Ok(timestamp));
        }

        #[test]
        fn milliseconds_round_trip(millis: i64) {
            prop_assert_eq!(Timestamp::from_millis(millis).as_millis(), millis);
        }

        #[test]
        fn system_time_round_trips(time in any::<SystemTime>()) {
            prop_assert_eq!(SystemTime::try_from(Timestamp::from(time)), Ok(time));
        }

        #[test]
        fn protobuf_form_is_google_protobuf_timestamp(seconds: i64, nanos: i32) {
            let ours = Timestamp { seconds, nanos };
            let theirs = prost_types::Timestamp { seconds, nanos };
            prop_assert_eq!(ours.encode_to_vec(), theirs.encode_to_vec());
            prop_assert_eq!(Timestamp::decode(theirs.encode_to_vec().as_slice()), Ok(ours));
        }
    }
}
