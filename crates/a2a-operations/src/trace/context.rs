//! The W3C trace context, read strictly.

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::{TRACEPARENT, TRACESTATE};

/// Length of a `traceparent` of version 00, in bytes.
const LENGTH: usize = 55;
/// Longest `tracestate` that is kept, in bytes: what every system has to pass on (W3C §3.3.1.5).
const MAX_STATE_BYTES: usize = 512;
/// Most members of a `tracestate` (W3C §3.3.1.1).
const MAX_STATE_MEMBERS: usize = 32;

/// The trace and the span that something was done in, as it travels from process to process
/// (W3C Trace Context).
///
/// Its text is the `traceparent`; the `tracestate` is beside it.
///
/// ```
/// use a2a_operations::trace::TraceContext;
///
/// let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let context: TraceContext = text.parse()?;
/// assert!(context.is_sampled());
/// assert_eq!(context.to_string(), text);
/// # Ok::<(), a2a_operations::trace::InvalidTraceContext>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    flags: u8,
    state: String,
}

/// The text is no `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a traceparent: version, trace id, span id and flags in lower-case hex")]
pub struct InvalidTraceContext;

impl TraceContext {
    /// Creates the context of a span; `None` for ids of zero, which stand for no span.
    pub fn new(trace_id: u128, span_id: u64, flags: u8) -> Option<Self> {
        (trace_id != 0 && span_id != 0).then(|| Self {
            trace_id,
            span_id,
            flags,
            state: String::new(),
        })
    }

    /// Keeps what tracing systems add. What is longer than 512 bytes or 32 members, or has other
    /// than printable ASCII in it, is left out as a whole, as the rules have it.
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

    /// Reads the parameters of a call. What is malformed counts as absent.
    pub fn of(parameters: &BTreeMap<String, String>) -> Option<Self> {
        let context: Self = parameters.get(TRACEPARENT)?.parse().ok()?;
        Some(match parameters.get(TRACESTATE) {
            Some(state) => context.with_state(state),
            None => context,
        })
    }

    /// Writes the parameters of a call, in place of what is there.
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

    /// The flags; the lowest bit says that the trace is recorded.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Returns whether the trace is recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }

    /// What tracing systems have added; empty for nothing.
    pub fn state(&self) -> &str {
        &self.state
    }
}

impl FromStr for TraceContext {
    type Err = InvalidTraceContext;

    /// Reads a `traceparent`. Of a later version that what this one has is read, as the rules
    /// have it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text.trim_matches([' ', '\t']).as_bytes();
        let (head, rest) = bytes.split_at_checked(LENGTH).ok_or(InvalidTraceContext)?;
        let version = hex(&head[..2])?;
        let ends = rest.is_empty() || version > 0 && rest[0] == b'-';
        let dashed = [2, 35, 52].iter().all(|place| head[*place] == b'-');
        if version == 0xff || !ends || !dashed {
            return Err(InvalidTraceContext);
        }
        let trace_id = hex(&head[3..35])?;
        let span_id = u64::try_from(hex(&head[36..52])?).unwrap_or_default();
        let flags = u8::try_from(hex(&head[53..])?).unwrap_or_default();
        // What a later version means by other flags is not known.
        let flags = if version == 0 { flags } else { flags & 1 };
        Self::new(trace_id, span_id, flags).ok_or(InvalidTraceContext)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

/// Reads up to 32 digits; capital letters are none.
fn hex(digits: &[u8]) -> Result<u128, InvalidTraceContext> {
    digits.iter().try_fold(0, |number, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return Err(InvalidTraceContext),
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
    fn what_is_no_traceparent_is_refused() {
        for (text, is_fine) in [
            (PARENT, true),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", true),
            // A later version may have more.
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
    fn a_context_is_written_as_it_was_read() {
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
    fn a_state_is_bounded() {
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
        fn any_text_is_read_without_a_panic_and_comes_out_again_as_it_went_in(
            text in "[0-9a-f]{2}-[0-9a-fA-F]{30,33}-[0-9a-f]{15,17}-[0-9a-f]{1,3}.{0,5}|.{0,80}",
        ) {
            if let Ok(context) = text.parse::<TraceContext>() {
                prop_assert_eq!(context.to_string().parse::<TraceContext>(), Ok(context));
            }
        }
    }
}
