//! Agent cards.

use a2a_core::{
    AgentCard, ErrorKind, Operation,
    v1::{
        self, AgentSkill, SecurityRequirement, SecurityScheme, StringList, o_auth_flows::Flow,
        security_scheme::Scheme,
    },
};
use serde_json::{Value, json};

use super::super::{V0_3, read_card, write_card};
use crate::{AnyResponse, Dialect};

fn interfaces(card: &AgentCard) -> Vec<(&str, &str, &str)> {
    let interfaces = card.supported_interfaces.iter();
    interfaces
        .map(|i| (i.url.as_str(), i.protocol_binding.as_str(), i.protocol_version.as_str()))
        .collect()
}

fn card_with(version: &str, interfaces: &[(&str, &str)]) -> AgentCard {
    let mut card = AgentCard::new("n", "d");
    for (binding, url) in interfaces {
        card = card.with_interface(binding, *url);
        if let Some(interface) = card.supported_interfaces.last_mut() {
            interface.protocol_version = version.to_owned();
        }
    }
    card
}

// covers: R-352
#[test]
fn interfaces_are_read_from_url_and_additional_interfaces() {
    for (members, expected) in [
        (json!({"url": "https://a"}), &[("https://a", "JSONRPC", "0.2")][..]),
        (
            json!({"url": "https://a", "protocolVersion": "0.2.5"}),
            &[("https://a", "JSONRPC", "0.2")],
        ),
        (
            json!({"url": "https://a", "signatures": [{"protected": "p", "signature": "s"}]}),
            &[("https://a", "JSONRPC", "0.3")],
        ),
        (
            json!({"url": "https://a", "protocolVersion": "0.3.0", "preferredTransport": "GRPC",
            "additionalInterfaces": [
                {"url": "https://a", "transport": "GRPC"},
                {"url": "https://b", "transport": "HTTP+JSON"},
                {"url": "https://b", "transport": "HTTP+JSON"},
                {"url": "https://a", "transport": "JSONRPC"},
            ]}),
            &[
                ("https://a", "GRPC", "0.3"),
                ("https://b", "HTTP+JSON", "0.3"),
                ("https://a", "JSONRPC", "0.3"),
            ],
        ),
    ] {
        let mut document = json!({"name": "n", "version": "1"});
        document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let card = read_card(document).unwrap();
        assert_eq!(interfaces(&card), expected, "{members}");
        assert!(card.signatures.is_empty(), "signatures are dropped");
    }
}

#[test]
fn card_defaults() {
    let card = read_card(json!({"name": "n", "url": "https://a", "description": null,
        "provider": {"organization": "o"}, "skills": [{"id": "s", "name": "s"}]}))
    .unwrap();
    assert_eq!(card.default_input_modes, ["text/plain"]);
    assert_eq!(card.default_output_modes, ["text/plain"]);
    assert_eq!(card.skills, [AgentSkill::new("s", "s", "")]);
    assert!(!card.can_stream() && !card.can_push() && !card.has_extended_card());
    assert_eq!(card.provider.unwrap().url, "");
    for member in ["supportsAuthenticatedExtendedCard", "supportsExtendedAgentCard"] {
        let card = read_card(json!({"name": "n", "url": "https://a", member: true})).unwrap();
        assert!(card.has_extended_card(), "{member}");
    }
}

