//! A line of input.

/// What was read.
#[derive(Debug)]
pub(super) enum Line {
    Text(String),
    /// Ctrl-C at the prompt.
    Interrupted,
    /// The end of the input; Ctrl-D at the prompt.
    End,
}
