//! Webhook authentication: a list of schemes before 1.0, a single scheme since.

/// The schemes that can be used with the credentials of a config.
const PERFORMABLE: [&str; 2] = ["Bearer", "Basic"];

/// Selects the scheme to keep: the first supported one, or else the first.
pub(crate) fn scheme(schemes: &[String]) -> Option<&str> {
    let performable = |scheme: &&String| PERFORMABLE.iter().any(|p| p.eq_ignore_ascii_case(scheme));
    schemes.iter().find(performable).or(schemes.first()).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_supported_scheme_is_kept() {
        for (schemes, expected) in [
            (&[][..], None),
            (&["jwt"], Some("jwt")),
            (&["jwt", "Bearer", "Basic"], Some("Bearer")),
            (&["jwt", "bearer"], Some("bearer")),
            (&["Basic", "Bearer"], Some("Basic")),
        ] {
            let schemes: Vec<_> = schemes.iter().map(|&scheme| scheme.to_owned()).collect();
            assert_eq!(scheme(&schemes), expected, "{schemes:?}");
        }
    }
}
