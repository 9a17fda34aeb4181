//! What the values of settings look like: in TOML, in a variable, and as the text of a flag.

use serde_json::Value;
use toml::de::DeValue;

use crate::settings::value;

/// What the value of a setting looks like. Each is kept as the texts that its flag would be
/// given, so that flags, variables and files are read by the same readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    /// The path of a file.
    Path,
    Whole,
    Switch,
    /// A switch whose flag says the opposite: `--no-push` and `enabled = true`.
    Inverse,
    /// `"5s"`, or a number of seconds.
    Duration,
    /// `"10MiB"`, or a number of bytes.
    Bytes,
    List,
    /// A list that is one text with commas as a flag.
    Joined,
    /// Not to be shown. `env:NAME` is the value of a variable, and the same key with `_file`
    /// behind it names a file that holds it.
    Secret,
    /// The same, though shown if it names nobody who may enter.
    Address,
}

impl Form {
    /// What a reader is told to write, where something else is written.
    pub(crate) const fn expected(self) -> &'static str {
        match self {
            Self::Text | Self::Secret | Self::Address => "a text in quotes",
            Self::Path => "the path of a file, in quotes",
            Self::Whole => "a whole number",
            Self::Switch | Self::Inverse => "true or false",
            Self::Duration => {
                "a duration in quotes, such as \"500ms\", \"2s\", \"5m\" or \"1h\", or a number of \
                 seconds"
            }
            Self::Bytes => "a size in quotes, such as \"64KiB\" or \"10MiB\", or a number of bytes",
            Self::List | Self::Joined => "a list of texts, such as [\"a\", \"b\"]",
        }
    }

    /// Returns whether `env:NAME` and a file in place of the value are understood.
    pub(crate) const fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::Address)
    }

    /// Reads a value of a file as the texts of a flag.
    ///
    /// # Errors
    ///
    /// What was expected in its place.
    pub(super) fn of_toml(self, value: &DeValue<'_>) -> Result<Vec<String>, String> {
        let unexpected = || format!("expected {}, found {}", self.expected(), described(value));
        let text = |value: &DeValue<'_>| value.as_str().map(str::to_owned).ok_or_else(unexpected);
        let whole = |value: &DeValue<'_>| match value {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map(|number| number.to_string())
                .map_err(|_too_large| unexpected()),
            _ => Err(unexpected()),
        };
        let switch = |value: &DeValue<'_>| value.as_bool().ok_or_else(unexpected);
        let one = match self {
            Self::Text | Self::Path | Self::Secret | Self::Address => text(value),
            Self::Whole => whole(value),
            Self::Switch => switch(value).map(|on| on.to_string()),
            Self::Inverse => switch(value).map(|on| (!on).to_string()),
            Self::Duration | Self::Bytes => text(value).or_else(|_| whole(value)),
            Self::List | Self::Joined => {
                let items = value.as_array().ok_or_else(unexpected)?;
                let items: Vec<_> =
                    items.iter().map(|item| text(item.get_ref())).collect::<Result<_, _>>()?;
                if self == Self::List {
                    return Ok(items);
                }
                Ok(items.join(","))
            }
        };
        one.map(|one| vec![one])
    }

    /// Reads a variable as the texts of a flag.
    ///
    /// # Errors
    ///
    /// What was expected in its place.
    pub(super) fn of_variable(self, text: &str) -> Result<Vec<String>, String> {
        Ok(match self {
            Self::Switch => vec![value::switch(text)?.to_string()],
            Self::Inverse => vec![(!value::switch(text)?).to_string()],
            Self::List => text.split(',').map(|item| item.trim().to_owned()).collect(),
            _ => vec![text.to_owned()],
        })
    }

    /// Writes the texts of a flag as a value of a file.
    pub(super) fn to_toml(self, texts: &[String]) -> String {
        let first = texts.first().map(String::as_str).unwrap_or_default();
        match self {
            Self::Whole | Self::Switch => first.to_owned(),
            Self::Inverse => (first != "true").to_string(),
            Self::Duration | Self::Bytes => match first.parse::<u64>() {
                Ok(number) => number.to_string(),
                Err(_has_a_unit) => quoted(first),
            },
            Self::Text | Self::Path | Self::Secret | Self::Address => quoted(first),
            Self::List => list(texts.iter().map(String::as_str)),
            Self::Joined => list(first.split(',').map(str::trim)),
        }
    }

    /// Writes the texts of a flag as JSON, of the type that they have in TOML.
    pub(super) fn to_json(self, texts: &[String]) -> Value {
        let first = texts.first().map(String::as_str).unwrap_or_default();
        match self {
            Self::Whole => first.parse::<u64>().map_or_else(|_| first.into(), Value::from),
            Self::Switch => Value::from(first == "true"),
            Self::Inverse => Value::from(first != "true"),
            Self::List => Value::from(texts.to_vec()),
            Self::Joined => Value::from(first.split(',').map(str::trim).collect::<Vec<_>>()),
            Self::Text
            | Self::Path
            | Self::Duration
            | Self::Bytes
            | Self::Secret
            | Self::Address => first.into(),
        }
    }

    /// Returns whether a value may be shown.
    pub(super) fn may_show(self, texts: &[String]) -> bool {
        match self {
            Self::Secret => false,
            Self::Address => texts.iter().all(|text| !admits_somebody(text)),
            _ => true,
        }
    }
}

