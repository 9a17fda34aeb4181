//! The callers of a gateway, as settings of `a2a serve`.

use super::CALLER;

/// The credential of a caller at a gateway with [`gateway_settings`].
pub fn gateway_key(caller: &str) -> (&'static str, String) {
    (CALLER, format!("key-of-{caller}-0123456789abcdef"))
}

/// The settings of a gateway with keys for the callers of the suite, next to anonymous ones.
pub fn gateway_settings() -> String {
    let mut settings = format!("[auth]\nanonymous = true\napi_key_name = \"{CALLER}\"\n");
    for caller in ["ann", "bob", "zoe"] {
        let (_, key) = gateway_key(caller);
        let row = format!("[[auth.api_key]]\ncaller = \"{caller}\"\nkey = \"{key}\"\n");
        settings.push_str(&row);
    }
    settings
}
