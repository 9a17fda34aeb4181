//! Tables that may stand in the file many times, such as one for each caller. No flag and no
//! variable has them.

use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use super::{
    Form, Source,
    secret::{self, Found},
};
use crate::{failure::Failure, settings::value};

/// A table that may stand in the file many times: `[[auth.api_key]]`.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [Column],
}

/// A key of such a table.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    form: Form,
    is_needed: bool,
}

const fn needed(name: &'static str, form: Form) -> Column {
    Column { name, form, is_needed: true }
}

const fn optional(name: &'static str, form: Form) -> Column {
    Column { name, form, is_needed: false }
}

/// A table below `[auth]`.
const fn auth(name: &'static str, columns: &'static [Column]) -> Table {
    Table { section: "auth", name, columns }
}

// What several tables have.
const CALLER: Column = needed("caller", Form::Text);
const SHA256: Column = optional("sha256", Form::Text);
const AUDIENCES: Column = needed("audiences", Form::List);
const SCOPES: Column = optional("scopes", Form::List);
const TENANTS: Column = optional("tenants", Form::List);
const CLAIMS: Column = optional("claims", Form::List);
const LEEWAY: Column = optional("leeway", Form::Duration);
const SCHEME: Column = optional("scheme", Form::Text);

/// Every table that may stand in the file many times, in the order in which they are shown.
pub(crate) const TABLES: &[Table] = &[
    auth("api_key", &[CALLER, optional("key", Form::Secret), SHA256, SCOPES, TENANTS]),
    auth("bearer", &[CALLER, optional("token", Form::Secret), SHA256, SCOPES, TENANTS]),
    auth(
        "basic",
        &[needed("user", Form::Text), needed("password_hash", Form::Secret), SCOPES, TENANTS],
    ),
    auth(
        "jwt",
        &[
            needed("issuer", Form::Text),
            AUDIENCES,
            optional("jwks_url", Form::Text),
            optional("jwks_file", Form::Path),
            SCOPES,
            CLAIMS,
            LEEWAY,
            SCHEME,
        ],
    ),
    auth("oidc", &[needed("url", Form::Text), AUDIENCES, SCOPES, CLAIMS, LEEWAY, SCHEME]),
    auth(
        "introspection",
        &[
            needed("issuer", Form::Text),
            needed("url", Form::Text),
            needed("client_id", Form::Text),
            needed("client_secret", Form::Secret),
            optional("audiences", Form::List),
            SCOPES,
            CLAIMS,
            optional("lifetime", Form::Duration),
            SCHEME,
        ],
    ),
    auth(
        "mtls",
        &[
            optional("caller", Form::Text),
            optional("fingerprint", Form::Text),
            optional("uri", Form::Text),
            optional("dns", Form::Text),
            optional("subject", Form::Text),
            optional("any", Form::Switch),
            SCOPES,
            TENANTS,
        ],
    ),
];

impl Table {
    /// The table as it is written about: `auth.api_key`.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The column of a key, and whether the key names a file with its value.
    fn column(&self, name: &str) -> Option<(&'static Column, bool)> {
        let plain = self.columns.iter().find(|column| column.name == name);
        let of_file = || {
            let name = name.strip_suffix(secret::FILE_SUFFIX)?;
            self.columns.iter().find(|column| column.name == name && column.form.is_secret())
        };
        plain.map(|column| (column, false)).or_else(|| Some((of_file()?, true)))
    }
}

