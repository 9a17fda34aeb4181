//! Suggestions for unknown settings, and the new names of renamed ones.

use crate::settings::section::{self, Declared, SERVE_PREFIX};

/// The similarity, from 0 to 1, above which one word may be a typo of another.
const SIMILAR: f64 = 0.8;

/// Renamed settings: the old key, the old flag if it was renamed too, and the new key.
const RENAMED: &[(&str, Option<&str>, &str)] = &[
    ("auth.first_pause", Some("--first-pause"), "auth.backoff_min"),
    ("auth.free_failures", Some("--free-failures"), "auth.failures_allowed"),
    ("auth.longest_pause", Some("--longest-pause"), "auth.backoff_max"),
    ("limits.address_rate", Some("--address-rate"), "limits.rate_limit_per_address"),
    ("limits.body_time", Some("--body-time"), "limits.body_total_timeout"),
    ("limits.body_timeout", Some("--body-timeout"), "limits.body_read_timeout"),
    ("limits.caller_rate", Some("--caller-rate"), "limits.rate_limit_per_caller"),
    ("limits.grace", Some("--grace"), "limits.drain_timeout"),
    ("limits.header_timeout", Some("--header-timeout"), "limits.header_read_timeout"),
    ("limits.http2_ping", Some("--http2-ping"), "limits.http2_ping_interval"),
    ("limits.keep_alive", Some("--keep-alive"), "limits.keep_alive_interval"),
    ("limits.limit_anonymous", Some("--limit-anonymous"), "limits.rate_limit_anonymous"),
    ("limits.max_body", None, "limits.max_body_bytes"),
    ("limits.max_header", Some("--max-header"), "limits.max_header_bytes"),
    ("limits.max_http2_streams", Some("--max-http2-streams"), "limits.max_concurrent_streams"),
    ("limits.max_list_page", Some("--max-list-page"), "limits.max_list_page_bytes"),
    ("limits.max_pending_bodies", Some("--max-pending-bodies"), "limits.max_pending_body_bytes"),
    (
        "limits.max_pending_responses",
        Some("--max-pending-responses"),
        "limits.max_pending_response_bytes",
    ),
    ("limits.max_run_time", Some("--max-run-time"), "limits.run_timeout"),
    ("limits.max_silence", Some("--max-silence"), "limits.run_idle_timeout"),
    ("limits.max_task_artifacts", Some("--max-task-artifacts"), "limits.max_task_artifact_bytes"),
    ("limits.max_task_history", Some("--max-task-history"), "limits.max_task_history_bytes"),
    ("limits.stream_grace", Some("--stream-grace"), "limits.stream_drain_timeout"),
    ("tls.hsts", Some("--hsts"), "tls.hsts_max_age"),
    ("tls.only_13", Some("--tls-only-13"), "tls.min_version"),
    ("tls.revocations_file", Some("--tls-revocations"), "tls.crl_file"),
];

/// Settings that only the test agent has.
const OF_TEST_AGENT: [(&str, &str); 2] =
    [("agent.profile", "--profile"), ("agent.default", "--default")];
/// Where they are.
pub(crate) const TEST_AGENT: &str = "the agents for conformance suites and benchmarks are in \
    a2a-test-agent: cargo run --release -p a2a-test-agent -- serve --profile …";

/// Returns whether only the test agent has a flag.
pub(crate) fn is_of_test_agent(flag: &str) -> bool {
    OF_TEST_AGENT.iter().any(|(_, own)| *own == flag)
}

fn variable(path: &str) -> String {
    section::variable(SERVE_PREFIX, path)
}

/// The new name of a renamed flag.
pub(crate) fn renamed_flag<T: Declared>(flag: &str) -> Option<&'static str> {
    let (_, _, new) = RENAMED.iter().find(|(_, old, _)| *old == Some(flag))?;
    T::setting(new)?.flag
}

/// The message for an unknown key of the settings file.
pub(super) fn unknown<T: Declared>(path: &str) -> String {
    if let Some((_, _, new)) = RENAMED.iter().find(|(old, ..)| *old == path) {
        return format!("renamed to {new}");
    }
    if OF_TEST_AGENT.iter().any(|(own, _)| *own == path) {
        return format!("unknown setting: {TEST_AGENT}");
    }
    with_suggestion(suggestion::<T>(path))
}

