//! The audit log: security events as JSON lines, independent of the log.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use a2a_core::escape::escape_log;
use serde_json::{Map, Value};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{Layer, filter::filter_fn, layer::Context, registry::LookupSpan};

use crate::{json, line_writer::LineWriter};

/// The target of security events. Their field `event` has the type of the event.
pub const AUDIT: &str = "a2a::audit";

/// Maximum length of a string field, in bytes, as some are chosen by peers.
const MAX_TEXT: usize = 1_024;

/// Writes security events to a file or to standard error, by a separate thread.
///
/// A file is created with mode 0600 and appended to. After log rotation has moved it, it is
/// reopened.
#[derive(Clone, Debug)]
pub struct AuditLog {
    lines: LineWriter,
}

impl AuditLog {
    /// Writes to standard error.
    ///
    /// # Errors
    ///
    /// If the thread can't be started.
    pub fn to_stderr() -> io::Result<Self> {
        Self::start(io::stderr())
    }

    /// Appends to the file at `path`.
    ///
    /// # Errors
    ///
    /// If the file can't be opened, or the thread can't be started.
    pub fn to_file(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let file = open(&path)?;
        Self::start(RotatedFile { path, file })
    }

    fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let lines = LineWriter::start("a2a-audit", sink, |count| {
            let mut fields = Map::new();
            fields.insert("event".to_owned(), "audit_dropped".into());
            fields.insert("count".to_owned(), count.into());
            Some(line(fields))
        })?;
        Ok(Self { lines })
    }

    /// Returns the layer that receives security events, and nothing else.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let is_audit = |metadata: &Metadata<'_>| {
            metadata.is_event() && metadata.target() == AUDIT && *metadata.level() <= Level::DEBUG
        };
        let filter = filter_fn(is_audit).with_max_level_hint(LevelFilter::DEBUG);
        AuditLayer { log: self.clone() }.with_filter(filter)
    }

    /// Flushes pending lines, blocking for some seconds at most. Later lines are discarded.
    pub fn shut_down(&self) {
        self.lines.shut_down();
    }

    fn add(&self, line: &str) {
        if !self.lines.add(line.as_bytes()) {
            metrics::counter!("a2a_audit_dropped_total").increment(1);
        }
    }
}

/// A file that is reopened after log rotation.
struct RotatedFile {
    path: PathBuf,
    file: File,
}

impl Write for RotatedFile {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        if !is_at(&self.file, &self.path) {
            self.file = open(&self.path)?;
        }
        self.file.write(lines)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns whether the file is still the one at its path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

struct AuditLayer {
    log: AuditLog,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for AuditLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        self.log.add(&line(fields.0));
    }
}

/// Formats a line: the time, and then the fields of an event.
fn line(fields: Map<String, Value>) -> String {
    let mut all = Map::new();
    all.insert("time".to_owned(), json::now().into());
    all.extend(fields);
    format!("{}\n", escape_log(&Value::Object(all).to_string()))
}

/// The fields of an event, with bounded strings.
struct Fields(Map<String, Value>);

impl Fields {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let end = (0..=MAX_TEXT.min(value.len())).rev().find(|end| value.is_char_boundary(*end));
        self.add(field, &value[..end.unwrap_or(0)]);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn events(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn security_events_are_written_regardless_of_the_log_filter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        fs::write(&path, "{\"event\":\"earlier\"}\n").unwrap();
        let log = AuditLog::to_file(&path).unwrap();
        let filtered =
            tracing_subscriber::fmt::layer().with_writer(io::sink).with_filter(LevelFilter::ERROR);
        let subscriber = tracing_subscriber::registry().with(filtered).with(log.layer());
        tracing::subscriber::with_default(subscriber, || {
            let long = "x".repeat(10_000);
            tracing::info!(target: AUDIT, event = "denied", subject = long, attempts = 3);
            tracing::debug!(target: AUDIT, event = "task_state");
            tracing::info!("something else");
        });
        log.shut_down();
        let events = events(&path);
        assert_eq!(events.len(), 3, "{events:?}");
        assert_eq!(events[0]["event"], "earlier");
        assert_eq!(events[1]["event"], "denied");
        assert_eq!(events[1]["attempts"], 3);
        assert_eq!(events[1]["subject"].as_str().unwrap().len(), MAX_TEXT);
        assert!(events[1]["time"].as_str().unwrap().ends_with('Z'));
    }

    #[cfg(unix)]
    #[test]
    fn file_is_reopened_after_rotation() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("audit"), folder.path().join("audit.1"));
        let log = AuditLog::to_file(&path).unwrap();
        let write = |event: &str| {
            let mut fields = Map::new();
            fields.insert("event".to_owned(), event.into());
            log.add(&line(fields));
        };
        write("first");
        while events(&path).is_empty() {
            thread::yield_now();
        }
        fs::rename(&path, &moved).unwrap();
        write("second");
        log.shut_down();
        assert_eq!(events(&moved)[0]["event"], "first");
        assert_eq!(events(&path)[0]["event"], "second");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
