//! When a certificate expires (RFC 5280 §4.1.2.5).

use std::time::SystemTime;

use a2a_core::well_known::Timestamp;

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
    let century = match (tag, year.as_bytes().first()?) {
        (UTC_TIME, b'0'..=b'4') => "20",
        (UTC_TIME, _) => "19",
        (GENERALIZED_TIME, _) => "",
        _ => return None,
    };
    let two = |index: usize| rest.get(index * 2..index * 2 + 2);
    let (month, day, hour, minute, second) = (two(0)?, two(1)?, two(2)?, two(3)?, two(4)?);
    let text = format!("{century}{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    text.parse::<Timestamp>().ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use a2a_kit_tls::pem;
    use rustls::pki_types::CertificateDer;

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
        let chain: Vec<CertificateDer<'_>> =
            pem::all(CERTIFICATE.as_bytes(), "certificate").unwrap();
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