/// The message for an unknown variable.
pub(super) fn unknown_variable<T: Declared>(name: &str) -> String {
    if let Some((_, _, new)) = RENAMED.iter().find(|(old, ..)| variable(old) == name) {
        return format!("renamed to {}", variable(new));
    }
    let names = T::settings().filter(|one| !one.is_table()).map(|one| one.variable());
    let similar = most_similar(names.map(|one| (strsim::jaro_winkler(&one, name), one)));
    with_suggestion(similar)
}

fn with_suggestion(name: Option<String>) -> String {
    match name {
        Some(name) => format!("unknown setting, did you mean {name}?"),
        None => "unknown setting".to_owned(),
    }
}

/// The key, section or table that is most similar to a path, with or without a section.
fn suggestion<T: Declared>(path: &str) -> Option<String> {
    let wanted = path.to_ascii_lowercase().replace('-', "_");
    let (parent, last) = wanted.rsplit_once('.').unwrap_or(("", &wanted));
    if let Some((table, _)) = parent.split_once('[') {
        let table = T::setting(table)?;
        let keys = table.schema["items"]["properties"].as_object()?.keys();
        return most_similar(keys.map(|key| (strsim::jaro_winkler(key, last), key.clone())));
    }
    // The key or the flag is right, and the section is not.
    let flag = format!("--{}", last.replace('_', "-"));
    let elsewhere = T::settings().find(|one| one.key == last || one.flag == Some(flag.as_str()));
    if let Some(setting) = elsewhere {
        return Some(setting.path.to_owned());
    }
    let keys = T::settings().map(|setting| {
        let similarity = strsim::jaro_winkler(setting.key, last);
        // Of two that are equally similar, the one in the same section.
        let nearer = if setting.section == parent { 0.05 } else { 0.0 };
        let name = match setting.is_table() {
            false => setting.path.to_owned(),
            true => format!("[[{}]]", setting.path),
        };
        (similarity + nearer, name)
    });
    let sections = T::sections()
        .iter()
        .filter(|_| parent.is_empty())
        .map(|section| (strsim::jaro_winkler(section.name, last), format!("[{}]", section.name)));
    most_similar(keys.chain(sections))
}

/// Returns whether one word may be a typo of the other.
pub(crate) fn is_similar(one: &str, other: &str) -> bool {
    strsim::jaro_winkler(one, other) > SIMILAR
}

fn most_similar(words: impl Iterator<Item = (f64, String)>) -> Option<String> {
    words
        .filter(|(similarity, _)| *similarity > SIMILAR)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::serve::Serve;

    #[test]
    fn the_most_similar_key_is_suggested() {
        for (written, meant) in [
            ("listen.prot", Some("listen.port")),
            ("port", Some("listen.port")),
            ("store.max_body", Some("limits.max_body_bytes")),
            ("limits.max-bdy", Some("limits.max_body_bytes")),
            ("webhooks.allow-webhook", Some("webhooks.allow")),
            ("lisen", Some("[listen]")),
            ("listen.zzz", None),
        ] {
            assert_eq!(suggestion::<Serve>(written).as_deref(), meant, "{written}");
        }
        let message = unknown_variable::<Serve>("A2ACLI_SERVE_LISTEN_PROT");
        assert!(message.ends_with("did you mean A2ACLI_SERVE_LISTEN_PORT?"), "{message}");
    }

    #[test]
    fn renamed_settings_are_gone_and_their_new_names_exist() {
        for (old, old_flag, new) in RENAMED {
            assert!(Serve::setting(old).is_none(), "{old}");
            let setting = Serve::setting(new).unwrap_or_else(|| panic!("{new}"));
            assert_eq!(unknown::<Serve>(old), format!("renamed to {new}"));
            let message = unknown_variable::<Serve>(&variable(old));
            assert_eq!(message, format!("renamed to {}", setting.variable()));
            if let Some(flag) = old_flag {
                assert!(Serve::settings().all(|setting| setting.flag != Some(flag)), "{flag}");
                assert_eq!(renamed_flag::<Serve>(flag), setting.flag);
            }
        }
    }
}
