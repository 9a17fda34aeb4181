//! OAuth 2.0 and OpenID Connect.

use a2a_core::{
    host::is_loopback,
    v1::{OAuth2SecurityScheme, SecurityRequirement, o_auth_flows::Flow, security_scheme::Scheme},
};
use serde_json::{Map, Value};

use crate::{Findings, Rule, Subject, address::parse_url, strings::quote};

rules! {
    info METADATA = "oauth-without-metadata":
        "an OAuth scheme has no metadata URL, so clients can't discover endpoints and capabilities",
        "add oauth2MetadataUrl (RFC 8414)";
    warning PKCE = "oauth-without-pkce":
        "an authorization code flow does not require PKCE, so codes can be intercepted",
        "require PKCE (RFC 7636), and set pkceRequired";
    warning DEPRECATED = "deprecated-oauth-flow":
        "an OAuth flow is deprecated (implicit, password)",
        "use authorizationCode with PKCE, deviceCode or clientCredentials";
    error ENDPOINT = "oauth-endpoint-without-tls":
        "an endpoint of OAuth or OpenID Connect is not an https URL",
        "write the https URL of the authorization server";
    warning SCOPE = "undeclared-scope":
        "a requirement names a scope that the flow does not declare",
        "add the scope with a description to the flow, or correct the name";
}

pub(super) fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for (name, scheme) in &subject.card.security_schemes {
        match &scheme.scheme {
            Some(Scheme::Oauth2SecurityScheme(oauth)) => oauth2(subject, name, oauth, findings),
            Some(Scheme::OpenIdConnectSecurityScheme(connect)) => {
                let member = "openIdConnectSecurityScheme/openIdConnectUrl";
                let pointer = subject.scheme_pointer(name, member);
                endpoint(&pointer, &connect.open_id_connect_url, findings);
            }
            _ => {}
        }
    }
}

fn oauth2(
    subject: &Subject<'_>,
    name: &str,
    oauth: &OAuth2SecurityScheme,
    findings: &mut Findings,
) {
    let pointer =
        |member: &str| subject.scheme_pointer(name, &format!("oauth2SecurityScheme{member}"));
    if oauth.oauth2_metadata_url.is_empty() {
        let message = format!("scheme {} has no oauth2MetadataUrl", quote(name));
        findings.add(&METADATA, pointer(""), message);
    }
    endpoint(&pointer("/oauth2MetadataUrl"), &oauth.oauth2_metadata_url, findings);
    let Some(flow) = oauth.flows.as_ref().and_then(|flows| flows.flow.as_ref()) else { return };
    let Ok(Value::Object(flows)) = serde_json::to_value(&oauth.flows) else { return };
    let Some((flow_name, members)) = flows.iter().next() else { return };
    for (member, url) in members.as_object().into_iter().flatten() {
        if let (true, Some(url)) = (member.ends_with("Url"), url.as_str()) {
            endpoint(&pointer(&format!("/flows/{flow_name}/{member}")), url, findings);
        }
    }
    match flow {
        Flow::AuthorizationCode(code) if !code.pkce_required => {
            let message = format!("scheme {} does not require PKCE", quote(name));
            findings.add(&PKCE, pointer("/flows/authorizationCode"), message);
        }
        #[expect(deprecated, reason = "the rule is about these flows")]
        Flow::Implicit(_) | Flow::Password(_) => {
            let message = format!("scheme {} has the flow {flow_name}", quote(name));
            findings.add(&DEPRECATED, pointer(&format!("/flows/{flow_name}")), message);
        }
        _ => {}
    }
    if let Some(scopes) = members["scopes"].as_object() {
        undeclared_scopes(subject, name, scopes, findings);
    }
}

/// Missing endpoints are violations of the schema.
fn endpoint(pointer: &str, url: &str, findings: &mut Findings) {
    if url.is_empty() {
        return;
    }
    let is_secure = parse_url(url).is_ok_and(|url| {
        url.scheme_str() == Some("https")
            || (url.scheme_str() == Some("http") && url.host().is_some_and(is_loopback))
    });
    if !is_secure {
        findings.add(&ENDPOINT, pointer, format!("{} is not an https URL", quote(url)));
    }
}

fn undeclared_scopes(
    subject: &Subject<'_>,
    name: &str,
    declared: &Map<String, Value>,
    findings: &mut Findings,
) {
    if declared.is_empty() {
        return;
    }
    let card = &*subject.card;
    let mut read = |pointer: &str, requirements: &[SecurityRequirement]| {
        for (index, requirement) in requirements.iter().enumerate() {
            let scopes = requirement.schemes.get(name).map_or(&[][..], |scopes| &scopes.list);
            for scope in scopes.iter().filter(|scope| !declared.contains_key(*scope)) {
                let message = format!("scheme {} has no scope {}", quote(name), quote(scope));
                findings.add(&SCOPE, format!("{pointer}/{index}"), message);
            }
        }
    };
    read("/securityRequirements", &card.security_requirements);
    for (index, skill) in card.skills.iter().enumerate() {
        read(&format!("/skills/{index}/securityRequirements"), &skill.security_requirements);
    }
}
