//! Security schemes in the style of OpenAPI, and security requirements.

use std::collections::BTreeMap;

use a2a_core::v1::{
    ApiKeySecurityScheme, HttpAuthSecurityScheme, OAuth2SecurityScheme, SecurityRequirement,
    SecurityScheme, StringList, o_auth_flows::Flow, security_scheme::Scheme,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json::{Object, object, object_in, take, write_object};

/// Limit of alternatives when the flows of a requirement are expanded.
const MAX_ALTERNATIVES: usize = 64;

/// The types of schemes, and their members in 1.0.
const TYPES: [(&str, &str); 5] = [
    ("apiKey", "apiKeySecurityScheme"),
    ("http", "httpAuthSecurityScheme"),
    ("oauth2", "oauth2SecurityScheme"),
    ("openIdConnect", "openIdConnectSecurityScheme"),
    ("mutualTLS", "mtlsSecurityScheme"),
];

/// The flows of OAuth 2.0, in order of preference.
const FLOWS: [&str; 5] =
    ["authorizationCode", "clientCredentials", "deviceCode", "implicit", "password"];

/// How a scheme with several flows is read: schemes of 1.0 have one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeveralFlows {
    /// As one scheme for each flow.
    Split,
    /// As a scheme with the most preferred one.
    Prefer,
}

/// A security requirement: schemes that are required together, with their scopes, in the nested
/// format of the proto or flat.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Requirement {
    Nested { schemes: BTreeMap<String, StringList> },
    Flat(BTreeMap<String, Vec<String>>),
}

/// The schemes of a card, by name.
#[derive(Debug)]
pub(crate) struct Schemes {
    pub(crate) schemes: BTreeMap<String, SecurityScheme>,
    /// The names of the schemes that the flows of a scheme became.
    split: BTreeMap<String, Vec<String>>,
}

impl Schemes {
    /// Reads schemes in the format of OpenAPI or of the proto. Unknown schemes are ignored: clients
    /// need not support all.
    pub(crate) fn read(older: BTreeMap<String, Value>, several: SeveralFlows) -> Self {
        let mut all = Self { schemes: BTreeMap::new(), split: BTreeMap::new() };
        for (name, scheme) in older {
            let mut flows = by_flow(scheme);
            if several == SeveralFlows::Prefer {
                flows.truncate(1);
            }
            let is_split = flows.len() > 1;
            for (flow, scheme) in flows {
                match serde_json::from_value::<SecurityScheme>(scheme) {
                    Ok(scheme) if scheme.scheme.is_some() => {
                        let name = all.name(&name, flow, is_split);
                        all.schemes.insert(name, scheme);
                    }
                    Ok(_) => tracing::debug!(name, "unknown security scheme ignored"),
                    Err(error) => tracing::debug!(name, %error, "invalid security scheme ignored"),
                }
            }
        }
        all
    }

    fn name(&mut self, scheme: &str, flow: &str, is_split: bool) -> String {
        if !is_split {
            return scheme.to_owned();
        }
        let name = format!("{scheme}.{flow}");
        self.split.entry(scheme.to_owned()).or_default().push(name.clone());
        name
    }

    /// Converts alternative requirements. If a scheme became several, each of them is an
    /// alternative.
    pub(crate) fn requirements(&self, all: Vec<Requirement>) -> Vec<SecurityRequirement> {
        all.into_iter().flat_map(|requirement| self.requirement(requirement)).collect()
    }

    fn requirement(&self, requirement: Requirement) -> Vec<SecurityRequirement> {
        let schemes = match requirement {
            Requirement::Nested { schemes } => schemes,
            Requirement::Flat(schemes) => {
                schemes.into_iter().map(|(name, list)| (name, StringList { list })).collect()
            }
        };
        let mut alternatives = vec![SecurityRequirement::default()];
        for (name, scopes) in schemes {
            let same = [name.clone()];
            let names = self.split.get(&name).map_or(&same[..], Vec::as_slice);
            let with = |base: &SecurityRequirement, name: &String| {
                let mut next = base.clone();
                next.schemes.insert(name.clone(), scopes.clone());
                next
            };
            alternatives = alternatives
                .iter()
                .flat_map(|base| names.iter().map(move |name| with(base, name)))
                .take(MAX_ALTERNATIVES)
                .collect();
        }
        alternatives
    }
}

