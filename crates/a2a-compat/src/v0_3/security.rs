//! Security schemes in the style of OpenAPI, and security requirements.

use std::collections::BTreeMap;

use a2a_core::v1::{
    self, ApiKeySecurityScheme, HttpAuthSecurityScheme, MutualTlsSecurityScheme,
    OAuth2SecurityScheme, OpenIdConnectSecurityScheme, o_auth_flows::Flow, security_scheme::Scheme,
};
use serde::{Deserialize, Serialize};

use crate::common::{json::some, member::or_default};

/// Limit of alternatives when the flows of a requirement are expanded.
const MAX_ALTERNATIVES: usize = 64;

/// A security scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub(super) enum SecurityScheme {
    #[serde(rename = "apiKey")]
    ApiKey {
        #[serde(rename = "in", alias = "location")]
        location: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    #[serde(rename = "http")]
    Http {
        scheme: String,
        #[serde(rename = "bearerFormat", skip_serializing_if = "Option::is_none")]
        bearer_format: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    #[serde(rename = "oauth2")]
    OAuth2 {
        #[serde(default, deserialize_with = "or_default")]
        flows: Box<Flows>,
        #[serde(rename = "oauth2MetadataUrl", skip_serializing_if = "Option::is_none")]
        oauth2_metadata_url: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    #[serde(rename = "openIdConnect")]
    OpenIdConnect {
        #[serde(rename = "openIdConnectUrl")]
        open_id_connect_url: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    #[serde(rename = "mutualTLS")]
    MutualTls {
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
}

/// The flows of an OAuth 2.0 scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Flows {
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_code: Option<OAuthFlow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_credentials: Option<OAuthFlow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    implicit: Option<OAuthFlow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<OAuthFlow>,
}

/// An OAuth 2.0 flow. Which URLs it has depends on its type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OAuthFlow {
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_url: Option<String>,
    #[serde(deserialize_with = "or_default")]
    scopes: BTreeMap<String, String>,
}

/// A security requirement: scopes by scheme, all of which are required together.
pub(super) type Requirement = BTreeMap<String, Vec<String>>;

/// The schemes of 1.0, by name. A scheme with several flows becomes several schemes, since schemes
/// of
/// 1.0 have one flow.
#[derive(Debug, Default)]
pub(super) struct Schemes {
    pub(super) schemes: BTreeMap<String, v1::SecurityScheme>,
    /// The names of the schemes that the flows became.
    split: BTreeMap<String, Vec<String>>,
}

impl Schemes {
    pub(super) fn insert(&mut self, name: String, scheme: SecurityScheme) {
        let mut flows = scheme.into_v1();
        if flows.len() == 1 {
            self.schemes.extend(flows.pop().map(|(_, scheme)| (name, scheme)));
            return;
        }
        let mut names = Vec::new();
        for (flow, scheme) in flows {
            let name = format!("{name}.{flow}");
            names.push(name.clone());
            self.schemes.insert(name, scheme);
        }
        self.split.insert(name, names);
    }

    /// Converts alternative requirements. If a scheme became several, each of them is an
    /// alternative.
    pub(super) fn requirements(&self, all: Vec<Requirement>) -> Vec<v1::SecurityRequirement> {
        all.into_iter().flat_map(|requirement| self.requirement(requirement)).collect()
    }

    fn requirement(&self, requirement: Requirement) -> Vec<v1::SecurityRequirement> {
        let mut alternatives = vec![v1::SecurityRequirement::default()];
        for (name, list) in requirement {
            let same = [name.clone()];
            let names = self.split.get(&name).map_or(&same[..], Vec::as_slice);
            let with = |base: &v1::SecurityRequirement, name: &String| {
                let mut next = base.clone();
                next.schemes.insert(name.clone(), v1::StringList { list: list.clone() });
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

/// Converts requirements from 1.0.
pub(super) fn requirements(all: Vec<v1::SecurityRequirement>) -> Vec<Requirement> {
    let plain = |requirement: v1::SecurityRequirement| {
        requirement.schemes.into_iter().map(|(name, scopes)| (name, scopes.list)).collect()
    };
    all.into_iter().map(plain).collect()
}

impl SecurityScheme {
    /// The scheme of a name in a card of 0.1, without details.
    pub(super) fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "oauth2" => {
                Self::OAuth2 { flows: Box::default(), oauth2_metadata_url: None, description: None }
            }
            "apikey" => {
                Self::ApiKey { location: String::new(), name: String::new(), description: None }
            }
            _ => Self::Http { scheme: name.to_owned(), bearer_format: None, description: None },
        }
    }

    /// Converts to one scheme of 1.0, or to one per flow with its name.
    fn into_v1(self) -> Vec<(&'static str, v1::SecurityScheme)> {
        let scheme = match self {
            Self::ApiKey { location, name, description } => {
                let description = description.unwrap_or_default();
                Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme { description, location, name })
            }
            Self::Http { scheme, bearer_format, description } => {
                Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
                    description: description.unwrap_or_default(),
                    scheme,
                    bearer_format: bearer_format.unwrap_or_default(),
                })
            }
            Self::OpenIdConnect { open_id_connect_url, description } => {
                Scheme::OpenIdConnectSecurityScheme(OpenIdConnectSecurityScheme {
                    description: description.unwrap_or_default(),
                    open_id_connect_url,
                })
            }
            Self::MutualTls { description } => {
                let description = description.unwrap_or_default();
                Scheme::MtlsSecurityScheme(MutualTlsSecurityScheme { description })
            }
            Self::OAuth2 { flows, oauth2_metadata_url, description } => {
                let description = description.unwrap_or_default();
                let oauth2_metadata_url = oauth2_metadata_url.unwrap_or_default();
                let scheme = |flow| v1::SecurityScheme {
                    scheme: Some(Scheme::Oauth2SecurityScheme(OAuth2SecurityScheme {
                        description: description.clone(),
                        flows: Some(v1::OAuthFlows { flow }),
                        oauth2_metadata_url: oauth2_metadata_url.clone(),
                    })),
                };
                let flows = flows.into_v1();
                if flows.is_empty() {
                    return vec![("", scheme(None))];
                }
                return flows.into_iter().map(|(name, flow)| (name, scheme(Some(flow)))).collect();
            }
        };
        vec![("", v1::SecurityScheme { scheme: Some(scheme) })]
    }

    /// Converts from 1.0; `None` if the scheme is empty.
    pub(super) fn from_v1(scheme: v1::SecurityScheme) -> Option<Self> {
        Some(match scheme.scheme? {
            Scheme::ApiKeySecurityScheme(scheme) => Self::ApiKey {
                location: scheme.location,
                name: scheme.name,
                description: some(&scheme.description),
            },
            Scheme::HttpAuthSecurityScheme(scheme) => Self::Http {
                scheme: scheme.scheme,
                bearer_format: some(&scheme.bearer_format),
                description: some(&scheme.description),
            },
            Scheme::Oauth2SecurityScheme(scheme) => Self::OAuth2 {
                flows: scheme
                    .flows
                    .and_then(|flows| flows.flow)
                    .map(Flows::from_v1)
                    .unwrap_or_default()
                    .into(),
                oauth2_metadata_url: some(&scheme.oauth2_metadata_url),
                description: some(&scheme.description),
            },
            Scheme::OpenIdConnectSecurityScheme(scheme) => Self::OpenIdConnect {
                open_id_connect_url: scheme.open_id_connect_url,
                description: some(&scheme.description),
            },
            Scheme::MtlsSecurityScheme(scheme) => {
                Self::MutualTls { description: some(&scheme.description) }
            }
        })
    }
}

#[expect(deprecated, reason = "older revisions have flows that are deprecated in 1.0")]
impl Flows {
    /// The flows with their names, in order of preference.
    fn into_v1(self) -> Vec<(&'static str, Flow)> {
        let mut flows = Vec::new();
        if let Some(flow) = self.authorization_code {
            let flow = Flow::AuthorizationCode(v1::AuthorizationCodeOAuthFlow {
                authorization_url: flow.authorization_url.unwrap_or_default(),
                token_url: flow.token_url.unwrap_or_default(),
                refresh_url: flow.refresh_url.unwrap_or_default(),
                scopes: flow.scopes,
                pkce_required: false,
            });
            flows.push(("authorizationCode", flow));
        }
        if let Some(flow) = self.client_credentials {
            let flow = Flow::ClientCredentials(v1::ClientCredentialsOAuthFlow {
                token_url: flow.token_url.unwrap_or_default(),
                refresh_url: flow.refresh_url.unwrap_or_default(),
                scopes: flow.scopes,
            });
            flows.push(("clientCredentials", flow));
        }
        if let Some(flow) = self.implicit {
            let flow = Flow::Implicit(v1::ImplicitOAuthFlow {
                authorization_url: flow.authorization_url.unwrap_or_default(),
                refresh_url: flow.refresh_url.unwrap_or_default(),
                scopes: flow.scopes,
            });
            flows.push(("implicit", flow));
        }
        if let Some(flow) = self.password {
            let flow = Flow::Password(v1::PasswordOAuthFlow {
                token_url: flow.token_url.unwrap_or_default(),
                refresh_url: flow.refresh_url.unwrap_or_default(),
                scopes: flow.scopes,
            });
            flows.push(("password", flow));
        }
        flows
    }

    /// The revision has neither the device flow nor a PKCE flag.
    fn from_v1(flow: Flow) -> Self {
        let mut flows = Self::default();
        match flow {
            Flow::AuthorizationCode(flow) => {
                flows.authorization_code = Some(OAuthFlow {
                    authorization_url: Some(flow.authorization_url),
                    token_url: Some(flow.token_url),
                    refresh_url: some(&flow.refresh_url),
                    scopes: flow.scopes,
                });
            }
            Flow::ClientCredentials(flow) => {
                flows.client_credentials = Some(OAuthFlow {
                    authorization_url: None,
                    token_url: Some(flow.token_url),
                    refresh_url: some(&flow.refresh_url),
                    scopes: flow.scopes,
                });
            }
            Flow::Implicit(flow) => {
                flows.implicit = Some(OAuthFlow {
                    authorization_url: Some(flow.authorization_url),
                    token_url: None,
                    refresh_url: some(&flow.refresh_url),
                    scopes: flow.scopes,
                });
            }
            Flow::Password(flow) => {
                flows.password = Some(OAuthFlow {
                    authorization_url: None,
                    token_url: Some(flow.token_url),
                    refresh_url: some(&flow.refresh_url),
                    scopes: flow.scopes,
                });
            }
            Flow::DeviceCode(_) => {}
        }
        flows
    }
}
