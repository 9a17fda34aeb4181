//! The authentication of webhooks: a list of schemes before 1.0, one since.

/// The schemes for which a webhook can be called with what a config holds.
const PERFORMABLE: [&str; 2] = ["Bearer", "Basic"];

/// Chooses the scheme to keep: the first that can be performed, or else the first.
pub(crate) fn scheme(schemes: &[String]) -> Option<&str> {
    let performable = |scheme: &&String| PERFORMABLE.iter().any(|p| p.eq_ignore_ascii_case(scheme));
    schemes.iter().find(performable).or(schemes.first()).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_scheme_that_can_be_performed_is_kept() {
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
