//! The environment variables of a program.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
};

/// Variables that every program inherits: where programs and files are, and the locale.
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

/// The environment variables of a program. It inherits some of this process; all others are withheld.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    pub(crate) set: BTreeMap<OsString, OsString>,
    /// Names of inherited variables, beside those of every program.
    pub(crate) inherited: BTreeSet<String>,
    /// Names that no program inherits.
    pub(crate) withheld: BTreeSet<String>,
}

impl Environment {
    /// The variables; of one name, the last counts.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        // Without this, Python keeps back its output until it ends.
        let unbuffered = ("PYTHONUNBUFFERED".into(), "1".into());
        let inherited = std::env::vars_os().filter(|(name, _)| self.inherits(name));
        std::iter::once(unbuffered).chain(inherited).chain(self.set.clone())
    }

    fn inherits(&self, name: &OsStr) -> bool {
        let is_allowed = ALLOWED.iter().any(|allowed| same(OsStr::new(allowed), name))
            || name.to_str().is_some_and(is_locale);
        (is_allowed || contains(&self.inherited, name)) && !contains(&self.withheld, name)
    }
}

fn is_locale(name: &str) -> bool {
    name.get(..LOCALE.len()).is_some_and(|start| same(OsStr::new(start), OsStr::new(LOCALE)))
}

fn contains(names: &BTreeSet<String>, name: &OsStr) -> bool {
    names.iter().any(|one| same(OsStr::new(one), name))
}

/// Whether two names are one variable: on Windows, case does not count.
fn same(one: &OsStr, other: &OsStr) -> bool {
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_and_added_variables_are_inherited() {
        let mut environment = Environment::default();
        environment.inherited.insert("MODEL".to_owned());
        for name in ["DATABASE_URL", "LANG"] {
            environment.withheld.insert(name.to_owned());
        }
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
            assert_eq!(environment.inherits(OsStr::new(name)), is_inherited, "{name}");
        }
    }

    #[test]
    fn python_is_unbuffered_unless_set_otherwise() {
        let value = |environment: &Environment| {
            let variables: BTreeMap<_, _> = environment.variables().collect();
            variables.get(OsStr::new("PYTHONUNBUFFERED")).cloned()
        };
        let mut environment = Environment::default();
        assert_eq!(value(&environment), Some("1".into()));
        environment.set.insert("PYTHONUNBUFFERED".into(), "".into());
        assert_eq!(value(&environment), Some("".into()));
    }
}
