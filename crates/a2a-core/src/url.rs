//! Absolute URLs as text, so that a URL that passes a check means the same to whatever calls it.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use crate::ParseError;

/// Normalizes an absolute URL of any scheme: scheme and host are in lower case, and it has neither a
/// fragment nor the default port of its scheme.
///
/// Internationalized host names have to be in their ASCII form (`xn--…`). Other characters in the
/// path and the query that are not ASCII are percent-encoded.
///
/// # Errors
///
/// [`ParseError`] if the scheme or the host is missing, or the host or the port is malformed. IPv4
/// addresses are valid only as four decimal numbers: resolvers also accept `127.1`, `0x7f.1` and
/// `2130706433`.
pub fn normalize(text: &str) -> Result<String, ParseError> {
    let (scheme, rest) = text.split_once("://").ok_or_else(|| ParseError::new("missing scheme"))?;
    let (rest, _fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    // Credentials are kept, for callers to reject.
    let (user, address) = authority.split_at(authority.find('@').map_or(0, |at| at + 1));
    let end = match address.find(']') {
        Some(bracket) => bracket + 1,
        None => address.find(':').unwrap_or(address.len()),
    };
    let (host, port) = address.split_at(end);
    let host = Host::parse(host)?.to_string().to_ascii_lowercase();
    let scheme = scheme.to_ascii_lowercase();
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        Some("") => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            let port = digits.parse::<u16>();
            Some(port.map_err(|_error| ParseError::new("port out of range"))?)
        }
        _ => return Err(ParseError::new("invalid port")),
    };
    let port = port.filter(|port| Some(*port) != default_port(&scheme));
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut url = format!("{scheme}://{user}{host}{port}{slash}");
    for byte in path.bytes() {
        if byte.is_ascii() {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(url)
}

/// Returns the port of a scheme that a URL leaves out.
pub fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// The host of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host<'a> {
    /// A name that no resolver reads as an address.
    Name(&'a str),
    /// An IP address; of version 6, in brackets.
    Address(IpAddr),
}

impl<'a> Host<'a> {
    /// Parses a host.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if it is neither an address nor an ASCII name, or a name that resolvers read
    /// as an address.
    pub fn parse(text: &'a str) -> Result<Self, ParseError> {
        let invalid = || ParseError::new(format!("invalid host {text:?}"));
        if let Some(rest) = text.strip_prefix('[') {
            let v6 = rest.strip_suffix(']').and_then(|v6| v6.parse::<Ipv6Addr>().ok());
            return v6.map(|v6| Self::Address(v6.into())).ok_or_else(invalid);
        }
        if let Ok(v4) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(v4.into()));
        }
        if !text.is_ascii() {
            let reason = format!("host {text:?} is not ASCII (use its punycode form, xn--…)");
            return Err(ParseError::new(reason));
        }
        let mut labels = text.strip_suffix('.').unwrap_or(text).rsplit('.').peekable();
        let is_number = labels.peek().is_some_and(|last| is_number(last));
        if is_number || !labels.all(is_label) { Err(invalid()) } else { Ok(Self::Name(text)) }
    }
}

fn is_label(label: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !label.is_empty() && label.bytes().all(is_valid)
}

/// Returns whether resolvers read a label as a number, and a name that ends with it as an address.
fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    label.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(v4)) => v4.fmt(f),
            Self::Address(IpAddr::V6(v6)) => write!(f, "[{v6}]"),
        }
    }
}
