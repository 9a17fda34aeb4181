//! Validation against the rules of the proto, with the JSON path of every violation.

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
};

use crate::{Error, Violation, json::Enumeration};

/// Limit of violations; validation stops after it.
const MAX_VIOLATIONS: usize = 64;

/// A message with validation rules: REQUIRED members are present, unions have one member, enum
/// values are known (spec §5.7).
pub trait Validate {
    /// Validates this message and all nested messages.
    fn check(&self, rules: &mut Rules);

    /// Returns all violations, in the order of the proto.
    fn violations(&self) -> Vec<Violation> {
        let mut rules = Rules::default();
        self.check(&mut rules);
        rules.violations
    }

    /// Validates this message.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`](crate::ErrorKind::InvalidParams) with every violation.
    fn validate(&self) -> Result<(), Error> {
        // Most messages are valid, which is found out without the paths.
        let mut rules = Rules { omits_paths: true, ..Rules::default() };
        self.check(&mut rules);
        if rules.violations.is_empty() {
            return Ok(());
        }
        Err(Error::from_violations(self.violations()))
    }
}

impl<T: Validate> Validate for Box<T> {
    fn check(&self, rules: &mut Rules) {
        (**self).check(rules);
    }
}

/// The description of an unknown enum value, with the values that are accepted.
#[cold]
fn unknown_value<E: Enumeration>() -> String {
    // The first one is unspecified.
    let names: Vec<_> = (1..).map_while(E::name_of).collect();
    match names.split_last() {
        Some((last, [])) => format!("is not a known value: must be {last}"),
        Some((last, names)) => {
            format!("is not a known value: must be {} or {last}", names.join(", "))
        }
        None => "is not a known value".to_owned(),
    }
}

/// Collects violations while a message is traversed.
#[derive(Debug, Default)]
pub struct Rules {
    path: String,
    violations: Vec<Violation>,
    /// Whether the violations have no paths, because they are only counted.
    omits_paths: bool,
}

impl Rules {
    /// Adds a violation of the member `name`, or of the message itself if `name` is empty.
    pub fn broken(&mut self, name: &str, description: impl Into<String>) {
        if self.violations.len() < MAX_VIOLATIONS {
            let mut field = self.path.clone();
            if !field.is_empty() && !name.is_empty() {
                field.push('.');
            }
            field.push_str(name);
            self.violations.push(Violation::new(field, description));
        }
    }

    pub(crate) fn required(&mut self, name: &str, present: bool) {
        if !present {
            self.broken(name, "is required");
        }
    }

    pub(crate) fn one_of(&mut self, present: bool, names: &str) {
        if !present {
            self.broken("", format!("must have exactly one of {names}"));
        }
    }

    pub(crate) fn enumeration<E: Enumeration>(&mut self, name: &str, number: i32, required: bool) {
        if E::name_of(number).is_none() {
            self.broken(name, unknown_value::<E>());
        } else if required && number == 0 {
            self.broken(name, "is required");
        }
    }

    pub(crate) fn member<T: Validate>(&mut self, name: &str, member: Option<&T>) {
        if let Some(member) = member {
            self.below(member, |path| path.push_str(name));
        }
    }

    pub(crate) fn each<T: Validate>(&mut self, name: &str, members: &[T]) {
        for (index, member) in members.iter().enumerate() {
            self.below(member, |path| {
                let _ = write!(path, "{name}[{index}]");
            });
        }
    }

    pub(crate) fn each_value<K: Display, T: Validate>(
        &mut self,
        name: &str,
        members: &BTreeMap<K, T>,
    ) {
        for (key, member) in members {
            self.below(member, |path| {
                let _ = write!(path, "{name}.{key}");
            });
        }
    }

    fn below<T: Validate>(&mut self, member: &T, step: impl FnOnce(&mut String)) {
        if self.omits_paths {
            return member.check(self);
        }
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        step(&mut self.path);
        member.check(self);
        self.path.truncate(length);
    }
}
