//! Authorization servers that a card mixes (RFC 9700 §4.4), over real sockets: the user signs in at
//! an honest server, and a malicious one waits for the result.

#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

mod support;

use a2a_core::v1::{
    AuthorizationCodeOAuthFlow, ClientCredentialsOAuthFlow, DeviceCodeOAuthFlow,
    OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme, o_auth_flows::Flow,
    security_scheme::Scheme,
};
use a2a_kit_auth::client::{
    AuthorizationCode, ClientCredentials, CredentialError, CredentialRequest,
    CredentialSource as _, DeviceCode, OAuthClient,
};
use support::{AuthorizationServer, browse, open};

const CALLBACK: &str = "https://app.example/callback";

fn oauth(flow: Flow) -> Scheme {
    Scheme::Oauth2SecurityScheme(OAuth2SecurityScheme {
        flows: Some(OAuthFlows { flow: Some(flow) }),
        ..OAuth2SecurityScheme::default()
    })
}

fn authorization_code(authorization: &str, token: &str, refresh: &str) -> Scheme {
    oauth(Flow::AuthorizationCode(AuthorizationCodeOAuthFlow {
        authorization_url: authorization.to_owned(),
        token_url: token.to_owned(),
        refresh_url: refresh.to_owned(),
        ..AuthorizationCodeOAuthFlow::default()
    }))
}

fn device_code(device: &str, token: &str) -> Scheme {
    oauth(Flow::DeviceCode(DeviceCodeOAuthFlow {
        device_authorization_url: device.to_owned(),
        token_url: token.to_owned(),
        ..DeviceCodeOAuthFlow::default()
    }))
}

fn open_id(server: &AuthorizationServer) -> Scheme {
    Scheme::OpenIdConnectSecurityScheme(OpenIdConnectSecurityScheme {
        open_id_connect_url: server.at("/.well-known/openid-configuration"),
        ..OpenIdConnectSecurityScheme::default()
    })
}

fn request(scheme: Scheme) -> CredentialRequest {
    CredentialRequest::new("https://agent.example".parse().unwrap(), "login", scheme)
}

/// A client of a user who trusts the card, and has named these servers.
fn client(named: &[&AuthorizationServer]) -> OAuthClient {
    let client = OAuthClient::public("app").unwrap().with_trusted_cards();
    named.iter().fold(client, |client, server| client.with_trusted(&server.url).unwrap())
}

fn assert_mixed(error: &CredentialError, honest: &AuthorizationServer, evil: &AuthorizationServer) {
    let text = error.to_string();
    assert!(text.contains(&honest.url) && text.contains(&evil.url), "{text}");
}

#[tokio::test]
async fn code_and_refresh_token_reach_only_the_server_of_the_sign_in_or_a_named_one() {
    let (honest, evil) = (AuthorizationServer::start().await, AuthorizationServer::start().await);
    let scheme = |token: &AuthorizationServer, refresh: &str| {
        authorization_code(&honest.at("/authorize"), &token.at("/token"), refresh)
    };
    for (scheme, named, is_allowed) in [
        (scheme(&honest, ""), &[][..], true),
        (scheme(&honest, &honest.at("/refresh")), &[], true),
        (scheme(&evil, ""), &[], false),
        (scheme(&evil, ""), &[&honest], false),
        (scheme(&evil, ""), &[&honest, &evil], true),
        (scheme(&honest, &evil.at("/refresh")), &[], false),
        (scheme(&honest, &evil.at("/refresh")), &[&evil], true),
    ] {
        let begun = client(named).begin_authorization(&request(scheme), CALLBACK).await;
        assert_eq!(begun.is_ok(), is_allowed, "{begun:?}");
        if let Err(error) = begun {
            assert_mixed(&error, &honest, &evil);
        }
    }
}

