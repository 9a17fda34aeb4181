//! Getting in without being let in.

use serde_json::{Value, json};

use super::{
    Attack, Canary, Issuer, Scene, Verdict, attacks,
    issuer::{now, unsigned},
    pipe::Reply,
    scene::{JSON, bearer, waiting},
};
use crate::isolation::{Dialect, Probe, Target};

/// Failures that cost an address nothing: as many as the attacks before the guesses need to be
/// judged for what they are.
pub(super) const FREE_FAILURES: usize = 800;
const GUESSES: usize = 1_000;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "no credentials", "every operation on every binding in every revision" => nobody;
        "wrong scheme", "the token as Basic, Digest and Token" => wrong_scheme;
        "empty token", "Bearer with nothing behind it" => empty;
        "unknown token", "a token of the right form that nobody made" => unknown;
        "expired token", "a signed token of an hour ago" => expired;
        "token of tomorrow", "a signed token that is not valid yet" => early;
        "endless token", "tokens without expiry, and with expiries that are no times" => endless;
        "another issuer", "a signed token that names another issuer" => other_issuer;
        "another audience", "a signed token for somebody else" => other_audience;
        "algorithm none", "a token without signature, alg none in four spellings" => none;
        "HS256 with the public key", "a token signed with what everybody knows" => symmetric;
        "another key", "a token of another key under the name of the right one" => other_key;
        "changed claims", "another subject under the signature of a good token" => changed;
        "key in the token", "a token that brings its own key (jwk, x5c)" => own_key;
        "jku elsewhere", "a token that says where its keys are" => jku;
        "kid injection", "key names that are paths, queries and commands" => kid;
        "critical header", "a token with an extension that must be understood (crit)" => critical;
        "flood of key names", "200 tokens with key names that nobody knows" => flood_of_keys;
        "token in the wrong place", "in the query, a cookie, other headers and the body" => place;
        "two tokens", "a wrong Authorization before and behind the right one" => two;
        "header smuggling", "spaces, folds and underscores in the header's name" => smuggled;
        "claimed identity", "headers that proxies say a name in" => claimed;
        "huge token", "tokens of 8 KiB, 60 KiB and 1 MiB" => huge;
        "deep token", "a token whose header is 10,000 arrays deep" => deep;
        "brute force", "1,000 guesses, then the right token" => brute_force;
    }
}

/// Sends a message with headers as they are given, which has to be refused for them.
async fn with(scene: &Scene, headers: &str) -> Verdict {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": waiting("in")});
    let headers = format!("{headers}{JSON}");
    let reply = scene.request("POST /", &headers, body.to_string().as_bytes()).await?;
    kept_out(&reply)
}

/// Whoever gets a status that says to authenticate was kept out; so was who names a key for
/// which the issuer is not asked again at once (503).
fn kept_out(reply: &Reply) -> Verdict {
    match reply.status() {
        Some(400 | 401 | 403 | 429 | 431 | 503) => Ok(reply.told()),
        None if reply.closed => Ok(reply.told()),
        _ => Err(format!("got in: {}", reply.told())),
    }
}

async fn each(scene: &Scene, headers: impl IntoIterator<Item = String>) -> Verdict {
    let mut told = Vec::new();
    for headers in headers {
        let did = with(scene, &headers).await?;
        if !told.contains(&did) {
            told.push(did);
        }
    }
    Ok(told.join(", "))
}

async fn token(scene: &Scene, token: &str) -> Verdict {
    with(scene, &bearer(token)).await
}

async fn tokens(scene: &Scene, tokens: impl IntoIterator<Item = String>) -> Verdict {
    each(scene, tokens.into_iter().map(|token| bearer(&token))).await
}

fn claims(changes: Value) -> Value {
    let mut claims = Issuer::claims("ann");
    for (name, value) in changes.as_object().into_iter().flatten() {
        claims[name] = value.clone();
    }
    claims
}

