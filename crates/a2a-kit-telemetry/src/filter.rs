//! The log filter.

use a2a_core::ParseError;
use tracing_subscriber::EnvFilter;

/// Crates that log headers, frames, statements or keys at `debug` and `trace`, which has to be
/// enabled by naming the crate.
const VERBOSE_CRATES: [&str; 13] = [
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

/// Parses a filter, and limits crates that log headers and the like to level `info`, so that
/// `trace` alone shows no credentials. A filter that names such a crate overrides this.
///
/// # Errors
///
/// The filter is malformed.
pub fn quiet(filter: &str) -> Result<EnvFilter, ParseError> {
    let mut text = filter.to_owned();
    let named = |name: &str| {
        filter.split(',').any(|directive| {
            let target = directive.split(['=', '[']).next().unwrap_or_default().trim();
            target == name || target.strip_prefix(name).is_some_and(|rest| rest.starts_with("::"))
        })
    };
    // Don't raise `off`, `error` or `warn` to `info`.
    let is_quiet = |level: &str| matches!(level, "off" | "error" | "warn");
    let mut directives = filter.split(',').map(|directive| directive.trim().to_ascii_lowercase());
    let global = directives.rfind(|directive| !directive.contains(['=', '[']));
    let level = match global.as_deref() {
        Some(level) if is_quiet(level) => level.to_owned(),
        _ => "info".to_owned(),
    };
    for name in VERBOSE_CRATES.into_iter().filter(|name| !named(name)) {
        text.push_str(if text.is_empty() { "" } else { "," });
        // It tells each attempt to reconnect; the store tells that it is away, and that it is back.
        let level = if name == "async_nats" && level == "info" { "warn" } else { &level };
        text.push_str(&format!("{name}={level}"));
    }
    EnvFilter::builder()
        .parse(&text)
        .map_err(|error| ParseError::new(format!("invalid log filter {filter:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbose_crates_are_limited_to_info_unless_named() {
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