/// Returns whether an address has a password or a token in it. The user of a database is none.
fn admits_somebody(address: &str) -> bool {
    address.split(',').any(|one| {
        let Some((scheme, rest)) = one.split_once("://") else { return false };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, behind) = rest.split_at(end);
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        let is_database = scheme.trim().to_ascii_lowercase().starts_with("postgres");
        user.is_some_and(|user| !is_database || user.contains(':')) || behind.contains("password=")
    })
}

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", items.map(quoted).collect::<Vec<_>>().join(", "))
}

/// A value as a message names it: never a text, which may be a secret in the wrong place.
fn described(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(_) => "a text".into(),
        DeValue::Integer(number) => format!("the number {}", number.as_str()),
        DeValue::Float(number) => format!("the number {}", number.as_str()),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_form_writes_it_reads_as_the_same() {
        for (form, texts) in [
            (Form::Text, &["say \"hi\"\n\\"][..]),
            (Form::Whole, &["8080"]),
            (Form::Switch, &["true"]),
            (Form::Inverse, &["true"]),
            (Form::Duration, &["500ms"]),
            (Form::Duration, &["5"]),
            (Form::Bytes, &["10MiB"]),
            (Form::List, &["a,b", "c"]),
            (Form::List, &[]),
            (Form::Joined, &["1.0,0.3"]),
        ] {
            let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
            let written = form.to_toml(&texts);
            let value = DeValue::parse(&written).unwrap();
            assert_eq!(form.of_toml(value.get_ref()), Ok(texts), "{form:?}: {written}");
        }
    }

    #[test]
    fn a_value_in_the_wrong_place_is_not_repeated() {
        let value = DeValue::parse("\"hunter2\"").unwrap();
        for form in [Form::Whole, Form::Switch, Form::List] {
            let said = form.of_toml(value.get_ref()).unwrap_err();
            assert!(said.starts_with("expected ") && !said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn an_address_is_shown_unless_it_lets_somebody_in() {
        for (address, is_shown) in [
            ("a2a.db", true),
            ("memory", true),
            ("postgres://me@db/tasks?sslmode=require", true),
            ("postgres://me:secret@db/tasks", false),
            ("postgres://db/tasks?password=secret", false),
            ("nats://bus/weather", true),
            ("nats://bus,tls://token@bus2", false),
        ] {
            assert_eq!(Form::Address.may_show(&[address.to_owned()]), is_shown, "{address}");
        }
    }
}