async fn nobody(scene: &Scene) -> Verdict {
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
            let Some(ask) = dialect.ask(probe, &target) else { continue };
            for token in [None, Some("guess")] {
                let answer = scene.ask(&ask, token).await?;
                // The method is for the public card too.
                let is_public = probe == Probe::Card && answer.names("securitySchemes");
                let is_older_card = probe == Probe::Card && ask.path.ends_with("GetAgentCard");
                let refused = match dialect {
                    Dialect::Grpc(_) => {
                        matches!(answer.header("grpc-status").as_deref(), Some("16" | "8"))
                    }
                    _ => matches!(answer.status, 401 | 429),
                };
                if !refused && !is_public && !is_older_card {
                    let name = dialect.name();
                    return Err(format!("{probe:?}, {name}, was let in: {answer:?}"));
                }
                asked += 1;
            }
        }
    }
    Ok(format!("{asked} requests refused"))
}

async fn wrong_scheme(scene: &Scene) -> Verdict {
    let token = &scene.ann;
    let schemes = ["Basic", "Digest", "Token", "Negotiate", "bearer\tx", "Bearer,"];
    each(scene, schemes.map(|scheme| format!("authorization: {scheme} {token}\r\n"))).await
}

async fn empty(scene: &Scene) -> Verdict {
    each(
        scene,
        ["Bearer", "Bearer ", "Bearer  ", "", "Bearer ."]
            .map(|value| format!("authorization: {value}\r\n")),
    )
    .await
}

async fn unknown(scene: &Scene) -> Verdict {
    tokens(scene, ["guess".to_owned(), "a.b.c".to_owned(), format!("{}x", scene.ann)]).await
}

async fn expired(scene: &Scene) -> Verdict {
    let claims = claims(json!({"exp": now() - 3_600, "nbf": now() - 7_200}));
    token(scene, &scene.issuer.signed(&Issuer::header(), &claims)).await
}

async fn early(scene: &Scene) -> Verdict {
    let claims = claims(json!({"nbf": now() + 86_400, "exp": now() + 90_000}));
    token(scene, &scene.issuer.signed(&Issuer::header(), &claims)).await
}

async fn endless(scene: &Scene) -> Verdict {
    let times = [json!(null), json!("tomorrow"), json!(-1), json!(1e300), json!([]), json!(true)];
    let signed =
        times.map(|time| scene.issuer.signed(&Issuer::header(), &claims(json!({"exp": time}))));
    tokens(scene, signed).await
}

async fn other_issuer(scene: &Scene) -> Verdict {
    let names = ["https://evil.test", "https://issuer.test/", "HTTPS://ISSUER.TEST", ""];
    let signed =
        names.map(|name| scene.issuer.signed(&Issuer::header(), &claims(json!({"iss": name}))));
    tokens(scene, signed).await
}

async fn other_audience(scene: &Scene) -> Verdict {
    let audiences = [json!("https://other.test"), json!([]), json!(null), json!(["a", "b"])];
    let signed = audiences
        .map(|audience| scene.issuer.signed(&Issuer::header(), &claims(json!({"aud": audience}))));
    tokens(scene, signed).await
}

async fn none(scene: &Scene) -> Verdict {
    let claims = Issuer::claims("ann");
    let spelled = ["none", "None", "NONE", "nOnE"].map(|algorithm| {
        let header = json!({"alg": algorithm, "typ": "JWT", "kid": Issuer::KEY});
        format!("{}.", unsigned(&header, &claims))
    });
    tokens(scene, spelled).await
}

async fn symmetric(scene: &Scene) -> Verdict {
    token(scene, &scene.issuer.with_public_key(&Issuer::claims("ann"))).await
}

async fn other_key(scene: &Scene) -> Verdict {
    token(scene, &Issuer::default().token("ann")).await
}

async fn changed(scene: &Scene) -> Verdict {
    let good = scene.issuer.token("mallory");
    let signature = good.rsplit('.').next().unwrap_or_default();
    let forged = unsigned(&Issuer::header(), &Issuer::claims("ann"));
    tokens(scene, [format!("{forged}.{signature}"), format!("{forged}.")]).await
}

