//! When a certificate expires (RFC 5280 §4.1.2.5).

use std::time::{Duration, SystemTime};

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns `notAfter` of a certificate in DER; `None` if it is malformed.
pub(super) fn not_after(der: &[u8]) -> Option<SystemTime> {
    let (_, certificate, _) = element(der)?;
    let (_, mut fields, _) = element(certificate)?;
    // Serial number, algorithm and issuer are before the validity; the version may be absent.
    let (tag, ..) = element(fields)?;
    for _ in 0..(3 + usize::from(tag == VERSION)) {
        (_, _, fields) = element(fields)?;
    }
    let (tag, validity, _) = element(fields)?;
    let (_, _, rest) = element(validity).filter(|_| tag == SEQUENCE)?;
    let (tag, text, _) = element(rest)?;
    time(tag, text)
}

/// Splits off an element: its tag, its contents, and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((tag, contents, rest))
}

/// Reads `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn time(tag: u8, text: &[u8]) -> Option<SystemTime> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest) = text.split_at_checked(text.len().checked_sub(10)?)?;
    let year: i64 = match (tag, year.parse::<i64>().ok()?) {
        (UTC_TIME, year @ 0..50) => 2000 + year,
        (UTC_TIME, year) => 1900 + year,
        (GENERALIZED_TIME, year) => year,
        _ => return None,
    };
    let two = |index: usize| rest.get(index * 2..index * 2 + 2)?.parse::<i64>().ok();
    let (month, day) = (two(0)?, two(1)?);
    // Days since the epoch, with years that begin in March.
    let year = year - i64::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
    let seconds = ((days * 24 + two(2)?) * 60 + two(3)?) * 60 + two(4)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use a2a_kit_tls::pem;

    use super::*;

    /// Until 9 July 2031, 13:12:26.
    const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBPDCB76ADAgECAhQThbkneBVVtaMV7hc3gPhoXRdhoTAFBgMrZXAwFDESMBAG
A1UEAwwJbG9jYWxob3N0MB4XDTI2MTEyNjEzMTIyNloXDTMxMDcwOTEzMTIyNlow
FDESMBAGA1UEAwwJbG9jYWxob3N0MCowBQYDK2VwAyEAfRArOTruYpSjz8UDyLwX
M2/Kejhex0cAR5AvOZANwcijUzBRMB0GA1UdDgQWBBSgUtGnKYPnQIR2eCb0FarN
NpUpxjAfBgNVHSMEGDAWgBSgUtGnKYPnQIR2eCb0FarNNpUpxjAPBgNVHRMBAf8E
BTADAQH/MAUGAytlcANBAJQz+nbXJu6/a+YpftuxN7pFshRpEfMug5cywTyH3JOS
Tsr2gpCSoQ5O/VVwDDOS0U7YHnc7E27uoAcoeXNPJAg=
-----END CERTIFICATE-----
";

    fn seconds(tag: u8, text: &str) -> Option<u64> {
        let time = time(tag, text.as_bytes())?;
        Some(time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn times_are_seconds_since_the_epoch() {
        assert_eq!(seconds(UTC_TIME, "700101000000Z"), Some(0));
        assert_eq!(seconds(UTC_TIME, "240229235959Z"), Some(1_709_251_199));
        assert_eq!(seconds(GENERALIZED_TIME, "20261126111213Z"), Some(1_795_691_533));
        assert_eq!(seconds(GENERALIZED_TIME, "20500301000000Z"), Some(2_529_705_600));
        for malformed in ["", "Z", "2611261112Z", "xx1126111213Z", "261126111213"] {
            assert_eq!(seconds(UTC_TIME, malformed), None, "{malformed}");
        }
    }

    #[test]
    fn expiry_is_that_of_the_certificate() {
        let chain = pem::certificates(CERTIFICATE.as_bytes(), "certificate").unwrap();
        let expected = SystemTime::UNIX_EPOCH + Duration::from_secs(1_941_369_146);
        assert_eq!(not_after(&chain[0]), Some(expected));
    }

    #[test]
    fn malformed_certificate_has_no_expiry() {
        for der in [
            &[][..],
            &[SEQUENCE],
            &[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[SEQUENCE, 2, 0x30, 0],
        ] {
            assert_eq!(not_after(der), None, "{der:?}");
        }
    }
}
