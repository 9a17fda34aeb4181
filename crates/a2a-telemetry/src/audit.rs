//! Security events, as JSON lines, whatever else is logged.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender, TrySendError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Map, Value};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{Layer, filter::filter_fn, layer::Context, registry::LookupSpan};

use crate::json;

/// The target of security events. Their field `event` says what happened.
pub const AUDIT: &str = "a2a::audit";

/// Lines that wait to be written; more are counted and dropped, and serving goes on.
const MAX_QUEUED: usize = 4_096;

/// Longest text of a field, in bytes: peers choose some of them.
const MAX_TEXT: usize = 1_024;

/// Security events on their way to a file or to standard error, written by a thread of their own.
///
/// A file is created for its owner alone and only added to. One that was moved away, as log
/// rotation does, is followed by a new one.
#[derive(Clone)]
pub struct AuditLog {
    shared: Arc<Shared>,
}

struct Shared {
    lines: Mutex<Option<SyncSender<String>>>,
    dropped: Arc<AtomicU64>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl AuditLog {
    /// Writes to standard error.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub fn to_stderr() -> io::Result<Self> {
        Self::start(Sink::Stderr)
    }

    /// Adds to the file at `path`.
    ///
    /// # Errors
    ///
    /// The file can't be opened, or no thread can be started.
    pub fn to_file(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let file = open(&path)?;
        Self::start(Sink::File { path, file })
    }

    fn start(sink: Sink) -> io::Result<Self> {
        let (sender, receiver) = mpsc::sync_channel(MAX_QUEUED);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&dropped);
        let writer = thread::Builder::new()
            .name("a2a-audit".to_owned())
            .spawn(move || write(sink, &receiver, &counted))?;
        Ok(Self {
            shared: Arc::new(Shared {
                lines: Mutex::new(Some(sender)),
                dropped,
                writer: Mutex::new(Some(writer)),
            }),
        })
    }

    /// The layer that takes security events, and nothing else.
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

    /// Writes what waits, and nothing more. Blocks this thread until it is written.
    pub fn shut_down(&self) {
        self.shared.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
        let writer = self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // A writer that panicked has said so.
            let _panicked = writer.join();
        }
    }

    fn add(&self, line: String) {
        let lines = self.shared.lines.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.as_ref().map(|lines| lines.try_send(line)) {
            Some(Ok(())) => {}
            Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) | None => {
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
                metrics::counter!("a2a_audit_dropped_total").increment(1);
            }
        }
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditLog")
    }
}

enum Sink {
    Stderr,
    File { path: PathBuf, file: File },
}

impl Sink {
    fn write(&mut self, lines: &str) -> io::Result<()> {
        match self {
            Self::Stderr => io::stderr().lock().write_all(lines.as_bytes()),
            Self::File { path, file } => {
                if !is_at(file, path) {
                    *file = open(path)?;
                }
                file.write_all(lines.as_bytes())
            }
        }
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

/// Writes lines as they come, those that wait together in one go.
fn write(mut sink: Sink, lines: &Receiver<String>, dropped: &AtomicU64) {
    let mut failing = false;
    while let Ok(first) = lines.recv() {
        let mut batch = first;
        for line in lines.try_iter().take(MAX_QUEUED) {
            batch.push_str(&line);
        }
        let lost = dropped.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let mut fields = Map::new();
            fields.insert("event".to_owned(), "audit_dropped".into());
            fields.insert("count".to_owned(), lost.into());
            batch.push_str(&line(fields));
        }
        match sink.write(&batch) {
            Ok(()) => failing = false,
            // Said once, as every event would say it again.
            Err(error) if !failing => {
                failing = true;
                tracing::error!(%error, "the audit log can't be written");
            }
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

struct AuditLayer {
    log: AuditLog,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for AuditLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        self.log.add(line(fields.0));
    }
}

/// One line: the time, and then the fields of an event.
fn line(fields: Map<String, Value>) -> String {
    let mut all = Map::new();
    all.insert("time".to_owned(), json::now().into());
    all.extend(fields);
    format!("{}\n", Value::Object(all))
}

/// The fields of an event, bounded.
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
    use std::fs;

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn events(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn security_events_are_written_whatever_the_log_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        fs::write(&path, "{\"event\":\"earlier\"}\n").unwrap();
        let log = AuditLog::to_file(&path).unwrap();
        let filtered =
            tracing_subscriber::fmt::layer().with_writer(io::sink).with_filter(LevelFilter::ERROR);
        let subscriber = tracing_subscriber::registry().with(filtered).with(log.layer());
        tracing::subscriber::with_default(subscriber, || {
            let long = "x".repeat(10_000);
            tracing::info!(target: AUDIT, event = "denied", subject = long, tries = 3);
            tracing::debug!(target: AUDIT, event = "task_state");
            tracing::info!("something else");
        });
        log.shut_down();
        let events = events(&path);
        assert_eq!(events.len(), 3, "{events:?}");
        assert_eq!(events[0]["event"], "earlier");
        assert_eq!(events[1]["event"], "denied");
        assert_eq!(events[1]["tries"], 3);
        assert_eq!(events[1]["subject"].as_str().unwrap().len(), MAX_TEXT);
        assert!(events[1]["time"].as_str().unwrap().ends_with('Z'));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_moved_away_is_followed_by_a_new_one() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("audit"), folder.path().join("audit.1"));
        let log = AuditLog::to_file(&path).unwrap();
        let write = |event: &str| {
            let mut fields = Map::new();
            fields.insert("event".to_owned(), event.into());
            log.add(line(fields));
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

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let (sender, receiver) = mpsc::sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let log = AuditLog {
            shared: Arc::new(Shared {
                lines: Mutex::new(Some(sender)),
                dropped: Arc::clone(&dropped),
                writer: Mutex::new(None),
            }),
        };
        for _ in 0..3 {
            log.add(line(Map::new()));
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
        log.shut_down();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let file = open(&path).unwrap();
        write(Sink::File { path: path.clone(), file }, &receiver, &dropped);
        let events = events(&path);
        assert_eq!(
            (&events[1]["event"], &events[1]["count"]),
            (&"audit_dropped".into(), &2.into())
        );
    }
}
