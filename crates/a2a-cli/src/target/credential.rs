//! Where a credential goes: where the card of the agent says.

use a2a_auth::client::Origin;
use a2a_client::{CardReference, SelectedInterface, Transport};
use a2a_core::{AgentCard, v1::security_scheme::Scheme};
use a2a_operations::{Credential, Place};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE},
};

use super::{select, select_at};
use crate::{
    failure::{Code, Failure},
    output::Output,
    settings::Settings,
};

/// Where the credentials of this run go.
#[derive(Debug, Default)]
pub(super) struct Placed {
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// What goes into the query of the URL.
    pub(super) query: Option<Credential>,
}

/// Where the credentials of this run go, to an agent that is called over `transport`. A card with
/// schemes none of which takes a credential keeps it from being sent.
pub(super) fn placed(
    settings: &Settings,
    card: &AgentCard,
    transport: Transport,
    output: Output,
) -> Result<Placed, Failure> {
    let schemes: Vec<_> =
        card.security_schemes.values().filter_map(|scheme| scheme.scheme.as_ref()).collect();
    let mut headers = Vec::new();
    let mut query = None;
    let taken =
        |takes: fn(&Scheme) -> bool| schemes.is_empty() || schemes.iter().any(|one| takes(one));
    if let Some(token) = &settings.bearer {
        if taken(takes_bearer) {
            headers.push((AUTHORIZATION, secret(&format!("Bearer {token}"))?));
        } else {
            not_sent("bearer token", card, output);
        }
    }
    if let Some(pair) = &settings.basic {
        if taken(takes_basic) {
            headers.push((AUTHORIZATION, basic(pair)?));
        } else {
            not_sent("Basic credential", card, output);
        }
    }
    if let Some(key) = &settings.api_key {
        let placed = schemes.iter().find_map(|scheme| match scheme {
            Scheme::ApiKeySecurityScheme(key) => Some((key.location.as_str(), key.name.as_str())),
            _ => None,
        });
        match placed {
            None if schemes.is_empty() => {
                headers.push((HeaderName::from_static("x-api-key"), secret(key)?));
            }
            None => not_sent("API key", card, output),
            Some(("header", name)) => {
                let name = name.parse().map_err(|error| {
                    Failure::usage(format!("the card names no header for the API key: {error}"))
                })?;
                headers.push((name, secret(key)?));
            }
            Some(("cookie", name)) => headers.push((COOKIE, secret(&format!("{name}={key}"))?)),
            Some(("query", name)) if transport != Transport::Grpc => {
                query = Some(Credential::at(Place::Query(name.into()), key.as_str()));
            }
            Some((location, _)) => {
                output.warning(&format!(
                    "the API key is not sent: the agent wants it in {location:?}, which {transport} \
                     does not have"
                ));
            }
        }
    }
    Ok(Placed { headers, query })
}

/// Where the card of the agent is; `None` for a file, which whoever runs this vouches for.
pub(super) fn card_origin(settings: &Settings) -> Option<Origin> {
    match settings.agent_card.as_deref()?.parse() {
        Ok(CardReference::Url(url)) => Origin::of(&url),
        _ => None,
    }
}

/// Chooses the interface of a card that was read at `from`, and takes out of the card what may not
/// be called. What is secret goes to no other origin than that one and those that were named; and
/// not in clear where the card came encrypted, as whoever is on the way could have changed what
/// goes in clear and not the card.
///
/// # Errors
///
/// A failure that names both places, where there is no such interface, or where it has another
/// binding than was asked for.
pub(super) fn keep_to(
    from: &Origin,
    card: &mut AgentCard,
    settings: &Settings,
    output: Output,
) -> Result<SelectedInterface, Failure> {
    let wanted = select(card, settings)?;
    let origins: Vec<_> =
        std::iter::once(from).chain(&settings.credential_origins).cloned().collect();
    let is_asked = |one: &SelectedInterface| settings.transport.contains(&one.transport);
    let used = match select_at(card, settings, &origins) {
        Ok(used) if is_asked(&used) || !is_asked(&wanted) => used,
        _ => return Err(refused(from, &wanted)),
    };
    if from.is_encrypted() && used.is_exposed() {
        return Err(refused(from, &used));
    }
    if used != wanted {
        output.note(&format!(
            "using {} at {}: credentials keep to {from}, and {} is at {}",
            used.transport, used.interface.url, wanted.transport, wanted.interface.url
        ));
    }
    card.supported_interfaces.retain(|interface| {
        let to = interface.url.parse::<Origin>();
        to.is_ok_and(|to| origins.iter().any(|origin| origin.is_equivalent(&to)))
    });
    Ok(used)
}

