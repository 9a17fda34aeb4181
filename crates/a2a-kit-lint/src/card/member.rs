//! Names of members.

use serde_json::Value;

use crate::{Edit, Findings, Rule, Subject, pointer::escape};

rules! {
    warning(fixable) MISSPELLED = "misspelled-member":
        "a member is unknown, and its name is similar to one of the specification",
        "rename the member";
}

// Members of the objects that are often written by hand, of all revisions.
const CARD: &str = "name description supportedInterfaces provider version documentationUrl \
    capabilities securitySchemes securityRequirements defaultInputModes defaultOutputModes skills \
    signatures iconUrl url preferredTransport additionalInterfaces protocolVersion security \
    supportsAuthenticatedExtendedCard authentication";
const INTERFACE: &str = "url protocolBinding tenant protocolVersion";
const PROVIDER: &str = "url organization";
const CAPABILITIES: &str =
    "streaming pushNotifications extensions extendedAgentCard stateTransitionHistory";
const SKILL: &str = "id name description tags examples inputModes outputModes securityRequirements \
    security";

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let json = &subject.json;
    object(json, "", CARD, findings);
    object(&json["provider"], "/provider", PROVIDER, findings);
    object(&json["capabilities"], "/capabilities", CAPABILITIES, findings);
    for (list, known) in [("supportedInterfaces", INTERFACE), ("skills", SKILL)] {
        for (index, element) in json[list].as_array().into_iter().flatten().enumerate() {
            object(element, &format!("/{list}/{index}"), known, findings);
        }
    }
}

fn object(value: &Value, pointer: &str, known: &'static str, findings: &mut Findings) {
    let Some(members) = value.as_object() else { return };
    for name in members.keys().filter(|name| known.split(' ').all(|one| one != name.as_str())) {
        let Some(meant) = meant(name, known) else { continue };
        let pointer = format!("{pointer}/{}", escape(name));
        let message = format!("unknown member {name:?} (did you mean {meant:?}?)");
        let is_free = !members.contains_key(meant);
        let edit = is_free.then_some(Edit::Rename(meant));
        findings.add_with_edit(&MISSPELLED, pointer, message, edit);
    }
}

/// The known member that a name was probably meant to be: the same in another case, or with a typo.
fn meant(name: &str, known: &'static str) -> Option<&'static str> {
    /// Longer names are not compared: the comparison takes time in proportion to the length.
    const MAX_LENGTH: usize = 64;
    if name.len() > MAX_LENGTH || name.starts_with("x-") {
        return None;
    }
    let folded = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let plain = folded(name);
    let is_close = |one: &&str| one.len() > 4 && strsim::damerau_levenshtein(one, name) <= 2;
    let mut known = known.split(' ');
    known.clone().find(|one| folded(one) == plain).or_else(|| known.find(is_close))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        for (name, expected) in [
            ("default_input_modes", Some("defaultInputModes")),
            ("defaultInputMode", Some("defaultInputModes")),
            ("Skills", Some("skills")),
            ("skilsl", Some("skills")),
            ("icon", None),
            ("x-skills", None),
            ("vendor", None),
        ] {
            assert_eq!(meant(name, CARD), expected, "{name}");
        }
    }
}
