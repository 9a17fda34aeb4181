//! Values that are not to be shown, and where else they may be than in the settings.

use std::{fs, path::Path};

use toml::de::DeValue;

use super::form::{Form, quoted};

/// What stands behind the name of a key that names a file with its value.
pub(super) const FILE_SUFFIX: &str = "_file";
const VARIABLE: &str = "env:";

/// The value of a setting.
#[derive(Debug)]
pub(super) struct Found {
    /// The texts that its flag would be given.
    pub(super) texts: Vec<String>,
    /// What leads to the value without showing it, as a line of the file.
    pub(super) reference: Option<String>,
    /// The variable that the settings file names for the value.
    pub(super) variable: Option<String>,
}

/// Reads a value: what stands there, or what is in the file that is named there.
///
/// # Errors
///
/// What is wrong with it.
pub(super) fn read(
    name: &str,
    form: Form,
    is_in_file: bool,
    value: &DeValue<'_>,
) -> Result<Found, String> {
    if is_in_file {
        let path = value.as_str().ok_or("expected the path of a file, in quotes")?;
        return of_file(name, path);
    }
    let texts = form.of_toml(value)?;
    match texts.as_slice() {
        [text] if form.is_secret() => found(name, text),
        _ => Ok(Found { texts, reference: None, variable: None }),
    }
}

/// Reads a secret that is here, or in the variable that is named here: `env:NAME`.
///
/// # Errors
///
/// What is wrong with the variable.
fn found(name: &str, text: &str) -> Result<Found, String> {
    let Some(variable) = text.strip_prefix(VARIABLE) else {
        return Ok(Found { texts: vec![text.to_owned()], reference: None, variable: None });
    };
    match std::env::var(variable) {
        Ok(value) if !value.is_empty() => Ok(Found {
            texts: vec![value],
            reference: Some(of_variable(name, variable)),
            variable: Some(variable.to_owned()),
        }),
        Ok(_) => Err(format!("the variable {variable} is empty")),
        Err(error) => Err(format!("the variable {variable} can't be read: {error}")),
    }
}

/// The line that leads to the value of a variable.
pub(super) fn of_variable(name: &str, variable: &str) -> String {
    format!("{name} = {}", quoted(&format!("{VARIABLE}{variable}")))
}

/// Reads a secret from a file. White space around it is none of it.
///
/// # Errors
///
/// What is wrong with the file.
pub(super) fn of_file(name: &str, path: &str) -> Result<Found, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("can't read {path}: {error}"))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("{path} is empty"));
    }
    let reference = format!("{name}{FILE_SUFFIX} = {}", quoted(path));
    Ok(Found { texts: vec![text.to_owned()], reference: Some(reference), variable: None })
}

/// Returns whether others than its owner may read a file.
pub(super) fn is_open(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _access_is_by_lists = path;
        false
    }
}
