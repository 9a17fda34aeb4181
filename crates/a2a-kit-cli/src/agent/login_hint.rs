//! How to authenticate to an agent, for the hints of failures.

use a2a_core::{AgentCard, v1::security_scheme::Scheme};

use crate::{output::quoted, token::StoredToken};

/// Maximum number of schemes in a hint.
const MAX_SCHEMES: usize = 4;

/// Returns how to satisfy the security schemes of a card, in the order of its requirements; `None`
/// if it declares none. `agent` are the flags that name the agent; `has_client_id` is whether the
/// settings have a client id.
pub(super) fn of_card(card: &AgentCard, agent: &str, has_client_id: bool) -> Option<String> {
    let ways = scheme_names(card).into_iter().filter_map(|name| {
        let scheme = card.security_schemes.get(name)?.scheme.as_ref()?;
        Some(way(name, scheme, agent, has_client_id))
    });
    let ways: Vec<_> = ways.take(MAX_SCHEMES).collect();
    (!ways.is_empty()).then(|| ways.join("; or "))
}

/// How to satisfy one scheme.
fn way(name: &str, scheme: &Scheme, agent: &str, has_client_id: bool) -> String {
    let by = match scheme {
        Scheme::Oauth2SecurityScheme(_) | Scheme::OpenIdConnectSecurityScheme(_) => {
            let client = if has_client_id { "" } else { " --client-id <ID>" };
            return format!(
                "for scheme {name:?}, log in with: a2a auth login {agent} --scheme {}{client}",
                quoted(name)
            );
        }
        Scheme::ApiKeySecurityScheme(_) => "--api-key or A2ACLI_API_KEY",
        Scheme::HttpAuthSecurityScheme(http) if http.scheme.eq_ignore_ascii_case("basic") => {
            "--basic or A2ACLI_BASIC"
        }
        Scheme::HttpAuthSecurityScheme(http) if http.scheme.eq_ignore_ascii_case("bearer") => {
            "--bearer or A2ACLI_BEARER"
        }
        Scheme::HttpAuthSecurityScheme(_) => "--svc-param Authorization:<CREDENTIALS>",
        Scheme::MtlsSecurityScheme(_) => "--client-cert and --client-key",
    };
    format!("for scheme {name:?}, give {by}")
}

/// Returns how to replace the stored tokens that an agent refused.
pub(super) fn again(tokens: &[StoredToken], agent: &str) -> String {
    let commands = tokens.iter().take(MAX_SCHEMES).map(|token| {
        format!(
            "a2a auth login {agent} --scheme {} --flow {} --client-id {}",
            quoted(&token.scheme),
            token.flow.name(),
            quoted(&token.client_id)
        )
    });
    format!("log in again with: {}", commands.collect::<Vec<_>>().join("; or "))
}

/// The names of the schemes, in the order of the requirements.
pub(crate) fn scheme_names(card: &AgentCard) -> Vec<&str> {
    let required = card.security_requirements.iter().flat_map(|one| {
        let mut names: Vec<_> = one.schemes.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    });
    let mut declared: Vec<_> = card.security_schemes.keys().map(String::as_str).collect();
    declared.sort_unstable();
    let mut names: Vec<&str> = Vec::new();
    for name in required.chain(declared) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
