//! An agent card as text.

use a2a_core::{
    AgentCard,
    v1::{AgentInterface, SecurityScheme, security_scheme::Scheme},
};

use super::text::Text;

/// Writes a card; `selected` is the interface that would be used or why there is none, `signature` the
/// result of verification.
pub(crate) fn card(
    text: &mut Text,
    card: &AgentCard,
    selected: Result<&AgentInterface, &str>,
    signature: &str,
) {
    text.line("Name", &card.name);
    text.line("Description", &card.description);
    text.line("Version", &card.version);
    if let Some(provider) = &card.provider {
        text.line("Provider", &format!("{} ({})", provider.organization, provider.url));
    }
    text.line_if_any("Documentation", card.documentation_url());
    for interface in &card.supported_interfaces {
        text.line("Interface", &describe(interface));
    }
    text.line("Selected interface", &selected.map_or_else(|why| format!("none: {why}"), describe));
    text.yes_or_no("Streaming", card.can_stream());
    text.yes_or_no("Push notifications", card.can_push());
    text.yes_or_no("Extended card", card.has_extended_card());
    text.line("Input modes", &card.default_input_modes.join(", "));
    text.line("Output modes", &card.default_output_modes.join(", "));
    for (name, scheme) in &card.security_schemes {
        text.line("Security scheme", &format!("{name} ({})", scheme_kind(scheme)));
    }
    for requirement in &card.security_requirements {
        let schemes: Vec<_> = requirement.schemes.keys().map(String::as_str).collect();
        text.line("Security requirement", &schemes.join(" and "));
    }
    for extension in card.extensions() {
        let need = if extension.required { "required" } else { "optional" };
        text.line("Extension", &format!("{} ({need})", extension.uri));
    }
    for skill in &card.skills {
        text.line("Skill", &format!("{}: {}. {}", skill.id, skill.name, skill.description));
    }
    text.line("Signature", signature);
}

fn describe(interface: &AgentInterface) -> String {
    let mut line =
        format!("{} {} {}", interface.protocol_binding, interface.protocol_version, interface.url);
    if !interface.tenant.is_empty() {
        line.push_str(&format!(" tenant {}", interface.tenant));
    }
    line
}

fn scheme_kind(scheme: &SecurityScheme) -> String {
    match &scheme.scheme {
        Some(Scheme::ApiKeySecurityScheme(key)) => {
            format!("API key in {} {}", key.location, key.name)
        }
        Some(Scheme::HttpAuthSecurityScheme(http)) => format!("HTTP {}", http.scheme),
        Some(Scheme::Oauth2SecurityScheme(_)) => "OAuth 2.0".into(),
        Some(Scheme::OpenIdConnectSecurityScheme(connect)) => {
            format!("OpenID Connect {}", connect.open_id_connect_url)
        }
        Some(Scheme::MtlsSecurityScheme(_)) => "mutual TLS".into(),
        None => "unknown".into(),
    }
}
