//! The text format of log lines without spans.

use std::{
    cell::Cell,
    fmt::{self, Write as _},
    io::{self, Write as _},
    time::{Duration, SystemTime},
};

use a2a_core::escape::escape_log;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    fmt::format::{DefaultVisitor, Writer},
    layer::Context,
};

use crate::{json::now, line_writer::LineWriter};

/// Maximum size of a line whose buffer is reused, in bytes.
const MAX_REUSED: usize = 4 << 10;

/// Length of a time up to its seconds, with the point, in bytes.
const SECONDS: usize = 20;

/// Writes events in the full format of `tracing_subscriber`, but without spans: each is one line that
/// controls no terminal. It takes a third of the time, as each request has such a line.
#[derive(Debug)]
pub(crate) struct TextLog {
    /// `None` for standard error.
    pub(crate) lines: Option<LineWriter>,
}

impl<S: Subscriber> Layer<S> for TextLog {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        thread_local! {
            static LINE: Cell<String> = const { Cell::new(String::new()) };
        }
        // An event that a field causes while it is formatted has a buffer of its own.
        let mut line = LINE.take();
        format(event, &mut line);
        // The log has no place to report that it can't be written.
        let _failed = match &self.lines {
            Some(lines) => lines.clone().write_all(line.as_bytes()),
            None => io::stderr().write_all(line.as_bytes()),
        };
        if line.capacity() <= MAX_REUSED {
            line.clear();
            LINE.set(line);
        }
    }
}

fn format(event: &Event<'_>, line: &mut String) {
    push_time(line);
    line.push_str(match *event.metadata().level() {
        Level::ERROR => " ERROR ",
        Level::WARN => "  WARN ",
        Level::INFO => "  INFO ",
        Level::DEBUG => " DEBUG ",
        Level::TRACE => " TRACE ",
    });
    line.push_str(event.metadata().target());
    line.push_str(": ");
    let start = line.len();
    event.record(&mut Fields { line, start });
    if !all_bytes(line, is_printable) {
        *line = escape_log(line).into_owned();
    }
    line.push('\n');
}

/// Appends the time (RFC 3339, UTC) with microseconds.
fn push_time(line: &mut String) {
    thread_local! {
        static KNOWN: Cell<(u64, [u8; SECONDS])> = const { Cell::new((0, [0; SECONDS])) };
    }
    let since = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = since();
    let (second, text) = KNOWN.get();
    match std::str::from_utf8(&text) {
        Ok(text) if second == time.as_secs() => {
            line.push_str(text);
            let micros = time.subsec_micros();
            for power in [100_000, 10_000, 1_000, 100, 10, 1] {
                line.push(digit(micros / power));
            }
            line.push('Z');
        }
        _ => {
            let text = now();
            if let Some(known) = text.as_bytes().first_chunk()
                && since().as_secs() == time.as_secs()
            {
                KNOWN.set((time.as_secs(), *known));
            }
            line.push_str(&text);
        }
    }
}

/// The last digit of a number.
fn digit(number: u32) -> char {
    char::from_digit(number % 10, 10).unwrap_or('0')
}

fn is_printable(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte)
}

/// Like [`Iterator::all`], but without a search for an early end.
fn all_bytes(text: &str, is_fine: impl Fn(u8) -> bool) -> bool {
    text.bytes().fold(true, |all, byte| all & is_fine(byte))
}

/// Formats fields as [`DefaultVisitor`] does.
struct Fields<'a> {
    line: &'a mut String,
    /// Where the first one starts.
    start: usize,
}