/// Says why an interface is not called with credentials.
fn refused(from: &Origin, interface: &SelectedInterface) -> Failure {
    let url = &interface.interface.url;
    if from.is_encrypted() && interface.is_exposed() {
        let said = format!("the card names {url}, where the credential would go in clear");
        return Failure::new(Code::AuthFailed, said)
            .with_hint("choose another interface with --transport");
    }
    let to = url.parse::<Origin>().map_or_else(|_| url.clone(), |to| to.to_string());
    let said = format!("the credential is for {from}, where the card is, and is not sent to {to}");
    Failure::new(Code::AuthFailed, said)
        .with_hint(format!("if that is where it belongs, add --credential-origin {to}"))
}

/// The credential that a challenge (`WWW-Authenticate`) asks for, where there is one.
pub(super) fn for_challenge(settings: &Settings, challenge: &str) -> Option<HeaderValue> {
    let scheme = challenge.split_whitespace().next()?.to_ascii_lowercase();
    let value = match scheme.as_str() {
        "bearer" => secret(&format!("Bearer {}", settings.bearer.as_ref()?)),
        "basic" => basic(settings.basic.as_ref()?),
        _ => return None,
    };
    value.ok()
}

fn takes_bearer(scheme: &Scheme) -> bool {
    match scheme {
        Scheme::HttpAuthSecurityScheme(http) => http.scheme.eq_ignore_ascii_case("bearer"),
        Scheme::Oauth2SecurityScheme(_) | Scheme::OpenIdConnectSecurityScheme(_) => true,
        Scheme::ApiKeySecurityScheme(_) | Scheme::MtlsSecurityScheme(_) => false,
    }
}

fn takes_basic(scheme: &Scheme) -> bool {
    match scheme {
        Scheme::HttpAuthSecurityScheme(http) => http.scheme.eq_ignore_ascii_case("basic"),
        _ => false,
    }
}

fn basic(pair: &str) -> Result<HeaderValue, Failure> {
    if !pair.contains(':') {
        return Err(Failure::usage("--basic is user:password"));
    }
    secret(&format!("Basic {}", STANDARD.encode(pair)))
}

/// A header value that no log shows.
fn secret(text: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::try_from(text)
        .map_err(|_error| Failure::usage("the credential is not fit for a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn not_sent(what: &str, card: &AgentCard, output: Output) {
    let names: Vec<_> = card.security_schemes.keys().map(String::as_str).collect();
    output.warning(&format!(
        "the {what} is not sent: the agent declares {} only; --svc-param sends anything",
        names.join(", ")
    ));
}

#[cfg(test)]
mod tests {
    use a2a_core::v1::{ApiKeySecurityScheme, HttpAuthSecurityScheme, SecurityScheme};

    use super::*;
    use crate::settings::{Environment, Flags, value::Format};

    fn card(schemes: Vec<Scheme>) -> AgentCard {
        let named = schemes
            .into_iter()
            .enumerate()
            .map(|(index, scheme)| (format!("s{index}"), SecurityScheme { scheme: Some(scheme) }));
        AgentCard { security_schemes: named.collect(), ..AgentCard::new("a", "b") }
    }

    fn http(scheme: &str) -> Scheme {
        Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
            scheme: scheme.into(),
            ..HttpAuthSecurityScheme::default()
        })
    }

    fn names(flags: &Flags, card: &AgentCard) -> Vec<String> {
        let settings = Settings::resolve(flags, &Environment::default()).unwrap();
        let output = Output::plain(Format::Text);
        let placed = placed(&settings, card, Transport::HttpJson, output).unwrap();
        placed
            .headers
            .iter()
            .map(|(name, value)| {
                assert!(value.is_sensitive());
                name.to_string()
            })
            .collect()
    }

    #[test]
    fn a_credential_goes_where_the_card_says_and_nowhere_else() {
        let bearer = Flags { bearer: Some("t".into()), ..Flags::default() };
        let key = Flags { api_key: Some("k".into()), ..Flags::default() };
        let in_header = Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme {
            location: "header".into(),
            name: "X-Shop-Key".into(),
            ..ApiKeySecurityScheme::default()
        });
        for (flags, schemes, placed) in [
            (&bearer, vec![], vec!["authorization"]),
            (&bearer, vec![http("Bearer")], vec!["authorization"]),
            (&bearer, vec![http("basic")], vec![]),
            (&key, vec![], vec!["x-api-key"]),
            (&key, vec![in_header], vec!["x-shop-key"]),
            (&key, vec![http("bearer")], vec![]),
        ] {
            assert_eq!(names(flags, &card(schemes.clone())), placed, "{schemes:?}");
        }
    }
}