/// A table as it stands in the file.
#[derive(Debug)]
pub(crate) struct Row {
    pub(super) table: &'static Table,
    pub(super) file: PathBuf,
    pub(super) line: usize,
    values: Vec<(&'static Column, Found)>,
}

/// Something in a table that can't be used: the byte at which it is, its key, and what is wrong.
pub(super) type Fault = (usize, String, String);

impl Row {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// Everything in it that can't be used; `at` is where it begins.
    pub(super) fn read(
        table: &'static Table,
        value: &DeTable<'_>,
        (at, line): (usize, usize),
        file: PathBuf,
    ) -> Result<Self, Vec<Fault>> {
        let mut values: Vec<(&'static Column, Found)> = Vec::new();
        let mut faults = Vec::new();
        let path = table.path();
        for (name, value) in value {
            let key = format!("{path}.{}", name.get_ref());
            let Some((column, is_in_file)) = table.column(name.get_ref()) else {
                let meant = closest(table, name.get_ref());
                let said =
                    meant.map_or_else(String::new, |meant| format!(": did you mean {meant}?"));
                faults.push((name.span().start, key, format!("no such key{said}")));
                continue;
            };
            if values.iter().any(|(other, _)| other.name == column.name) {
                faults.push((name.span().start, key, "is given twice".into()));
                continue;
            }
            match read(column, is_in_file, value.get_ref()) {
                Ok(found) => values.push((column, found)),
                Err(message) => faults.push((value.span().start, key, message)),
            }
        }
        for column in table.columns.iter().filter(|column| column.is_needed) {
            let is_there = |key: &str| key.rsplit('.').next() == Some(column.name);
            if !values.iter().any(|(one, _)| one.name == column.name)
                && !faults.iter().any(|(_, key, _)| is_there(key))
            {
                faults.push((at, path.clone(), format!("{} is missing", column.name)));
            }
        }
        if faults.is_empty() { Ok(Self { table, file, line, values }) } else { Err(faults) }
    }

    fn found(&self, name: &str) -> Option<&Found> {
        self.values.iter().find(|(column, _)| column.name == name).map(|(_, found)| found)
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.found(name)?.texts.first().map(String::as_str)
    }

    /// A list; empty where there is none.
    pub(crate) fn list(&self, name: &str) -> &[String] {
        self.found(name).map_or(&[], |found| &found.texts)
    }

    /// Every value of the table.
    pub(super) fn values(&self) -> impl Iterator<Item = &Found> {
        self.values.iter().map(|(_, found)| found)
    }

    /// Where the table begins.
    pub(super) fn source(&self) -> Source {
        Source::File { path: self.file.clone(), line: self.line }
    }

    /// What is wrong with what the table says.
    pub(crate) fn failure(&self, message: impl std::fmt::Display) -> Failure {
        Failure::usage(format!("{}: {}: {message}", self.source(), self.table.path()))
    }

    /// The lines of the table, without secrets.
    pub(super) fn lines(&self) -> Vec<String> {
        self.values
            .iter()
            .map(|(column, found)| match &found.reference {
                Some(reference) => reference.clone(),
                None if column.form.may_show(&found.texts) => {
                    format!("{} = {}", column.name, column.form.to_toml(&found.texts))
                }
                None => format!("# {} = (set)", column.name),
            })
            .collect()
    }

    /// Returns whether a secret stands in the table itself.
    pub(super) fn holds_a_secret(&self) -> bool {
        self.values
            .iter()
            .any(|(column, found)| found.reference.is_none() && !column.form.may_show(&found.texts))
    }

    /// The values as JSON, secrets as `(set)`.
    pub(super) fn to_json(&self) -> serde_json::Value {
        self.values
            .iter()
            .map(|(column, found)| {
                let shown = if column.form.may_show(&found.texts) {
                    column.form.to_json(&found.texts)
                } else {
                    "(set)".into()
                };
                (column.name.to_owned(), shown)
            })
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

fn read(column: &Column, is_in_file: bool, value: &DeValue<'_>) -> Result<Found, String> {
    let found = secret::read(column.name, column.form, is_in_file, value)?;
    if column.form == Form::Duration {
        found.texts.iter().try_for_each(|text| value::duration(text).map(drop))?;
    }
    if column.is_needed && found.texts.iter().all(String::is_empty) {
        return Err("is empty".into());
    }
    Ok(found)
}

fn closest(table: &Table, name: &str) -> Option<&'static str> {
    let columns = table.columns.iter().map(|column| column.name);
    super::suggestion::closest(columns, &name.to_ascii_lowercase().replace('-', "_"))
}
