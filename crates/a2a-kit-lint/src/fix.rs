//! Fixes cards in their text, so that unknown members, order and layout are kept.

use std::collections::HashSet;

use jsonc_parser::cst::{CstNode, CstObjectProp, CstRootNode};

use crate::{Edit, Finding, pointer::steps, source::strict};

/// A text with edits applied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fixed {
    /// The text.
    pub json: String,
    /// The number of findings that were fixed.
    pub fixed: usize,
}

/// Applies the edits of findings, one for each place; `None` if there are none.
///
/// Edits of one place are computed from the same text, so a card has to be linted again after each
/// round.
pub fn apply_fixes(json: &str, findings: &[Finding]) -> Option<Fixed> {
    let edits =
        findings.iter().filter_map(|one| Some((one.pointer.as_deref()?, one.edit.as_ref()?)));
    let root = CstRootNode::parse(json, &strict()).ok()?;
    let mut places = HashSet::new();
    // Places are found before anything is removed, which changes the indices of an array.
    let found: Vec<_> = edits
        .filter(|(pointer, _)| places.insert(*pointer))
        .filter_map(|(pointer, edit)| Some((locate(&root, pointer)?, edit)))
        .collect();
    let fixed = found.into_iter().filter_map(|(place, edit)| place.apply(edit)).count();
    (fixed > 0).then(|| Fixed { json: root.to_string(), fixed })
}

/// A value in a text.
enum Location {
    Member(CstObjectProp),
    Element(CstNode),
}

impl Location {
    fn value(&self) -> Option<CstNode> {
        match self {
            Self::Member(member) => member.value(),
            Self::Element(element) => Some(element.clone()),
        }
    }

    fn apply(self, edit: &Edit) -> Option<()> {
        match (edit, self) {
            (Edit::Remove, Self::Member(member)) => member.remove(),
            (Edit::Remove, Self::Element(element)) => element.remove(),
            (Edit::Replace(text), place) => {
                place.value()?.as_string_lit()?.set_raw_value(serde_json::to_string(text).ok()?);
            }
            (Edit::Rename(name), Self::Member(member)) => {
                let raw = serde_json::to_string(name).ok()?;
                member.name()?.as_string_lit()?.set_raw_value(raw);
            }
            (Edit::Rename(_), Self::Element(_)) => return None,
        }
        Some(())
    }
}

fn locate(root: &CstRootNode, pointer: &str) -> Option<Location> {
    let mut value = root.value()?;
    let mut place = None;
    for step in steps(pointer) {
        let next = match (value.as_object(), value.as_array()) {
            (Some(object), _) => Location::Member(object.get(&step)?),
            (_, Some(array)) => {
                let index = step.parse::<usize>().ok()?;
                Location::Element(array.elements().into_iter().nth(index)?)
            }
            _ => return None,
        };
        value = next.value()?;
        place = Some(next);
    }
    place
}
