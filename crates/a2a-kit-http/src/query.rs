//! Query strings, strictly: bytes that are not UTF-8 are errors.

use std::borrow::Cow;

use a2a_core::{Error, Result};
use percent_encoding::percent_decode_str;

/// Parses a query string into its decoded names and values.
///
/// # Errors
///
/// [`InvalidParams`](a2a_core::ErrorKind::InvalidParams) with the name of the parameter whose name or
/// value is not UTF-8.
pub fn parse(query: &str) -> Result<Vec<(Cow<'_, str>, Cow<'_, str>)>> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name, name)?, decode(name, value)?))
        })
        .collect()
}

fn decode<'a>(name: &str, text: &'a str) -> Result<Cow<'a, str>> {
    let invalid = |error| {
        let name = percent_decode_str(name).decode_utf8_lossy();
        Error::invalid_params(name, format!("must be percent-encoded UTF-8: {error}"))
    };
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        let decoded = percent_decode_str(&spaced).decode_utf8().map_err(invalid)?;
        return Ok(Cow::Owned(decoded.into_owned()));
    }
    percent_decode_str(text).decode_utf8().map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_is_decoded_like_a_form() {
        let pairs = parse("a=b+c%2B&&d&e=&%66=g=h&%C3%A9=%c3%a9").unwrap();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(pairs, [("a", "b c+"), ("d", ""), ("e", ""), ("f", "g=h"), ("é", "é")]);
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn text_that_is_not_utf8_is_rejected_with_the_name_of_its_parameter() {
        for (query, name) in [("a=b&c=%ff", "c"), ("c=%c3+", "c"), ("%ff=1", "\u{fffd}")] {
            let error = parse(query).unwrap_err();
            assert_eq!(error.violations()[0].field, name, "{query}");
        }
    }
}
