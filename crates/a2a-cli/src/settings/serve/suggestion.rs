//! What was probably meant by a key that there is not.

use super::{
    key::{KEYS, SECTIONS},
    table::TABLES,
};

/// How alike two words have to be, from 0 to 1, for one to be meant by the other.
const ALIKE: f64 = 0.8;

/// The key that is most like `path`, which has a section in front or not.
pub(super) fn of(path: &str) -> Option<String> {
    let wanted = path.to_ascii_lowercase().replace('-', "_");
    let (section, last) = wanted.rsplit_once('.').unwrap_or(("", &wanted));
    // The name or the flag is right, and the section is not.
    let elsewhere = KEYS.iter().find(|key| key.name == last || key.flag == last);
    if let Some(key) = elsewhere {
        return Some(key.path());
    }
    let keys = KEYS.iter().map(|key| {
        let name = strsim::jaro_winkler(key.name, last);
        // Of two that are as like, the one of the same table.
        let nearer = if key.section == section { 0.05 } else { 0.0 };
        (name + nearer, key.path())
    });
    let sections = SECTIONS
        .iter()
        .filter(|_| section.is_empty())
        .map(|section| (strsim::jaro_winkler(section.name, last), format!("[{}]", section.name)));
    let tables = TABLES.iter().map(|table| {
        let nearer = if table.section == section { 0.05 } else { 0.0 };
        (strsim::jaro_winkler(table.name, last) + nearer, format!("[[{}]]", table.path()))
    });
    most_alike(keys.chain(sections).chain(tables))
}

/// Whether one word may be meant by the other.
pub(crate) fn is_alike(one: &str, other: &str) -> bool {
    strsim::jaro_winkler(one, other) > ALIKE
}

/// The word that is most like `name`.
pub(super) fn closest(
    words: impl Iterator<Item = &'static str>,
    name: &str,
) -> Option<&'static str> {
    most_alike(words.map(|word| (strsim::jaro_winkler(word, name), word)))
}

fn most_alike<T>(words: impl Iterator<Item = (f64, T)>) -> Option<T> {
    words
        .filter(|(alike, _)| *alike > ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, word)| word)
}

/// The variable that is most like `name`.
pub(super) fn of_variable(name: &str) -> Option<String> {
    most_alike(KEYS.iter().map(|key| (strsim::jaro_winkler(&key.variable(), name), key.variable())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_meant() {
        for (written, meant) in [
            ("listen.prot", Some("listen.port")),
            ("port", Some("listen.port")),
            ("store.max_body", Some("limits.max_body")),
            ("limits.max-bdy", Some("limits.max_body")),
            ("webhooks.allow-webhook", Some("webhooks.allow")),
            ("lisen", Some("[listen]")),
            ("listen.zzz", None),
        ] {
            assert_eq!(of(written).as_deref(), meant, "{written}");
        }
        let meant = of_variable("A2ACLI_SERVE_LISTEN_PROT");
        assert_eq!(meant.as_deref(), Some("A2ACLI_SERVE_LISTEN_PORT"));
    }
}
