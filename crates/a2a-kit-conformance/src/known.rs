//! Results that are known and accepted, each with its reason.

use std::str::FromStr;

use a2a_core::ParseError;
use a2a_kit_lint::{CheckResult, Outcome};

use crate::glob;

/// Failures and unmeasured requirements that are known, for CI. A line for each, such as
/// `R-058 GRPC 1.0: the agent can't cancel`: the id, the interface as reports name it, and the
/// reason. Both may have `*` and `?`; without an interface, all are meant. Lines with `#` in front
/// are comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownResults(Vec<Known>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    id: String,
    place: String,
    reason: String,
}

impl FromStr for KnownResults {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lines = text.lines().map(str::trim).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let known = lines.map(|(at, line)| {
            let invalid = || {
                let expected = "an id, an interface if need be, a colon and a reason";
                ParseError::new(format!("line {}: {line:?} is not {expected}", at + 1))
            };
            let (what, reason) = line.split_once(':').ok_or_else(invalid)?;
            let (id, place) = what.split_once(' ').unwrap_or((what, "*"));
            if id.is_empty() || reason.trim().is_empty() {
                return Err(invalid());
            }
            let [place, reason] = [place.trim(), reason.trim()].map(str::to_owned);
            Ok(Known { id: id.to_owned(), place, reason })
        });
        known.collect::<Result<_, _>>().map(Self)
    }
}

impl KnownResults {
    /// Replaces the outcomes that are known, and returns the entries without one.
    pub(crate) fn apply(&self, results: &mut [CheckResult]) -> Vec<String> {
        let mut unused = Vec::new();
        for Known { id, place, reason } in &self.0 {
            let mut is_used = false;
            for result in &mut *results {
                let is_meant =
                    glob::matches(id, result.rule.id) && glob::matches(place, &result.place);
                let is_open = matches!(result.outcome, Outcome::Fail(_) | Outcome::NotMeasured(_));
                if is_meant && is_open {
                    is_used = true;
                    result.outcome = Outcome::Known(reason.clone());
                }
            }
            if !is_used {
                unused.push(format!("{id} {place}"));
            }
        }
        unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_an_id_and_a_reason() {
        let text = "# ours\n\nR-058 GRPC 1.0: can't cancel: see the docs\nR-4*: no callers\n";
        let KnownResults(known) = text.parse().unwrap();
        assert_eq!((known[0].id.as_str(), known[0].place.as_str()), ("R-058", "GRPC 1.0"));
        assert_eq!(known[0].reason, "can't cancel: see the docs");
        assert_eq!((known[1].id.as_str(), known[1].place.as_str()), ("R-4*", "*"));
        for line in ["R-058", "R-058:", ": why", "R-058 JSONRPC 1.0:  "] {
            let error = format!("\n{line}").parse::<KnownResults>().unwrap_err();
            assert!(error.to_string().starts_with("line 2: "), "{line}: {error}");
        }
    }
}
