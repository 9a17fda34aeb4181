//! Bypassing authentication.

use serde_json::{Value, json};

use super::{
    Attack, Canary, Environment, Issuer, Verdict, attacks,
    environment::{JSON, bearer, waiting},
    issuer::{now, unsigned},
    pipe::Reply,
};
use crate::isolation::{Dialect, Probe, Target};

/// Failures without backoff: enough for the attacks before the guesses.
pub(super) const FREE_FAILURES: usize = 800;
const GUESSES: usize = 1_000;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "no credentials", "every operation on every binding in every revision" => no_credentials;
        "wrong scheme", "the token as Basic, Digest and Token" => wrong_scheme;
        "empty token", "Bearer without a token" => empty;
        "unknown token", "a well-formed token that was never issued" => unknown;
        "expired token", "a signed token that expired an hour ago" => expired;
        "token not yet valid", "a signed token that is not valid yet" => early;
        "token without expiry", "tokens without expiry, and with invalid ones" => endless;
        "another issuer", "a signed token that names another issuer" => other_issuer;
        "another audience", "a signed token for another audience" => other_audience;
        "algorithm none", "a token without signature, alg none in four spellings" => none;
        "HS256 with the public key", "a token signed with the public key" => symmetric;
        "another key", "a token of another key with the id of the right one" => other_key;
        "changed claims", "another subject with the signature of a valid token" => changed;
        "key in the token", "a token that contains its key (jwk, x5c)" => own_key;
        "foreign jku", "a token that refers to its keys" => jku;
        "kid injection", "key ids that are paths, queries and commands" => kid;
        "critical header", "a token with an extension that must be understood (crit)" => critical;
        "other tokens of the issuer", "logout and security event tokens, ID tokens, proofs" => other_types;
        "duplicate claims", "a token with two subjects" => duplicate;
        "key id flood", "200 tokens with unknown key ids" => flood_of_keys;
        "token in the wrong place", "in the query, a cookie, other headers and the body" => place;
        "two tokens", "a wrong Authorization before and after the right one" => two;
        "header smuggling", "spaces, folds and underscores in the header's name" => smuggled;
        "claimed identity", "identity headers of proxies" => claimed;
        "huge token", "tokens of 8 KiB, 60 KiB and 1 MiB" => huge;
        "deep token", "a token whose header is 10,000 arrays deep" => deep;
        "brute force", "1,000 guesses, then the right token" => brute_force;
    }
}

/// Sends a message with raw headers, which must not authenticate.
async fn with(env: &Environment, headers: &str) -> Verdict {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": waiting("in")});
    let headers = format!("{headers}{JSON}");
    let reply = env.request("POST /", &headers, body.to_string().as_bytes()).await?;
    kept_out(&reply)
}

/// Accepts the status codes of failed authentication, and 503 for an unknown key id while the
/// issuer is not queried again.
fn kept_out(reply: &Reply) -> Verdict {
    match reply.status() {
        Some(400 | 401 | 403 | 429 | 431 | 503) => Ok(reply.summary()),
        None if reply.closed => Ok(reply.summary()),
        _ => Err(format!("authenticated: {}", reply.summary())),
    }
}

