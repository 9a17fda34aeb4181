//! What the card asks of callers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use a2a_core::v1::SecurityRequirement;
use a2a_operations::Caller;

use super::{Presented, Verifier};

/// A scheme that a caller has shown to be right, and who it says the caller is.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    pub(super) scheme: Arc<str>,
    pub(super) caller: Caller,
    /// How it is looked at again, where it can be taken back.
    pub(super) review: Option<Review>,
}

/// How what was presented is looked at again.
#[derive(Clone, Debug)]
pub(super) struct Review {
    pub(super) verifier: Arc<dyn Verifier>,
    pub(super) presented: Presented,
    pub(super) interval: Duration,
}

/// Alternatives, of which one is enough. Without any, everyone may enter.
#[derive(Clone, Debug, Default)]
pub(super) struct Requirements(Vec<Alternative>);

/// Schemes that are needed together, each with the scopes that are needed of it. Without any,
/// anonymous callers may enter too.
type Alternative = BTreeMap<Arc<str>, BTreeSet<String>>;

/// What comes of holding a caller to requirements.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Admitted(Caller),
    /// The schemes are there, and these scopes are not.
    Lacking(BTreeSet<String>),
    Unauthenticated,
}

impl Requirements {
    pub(super) fn of(requirements: &[SecurityRequirement]) -> Self {
        let alternative = |requirement: &SecurityRequirement| {
            let schemes = requirement.schemes.iter();
            schemes
                .map(|(name, scopes)| {
                    (Arc::from(name.as_str()), scopes.list.iter().cloned().collect())
                })
                .collect()
        };
        Self(requirements.iter().map(alternative).collect())
    }

    /// Each scheme that is named, with its scopes, in the order of the card.
    pub(super) fn schemes(&self) -> impl Iterator<Item = (&Arc<str>, &BTreeSet<String>)> {
        self.0.iter().flatten()
    }

    /// Holds a caller to the requirements. Of what was verified, the first names the caller.
    pub(super) fn judge(&self, verified: &[Verified]) -> Judgement {
        if self.0.is_empty() {
            return Judgement::Admitted(merge(verified.iter()));
        }
        let mut lacking = None;
        // What asks for something comes first: who has shown who they are is not anonymous.
        for alternative in self.0.iter().filter(|alternative| !alternative.is_empty()) {
            let of = |scheme: &Arc<str>| verified.iter().find(|one| one.scheme == *scheme);
            if !alternative.keys().all(|scheme| of(scheme).is_some()) {
                continue;
            }
            let missing: BTreeSet<String> = alternative
                .iter()
                .flat_map(|(scheme, scopes)| {
                    let caller = of(scheme).map(|one| &one.caller);
                    scopes.iter().filter(move |scope| !caller.is_some_and(|c| c.has_scope(scope)))
                })
                .cloned()
                .collect();
            if missing.is_empty() {
                let used = verified.iter().filter(|one| alternative.contains_key(&one.scheme));
                return Judgement::Admitted(merge(used));
            }
            lacking.get_or_insert(missing);
        }
        match lacking {
            _ if self.0.iter().any(|alternative| alternative.is_empty()) => {
                Judgement::Admitted(merge(verified.iter()))
            }
            Some(scopes) => Judgement::Lacking(scopes),
            None => Judgement::Unauthenticated,
        }
    }
}

/// One caller of several: named by the first, good for what any of them is, as long as all are.
fn merge<'a>(mut verified: impl Iterator<Item = &'a Verified>) -> Caller {
    let Some(first) = verified.next() else { return Caller::ANONYMOUS };
    verified.fold(first.caller.clone(), |merged, other| {
        let scopes: BTreeSet<_> = merged.scopes().union(other.caller.scopes()).cloned().collect();
        let expires = [merged.expires(), other.caller.expires()].into_iter().flatten().min();
        let merged = merged.with_scopes(scopes);
        match expires {
            Some(expires) => merged.with_expiry(expires),
            None => merged,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use a2a_core::v1::StringList;

    use super::*;

    fn requirements(alternatives: &[&[(&str, &[&str])]]) -> Requirements {
        let requirement = |schemes: &&[(&str, &[&str])]| {
            let schemes = schemes.iter().map(|(name, scopes)| {
                let list = scopes.iter().map(|scope| (*scope).to_owned()).collect();
                ((*name).to_owned(), StringList { list })
            });
            SecurityRequirement { schemes: schemes.collect() }
        };
        Requirements::of(&alternatives.iter().map(requirement).collect::<Vec<_>>())
    }

    fn verified(scheme: &str, subject: &str, scopes: &[&str]) -> Verified {
        let caller = Caller::authenticated(subject).with_scopes(scopes.iter().copied());
        Verified { scheme: scheme.into(), caller, review: None }
    }

    fn subject(judgement: Judgement) -> Option<String> {
        match judgement {
            Judgement::Admitted(caller) => Some(caller.subject().unwrap_or("nobody").to_owned()),
            Judgement::Lacking(_) | Judgement::Unauthenticated => None,
        }
    }

    //
    #[test]
    fn one_alternative_is_enough_and_all_of_its_schemes_are_needed() {
        let either = requirements(&[&[("a", &[])], &[("b", &[]), ("c", &[])]]);
        let (a, b, c) =
            (verified("a", "ann", &[]), verified("b", "bob", &[]), verified("c", "cy", &[]));
        for (shown, who) in [
            (vec![], None),
            (vec![a.clone()], Some("ann")),
            (vec![b.clone()], None),
            (vec![c.clone()], None),
            (vec![b.clone(), c.clone()], Some("bob")),
            (vec![c.clone(), b.clone()], Some("cy")),
            (vec![b, c, a], Some("ann")),
            (vec![verified("d", "dan", &[])], None),
        ] {
            assert_eq!(subject(either.judge(&shown)).as_deref(), who, "{shown:?}");
        }
    }

    #[test]
    fn without_requirements_everyone_enters_as_who_they_are() {
        for requirements in [requirements(&[]), requirements(&[&[("a", &[])], &[]])] {
            assert_eq!(subject(requirements.judge(&[])).as_deref(), Some("nobody"));
            let ann = verified("a", "ann", &[]);
            assert_eq!(subject(requirements.judge(&[ann])).as_deref(), Some("ann"));
        }
    }

    //
    #[test]
    fn the_scopes_that_are_missing_are_those_of_the_scheme_that_has_to_have_them() {
        let needed = requirements(&[&[("oauth", &["read", "write"]), ("key", &[])]]);
        let key = verified("key", "robot", &["write"]);
        let reader = verified("oauth", "ann", &["read"]);
        let missing = BTreeSet::from(["write".to_owned()]);
        assert_eq!(needed.judge(&[reader, key.clone()]), Judgement::Lacking(missing));
        let writer = verified("oauth", "ann", &["read", "write", "more"]);
        assert_eq!(subject(needed.judge(&[writer, key])).as_deref(), Some("ann"));
    }

    #[test]
    fn who_shows_two_things_is_let_in_for_as_long_as_both_last() {
        let needed = requirements(&[&[("a", &[]), ("b", &[])]]);
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let mut shown = [verified("a", "ann", &["x"]), verified("b", "bob", &["y"])];
        shown[0].caller = shown[0].caller.clone().with_expiry(at(20));
        shown[1].caller = shown[1].caller.clone().with_expiry(at(10));
        let Judgement::Admitted(caller) = needed.judge(&shown) else { panic!("it is enough") };
        assert_eq!((caller.subject(), caller.expires()), (Some("ann"), Some(at(10))));
        assert!(caller.has_scope("x") && caller.has_scope("y"));
    }
}