#[tokio::test]
async fn device_code_and_secret_reach_one_server_unless_all_are_named() {
    let (honest, evil) = (AuthorizationServer::start().await, AuthorizationServer::start().await);
    honest.records().is_approved = true;
    evil.records().is_approved = true;
    for (device, token, named, is_allowed) in [
        (&honest, &honest, &[][..], true),
        (&honest, &evil, &[], false),
        (&honest, &evil, &[&evil], false),
        (&evil, &honest, &[&honest], false),
        (&honest, &evil, &[&honest, &evil], true),
    ] {
        let scheme = device_code(&device.at("/device"), &token.at("/token"));
        let source = DeviceCode::new(client(named), |_| {});
        let obtained = source.obtain(&request(scheme), None).await;
        assert_eq!(obtained.is_ok(), is_allowed, "{obtained:?}");
        if let Err(error) = obtained {
            assert_mixed(&error, &honest, &evil);
        }
    }
    assert_eq!((honest.records().asked.len(), evil.records().asked.len()), (1, 1));
}

#[tokio::test]
async fn issuer_of_a_redirect_is_that_of_the_metadata_or_of_the_token_url() {
    let server = AuthorizationServer::start().await;
    let plain = authorization_code(&server.at("/authorize"), &server.at("/token"), "");
    let own = server.url.clone();
    let evil = "https://evil.example".to_owned();
    let table = [
        (&plain, false, vec![], true),
        (&plain, false, vec![own.clone()], true),
        (&plain, false, vec![format!("{own}/realms/a")], true),
        (&plain, false, vec![evil.clone()], false),
        (&plain, false, vec!["no URL".to_owned()], false),
        (&plain, false, vec![own.clone(), evil.clone()], false),
        (&open_id(&server), false, vec![], true),
        (&open_id(&server), false, vec![own.clone()], true),
        (&open_id(&server), false, vec![format!("{own}/realms/a")], false),
        (&open_id(&server), false, vec![evil.clone()], false),
        (&open_id(&server), true, vec![], false),
        (&open_id(&server), true, vec![own.clone()], true),
    ];
    for (scheme, is_announced, issuers, is_accepted) in table {
        server.records().has_issuer_parameter = is_announced;
        let begun = client(&[]).begin_authorization(&request(scheme.clone()), CALLBACK).await;
        let begun = begun.unwrap();
        let (_, redirected) = open(begun.url()).await;
        let mut redirected = redirected.unwrap();
        for issuer in &issuers {
            let issuer: String = form_urlencoded::byte_serialize(issuer.as_bytes()).collect();
            redirected.push_str(&format!("&iss={issuer}"));
        }
        let obtained = begun.finish(&redirected).await;
        assert_eq!(obtained.is_ok(), is_accepted, "{is_announced} {issuers:?}: {obtained:?}");
        if let Err(error) = obtained {
            assert!(matches!(error, CredentialError::Redirect(_)), "{issuers:?}: {error}");
        }
    }
    let accepted = server.records().asked.len();
    assert_eq!(accepted, 6, "a rejected code was sent");
}

#[tokio::test]
async fn refresh_token_goes_back_to_the_server_that_issued_it() {
    let (honest, evil) = (AuthorizationServer::start().await, AuthorizationServer::start().await);
    let scheme = |server: &AuthorizationServer| {
        authorization_code(&server.at("/authorize"), &server.at("/token"), "")
    };
    let source = AuthorizationCode::new(client(&[]), |url| {
        let url = url.to_owned();
        tokio::spawn(async move { browse(&url).await });
    });
    let granted = source.obtain(&request(scheme(&honest)), None).await.unwrap();
    // The card names other servers now: the user has to sign in there.
    let other = source.obtain(&request(scheme(&evil)), Some(&granted)).await.unwrap();
    assert_eq!(evil.grants(), ["authorization_code"]);
    let renewed = source.obtain(&request(scheme(&honest)), Some(&granted)).await.unwrap();
    assert_eq!(honest.grants(), ["authorization_code", "refresh_token"]);
    assert_ne!(renewed.expose(), other.expose());

    let flow = ClientCredentialsOAuthFlow {
        token_url: honest.at("/token"),
        refresh_url: evil.at("/refresh"),
        ..ClientCredentialsOAuthFlow::default()
    };
    let source = ClientCredentials::new(client(&[]));
    let mixed = request(oauth(Flow::ClientCredentials(flow)));
    assert_mixed(&source.obtain(&mixed, None).await.unwrap_err(), &honest, &evil);
}
