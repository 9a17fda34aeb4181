//! `a2a auth login` at a real OpenID Connect provider, and agents that verify its tokens. Skipped
//! without Node.js.
#![cfg(unix)]

use crate::common::Run;
use crate::common::login::{Agent, Answer, Login, User, browse, browse_and};
use crate::common::oidc_provider::OidcProvider;
use serde_json::{Value, json};

/// The secret of the client `machine` in `tests/interop/oauth/server.mjs`.
const SECRET: &str = "s3cret of the machine";

fn open_id(provider: &OidcProvider) -> Value {
    let url = format!("{}/.well-known/openid-configuration", provider.url);
    json!({ "openIdConnectSecurityScheme": { "openIdConnectUrl": url } })
}

fn assert_sent(user: &User, agent: &Agent) {
    for binding in ["jsonrpc", "rest", "grpc"] {
        let run = user.run(&["send", "echo hi", "-a", agent.address(), "--transport", binding]);
        assert_eq!(run.field("State"), "COMPLETED", "{binding}: {run:?}");
    }
}

#[test]
fn device_login_at_a_real_provider_is_accepted_by_the_agent() {
    let Some(provider) = OidcProvider::start(600) else { return };
    let agent = Agent::start(&provider.url, &open_id(&provider));
    let user = User::new();
    let arguments = ["-a", agent.address(), "--client-id", "cli", "--scope", "openid"];
    let mut login = user.login(&[&arguments[..], &["--scope", "read"]].concat());
    assert_eq!(browse(&login.label("Or open")), 200);
    let run = login.end();
    assert_eq!(run.field("Flow"), "device");
    assert_eq!(run.field("Renewable"), "yes");
    assert_sent(&user, &agent);

    let denying = User::new();
    let mut login = denying.login(&arguments);
    browse_and(&login.label("Or open"), Answer::Deny);
    let denied = login.end();
    assert_eq!(denied.code, 4, "{denied:?}");
    assert!(denied.stderr.contains("access_denied"), "{denied:?}");
    assert!(!denying.store().exists());
}

/// Starts a login with an authorization code, and consents to it.
fn log_in_by_code(user: &User, agent: &Agent) -> Login {
    let flags =
        ["-a", agent.address(), "--client-id", "cli", "--flow", "auth-code", "--no-browser"];
    let scopes = ["--scope", "openid", "--scope", "read"];
    let mut login = user.login(&[&flags[..], &scopes].concat());
    assert_eq!(browse(&login.label("Open")), 200);
    login
}

#[test]
fn authorization_code_login_at_a_real_provider_is_accepted_by_the_agent() {
    let Some(provider) = OidcProvider::start(600) else { return };
    let agent = Agent::start(&provider.url, &open_id(&provider));
    let user = User::new();
    let login = log_in_by_code(&user, &agent);
    let run = login.end();
    assert_eq!(run.field("Flow"), "auth-code");
    assert_sent(&user, &agent);
}

#[test]
fn client_credentials_login_at_a_real_provider_is_accepted_by_the_agent() {
    let Some(provider) = OidcProvider::start(600) else { return };
    let scheme = json!({ "oauth2SecurityScheme": { "flows": { "clientCredentials": {
        "tokenUrl": format!("{}/token", provider.url), "scopes": { "read": "reads" },
    }}}});
    // Its issuer publishes the keys where the agent looks for them.
    let agent = Agent::start(&provider.url, &scheme);
    let user = User::new();
    let arguments = ["auth", "login", "-a", agent.address(), "--client-id", "machine"];
    let wrong = Run::of(user.command(&arguments).env("A2ACLI_CLIENT_SECRET", "wrong"));
    assert_eq!(wrong.code, 4, "{wrong:?}");
    assert!(wrong.stderr.contains("invalid_client"), "{wrong:?}");
    let run = Run::of(user.command(&arguments).env("A2ACLI_CLIENT_SECRET", SECRET));
    assert_eq!(run.code, 0, "{run:?}");
    assert_sent(&user, &agent);
}

#[test]
fn refresh_token_of_a_real_provider_is_rotated_and_stored() {
    let Some(provider) = OidcProvider::start(600) else { return };
    let agent = Agent::start(&provider.url, &open_id(&provider));
    let user = User::new();
    let login = log_in_by_code(&user, &agent);
    assert_eq!(login.end().code, 0);
    let mut seen = vec![user.tokens()[0]["refreshToken"].clone()];
    for _ in 0..2 {
        user.expire();
        assert_sent(&user, &agent);
        let refresh = user.tokens()[0]["refreshToken"].clone();
        assert!(!seen.contains(&refresh), "rotated");
        seen.push(refresh);
    }
    // The provider revokes everything when a refresh token is used twice.
    user.edit(|token| token["refreshToken"] = seen[0].clone());
    user.expire();
    let refused = user.run(&["send", "echo hi", "-a", agent.address()]);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains("invalid_grant"), "{refused:?}");
    assert!(refused.stderr.contains("a2a auth login"), "{refused:?}");
}
