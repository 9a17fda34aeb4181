//! Which events are logged.

use tracing_subscriber::{EnvFilter, filter::ParseError};

/// Crates that print headers, frames, statements or keys at their lower levels. An operator who
/// needs that names the crate.
const LOUD: [&str; 13] = [
    "async_nats",
    "h2",
    "hyper",
    "hyper_util",
    "opentelemetry",
    "opentelemetry_otlp",
    "opentelemetry_sdk",
    "reqwest",
    "rustls",
    "tokio_postgres",
    "tonic",
    "tower",
    "tower_http",
];

/// The text is no filter.
#[derive(Debug, thiserror::Error)]
#[error("the log filter {filter:?} can't be read")]
pub struct FilterError {
    filter: String,
    #[source]
    source: ParseError,
}

/// Reads a filter, and holds crates that print headers and the like at level `info`, whatever
/// the level of the rest: `trace` alone shows no credentials. A filter that names such a crate
/// has its way.
///
/// # Errors
///
/// The text is no filter.
pub fn quiet(filter: &str) -> Result<EnvFilter, FilterError> {
    let mut text = filter.to_owned();
    let named = |name: &str| {
        filter.split(',').any(|directive| {
            let target = directive.split(['=', '[']).next().unwrap_or_default().trim();
            target == name || target.strip_prefix(name).is_some_and(|rest| rest.starts_with("::"))
        })
    };
    // `off` and `warn` stay as quiet as they are.
    let is_quiet = |level: &str| matches!(level, "off" | "error" | "warn");
    let mut directives = filter.split(',').map(|directive| directive.trim().to_ascii_lowercase());
    let global = directives.rfind(|directive| !directive.contains(['=', '[']));
    let level = match global.as_deref() {
        Some(level) if is_quiet(level) => level.to_owned(),
        _ => "info".to_owned(),
    };
    for name in LOUD.into_iter().filter(|name| !named(name)) {
        text.push_str(if text.is_empty() { "" } else { "," });
        text.push_str(&format!("{name}={level}"));
    }
    EnvFilter::builder()
        .parse(&text)
        .map_err(|source| FilterError { filter: filter.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loud_crates_stay_quiet_unless_they_are_named() {
        for (filter, holds) in [
            ("trace", "h2=info"),
            ("debug,a2a=trace", "hyper=info"),
            ("warn", "rustls=warn"),
            ("trace,h2=debug", "h2=debug"),
            ("trace,h2::proto=trace", "h2::proto=trace"),
            ("", "h2=info"),
        ] {
            let text = quiet(filter).unwrap().to_string();
            assert!(text.split(',').any(|directive| directive == holds), "{filter}: {text}");
        }
        let named = quiet("trace,h2=debug").unwrap().to_string();
        assert!(!named.contains("h2=info"), "{named}");
        assert!(quiet("a=b=c").is_err());
    }
}
