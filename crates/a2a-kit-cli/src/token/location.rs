//! Where the user's configuration is.

use std::{env, path::PathBuf};

/// The directory of the user's configuration of this tool: `a2a-cli` in `XDG_CONFIG_HOME` or
/// `~/.config`. `None` if neither is known.
pub(super) fn config_directory() -> Option<PathBuf> {
    // The XDG specification ignores relative paths.
    let configured = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let configured = configured.filter(|path| path.is_absolute());
    let base = configured.or_else(|| Some(env::home_dir()?.join(".config")))?;
    Some(base.join("a2a-cli"))
}
