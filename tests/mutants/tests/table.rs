//! The table of mutants.
#![allow(clippy::unwrap_used, reason = "a failed setup fails the test")]

use std::collections::BTreeSet;

use a2a_test_mutants::{MUTANTS, Revision};

/// Most consequences of a fault.
const MAX_CONSEQUENCES: usize = 5;

/// The ids in the first column of the tables in `docs/development/requirements.md`.
fn requirements() -> BTreeSet<&'static str> {
    let page = include_str!("../../../docs/development/requirements.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| R-"));
    rows.map(|row| &row[..3]).collect()
}

fn number(id: &str) -> &str {
    id.strip_prefix("R-").unwrap_or_default()
}

#[test]
fn table_has_40_mutants_with_distinct_names_and_faults() {
    let names: BTreeSet<_> = MUTANTS.iter().map(|mutant| mutant.name).collect();
    let faults: BTreeSet<_> = MUTANTS.iter().map(|mutant| format!("{:?}", mutant.fault)).collect();
    assert_eq!((MUTANTS.len(), names.len(), faults.len()), (40, 40, 40));
}

#[test]
fn every_requirement_in_the_table_exists() {
    let requirements = requirements();
    assert!(requirements.len() > 400, "{} requirements", requirements.len());
    for mutant in MUTANTS.iter() {
        for id in [mutant.requirement].iter().chain(mutant.also) {
            assert!(requirements.contains(number(id)), "{}: {id}", mutant.name);
        }
    }
}

#[test]
fn consequences_are_few_and_other_requirements() {
    for mutant in MUTANTS.iter() {
        assert!(!mutant.also.contains(&mutant.requirement), "{}", mutant.name);
        assert!(mutant.also.len() <= MAX_CONSEQUENCES, "{}: {:?}", mutant.name, mutant.also);
    }
}

#[test]
fn at_least_four_mutants_are_of_0_3() {
    let old = MUTANTS.iter().filter(|mutant| {
        let interfaces = mutant.fault.interfaces();
        !interfaces.is_empty() && interfaces.iter().all(|one| one.revision == Revision::V0_3)
    });
    assert!(old.count() >= 4);
}
