//! The directories of the user in which configuration and caches are kept.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The directories of a run. Without a home directory, there is neither configuration nor cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directories {
    /// `$XDG_CONFIG_HOME/a2a-cli`, by default `~/.config/a2a-cli`.
    pub(crate) config: Option<PathBuf>,
    /// `$XDG_CACHE_HOME/a2a-cli`, by default `~/.cache/a2a-cli`.
    pub(crate) cache: Option<PathBuf>,
    /// The working directory.
    pub(crate) working: Option<PathBuf>,
    /// The home directory.
    pub(crate) home: Option<PathBuf>,
}

/// The name of the directory of this tool.
const NAME: &str = "a2a-cli";

impl Directories {
    /// The directories of the user that runs this process.
    pub(crate) fn of_process() -> Self {
        let home = env::home_dir().filter(|home| home.is_absolute());
        let home = home.as_deref();
        Self {
            config: directory(env::var_os("XDG_CONFIG_HOME"), home, ".config"),
            cache: directory(env::var_os("XDG_CACHE_HOME"), home, ".cache"),
            working: env::current_dir().ok(),
            // The working directory has no symbolic links.
            home: home.and_then(|home| home.canonicalize().ok()),
        }
    }
}

/// A directory of the XDG Base Directory Specification, which requires that relative paths in
/// variables are ignored.
fn directory(variable: Option<OsString>, home: Option<&Path>, default: &str) -> Option<PathBuf> {
    let set = variable.map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set.or_else(|| home.map(|home| home.join(default)))?;
    Some(base.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_xdg_directory_is_ignored() {
        let home = Some(Path::new("/users/ann"));
        let config = |variable: Option<&str>| directory(variable.map(Into::into), home, ".config");
        for (variable, expected) in [
            (None, "/users/ann/.config/a2a-cli"),
            (Some("/etc/xdg"), "/etc/xdg/a2a-cli"),
            (Some("xdg"), "/users/ann/.config/a2a-cli"),
            (Some(""), "/users/ann/.config/a2a-cli"),
        ] {
            assert_eq!(config(variable), Some(expected.into()), "{variable:?}");
        }
        assert_eq!(directory(None, None, ".config"), None);
    }
}
