//! A strict parser of the W3C trace context.

use std::{collections::BTreeMap, fmt, str::FromStr};

use a2a_core::ParseError;

/// The parameter with the trace id and the parent span id (W3C Trace Context §3.2).
pub const TRACEPARENT: &str = "traceparent";
/// The parameter with vendor-specific trace data (W3C Trace Context §3.3).
pub const TRACESTATE: &str = "tracestate";

/// Length of a version 00 `traceparent`, in bytes.
const LENGTH: usize = 55;
/// Maximum length of a `tracestate`, in bytes: what every system has to propagate (W3C §3.3.1.5).
const MAX_STATE_BYTES: usize = 512;
/// Maximum number of members of a `tracestate` (W3C §3.3.1.1).
const MAX_STATE_MEMBERS: usize = 32;

/// The trace and span ids that processes propagate (W3C Trace Context).
///
/// Its text is the `traceparent`; the `tracestate` is separate.
///
/// ```
/// use a2a_kit_operations::trace::TraceContext;
///
/// let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let context: TraceContext = text.parse()?;
/// assert!(context.is_sampled());
/// assert_eq!(context.to_string(), text);
/// # Ok::<(), a2a_core::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    flags: u8,
    state: String,
}

impl TraceContext {
    /// Creates the context of a span; `None` for zero ids, which are invalid.
    pub fn new(trace_id: u128, span_id: u64, flags: u8) -> Option<Self> {
        (trace_id != 0 && span_id != 0).then(|| Self {
            trace_id,
            span_id,
            flags,
            state: String::new(),
        })
    }

    /// Sets the `tracestate`. One that is longer than 512 bytes or 32 members, or contains anything
    /// but printable ASCII, is dropped as a whole, as specified.
    #[must_use]
    pub fn with_state(mut self, state: &str) -> Self {
        let state = state.trim();
        let fits = state.len() <= MAX_STATE_BYTES
            && state.split(',').count() <= MAX_STATE_MEMBERS
            && state.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\t');
        if fits {
            state.clone_into(&mut self.state);
        }
        self
    }

    /// Reads the parameters of a call. A malformed value counts as absent.
    pub fn of(parameters: &BTreeMap<String, String>) -> Option<Self> {
        let context: Self = parameters.get(TRACEPARENT)?.parse().ok()?;
        Some(match parameters.get(TRACESTATE) {
            Some(state) => context.with_state(state),
            None => context,
        })
    }

    /// Writes the parameters of a call, replacing existing ones.
    pub fn write(&self, parameters: &mut BTreeMap<String, String>) {
        parameters.insert(TRACEPARENT.to_owned(), self.to_string());
        if self.state.is_empty() {
            parameters.remove(TRACESTATE);
        } else {
            parameters.insert(TRACESTATE.to_owned(), self.state.clone());
        }
    }

    /// The id of the trace, never zero.
    pub fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// The id of the span, never zero.
    pub fn span_id(&self) -> u64 {
        self.span_id
    }

    /// The flags; the lowest bit tells whether the trace is sampled.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Returns whether the trace is sampled.
    pub fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }

    /// The `tracestate`; empty if there is none.
    pub fn state(&self) -> &str {
        &self.state
    }
}

impl FromStr for TraceContext {
    type Err = ParseError;

    /// Parses a `traceparent`. For later versions, the known fields are parsed, as specified.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text.trim_matches([' ', '\t']).as_bytes();
        let (head, rest) = bytes.split_at_checked(LENGTH).ok_or_else(invalid)?;
        let version = hex(&head[..2])?;
        let ends = rest.is_empty() || version > 0 && rest[0] == b'-';
        let dashed = [2, 35, 52].iter().all(|place| head[*place] == b'-');
        if version == 0xff || !ends || !dashed {
            return Err(invalid());
        }
        let trace_id = hex(&head[3..35])?;
        let span_id = u64::try_from(hex(&head[36..52])?).unwrap_or_default();
        let flags = u8::try_from(hex(&head[53..])?).unwrap_or_default();
        // The flags of later versions are unknown.
        let flags = if version == 0 { flags } else { flags & 1 };
        Self::new(trace_id, span_id, flags).ok_or_else(invalid)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

fn invalid() -> ParseError {
    ParseError::new("not a traceparent: version, trace id, span id and flags in lower-case hex")
}

/// Parses up to 32 lower-case hex digits.
fn hex(digits: &[u8]) -> Result<u128, ParseError> {
    digits.iter().try_fold(0, |number, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return Err(invalid()),
        };
        Ok(number << 4 | u128::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn malformed_traceparent_is_rejected() {
        for (text, is_fine) in [
            (PARENT, true),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", true),
            // A later version may have more fields.
            ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", true),
            ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.more", false),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", false),
            ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
            ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
            ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0", false),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333-101", false),
            ("00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01", false),
            ("00-0af7651916cd43dd8448eb211c80319é-b7ad6b7169203331-01", false),
            ("00-1-2-01", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<TraceContext>().is_ok(), is_fine, "{text}");
        }
    }

    #[test]
    fn traceparent_round_trips() {
        let mut parameters = BTreeMap::new();
        parameters.insert(TRACEPARENT.to_owned(), PARENT.to_owned());
        parameters.insert(TRACESTATE.to_owned(), "a=1,b=2".to_owned());
        let context = TraceContext::of(&parameters).unwrap();
        let mut written = BTreeMap::new();
        context.write(&mut written);
        assert_eq!(written, parameters);
        assert_eq!(context.trace_id(), 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
    }

    #[test]
    fn tracestate_is_limited() {
        let context: TraceContext = PARENT.parse().unwrap();
        let longest = format!("a={}", "x".repeat(MAX_STATE_BYTES - 2));
        let most = vec!["a=1"; MAX_STATE_MEMBERS].join(",");
        for state in [&*longest, &most, "a=1"] {
            assert_eq!(context.clone().with_state(state).state(), state);
        }
        for state in [&*format!("{longest}x"), &format!("{most},b=1"), "a=\u{7f}", "a=é"] {
            assert_eq!(context.clone().with_state(state).state(), "", "{state}");
        }
    }

    proptest! {
        #[test]
        fn any_text_parses_without_panic_and_round_trips(
            text in "[0-9a-f]{2}-[0-9a-fA-F]{30,33}-[0-9a-f]{15,17}-[0-9a-f]{1,3}.{0,5}|.{0,80}",
        ) {
            if let Ok(context) = text.parse::<TraceContext>() {
                prop_assert_eq!(context.to_string().parse::<TraceContext>(), Ok(context));
            }
        }
    }
}