async fn each(env: &Environment, headers: impl IntoIterator<Item = String>) -> Verdict {
    let mut summary = Vec::new();
    for headers in headers {
        let did = with(env, &headers).await?;
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}

async fn token(env: &Environment, token: &str) -> Verdict {
    with(env, &bearer(token)).await
}

async fn tokens(env: &Environment, tokens: impl IntoIterator<Item = String>) -> Verdict {
    each(env, tokens.into_iter().map(|token| bearer(&token))).await
}

fn claims(changes: Value) -> Value {
    let mut claims = Issuer::claims("ann");
    for (name, value) in changes.as_object().into_iter().flatten() {
        claims[name] = value.clone();
    }
    claims
}

async fn no_credentials(env: &Environment) -> Verdict {
    let target = Target {
        task: "01890a5d-ac96-774b-bcce-b302099a8057".to_owned(),
        config: "config".to_owned(),
        webhook: "https://example.com/".to_owned(),
        text: "in".to_owned(),
        ..Target::default()
    };
    let mut asked = 0;
    for dialect in Dialect::ALL {
        for probe in Probe::NAMING.into_iter().chain([Probe::List, Probe::Card]) {
            let target = match probe {
                Probe::Send | Probe::Stream if !dialect.has_chosen_ids() => {
                    Target { text: "in".to_owned(), ..Target::default() }
                }
                _ => target.clone(),
            };
            let Some(request) = dialect.request(probe, &target) else { continue };
            for token in [None, Some("guess")] {
                let answer = env.execute(&request, token).await?;
                // The method also returns the public card.
                let is_public = probe == Probe::Card && answer.names("securitySchemes");
                let is_older_card = probe == Probe::Card && request.path.ends_with("GetAgentCard");
                let rejected = match dialect {
                    Dialect::Grpc(_) => {
                        matches!(answer.header("grpc-status").as_deref(), Some("16" | "8"))
                    }
                    _ => matches!(answer.status, 401 | 429),
                };
                if !rejected && !is_public && !is_older_card {
                    let name = dialect.name();
                    return Err(format!("{probe:?}, {name}, was accepted: {answer:?}"));
                }
                asked += 1;
            }
        }
    }
    Ok(format!("{asked} requests rejected"))
}

async fn wrong_scheme(env: &Environment) -> Verdict {
    let token = &env.ann;
    let schemes = ["Basic", "Digest", "Token", "Negotiate", "bearer\tx", "Bearer,"];
    each(env, schemes.map(|scheme| format!("authorization: {scheme} {token}\r\n"))).await
}

async fn empty(env: &Environment) -> Verdict {
    each(
        env,
        ["Bearer", "Bearer ", "Bearer  ", "", "Bearer ."]
            .map(|value| format!("authorization: {value}\r\n")),
    )
    .await
}

async fn unknown(env: &Environment) -> Verdict {
    tokens(env, ["guess".to_owned(), "a.b.c".to_owned(), format!("{}x", env.ann)]).await
}

async fn expired(env: &Environment) -> Verdict {
    let claims = claims(json!({"exp": now() - 3_600, "nbf": now() - 7_200}));
    token(env, &env.issuer.signed(&Issuer::header(), &claims)).await
}

async fn early(env: &Environment) -> Verdict {
    let claims = claims(json!({"nbf": now() + 86_400, "exp": now() + 90_000}));
    token(env, &env.issuer.signed(&Issuer::header(), &claims)).await
}

async fn endless(env: &Environment) -> Verdict {
    let times = [json!(null), json!("tomorrow"), json!(-1), json!(1e300), json!([]), json!(true)];
    let signed =
        times.map(|time| env.issuer.signed(&Issuer::header(), &claims(json!({"exp": time}))));
    tokens(env, signed).await
}

async fn other_issuer(env: &Environment) -> Verdict {
    let names = ["https://evil.test", "https://issuer.test/", "HTTPS://ISSUER.TEST", ""];
    let signed =
        names.map(|name| env.issuer.signed(&Issuer::header(), &claims(json!({"iss": name}))));
    tokens(env, signed).await
}

async fn other_audience(env: &Environment) -> Verdict {
    let audiences = [json!("https://other.test"), json!([]), json!(null), json!(["a", "b"])];
    let signed = audiences
        .map(|audience| env.issuer.signed(&Issuer::header(), &claims(json!({"aud": audience}))));
    tokens(env, signed).await
}

async fn none(env: &Environment) -> Verdict {
    let claims = Issuer::claims("ann");
    let spelled = ["none", "None", "NONE", "nOnE"].map(|algorithm| {
        let header = json!({"alg": algorithm, "typ": "JWT", "kid": Issuer::KEY});
        format!("{}.", unsigned(&header, &claims))
    });
    tokens(env, spelled).await
}

async fn symmetric(env: &Environment) -> Verdict {
    token(env, &env.issuer.with_public_key(&Issuer::claims("ann"))).await
}

async fn other_key(env: &Environment) -> Verdict {
    token(env, &Issuer::default().token("ann")).await
}

async fn changed(env: &Environment) -> Verdict {
    let good = env.issuer.token("mallory");
    let signature = good.rsplit('.').next().unwrap_or_default();
    let forged = unsigned(&Issuer::header(), &Issuer::claims("ann"));
    tokens(env, [format!("{forged}.{signature}"), format!("{forged}.")]).await
}

async fn own_key(env: &Environment) -> Verdict {
    let own = Issuer::default();
    let headers = [json!({"jwk": own.jwk()}), json!({"x5c": ["MIIB"]})];
    let signed = headers.map(|more| {
        let mut header = Issuer::header();
        for (name, value) in more.as_object().into_iter().flatten() {
            header[name] = value.clone();
        }
        own.signed(&header, &Issuer::claims("ann"))
    });
    tokens(env, signed).await
}

async fn jku(env: &Environment) -> Verdict {
    let own = Issuer::default();
    let keys = own.jwks().to_string();
    let length = keys.len();
    let elsewhere = Canary::start(
        "127.0.0.1",
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{keys}"),
    )
    .await;
    let mut header = Issuer::header();
    header["jku"] = json!(elsewhere.url());
    header["x5u"] = json!(elsewhere.url());
    let did = token(env, &own.signed(&header, &Issuer::claims("ann"))).await?;
    match elsewhere.calls() {
        0 => Ok(format!("{did}, fetched no keys")),
        calls => Err(format!("fetched keys from the foreign URL {calls} times")),
    }
}

async fn kid(env: &Environment) -> Verdict {
    let own = Issuer::default();
    let names = [
        "../../../../dev/null",
        "/etc/passwd",
        "key-1' OR '1'='1",
        "key-1; touch /tmp/a2a-attack",
        "http://127.0.0.1/keys",
        "key-1\0",
        "",
    ];
    let signed = names.map(|name| {
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": name});
        own.signed(&header, &Issuer::claims("ann"))
    });
    tokens(env, signed).await
}

async fn critical(env: &Environment) -> Verdict {
    let mut header = Issuer::header();
    header["crit"] = json!(["urn:unknown"]);
    header["urn:unknown"] = json!(true);
    token(env, &env.issuer.signed(&header, &Issuer::claims("ann"))).await
}

async fn other_types(env: &Environment) -> Verdict {
    let types = ["logout+jwt", "application/LOGOUT+JWT", "secevent+jwt", "dpop+jwt"];
    let by_type = types.map(|token_type| {
        let mut header = Issuer::header();
        header["typ"] = json!(token_type);
        env.issuer.signed(&header, &Issuer::claims("ann"))
    });
    let by_claim = [json!({"at_hash": "x"}), json!({"typ": "ID"}), json!({"events": {}})]
        .map(|more| env.issuer.signed(&Issuer::header(), &claims(more)));
    tokens(env, by_type.into_iter().chain(by_claim)).await
}

async fn duplicate(env: &Environment) -> Verdict {
    let claims = Issuer::claims("ann").to_string();
    let twice = [r#""sub":"mallory","sub":"ann""#, r#""s\u0075b":"mallory","sub":"ann""#];
    let twice = twice.map(|twice| claims.replace(r#""sub":"ann""#, twice));
    tokens(env, twice.map(|claims| env.issuer.signed_text(&Issuer::header(), &claims))).await
}

async fn flood_of_keys(env: &Environment) -> Verdict {
    let before = env.keys.as_ref().map_or(0, Canary::calls);
    let own = Issuer::default();
    let flood = (0..200).map(|number| {
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": format!("key no. {number}")});
        own.signed(&header, &Issuer::claims("ann"))
    });
    let did = tokens(env, flood).await?;
    match env.keys.as_ref().map_or(0, Canary::calls) - before {
        asked @ 0..=10 => Ok(format!("{did}; asked the issuer {asked} times")),
        asked => Err(format!("asked the issuer {asked} times")),
    }
}

async fn place(env: &Environment) -> Verdict {
    let token = &env.ann;
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": waiting("in"),
        "access_token": token, "authorization": format!("Bearer {token}"),
    });
    let body = body.to_string();
    let mut summary = Vec::new();
    for (line, headers) in [
        (format!("POST /?access_token={token}"), String::new()),
        (format!("POST /?authorization=Bearer%20{token}"), String::new()),
        ("POST /".to_owned(), format!("cookie: authorization={token}; access_token={token}\r\n")),
        ("POST /".to_owned(), format!("x-authorization: Bearer {token}\r\n")),
        ("POST /".to_owned(), format!("proxy-authorization: Bearer {token}\r\n")),
        ("POST /".to_owned(), format!("x-api-key: {token}\r\n")),
        ("POST /".to_owned(), format!("sec-websocket-protocol: {token}\r\n")),
    ] {
        let headers = format!("{headers}{JSON}");
        let reply = env.request(&line, &headers, body.as_bytes()).await?;
        summary.push(kept_out(&reply)?);
    }
    summary.dedup();
    Ok(summary.join(", "))
}

async fn two(env: &Environment) -> Verdict {
    let (good, bad) = (bearer(&env.ann), bearer("guess"));
    // Both must be rejected: accepting one assumes which one a proxy uses.
    each(env, [format!("{bad}{good}"), format!("{bad}{bad}")]).await
}

async fn smuggled(env: &Environment) -> Verdict {
    let token = &env.ann;
    each(
        env,
        [
            format!("authorization : Bearer {token}\r\n"),
            format!("x: y\r\n authorization: Bearer {token}\r\n"),
            format!("authorization_: Bearer {token}\r\n"),
            format!("x: y\nauthorization: Basic {token}\r\n"),
            format!("x: y\rauthorization: Bearer {token}\r\n"),
            format!("\u{b}authorization: Bearer {token}\r\n"),
        ],
    )
    .await
}

async fn claimed(env: &Environment) -> Verdict {
    each(
        env,
        [
            "x-forwarded-user: ann\r\nx-remote-user: ann\r\nx-authenticated-user: ann\r\n"
                .to_owned(),
            "x-forwarded-for: 127.0.0.1\r\nforwarded: for=127.0.0.1\r\nx-real-ip: 127.0.0.1\r\n"
                .to_owned(),
            "x-forwarded-client-cert: Subject=\"CN=ann\"\r\nx-ssl-client-cn: ann\r\n".to_owned(),
            "x-test-caller: ann\r\nx-a2a-caller: ann\r\n".to_owned(),
            "x-original-url: /healthz\r\nx-http-method-override: OPTIONS\r\n".to_owned(),
        ],
    )
    .await
}

async fn huge(env: &Environment) -> Verdict {
    tokens(env, [8 << 10, 60 << 10, 1 << 20].map(|length| "a".repeat(length))).await
}

async fn deep(env: &Environment) -> Verdict {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let header = format!("{{\"alg\":\"ES256\",\"kid\":\"key-1\",\"x\":{nested}}}");
    token(env, &format!("{}.e30.AAAA", URL_SAFE_NO_PAD.encode(header))).await
}

async fn brute_force(env: &Environment) -> Verdict {
    let mut summary: Vec<(String, usize)> = Vec::new();
    for number in 0..GUESSES {
        let did = token(env, &format!("guess-{number}")).await?;
        let did = did.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        match summary.iter_mut().find(|(known, _)| *known == did) {
            Some((_, count)) => *count += 1,
            None => summary.push((did, 1)),
        }
    }
    let is_slowed = summary.iter().any(|(did, _)| did.ends_with("429"));
    let summary: Vec<_> =
        summary.iter().map(|(did, count)| format!("{count} times {did}")).collect();
    // Authenticated callers are not affected by guesses from the same address.
    if env.keys.is_some() && !is_slowed {
        return Err(format!("does not throttle guesses: {}", summary.join(", ")));
    }
    Ok(summary.join(", "))
}