/// The schemes that the flows of a scheme become in the JSON of 1.0, by flow; one if it has none.
fn by_flow(mut scheme: Value) -> Vec<(&'static str, Value)> {
    let Some(members) = scheme.as_object_mut() else { return vec![("", scheme)] };
    let Some(kind) = take(members, &["type"]) else { return vec![("", scheme)] };
    let Some((_, member)) = TYPES.into_iter().find(|(known, _)| kind == *known) else {
        return vec![("", json!({}))];
    };
    if let Some(location) = take(members, &["in"]) {
        members.insert("location".into(), location);
    }
    let mut flows = match members.remove("flows") {
        Some(Value::Object(flows)) => flows,
        _ => Object::new(),
    };
    let flows = FLOWS.into_iter().filter_map(|name| Some((name, take(&mut flows, &[name])?)));
    let with_flow = |(name, flow)| {
        let mut scheme = scheme.clone();
        scheme["flows"] = object([(name, flow)]);
        (name, object([(member, scheme)]))
    };
    let schemes: Vec<_> = flows.map(with_flow).collect();
    if schemes.is_empty() { vec![("", object([(member, scheme)]))] } else { schemes }
}

/// The scheme of a name in a card of 0.1, without details. Unknown names are treated as HTTP
/// schemes.
pub(crate) fn named(name: &str) -> SecurityScheme {
    let scheme = match name.to_ascii_lowercase().as_str() {
        "oauth2" => Scheme::Oauth2SecurityScheme(OAuth2SecurityScheme::default()),
        "apikey" => Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme::default()),
        _ => Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
            scheme: name.to_owned(),
            ..HttpAuthSecurityScheme::default()
        }),
    };
    SecurityScheme { scheme: Some(scheme) }
}

/// Drops what only 1.0 has: the device flow and the PKCE flag.
pub(crate) fn without_new_flows(scheme: &SecurityScheme) -> SecurityScheme {
    let mut scheme = scheme.clone();
    if let Some(Scheme::Oauth2SecurityScheme(oauth2)) = &mut scheme.scheme
        && let Some(flows) = &mut oauth2.flows
    {
        match &mut flows.flow {
            Some(Flow::DeviceCode(_)) => flows.flow = None,
            Some(Flow::AuthorizationCode(flow)) => flow.pkce_required = false,
            _ => {}
        }
    }
    scheme
}

/// Writes a scheme in the format of OpenAPI; `None` if it is empty.
pub(crate) fn write_openapi(scheme: &SecurityScheme) -> Option<Value> {
    let union = write_object(&without_new_flows(scheme));
    let (member, mut scheme) = union.into_iter().next()?;
    let (kind, _) = TYPES.into_iter().find(|(_, known)| *known == member)?;
    let members = scheme.as_object_mut()?;
    members.insert("type".into(), kind.into());
    if let Some(location) = members.remove("location") {
        members.insert("in".into(), location);
    }
    if kind == "oauth2" {
        members.entry("flows").or_insert_with(|| json!({}));
        let flows = object_in(members, "flows")?;
        for flow in flows.values_mut().filter_map(Value::as_object_mut) {
            flow.entry("scopes").or_insert_with(|| json!({}));
        }
    }
    Some(scheme)
}

/// Writes a requirement in the format of OpenAPI.
pub(crate) fn write_flat(requirement: &SecurityRequirement) -> Value {
    let schemes = requirement.schemes.iter();
    schemes.map(|(name, scopes)| (name.clone(), Value::from(scopes.list.clone()))).collect()
}
