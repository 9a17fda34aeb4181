//! The environment variables that a command inherits from the server.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
};

use crate::settings::PREFIX;

/// Variables that every command inherits: where programs and files are, and the locale.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    // Without these, few programs run on Windows.
    "COMSPEC",
    "PATHEXT",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "WINDIR",
    "TEMP",
    "TMP",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "USERNAME",
    "USERPROFILE",
];
/// What the names of locale categories start with.
const LOCALE: &str = "LC_";
/// What the names of the variables start with that describe a task.
const TASK: &str = "A2A_";

/// The environment variables that a command inherits from the server. All others are withheld.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExecEnvironment {
    /// Names that the operator adds.
    added: BTreeSet<String>,
    /// Names that hold secrets of the server, which no command gets.
    secret: BTreeSet<String>,
}

impl ExecEnvironment {
    /// Adds variables to those that every command inherits, and withholds `secret` ones.
    ///
    /// # Errors
    ///
    /// Why a variable can't be added, for a message.
    pub(crate) fn new(added: &[String], secret: BTreeSet<String>) -> Result<Self, String> {
        for name in added {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(format!("{name:?} is not the name of an environment variable"));
            }
            if is_own(name) || contains(&secret, OsStr::new(name)) {
                return Err(format!("{name} holds a secret of the server"));
            }
            if starts_with(name, TASK) {
                return Err(format!("{name} is set for each task"));
            }
        }
        Ok(Self { added: added.iter().cloned().collect(), secret })
    }

    /// The variables of this process that a command inherits.
    pub(super) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        std::env::vars_os().filter(|(name, _)| self.passes(name))
    }

    fn passes(&self, name: &OsStr) -> bool {
        let is_allowed = ALLOWED.iter().any(|allowed| same(OsStr::new(allowed), name))
            || name.to_str().is_some_and(|name| starts_with(name, LOCALE));
        (is_allowed || contains(&self.added, name)) && !contains(&self.secret, name)
    }
}

/// Whether a variable configures this program.
fn is_own(name: &str) -> bool {
    starts_with(name, PREFIX)
}

fn contains(names: &BTreeSet<String>, name: &OsStr) -> bool {
    names.iter().any(|one| same(OsStr::new(one), name))
}

/// Whether two names are one variable: on Windows, case does not count.
fn same(one: &OsStr, other: &OsStr) -> bool {
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

fn starts_with(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|start| same(OsStr::new(start), OsStr::new(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn only_allowed_and_added_variables_are_inherited() {
        let secret = BTreeSet::from(["DATABASE_URL".to_owned(), "LANG".to_owned()]);
        let environment = ExecEnvironment::new(&names(&["MODEL"]), secret).unwrap();
        for (name, is_inherited) in [
            ("PATH", true),
            ("HOME", true),
            ("LC_ALL", true),
            ("LC_MESSAGES", true),
            ("TZ", true),
            ("MODEL", true),
            ("MODEL_KEY", false),
            ("LANG", false),
            ("DATABASE_URL", false),
            ("A2ACLI_SECRET_KEY", false),
            ("AWS_SECRET_ACCESS_KEY", false),
            ("LD_PRELOAD", false),
            ("TRACEPARENT", false),
        ] {
            assert_eq!(environment.passes(OsStr::new(name)), is_inherited, "{name}");
        }
    }

    #[test]
    fn secrets_and_task_variables_cannot_be_added() {
        let secret = BTreeSet::from(["DATABASE_URL".to_owned()]);
        for (name, why) in [
            ("DATABASE_URL", "DATABASE_URL holds a secret of the server"),
            ("A2ACLI_SECRET_KEY", "A2ACLI_SECRET_KEY holds a secret of the server"),
            ("A2A_TASK_ID", "A2A_TASK_ID is set for each task"),
            ("", "\"\" is not the name of an environment variable"),
            ("A=b", "\"A=b\" is not the name of an environment variable"),
        ] {
            let refused = ExecEnvironment::new(&names(&[name]), secret.clone()).unwrap_err();
            assert_eq!(refused, why);
        }
    }
}
