//! Security schemes in the format of the proto, or of OpenAPI, which the sample card of the
//! document uses.

use a2a_core::v1::{self, SecurityScheme, o_auth_flows::Flow, security_scheme::Scheme as V1Scheme};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

/// A scheme.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Scheme(pub(super) SecurityScheme);

impl<'de> Deserialize<'de> for Scheme {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let nested = SecurityScheme::deserialize(&value).map_err(D::Error::custom)?;
        if nested.scheme.is_some() || value.get("type").is_none() {
            return Ok(Self(nested));
        }
        flat(value).map(Self).map_err(D::Error::custom)
    }
}

/// Reads the OpenAPI format: a `type` and members. All but the flows are named as in the proto.
fn flat(mut value: Value) -> serde_json::Result<SecurityScheme> {
    let kind = value["type"].as_str().unwrap_or_default().to_owned();
    if let Some(members) = value.as_object_mut()
        && let Some(location) = members.remove("in")
    {
        members.insert("location".into(), location);
    }
    if let Some(flows) = value.get_mut("flows").and_then(Value::as_object_mut) {
        // 1.0 has one flow: the most preferred one.
        let best = ["authorizationCode", "clientCredentials", "deviceCode", "implicit", "password"];
        let best = best.into_iter().find(|name| flows.contains_key(*name));
        flows.retain(|name, _| best == Some(name));
    }
    let scheme = match kind.as_str() {
        "apiKey" => V1Scheme::ApiKeySecurityScheme(serde_json::from_value(value)?),
        "http" => V1Scheme::HttpAuthSecurityScheme(serde_json::from_value(value)?),
        "oauth2" => V1Scheme::Oauth2SecurityScheme(serde_json::from_value(value)?),
        "openIdConnect" => V1Scheme::OpenIdConnectSecurityScheme(serde_json::from_value(value)?),
        "mutualTLS" => V1Scheme::MtlsSecurityScheme(serde_json::from_value(value)?),
        // Unknown schemes can't be used, but the card remains readable.
        _ => return Ok(SecurityScheme::default()),
    };
    Ok(SecurityScheme { scheme: Some(scheme) })
}

/// Drops what the draft does not have: the device flow and the PKCE flag.
pub(super) fn from_v1(scheme: &SecurityScheme) -> Scheme {
    let mut scheme = scheme.clone();
    if let Some(V1Scheme::Oauth2SecurityScheme(oauth2)) = &mut scheme.scheme
        && let Some(flows) = &mut oauth2.flows
    {
        match &mut flows.flow {
            Some(Flow::DeviceCode(_)) => flows.flow = None,
            Some(Flow::AuthorizationCode(v1::AuthorizationCodeOAuthFlow {
                pkce_required, ..
            })) => *pkce_required = false,
            _ => {}
        }
    }
    Scheme(scheme)
}
