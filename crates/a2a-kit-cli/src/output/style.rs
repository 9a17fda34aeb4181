//! Names of states, and colors of the output on a terminal.

use a2a_core::TaskState;
use anstyle::{AnsiColor, Style};

pub(crate) const LABEL: Style = Style::new().dimmed();
pub(crate) const NOTE: Style = Style::new().dimmed();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const HEADING: Style = Style::new().bold();
pub(crate) const EMPHASIS: Style = Style::new().italic();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const CODE: Style = AnsiColor::Cyan.on_default();
pub(crate) const LINK: Style = Style::new().underline();
pub(crate) const STRUCK: Style = Style::new().strikethrough();

/// The color of a state.
pub(crate) fn of_state(state: TaskState) -> Style {
    match state {
        TaskState::Completed => AnsiColor::Green.on_default(),
        TaskState::Submitted | TaskState::Working => AnsiColor::Blue.on_default(),
        TaskState::InputRequired | TaskState::AuthRequired => AnsiColor::Yellow.on_default(),
        TaskState::Failed | TaskState::Rejected => AnsiColor::Red.on_default(),
        TaskState::Canceled | TaskState::Unspecified => Style::new().dimmed(),
    }
}

/// Writes `text` in a style, if there are colors. The text has to be escaped already.
pub(crate) fn paint(to: &mut String, style: Style, text: &str, has_colors: bool) {
    if has_colors && !text.is_empty() {
        to.push_str(&format!("{style}{text}{style:#}"));
    } else {
        to.push_str(text);
    }
}

/// The short name of a state, for example `INPUT_REQUIRED`.
pub(crate) fn state_name(state: TaskState) -> &'static str {
    let name = state.as_str_name();
    name.strip_prefix("TASK_STATE_").unwrap_or(name)
}
