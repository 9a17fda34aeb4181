//! The rows of the requirements matrix.

use std::fmt::{self, Display};

use super::cells;
use crate::Result;

/// Subjects of requirements outside of this project's code.
const NOT_OURS: [&str; 5] = ["project", "operator", "author", "custom binding", "registry"];

/// One requirement.
#[derive(Debug)]
pub(super) struct Requirement {
    /// `R-018`.
    pub(super) id: String,
    /// Its section of the matrix.
    pub(super) section: String,
    pub(super) level: Level,
    /// Its subject: `server`, `client`, `both`, …
    pub(super) who: String,
    pub(super) text: String,
}

/// The level of a requirement; the report distinguishes the negated forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Must,
    MustNot,
    Should,
    ShouldNot,
    May,
}

impl Level {
    pub(super) fn is_must(self) -> bool {
        matches!(self, Self::Must | Self::MustNot)
    }

    pub(super) fn is_should(self) -> bool {
        matches!(self, Self::Should | Self::ShouldNot)
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "MUST" => Self::Must,
            "MUST NOT" => Self::MustNot,
            "SHOULD" => Self::Should,
            "SHOULD NOT" => Self::ShouldNot,
            "MAY" => Self::May,
            _ => return None,
        })
    }
}

impl Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Must => "MUST",
            Self::MustNot => "MUST NOT",
            Self::Should => "SHOULD",
            Self::ShouldNot => "SHOULD NOT",
            Self::May => "MAY",
        })
    }
}

impl Requirement {
    /// Whether the subject is a server, client, binding, card or an SDK's support for agents.
    pub(super) fn is_ours(&self) -> bool {
        !NOT_OURS.contains(&self.who.as_str())
    }
}

/// Whether the text is the id of a requirement: `R-` and three digits.
pub(super) fn is_id(text: &str) -> bool {
    text.strip_prefix("R-")
        .is_some_and(|number| number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Reads every table row that starts with an id.
pub(super) fn parse(markdown: &str) -> Result<Vec<Requirement>> {
    let mut requirements: Vec<Requirement> = Vec::new();
    let mut section = String::new();
    let mut columns = Vec::new();
    for line in markdown.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut section);
        }
        let Some(row) = cells(line) else { continue };
        if row.iter().any(|cell| cell == "Id") && row.iter().any(|cell| cell == "Level") {
            columns = row;
            continue;
        }
        let cell = |name: &str| {
            let index = columns.iter().position(|column| column == name)?;
            row.get(index).map(String::as_str)
        };
        let Some(id) = cell("Id").filter(|id| is_id(id)) else { continue };
        if requirements.iter().any(|other| other.id == id) {
            return Err(format!("duplicate requirement {id}").into());
        }
        let (Some(level), Some(who), Some(text)) =
            (cell("Level"), cell("Who"), cell("Requirement"))
        else {
            return Err(format!("{id}: the row needs Level, Who and Requirement").into());
        };
        requirements.push(Requirement {
            id: id.to_owned(),
            section: section.clone(),
            level: Level::parse(level).ok_or_else(|| format!("{id}: unknown level {level:?}"))?,
            who: who.to_owned(),
            text: text.to_owned(),
        });
    }
    if requirements.is_empty() { Err("no requirement found".into()) } else { Ok(requirements) }
}