impl Fields<'_> {
    /// Starts a field, unless its name needs the default.
    fn begin(&mut self, field: &Field) -> bool {
        let name = field.name();
        if name.starts_with(['l', 'm', 'r'])
            && (name == "message" || name.starts_with("r#") || name.starts_with("log."))
        {
            return false;
        }
        self.pad();
        self.line.push_str(name);
        self.line.push('=');
        true
    }

    fn pad(&mut self) {
        if self.line.len() > self.start {
            self.line.push(' ');
        }
    }

    fn by_default(&mut self, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        let is_first = self.line.len() == self.start;
        record(&mut DefaultVisitor::new(Writer::new(self.line), is_first));
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_verbatim = |byte| is_printable(byte) & (byte != b'"') & (byte != b'\\');
        if all_bytes(value, is_verbatim) && self.begin(field) {
            self.line.push('"');
            self.line.push_str(value);
            self.line.push('"');
        } else {
            self.by_default(|visitor| visitor.record_str(field, value));
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // Durations have up to three decimals.
        let thousandths = Duration::try_from_secs_f64(value).map(|value| value.as_millis());
        let thousandths = thousandths.ok().and_then(|value| u32::try_from(value).ok());
        let is_exact = |of: &u32| f64::from(*of) / 1e3 == value && value.is_sign_positive();
        if let Some(thousandths) = thousandths.filter(is_exact)
            && self.begin(field)
        {
            let _infallible = write!(self.line, "{}.", thousandths / 1_000);
            for power in [100, 10, 1] {
                self.line.push(digit(thousandths / power));
                if thousandths % power == 0 {
                    break;
                }
            }
        } else {
            self.record_debug(field, &value);
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.by_default(|visitor| visitor.record_error(field, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let end = self.line.len();
        if field.name() == "message" {
            self.pad();
            let _infallible = write!(self.line, "{value:?}");
            // The default escapes controls in the message.
            if !all_bytes(&self.line[end..], is_printable) {
                self.line.truncate(end);
                self.by_default(|visitor| visitor.record_debug(field, value));
            }
        } else if self.begin(field) {
            let _infallible = write!(self.line, "{value:?}");
        } else {
            self.by_default(|visitor| visitor.record_debug(field, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::{fmt, layer::SubscriberExt as _};

    use a2a_core::ParseError;

    use super::*;
    use crate::json::OneLine;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<S: Subscriber> Layer<S> for Lines {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let mut line = String::new();
            format(event, &mut line);
            self.0.lock().unwrap().extend_from_slice(line.as_bytes());
        }
    }

    #[test]
    fn lines_are_those_of_the_full_format() {
        let (ours, theirs) = (Lines::default(), Lines::default());
        let writer = theirs.clone();
        let full = fmt::layer().with_ansi(false).with_writer(move || writer.clone());
        let full = full.event_format(OneLine(fmt::format().with_ansi(false)));
        let subscriber = tracing_subscriber::registry().with(ours.clone()).with(full);
        let text = "a \"b\" c\\d 'e'";
        let controls = "\u{1b}[31m\u{7}\u{9b}\u{202e}\u{2028}\r\n\u{fc}";
        let error = io::Error::other(ParseError::new(controls));
        let nested = crate::InitError::Log(io::Error::other(error.to_string()));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(text, plain = "x", empty = "", controls, "operation");
            tracing::warn!(target: "a2a::x", n = 7, float = 1.25, half = 0.5_f32, "{text}{controls}");
            tracing::error!(
                error = &error as &(dyn std::error::Error + 'static),
                "failed: {error}"
            );
            tracing::debug!(error = &nested as &(dyn std::error::Error + 'static));
            tracing::trace!(?text, %controls, r#type = "t", is = true, none = None::<&str>);
            tracing::info!("");
            tracing::info!(message = text, address = %std::net::Ipv4Addr::LOCALHOST);
            for value in [0.0_f64, -0.0, 0.001, 0.12, 1_234.567, 1e-7, 0.1 + 0.2, -1.5, 1e12, 1e16]
            {
                tracing::info!(value, below = value.next_down(), third = value / 3.0);
            }
            tracing::info!(nan = f64::NAN, infinite = f64::INFINITY);
            tracing::info!(a.b = 12.0, c = u64::MAX, d = i128::MIN, "\u{fc}");
        });
        let without_time = |lines: &Lines| {
            let text = lines.take();
            let lines = text.lines().map(|line| line.split_once(' ').unwrap().1.to_owned());
            lines.collect::<Vec<_>>()
        };
        let (ours, theirs) = (without_time(&ours), without_time(&theirs));
        assert_eq!(ours.len(), 19);
        assert_eq!(ours, theirs);
    }

    #[test]
    fn time_is_the_current_one_in_order() {
        let times: Vec<_> = std::iter::repeat_with(|| {
            let (before, mut line, after) = (now(), String::new(), now);
            push_time(&mut line);
            assert!(before <= line && line <= after(), "{before} {line}");
            line
        })
        .take(100)
        .collect();
        assert!(times.is_sorted() && times.iter().all(|time| time.len() == times[0].len()));
    }
}
