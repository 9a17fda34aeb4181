//! The security requirements of a card.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use a2a_core::v1::SecurityRequirement;
use a2a_kit_operations::Caller;

use super::{RequestCredential, SchemeVerifier, auth_failure::AuthFailure};

/// A scheme whose credential was verified, and its caller.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    pub(super) scheme: Arc<str>,
    pub(super) caller: Caller,
    /// How to verify it again, if it can be revoked.
    pub(super) revalidation: Option<Revalidation>,
}

/// How to verify a credential again.
#[derive(Clone, Debug)]
pub(super) struct Revalidation {
    pub(super) verifier: Arc<dyn SchemeVerifier>,
    pub(super) credential: RequestCredential,
    pub(super) interval: Duration,
}

/// Alternatives, of which one has to be met. Without any, all callers are allowed.
#[derive(Clone, Debug, Default)]
pub(super) struct Requirements(Vec<Alternative>);

/// Schemes that are required together, each with its required scopes. Without any, anonymous
/// callers are allowed too.
type Alternative = BTreeMap<Arc<str>, BTreeSet<String>>;

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

    /// The schemes with their scopes, in the order of the card.
    pub(super) fn schemes(&self) -> impl Iterator<Item = (&Arc<str>, &BTreeSet<String>)> {
        self.0.iter().flatten()
    }

    /// Returns the caller that meets the requirements, whose subject is that of the first verified
    /// scheme, or else [`AuthFailure::InsufficientScope`] or [`AuthFailure::Missing`].
    pub(super) fn evaluate(&self, verified: &[Verified]) -> Result<Caller, AuthFailure> {
        if self.0.is_empty() {
            return Ok(merge(verified.iter()));
        }
        let mut insufficient = None;
        // Non-empty alternatives come first, so that an authenticated caller is not anonymous.
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
                return Ok(merge(used));
            }
            insufficient.get_or_insert(missing);
        }
        match insufficient {
            _ if self.0.iter().any(BTreeMap::is_empty) => Ok(merge(verified.iter())),
            Some(scopes) => Err(AuthFailure::InsufficientScope(scopes)),
            None => Err(AuthFailure::Missing),
        }
    }
}

/// Merges callers: the first subject, the union of scopes, the earliest expiry.
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
        Verified { scheme: scheme.into(), caller, revalidation: None }
    }

    fn subject(decision: Result<Caller, AuthFailure>) -> Option<String> {
        Some(decision.ok()?.subject().unwrap_or("anonymous").to_owned())
    }

    //
    #[test]
    fn one_alternative_with_all_its_schemes_suffices() {
        let either = requirements(&[&[("a", &[])], &[("b", &[]), ("c", &[])]]);
        let (a, b, c) =
            (verified("a", "ann", &[]), verified("b", "bob", &[]), verified("c", "cy", &[]));
        for (verified_schemes, expected) in [
            (vec![], None),
            (vec![a.clone()], Some("ann")),
            (vec![b.clone()], None),
            (vec![c.clone()], None),
            (vec![b.clone(), c.clone()], Some("bob")),
            (vec![c.clone(), b.clone()], Some("cy")),
            (vec![b, c, a], Some("ann")),
            (vec![verified("d", "dan", &[])], None),
        ] {
            let found = subject(either.evaluate(&verified_schemes));
            assert_eq!(found.as_deref(), expected, "{verified_schemes:?}");
        }
    }

    #[test]
    fn without_requirements_all_callers_are_allowed() {
        for requirements in [requirements(&[]), requirements(&[&[("a", &[])], &[]])] {
            assert_eq!(subject(requirements.evaluate(&[])).as_deref(), Some("anonymous"));
            let ann = verified("a", "ann", &[]);
            assert_eq!(subject(requirements.evaluate(&[ann])).as_deref(), Some("ann"));
        }
    }

    //
    #[test]
    fn missing_scopes_are_those_of_the_required_scheme() {
        let needed = requirements(&[&[("oauth", &["read", "write"]), ("key", &[])]]);
        let key = verified("key", "robot", &["write"]);
        let reader = verified("oauth", "ann", &["read"]);
        let missing = BTreeSet::from(["write".to_owned()]);
        let insufficient = Err(AuthFailure::InsufficientScope(missing));
        assert_eq!(needed.evaluate(&[reader, key.clone()]), insufficient);
        let writer = verified("oauth", "ann", &["read", "write", "more"]);
        assert_eq!(subject(needed.evaluate(&[writer, key])).as_deref(), Some("ann"));
    }

    #[test]
    fn merged_caller_expires_with_the_first_credential() {
        let needed = requirements(&[&[("a", &[]), ("b", &[])]]);
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let mut verified_schemes = [verified("a", "ann", &["x"]), verified("b", "bob", &["y"])];
        verified_schemes[0].caller = verified_schemes[0].caller.clone().with_expiry(at(20));
        verified_schemes[1].caller = verified_schemes[1].caller.clone().with_expiry(at(10));
        let caller = needed.evaluate(&verified_schemes).unwrap();
        assert_eq!((caller.subject(), caller.expires()), (Some("ann"), Some(at(10))));
        assert!(caller.has_scope("x") && caller.has_scope("y"));
    }
}
