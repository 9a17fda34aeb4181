//! The mode of the terminal between prompts.

/// Keeps what is typed while the agent works for the next prompt, instead of showing it among the
/// output. Ctrl-C is still a signal. The original mode is restored when this is dropped.
#[derive(Debug)]
pub(super) struct TerminalMode {
    #[cfg(unix)]
    original: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl TerminalMode {
    /// Switches the terminal on standard input to this mode.
    pub(super) fn hold_input() -> Self {
        use rustix::termios::{InputModes, LocalModes, tcgetattr};
        let original = tcgetattr(std::io::stdin()).ok();
        if let Some(original) = &original {
            let mut held = original.clone();
            // Keys go to the editor as they are: Ctrl-D is not the end of a line that the system
            // edits, and Enter is not a newline, which is a key of its own.
            held.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN);
            held.input_modes.remove(InputModes::ICRNL);
            set(&held);
        }
        Self { original }
    }
}

#[cfg(unix)]
impl Drop for TerminalMode {
    fn drop(&mut self) {
        if let Some(original) = &self.original {
            set(original);
        }
    }
}

#[cfg(unix)]
fn set(mode: &rustix::termios::Termios) {
    use rustix::termios::{OptionalActions, tcsetattr};
    // A terminal that is gone needs no mode.
    let _gone = tcsetattr(std::io::stdin(), OptionalActions::Drain, mode);
}

#[cfg(not(unix))]
impl TerminalMode {
    pub(super) fn hold_input() -> Self {
        Self {}
    }
}
