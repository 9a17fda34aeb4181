//! Permissions of settings files.

use std::{fs::File, io, path::Path};

/// Returns whether other users can read a file.
pub(crate) fn is_readable_by_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _access_is_by_lists = path;
        false
    }
}

/// Returns why a file that was found must not configure commands of this user; `None` if it may.
/// Root may write any file.
pub(super) fn distrust(path: &Path, file: &File) -> io::Result<Option<&'static str>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (link, file) = (std::fs::symlink_metadata(path)?, file.metadata()?);
        let user = rustix::process::geteuid().as_raw();
        let is_foreign = [&link, &file].iter().any(|one| one.uid() != user && one.uid() != 0);
        Ok(match file.mode() & 0o022 {
            _ if is_foreign => Some("another user owns it"),
            0 => None,
            _ => Some("other users can write it"),
        })
    }
    #[cfg(not(unix))]
    {
        let _access_is_by_lists = (path, file);
        Ok(None)
    }
}
