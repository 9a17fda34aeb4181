//! Credentials: where they go, and that they are never printed.

use a2a_test_certificates::Folder;
use serde_json::{Value, json};

use crate::{
    common::foreign::{Answer, Foreign, Received},
    support::{Agent, Sandbox, assert_failure, failure, over_each_binding},
};

/// An agent with these security schemes, one of which is enough.
fn secured(schemes: Value) -> Foreign {
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
    let script = [("SendMessage", vec![Answer::Result(json!({ "message": message }))])];
    Foreign::start_with(&script, |card| {
        let one = |name: &String| json!({"schemes": {name: {"list": []}}});
        let requirements: Vec<_> = schemes.as_object().unwrap().keys().map(one).collect();
        card["securityRequirements"] = requirements.into();
        card["securitySchemes"] = schemes;
    })
}

/// The last request of a run that succeeded.
fn sent(foreign: &Foreign, arguments: &[&str], variables: &[(&str, &str)]) -> Received {
    let send = [&["send", "x"], arguments].concat();
    let run = Agent::at(&foreign.address).run_with(&send, variables);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stderr.contains("warning"), "{run:?}");
    foreign.operations().pop().unwrap()
}

#[test]
fn auth_001_credentials_are_placed_by_the_declared_scheme() {
    let http = |scheme: &str| json!({"s": {"httpAuthSecurityScheme": {"scheme": scheme}}});
    let flows = json!({"clientCredentials": {"tokenUrl": "https://a.example/t", "scopes": {}}});
    let open_id = "https://a.example/.well-known/openid-configuration";
    for scheme in [
        http("Bearer"),
        json!({"s": {"oauth2SecurityScheme": {"flows": flows}}}),
        json!({"s": {"openIdConnectSecurityScheme": {"openIdConnectUrl": open_id}}}),
    ] {
        let agent = secured(scheme.clone());
        for (flags, variables) in
            [(&["--bearer", "t0ken"][..], &[][..]), (&[], &[("A2ACLI_BEARER", "t0ken")])]
        {
            let request = sent(&agent, flags, variables);
            assert_eq!(request.header("authorization"), Some("Bearer t0ken"), "{scheme}");
        }
    }
    let basic = sent(&secured(http("Basic")), &["--basic", "user:pass"], &[]);
    assert_eq!(basic.header("authorization"), Some("Basic dXNlcjpwYXNz"));

    let key =
        |place: &str| json!({"k": {"apiKeySecurityScheme": {"location": place, "name": "x-k"}}});
    for (place, variables) in [
        ("header", &[][..]),
        ("query", &[]),
        ("cookie", &[]),
        ("header", &[("A2ACLI_API_KEY", "k3y")]),
    ] {
        let flags = if variables.is_empty() { &["--api-key", "k3y"][..] } else { &[] };
        let request = sent(&secured(key(place)), flags, variables);
        let in_header = request.header("x-k") == Some("k3y");
        let in_query = request.uri.query() == Some("x-k=k3y");
        let in_cookie = request.header("cookie") == Some("x-k=k3y");
        let places = [("header", in_header), ("query", in_query), ("cookie", in_cookie)];
        let used: Vec<_> = places.iter().filter(|(_, used)| *used).map(|(name, _)| *name).collect();
        assert_eq!(used, [place], "{request:?}");
        assert_eq!(request.header("authorization"), None, "{place}");
    }
    // Without a scheme in the card.
    let open = secured(json!({}));
    assert_eq!(sent(&open, &["--api-key", "k3y"], &[]).header("x-api-key"), Some("k3y"));
    let bearer = sent(&open, &["--bearer", "t0ken"], &[]);
    assert_eq!(bearer.header("authorization"), Some("Bearer t0ken"));
}