#[test]
fn invalid_cards_are_rejected() {
    for other in [json!(null), json!([]), json!("card"), json!({}), json!({"url": 1})] {
        let error = read_card(other.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{other}");
    }
}

// covers: R-387, R-388, R-389, R-465
#[test]
fn first_older_interface_is_the_main_one() {
    let mut card = card_with("0.3", &[("HTTP+JSON", "https://b"), ("JSONRPC", "https://a")]);
    card = card.with_interface("GRPC", "https://c");
    let written = write_card(&card);
    assert_eq!(written["url"], "https://b");
    assert_eq!(written["preferredTransport"], "HTTP+JSON");
    assert_eq!(written["protocolVersion"], "0.3.0");
    assert_eq!(
        written["additionalInterfaces"],
        json!([{"url": "https://b", "transport": "HTTP+JSON"},
            {"url": "https://a", "transport": "JSONRPC"}])
    );
    let alone = write_card(&card_with("0.2", &[("JSONRPC", "https://a")]));
    assert_eq!(alone["protocolVersion"], "0.2.6");
    assert_eq!(alone.get("additionalInterfaces"), None);
    let none = write_card(&card_with("1.0", &[("JSONRPC", "https://a")]));
    assert_eq!(none["url"], "");
}

#[test]
fn security_schemes_are_converted() {
    let document = json!({
        "key": {"type": "apiKey", "in": "header", "name": "X-Key", "description": "d"},
        "basic": {"type": "http", "scheme": "basic"},
        "jwt": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://o"},
        "tls": {"type": "mutualTLS"},
        "oauth": {"type": "oauth2", "oauth2MetadataUrl": "https://m", "flows": {
            "clientCredentials": {"tokenUrl": "https://t", "scopes": {"s": "does s"}}}},
        "code": {"type": "oauth2", "flows": {"authorizationCode": {
            "authorizationUrl": "https://u", "tokenUrl": "https://t", "refreshUrl": "https://r",
            "scopes": {}}}},
    });
    let security = json!([{"oauth": ["s"], "tls": []}, {"key": []}, {}]);
    let card = read_card(json!({"name": "n", "url": "https://a", "securitySchemes": document,
        "security": security, "skills": [{"id": "s", "security": security}]}))
    .unwrap();
    assert_eq!(card.security_schemes.len(), 7);
    let read = serde_json::to_value(&card).unwrap();
    for (name, member) in [
        ("key", "apiKeySecurityScheme"),
        ("basic", "httpAuthSecurityScheme"),
        ("oidc", "openIdConnectSecurityScheme"),
        ("tls", "mtlsSecurityScheme"),
        ("oauth", "oauth2SecurityScheme"),
    ] {
        assert!(read["securitySchemes"][name][member].is_object(), "{name}");
    }
    assert_eq!(read["securitySchemes"]["key"]["apiKeySecurityScheme"]["location"], "header");
    assert_eq!(read["securityRequirements"][0]["schemes"]["oauth"]["list"], json!(["s"]));
    let written = write_card(&card);
    assert_eq!(written["securitySchemes"], document);
    assert_eq!(written["security"], security);
    assert_eq!(written["skills"][0]["security"], security);
}

#[test]
fn flows_of_a_scheme_become_alternative_schemes() {
    let flow = json!({"authorizationUrl": "https://u", "tokenUrl": "https://t", "scopes": {}});
    let card = read_card(json!({"name": "n", "url": "https://a",
        "securitySchemes": {
            "o": {"type": "oauth2", "flows": {"authorizationCode": flow, "clientCredentials": flow,
                "implicit": flow, "password": flow}},
            "k": {"type": "http", "scheme": "bearer"},
        },
        "security": [{"o": ["s"], "k": []}]}))
    .unwrap();
    let names: Vec<_> = card.security_schemes.keys().map(String::as_str).collect();
    let flows = ["o.authorizationCode", "o.clientCredentials", "o.implicit", "o.password"];
    assert_eq!(names, [&["k"][..], &flows].concat());
    let expected = flows.map(|flow| SecurityRequirement {
        schemes: [
            ("k".to_owned(), StringList::default()),
            (flow.to_owned(), StringList { list: vec!["s".into()] }),
        ]
        .into(),
    });
    assert_eq!(card.security_requirements, expected);
    let again = read_card(write_card(&card)).unwrap();
    assert_eq!(again, card);
}

#[test]
fn expanded_requirements_are_limited() {
    let flow = json!({"scopes": {}});
    let flows = json!({"type": "oauth2", "flows": {"implicit": flow, "password": flow}});
    let names: Vec<_> = (0..40).map(|index| format!("o{index}")).collect();
    let schemes: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), flows.clone())).collect();
    let security: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), json!([]))).collect();
    let card = read_card(json!({"name": "n", "url": "https://a", "securitySchemes": schemes,
        "security": [security]}))
    .unwrap();
    assert!(card.security_requirements.len() <= 64);
    assert!(card.security_requirements.iter().all(|one| one.schemes.len() == 40));
}

#[test]
fn unsupported_flow_is_dropped_from_its_scheme() {
    let flow = Flow::DeviceCode(v1::DeviceCodeOAuthFlow::default());
    let scheme = SecurityScheme {
        scheme: Some(Scheme::Oauth2SecurityScheme(v1::OAuth2SecurityScheme {
            flows: Some(v1::OAuthFlows { flow: Some(flow) }),
            ..Default::default()
        })),
    };
    let card = AgentCard {
        security_schemes: [("o".to_owned(), scheme)].into(),
        ..card_with("0.3", &[("JSONRPC", "https://a")])
    };
    let expected = json!({"o": {"type": "oauth2", "flows": {}}});
    assert_eq!(write_card(&card)["securitySchemes"], expected);
}

#[test]
fn nested_schemes_are_read_and_unknown_ones_ignored() {
    let card = read_card(json!({"name": "n", "url": "https://a", "securitySchemes": {
        "new": {"httpAuthSecurityScheme": {"scheme": "bearer"}},
        "odd": {"type": "handshake"},
        "bad": 7,
    }}))
    .unwrap();
    assert_eq!(card.security_schemes.keys().collect::<Vec<_>>(), ["new"]);

    let older = json!({"name": "n", "url": "https://a",
        "authentication": {"schemes": ["Bearer", "OAuth2"]}});
    let card = read_card(older).unwrap();
    assert_eq!(card.security_schemes.keys().collect::<Vec<_>>(), ["Bearer", "OAuth2"]);
    assert_eq!(card.security_requirements.len(), 2);
}

#[test]
fn hybrid_extended_card_is_read_as_1_0() {
    let older = json!({"name": "n", "url": "https://a", "protocolVersion": "0.3.0"});
    let operation = Operation::GetExtendedAgentCard;
    let AnyResponse::Card(card) = V0_3.read_response(operation, older.clone()).unwrap() else {
        panic!("not a card");
    };
    assert_eq!(interfaces(&card), [("https://a", "JSONRPC", "0.3")]);

    let mut hybrid = older;
    hybrid["supportedInterfaces"] =
        json!([{"url": "https://b", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]);
    let card = read_card(hybrid).unwrap();
    assert_eq!(interfaces(&card), [("https://b", "GRPC", "1.0")]);
    let written = V0_3.write_response(operation, AnyResponse::Card(card));
    assert_eq!(written["name"], Value::from("n"));
}
