//! The line on stderr that shows the progress of a wait.

use std::{
    future::Future,
    io::{self, Write as _},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use a2a_core::{TaskState, escape::escape_line};
use terminal_size::{Width, terminal_size_of};
use tokio::time::{Instant, interval_at};
use unicode_width::UnicodeWidthChar as _;

use super::style::{self, state_name};

/// Shorter waits show no line.
const DELAY: Duration = Duration::from_millis(400);
const PERIOD: Duration = Duration::from_millis(120);
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Width of a terminal that does not report it, in columns.
const DEFAULT_WIDTH: usize = 80;

/// Whether the line is on the screen. Everything that is printed removes it first, in whatever part
/// of the program, and a process has one stderr.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// A line on stderr with the state of the task and the elapsed time. It is rewritten while something
/// is awaited, and removed before anything else is printed.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    is_enabled: bool,
    has_colors: bool,
    started: Instant,
    state: Option<TaskState>,
    frame: usize,
    is_hidden: bool,
}

impl ProgressLine {
    pub(super) fn new(is_enabled: bool, has_colors: bool) -> Self {
        Self {
            is_enabled,
            has_colors,
            started: Instant::now(),
            state: None,
            frame: 0,
            is_hidden: false,
        }
    }

    /// Sets the state that is shown.
    pub(crate) fn set_state(&mut self, state: TaskState) {
        self.state = Some(state);
    }

    /// Hides the line, such as while the cursor is behind unfinished text.
    pub(crate) fn set_hidden(&mut self, is_hidden: bool) {
        self.is_hidden = is_hidden;
    }

    /// Awaits `work`, and shows the line meanwhile.
    ///
    /// # Cancel safety
    ///
    /// That of `work`. The line is removed when this is dropped.
    pub(crate) fn during<T>(&mut self, work: impl Future<Output = T>) -> impl Future<Output = T> {
        // Boxed, as the callers' futures would contain it several times.
        let mut work = Box::pin(work);
        async move {
            if !self.is_enabled || self.is_hidden {
                return work.await;
            }
            let _removed = RemoveOnDrop;
            let mut ticks = interval_at(Instant::now() + DELAY, PERIOD);
            loop {
                tokio::select! {
                    biased;
                    done = &mut work => return done,
                    _ = ticks.tick() => self.draw(),
                }
            }
        }
    }

    fn draw(&mut self) {
        let spinner = SPINNER.get(self.frame % SPINNER.len()).copied().unwrap_or_default();
        self.frame = self.frame.wrapping_add(1);
        let state = self.state.map_or("waiting for the agent", state_name);
        let line = format!("{spinner} {} {}", escape_line(state), elapsed(self.started.elapsed()));
        let mut stderr = io::stderr().lock();
        let width = terminal_size_of(&stderr).map_or(DEFAULT_WIDTH, |(Width(w), _)| w.into());
        let mut shown = String::from("\r");
        // A line of the full width would wrap on some terminals.
        let line = truncated(&line, width.saturating_sub(1));
        style::paint(&mut shown, style::NOTE, line, self.has_colors);
        shown.push_str("\x1b[K");
        let _closed = stderr.write_all(shown.as_bytes()).and_then(|()| stderr.flush());
        IS_SHOWN.store(true, Ordering::Relaxed);
    }
}

/// Removes the line from the screen, if it is there.
pub(super) fn remove() {
    if IS_SHOWN.swap(false, Ordering::Relaxed) {
        let mut stderr = io::stderr().lock();
        let _closed = stderr.write_all(b"\r\x1b[K").and_then(|()| stderr.flush());
    }
}

struct RemoveOnDrop;

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        remove();
    }
}

/// A duration as people say it: `8s`, `2m 05s`, `1h 02m`.
fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// The start of `text` that fits into `width` columns.
fn truncated(text: &str, width: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > width
    });
    end.map_or(text, |(end, _)| text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elapsed_time_has_two_units_at_most() {
        for (seconds, shown) in [(0, "0s"), (59, "59s"), (125, "2m 05s"), (3_725, "1h 02m")] {
            assert_eq!(elapsed(Duration::from_secs(seconds)), shown);
        }
    }

    #[test]
    fn line_is_truncated_to_the_columns_of_the_terminal() {
        assert_eq!(truncated("⠋ WORKING", 4), "⠋ WO");
        assert_eq!(truncated("日本語", 5), "日本");
        assert_eq!(truncated("abc", 3), "abc");
    }
}
