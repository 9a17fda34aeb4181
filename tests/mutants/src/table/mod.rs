//! The table of mutants.

mod card;
mod error;
mod form;
mod json;
mod old;
mod operation;
mod stream;

use std::sync::LazyLock;

use crate::Mutant;

/// All mutants.
pub static MUTANTS: LazyLock<Vec<Mutant>> = LazyLock::new(|| {
    [
        card::MUTANTS,
        operation::MUTANTS,
        stream::MUTANTS,
        error::MUTANTS,
        form::MUTANTS,
        old::MUTANTS,
    ]
    .concat()
});

/// The mutant of a name.
pub fn find(name: &str) -> Option<&'static Mutant> {
    MUTANTS.iter().find(|mutant| mutant.name == name)
}