async fn own_key(scene: &Scene) -> Verdict {
    let own = Issuer::default();
    let headers = [json!({"jwk": own.jwk()}), json!({"x5c": ["MIIB"]})];
    let signed = headers.map(|more| {
        let mut header = Issuer::header();
        for (name, value) in more.as_object().into_iter().flatten() {
            header[name] = value.clone();
        }
        own.signed(&header, &Issuer::claims("ann"))
    });
    tokens(scene, signed).await
}

async fn jku(scene: &Scene) -> Verdict {
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
    let did = token(scene, &own.signed(&header, &Issuer::claims("ann"))).await?;
    match elsewhere.calls() {
        0 => Ok(format!("{did}, asked nobody for keys")),
        calls => Err(format!("asked where the token says, {calls} times")),
    }
}

async fn kid(scene: &Scene) -> Verdict {
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
    tokens(scene, signed).await
}

async fn critical(scene: &Scene) -> Verdict {
    let mut header = Issuer::header();
    header["crit"] = json!(["urn:unknown"]);
    header["urn:unknown"] = json!(true);
    token(scene, &scene.issuer.signed(&header, &Issuer::claims("ann"))).await
}

async fn flood_of_keys(scene: &Scene) -> Verdict {
    let before = scene.keys.as_ref().map_or(0, Canary::calls);
    let own = Issuer::default();
    let flood = (0..200).map(|number| {
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": format!("key no. {number}")});
        own.signed(&header, &Issuer::claims("ann"))
    });
    let did = tokens(scene, flood).await?;
    match scene.keys.as_ref().map_or(0, Canary::calls) - before {
        asked @ 0..=10 => Ok(format!("{did}; asked the issuer {asked} times")),
        asked => Err(format!("asked the issuer {asked} times")),
    }
}

async fn place(scene: &Scene) -> Verdict {
    let token = &scene.ann;
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": waiting("in"),
        "access_token": token, "authorization": format!("Bearer {token}"),
    });
    let body = body.to_string();
    let mut told = Vec::new();
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
        let reply = scene.request(&line, &headers, body.as_bytes()).await?;
        told.push(kept_out(&reply)?);
    }
    told.dedup();
    Ok(told.join(", "))
}

async fn two(scene: &Scene) -> Verdict {
    let (good, bad) = (bearer(&scene.ann), bearer("guess"));
    // To take neither is right; to take one of them is a guess at what a proxy in front took.
    each(scene, [format!("{bad}{good}"), format!("{bad}{bad}")]).await
}

async fn smuggled(scene: &Scene) -> Verdict {
    let token = &scene.ann;
    each(
        scene,
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

async fn claimed(scene: &Scene) -> Verdict {
    each(
        scene,
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

async fn huge(scene: &Scene) -> Verdict {
    tokens(scene, [8 << 10, 60 << 10, 1 << 20].map(|length| "a".repeat(length))).await
}

async fn deep(scene: &Scene) -> Verdict {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let header = format!("{{\"alg\":\"ES256\",\"kid\":\"key-1\",\"x\":{nested}}}");
    token(scene, &format!("{}.e30.AAAA", URL_SAFE_NO_PAD.encode(header))).await
}

async fn brute_force(scene: &Scene) -> Verdict {
    let mut told: Vec<(String, usize)> = Vec::new();
    for number in 0..GUESSES {
        let did = token(scene, &format!("guess-{number}")).await?;
        let did = did.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        match told.iter_mut().find(|(known, _)| *known == did) {
            Some((_, count)) => *count += 1,
            None => told.push((did, 1)),
        }
    }
    let is_slowed = told.iter().any(|(did, _)| did.ends_with("429"));
    let told: Vec<_> = told.iter().map(|(did, count)| format!("{count} times {did}")).collect();
    // Who came in before is not kept out by those who guess beside them.
    if scene.keys.is_some() && !is_slowed {
        return Err(format!("lets anybody guess on: {}", told.join(", ")));
    }
    Ok(told.join(", "))
}
