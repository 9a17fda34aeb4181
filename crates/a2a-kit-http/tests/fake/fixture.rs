//! Golden files.

use std::fs;

/// Compares a text with a golden file. With `BLESS=1` in the environment it overwrites the file;
/// the difference is to be reviewed before it is committed.
#[track_caller]
pub fn same_as_file(path: &str, shown: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, shown).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap();
    for (number, (shown, expected)) in shown.lines().zip(expected.lines()).enumerate() {
        assert_eq!(shown, expected, "{path}:{}", number + 1);
    }
    assert_eq!(shown.len(), expected.len(), "{path}: one is longer");
}

/// The path of a fixture of the crate under test.
#[macro_export]
macro_rules! fixture {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/", $name)
    };
}
