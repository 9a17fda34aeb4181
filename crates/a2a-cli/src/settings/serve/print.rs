//! The settings that a server goes by, as a file that says the same again.

use serde_json::{Value, json};

use super::{
    Effective, Source,
    key::{KEYS, SECTIONS},
};
use crate::{failure::Failure, output::Output};

const HEAD: &str = "\
# The settings of `a2a serve`, each with its source. Read as --settings, they give the same again,
# apart from secrets that stand here as (set).
";

impl Effective<'_> {
    /// Prints the settings: as TOML, or with `-o json` as the list of `a2a config show`.
    ///
    /// # Errors
    ///
    /// Whoever read the output has gone.
    pub(crate) fn print(&self, output: Output) -> Result<(), Failure> {
        if output.is_json() {
            return output.json(&self.to_json());
        }
        output.write(self.to_toml().as_bytes())
    }

    fn to_toml(&self) -> String {
        let mut text = HEAD.to_owned();
        for section in SECTIONS {
            text.push_str(&format!("\n# {}\n[{}]\n", section.about, section.name));
            for key in KEYS.iter().filter(|key| key.section == section.name) {
                let (texts, source) = self.value(key);
                let line = match (texts, self.reference(key)) {
                    (_, Some(reference)) => format!("{reference} # {source}"),
                    (Some(texts), None) if key.form.may_show(&texts) => {
                        format!("{} = {} # {source}", key.name, key.form.to_toml(&texts))
                    }
                    (Some(_), None) => format!("# {} = (set) # {source}", key.name),
                    (None, None) => format!("# {} is not set", key.name),
                };
                text.push_str(&line);
                text.push('\n');
            }
            for row in self.told.rows.iter().filter(|row| row.table.section == section.name) {
                text.push_str(&format!("\n[[{}]] # {}\n", row.table.path(), row.source()));
                for line in row.lines() {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
        }
        text
    }

    fn to_json(&self) -> Value {
        let keys = KEYS.iter().map(|key| {
            let (texts, source) = self.value(key);
            let is_secret = texts.as_ref().is_some_and(|texts| !key.form.may_show(texts));
            let value = match texts {
                None => Value::Null,
                Some(_) if is_secret => "(set)".into(),
                Some(texts) => key.form.to_json(&texts),
            };
            json!({
                "name": key.path(),
                "value": value,
                "source": source.word(),
                "path": match &source {
                    Source::File { path, .. } => Some(path.display().to_string()),
                    _ => None,
                },
            })
        });
        let rows = self.told.rows.iter().map(|row| {
            json!({
                "name": row.table.path(),
                "value": row.to_json(),
                "source": row.source().word(),
                "path": row.file.display().to_string(),
            })
        });
        json!({ "settings": keys.chain(rows).collect::<Vec<_>>() })
    }
}