#[test]
fn auth_001_service_parameters_are_separate_from_credentials() {
    let agent = secured(json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}));
    let parameters = ["--svc-param", "x-one:a=b", "--svc-param", "x-two=c:d"];
    let request = sent(&agent, &[&parameters[..], &["--bearer", "t0ken"]].concat(), &[]);
    assert_eq!(request.header("x-one"), Some("a=b"));
    assert_eq!(request.header("x-two"), Some("c:d"));
    assert_eq!(request.header("authorization"), Some("Bearer t0ken"));
    let by_variable = [("A2ACLI_SVC_PARAM", r#"["x-one:1","x-two:2"]"#)];
    let request = sent(&agent, &[], &by_variable);
    assert_eq!((request.header("x-one"), request.header("x-two")), (Some("1"), Some("2")));
    assert_eq!(request.header("authorization"), None);
    for reserved in ["A2A-Version:1.0", "a2a-extensions=urn:x"] {
        let run = Sandbox::new().run(&["send", "x", "--svc-param", reserved, "-o", "json"]);
        assert_failure(&run, "A2ACLI_ERR_USAGE", 2);
    }
    let help = Sandbox::new().run(&["send", "--help"]).stdout;
    let general = help.split("Request:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(general.contains("--svc-param"), "not among the credentials: {help}");
}

#[test]
fn auth_001_credentials_reach_the_agent_over_each_binding() {
    for (server, flag, variable) in [
        ("--require-bearer", "--bearer", "A2ACLI_BEARER"),
        ("--require-api-key", "--api-key", "A2ACLI_API_KEY"),
    ] {
        let agent = Agent::start(&[server, "s3cret-value"]);
        over_each_binding(|binding| {
            let by_flag = agent.over(binding, &["send", "echo hello", flag, "s3cret-value"]);
            let variables = [(variable, "s3cret-value"), ("A2ACLI_TRANSPORT", binding)];
            let by_variable = agent.run_with(&["send", "echo hello"], &variables);
            for run in [by_flag, by_variable] {
                assert_eq!(run.field("State"), "COMPLETED", "{binding} {flag}: {run:?}");
            }
        });
    }
}

#[test]
fn auth_002_each_credential_has_a_variable_and_help_names_the_exposure_of_flags() {
    let help = Sandbox::new().run(&["send", "--help"]).stdout;
    let credentials = help.split("Credentials:\n").nth(1).unwrap();
    let words: Vec<_> = credentials.split_whitespace().collect();
    let credentials = words.join(" ");
    for said in ["process list", "shell history", "A2ACLI_BEARER", "A2ACLI_API_KEY", "A2ACLI_BASIC"]
    {
        assert!(credentials.contains(said), "{said}: {credentials}");
    }
    let http = |scheme: &str| json!({"s": {"httpAuthSecurityScheme": {"scheme": scheme}}});
    let basic = sent(&secured(http("Basic")), &[], &[("A2ACLI_BASIC", "user:pass")]);
    assert_eq!(basic.header("authorization"), Some("Basic dXNlcjpwYXNz"));
    let bearer = sent(&secured(http("Bearer")), &[], &[("A2ACLI_BEARER", "t0ken")]);
    assert_eq!(bearer.header("authorization"), Some("Bearer t0ken"));
    // A flag has precedence.
    let both = sent(&secured(http("Bearer")), &["--bearer", "flag"], &[("A2ACLI_BEARER", "env")]);
    assert_eq!(both.header("authorization"), Some("Bearer flag"));
    let key = json!({"k": {"apiKeySecurityScheme": {"location": "header", "name": "x-k"}}});
    let key = sent(&secured(key), &[], &[("A2ACLI_API_KEY", "k3y")]);
    assert_eq!(key.header("x-k"), Some("k3y"));
}

#[test]
fn auth_003_a_credential_without_verification_is_warned_of_loudly() {
    let agent = Agent::demo();
    for credential in
        [["--bearer", "s3cret-value"], ["--api-key", "s3cret-value"], ["--basic", "u:s3cret-value"]]
    {
        for format in ["text", "json"] {
            let flags = ["send", "echo hello", "--insecure", "-o", format];
            let run = agent.run(&[&flags[..], &credential].concat());
            let warning = run.stderr.lines().next().unwrap();
            assert!(warning.starts_with("warning: CERTIFICATES ARE NOT VERIFIED"), "{run:?}");
            assert!(warning.contains("CREDENTIAL"), "{run:?}");
            assert!(!run.stdout.contains("warning"), "{run:?}");
        }
    }
    let by_variable = [("A2ACLI_INSECURE", "1"), ("A2ACLI_BEARER", "s3cret-value")];
    let run = agent.run_with(&["send", "echo hello"], &by_variable);
    assert!(run.stderr.contains("CERTIFICATES ARE NOT VERIFIED"), "{run:?}");
}

#[test]
fn auth_004_secrets_are_never_printed() {
    let agent = Agent::demo();
    let secret = "s3cret-value";
    let basic = format!("user:{secret}");
    let parameter = format!("x-tag:{secret}");
    let push = ["--push-url", "https://example.com/hook?key=s3cret-value", "--push-token", secret];
    let push = [&push[..], &["--push-auth", "Bearer:s3cret-value"]].concat();
    let encoded = "dXNlcjpzM2NyZXQtdmFsdWU";
    over_each_binding(|binding| {
        for flags in [
            &["send", "echo hello", "--bearer", secret][..],
            &["send", "echo hello", "--api-key", secret],
            &["send", "echo hello", "--basic", &basic],
            &["send", "echo hello", "--svc-param", &parameter],
            &["task", "get", "nope", "--bearer", secret],
            &["send", "stream 2", "--stream", "--bearer", secret],
            &[&["send", "echo hello"][..], &push].concat(),
        ] {
            for mode in
                [&[][..], &["--debug"], &["--debug", "--verbose"], &["--debug", "-o", "json"]]
            {
                let run = agent.over(binding, &[flags, mode].concat());
                for text in [&run.stdout, &run.stderr] {
                    let is_leaked = text.contains(secret) || text.contains(encoded);
                    assert!(!is_leaked, "{binding} {flags:?} {mode:?}: {text}");
                }
                assert!(run.code < 2, "{flags:?} {mode:?}: {run:?}");
            }
        }
    });
}

#[test]
fn auth_004_secrets_in_an_invalid_command_line_are_not_printed() {
    let agent = Agent::demo();
    for flags in [
        ["--basic", "s3cret-value"],
        ["--bearer", "s3cret-value\n"],
        ["--api-key", "s3cret-value\u{7f}"],
        ["--svc-param", "s3cret-value"],
        ["--svc-param", "A2A-Version:s3cret-value"],
        ["--svc-param", "a b:s3cret-value"],
    ] {
        for mode in ["text", "json"] {
            let run = agent.run(&["send", "x", flags[0], flags[1], "-o", mode, "--debug"]);
            assert_eq!(run.code, 2, "{flags:?}: {run:?}");
            assert!(run.stderr.contains(flags[0]), "the flag is named: {run:?}");
            let is_leaked =
                run.stderr.contains("s3cret-value") || run.stdout.contains("s3cret-value");
            assert!(!is_leaked, "{flags:?}: {run:?}");
        }
    }
    let variables = [("A2ACLI_SVC_PARAM", "A2A-Version:s3cret-value")];
    let run = agent.run_with(&["send", "x"], &variables);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(!run.stderr.contains("s3cret-value"), "{run:?}");
}

#[test]
fn auth_008_a_credential_goes_to_a_card_only_if_a_scheme_fits() {
    // An open card is fetched without the credential.
    let open = secured(json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}));
    let run = Agent::at(&open.address).run(&["send", "x", "--bearer", "t0ken"]);
    assert_eq!(run.code, 0, "{run:?}");
    let of_card = |foreign: &Foreign| {
        let mut cards = foreign.received();
        cards.retain(|request| request.method == "card");
        let header = |request: &Received| request.header("authorization").map(str::to_owned);
        cards.iter().map(header).collect::<Vec<_>>()
    };
    assert_eq!(of_card(&open), [None]);
    // A challenge that names the scheme is answered with it, once.
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
    let send = ("SendMessage", vec![Answer::Result(json!({ "message": message }))]);
    for (challenge, expected) in [
        ("Bearer realm=\"a\"", &[None, Some("Bearer t0ken".to_owned())][..]),
        ("Basic realm=\"a\"", &[None]),
        ("DPoP", &[None]),
    ] {
        let card = ("card", vec![Answer::Challenge(401, challenge)]);
        let foreign = Foreign::start_with(&[card, send.clone()], |card| {
            card["securitySchemes"] =
                json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
        });
        let run =
            Agent::at(&foreign.address).run(&["send", "x", "--bearer", "t0ken", "-o", "json"]);
        assert_eq!(of_card(&foreign), expected, "{challenge}");
        let is_accepted = expected.len() == 2;
        assert_eq!(run.code, if is_accepted { 0 } else { 4 }, "{challenge}: {run:?}");
    }
    // Neither does a credential without a scheme in the card go to the interface.
    let other =
        secured(json!({"k": {"apiKeySecurityScheme": {"location": "header", "name": "x-k"}}}));
    let run = Agent::at(&other.address).run(&["send", "x", "--bearer", "t0ken"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("warning: --bearer is not sent"), "{run:?}");
    assert!(run.stderr.contains("(k)") && run.stderr.contains("--svc-param"), "{run:?}");
    assert!(other.received().iter().all(|request| request.header("authorization").is_none()));
}

#[test]
fn auth_009_a_client_certificate_is_presented_over_each_binding() {
    let folder = Folder::new("root");
    for name in ["server", "client"] {
        folder.issue(name);
    }
    let [root, cert, key, client, client_key] =
        ["root.pem", "server.crt", "server.key", "client.crt", "client.key"]
            .map(|f| folder.path(f));
    let tls = ["--tls-cert", &cert, "--tls-key", &key, "--tls-client-ca", &root];
    let server = Agent::start(&tls);
    let agent = Agent::at(&format!("https://{}", server.reference));
    let identity = ["--client-cert", &client, "--client-key", &client_key];
    over_each_binding(|binding| {
        let send = ["send", "echo hello", "--ca-cert", &root];
        let known = agent.over(binding, &[&send[..], &identity].concat());
        assert_eq!(known.field("State"), "COMPLETED", "{binding}: {known:?}");
        let anonymous = agent.json_over(binding, &send);
        assert_failure(&anonymous, "A2ACLI_ERR_UNREACHABLE", 3);
        let variables = [
            ("A2ACLI_CA_CERT", root.as_str()),
            ("A2ACLI_CLIENT_CERT", &client),
            ("A2ACLI_CLIENT_KEY", &client_key),
            ("A2ACLI_TRANSPORT", binding),
        ];
        let by_variable = agent.run_with(&["send", "echo hello"], &variables);
        assert_eq!(by_variable.field("State"), "COMPLETED", "{binding}: {by_variable:?}");
    });
    for half in [&identity[..2], &identity[2..]] {
        let run = agent.run(&[&["send", "x", "-o", "json"], half].concat());
        assert_failure(&run, "A2ACLI_ERR_USAGE", 2);
    }
}

#[test]
fn auth_011_authorization_inside_a_task_is_shown_and_waited_for_on_request() {
    let agent = Agent::demo();
    over_each_binding(|binding| {
        let run = agent.over(binding, &["send", "auth"]);
        assert_eq!((run.code, run.field("State")), (0, "AUTH_REQUIRED"), "{binding}: {run:?}");
        let id = run.field("Task ID").to_owned();
        assert!(run.stdout.contains(&format!("/demo/authorize/{id}")), "{binding}: {run:?}");
        assert!(run.stderr.ends_with(" is AUTH_REQUIRED\n"), "{binding}: {run:?}");
        assert!(run.field("Resume with").contains(&id), "{binding}: {run:?}");
        // Waiting goes on, and ends when the task does.
        let mut command = agent.command(&["task", "get", &id, "--wait", "--auth-wait"]);
        let (authorize, url) = (id.clone(), agent.url());
        let authorized = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let url = format!("{url}/demo/authorize/{authorize}");
            runtime.block_on(crate::common::http("POST", &url, &[], "")).status()
        });
        let waited = agent.sandbox.finish(command.args(["--transport", binding]));
        assert!(authorized.join().unwrap().is_success(), "{binding}");
        assert_eq!(waited.field("State"), "COMPLETED", "{binding}: {waited:?}");
        // Without the authorization it waits until its limit, and does not return.
        let limits = ["--auth-wait", "--timeout", "500ms"];
        let limited = agent.json_over(binding, &[&["send", "auth"][..], &limits].concat());
        assert_failure(&limited, "A2ACLI_ERR_TIMEOUT", 5);
        let state = &failure(&limited)["details"]["state"];
        assert_eq!(state, "TASK_STATE_AUTH_REQUIRED", "{binding}: {limited:?}");
    });
}
