//! Who may call `a2a serve`, as its settings say.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::common::{Run, Server, command, http};
use a2a_kit_auth::jose::{Algorithm, JwkSet, SigningKey};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The SHA-256 of `token of bob`.
const DIGEST: &str = "e2017877ba08d58ae79f2e60f17f39ec08b50193c80020af07f2ec533bc35a24";

struct Scene {
    folder: TempDir,
    settings: PathBuf,
    issuer: SigningKey,
}

fn password_hash(password: &str) -> String {
    let mut hash = command();
    let run = Run::with_stdin(hash.args(["auth", "hash-password", "-"]), password);
    run.field("Password hash").to_owned()
}

impl Scene {
    /// Settings with a caller of each kind.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let issuer = SigningKey::from_pem(&SigningKey::generate_pem(Algorithm::Es256).unwrap());
        let issuer = issuer.unwrap();
        let keys: JwkSet = [issuer.public().clone()].into_iter().collect();
        fs::write(folder.path().join("jwks.json"), keys.json()).unwrap();
        fs::write(folder.path().join("key"), "key of ann\n").unwrap();
        let place = folder.path().display();
        let hash = password_hash("word of cy\n");
        let text = format!(
            r#"
[auth]
realm = "tests"
failures_allowed = 1000

[[auth.api_key]]
caller = "ann"
key_file = "{place}/key"

[[auth.api_key]]
caller = "kept"
key = "key of kept"
tenants = ["acme"]

[[auth.bearer]]
caller = "bob"
sha256 = "{DIGEST}"
scopes = ["read"]

[[auth.basic]]
user = "cy"
password_hash = '{hash}'

[[auth.jwt]]
issuer = "https://issuer.example"
audiences = ["https://agent.example"]
jwks_file = "{place}/jwks.json"
scopes = ["tasks"]
"#
        );
        let settings = folder.path().join("a2a.toml");
        fs::write(&settings, text).unwrap();
        fs::set_permissions(&settings, fs::Permissions::from_mode(0o600)).unwrap();
        Self { folder, settings, issuer }
    }

    fn start(&self, more: &[&str]) -> Server {
        let settings = ["--settings", self.settings.to_str().unwrap()];
        Server::start(&[&settings[..], more].concat())
    }

    fn token(&self, scope: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({
            "iss": "https://issuer.example",
            "aud": "https://agent.example",
            "sub": "dan",
            "exp": now + 300,
            "scope": scope,
        });
        self.issuer.token(claims.to_string().as_bytes()).unwrap()
    }
}

// covers: R-310, R-311, R-312
#[test]
fn each_credential_authenticates_its_caller_and_others_are_rejected() {
    let scene = Scene::new();
    let server = scene.start(&[]);
    let card = server.json(&["card", "get"]);
    let names: Vec<_> = card["securitySchemes"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["apiKey", "basic", "bearer", "jwt"]);
    let required = card["securityRequirements"].as_array().unwrap();
    assert_eq!(required.len(), 4, "{card}");

    let (good, narrow) = (scene.token("tasks more"), scene.token("more"));
    for (credential, exit) in [
        (&["--api-key", "key of ann"][..], 0),
        (&["--api-key", "key of bob"], 4),
        (&["--bearer", "token of bob"], 0),
        (&["--bearer", "key of ann"], 4),
        (&["--basic", "cy:word of cy"], 0),
        (&["--basic", "cy:word of bob"], 4),
        (&["--basic", "ann:word of cy"], 4),
        (&["--bearer", &good], 0),
        (&["--bearer", &narrow], 4),
        (&[], 4),
    ] {
        for binding in ["jsonrpc", "rest", "grpc"] {
            let run =
                server.run(&[&["send", "hello", "--transport", binding], credential].concat());
            assert_eq!(run.code, exit, "{credential:?} {binding}: {run:?}");
        }
    }

    // What is one caller's is not there for another.
    let sent = server.json(&["send", "hello", "--api-key", "key of ann"]);
    let id = sent["task"]["id"].as_str().unwrap();
    assert_eq!(server.run(&["task", "get", id, "--api-key", "key of ann"]).code, 0);
    let other = server.run(&["task", "get", id, "--bearer", "token of bob"]);
    assert!(other.stderr.contains("TaskNotFoundError"), "{other:?}");
}

#[tokio::test]
async fn a_refusal_says_how_to_authenticate_and_which_scope_is_missing() {
    let scene = Scene::new();
    let server = scene.start(&[]);
    let url = format!("{}/tasks", server.url());
    let missing = http("GET", &url, &[("A2A-Version", "1.0")], "").await;
    assert_eq!(missing.status(), 401);
    let challenges: Vec<_> = missing
        .headers()
        .get_all("www-authenticate")
        .iter()
        .map(|line| line.to_str().unwrap().to_owned())
        .collect();
    let challenges = challenges.join(", ");
    assert!(challenges.contains("Bearer") && challenges.contains("Basic"), "{challenges}");
    assert!(challenges.contains("realm=\"tests\""), "{challenges}");
    let line = format!("Bearer {}", scene.token("more"));
    let narrow = http("GET", &url, &[("A2A-Version", "1.0"), ("Authorization", &line)], "").await;
    assert_eq!(narrow.status(), 403);
    let body = String::from_utf8_lossy(narrow.body());
    assert!(body.contains("tasks"), "{body}");
}

#[tokio::test]
async fn a_caller_is_kept_to_its_tenants() {
    let scene = Scene::new();
    let server = scene.start(&[]);
    let list = async |tenant: &str| {
        let url = format!("{}{tenant}/tasks", server.url());
        let headers = [("A2A-Version", "1.0"), ("X-API-Key", "key of kept")];
        http("GET", &url, &headers, "").await.status().as_u16()
    };
    assert_eq!(list("/acme").await, 200);
    assert_ne!(list("/other").await, 200);
    assert_ne!(list("").await, 200);
}

#[tokio::test]
async fn a_task_is_authorized_by_those_whose_it_is() {
    let scene = Scene::new();
    let server = scene.start(&["--store", "memory"]);
    let ann = ("X-API-Key", "key of ann");
    let kept = ("X-API-Key", "key of kept");
    let send = async |caller, tenant: &str| {
        let url = format!("{}{tenant}/message:send", server.url());
        let headers = [("A2A-Version", "1.0"), ("Content-Type", "application/json"), caller];
        let message =
            json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "auth" }] });
        let answer = http("POST", &url, &headers, &json!({ "message": message }).to_string()).await;
        let answer: Value = serde_json::from_slice(answer.body()).unwrap();
        answer["task"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let authorize = async |id: &str, headers: &[(&'static str, &str)]| {
        let url = format!("{}/demo/authorize/{id}", server.url());
        let answer = http("POST", &url, headers, "").await;
        (answer.status().as_u16(), String::from_utf8(answer.body().to_vec()).unwrap())
    };
    let id = send(ann, "").await;
    let narrow = format!("Bearer {}", scene.token("more"));
    // Who may not call, who lacks a scope, and who is somebody else, as for one that there is not.
    assert_eq!(authorize(&id, &[]).await.0, 401);
    assert_eq!(authorize(&id, &[("X-API-Key", "key of nobody")]).await.0, 401);
    assert_eq!(authorize(&id, &[("Authorization", &narrow)]).await.0, 403);
    let others = authorize(&id, &[("Authorization", "Bearer token of bob")]).await;
    assert_eq!(others.0, 404, "{others:?}");
    assert_eq!(others, authorize("nope", &[ann]).await);
    let state = server.json(&["task", "get", &id, "--api-key", "key of ann"]);
    assert_eq!(state["status"]["state"], "TASK_STATE_AUTH_REQUIRED");
    assert_eq!(authorize(&id, &[ann]).await.0, 200);
    let done = ["task", "get", &id, "--wait", "--poll-interval", "100ms"];
    let done = server.json(&[&done[..], &["--api-key", "key of ann"]].concat());
    assert_eq!(done["artifacts"][0]["parts"][0]["text"], "Authorized");

    // Tasks of a tenant are not visible outside of it.
    let id = send(kept, "/acme").await;
    assert_eq!(authorize(&id, &[kept]).await.0, 403);
    assert_eq!(authorize(&format!("{id}?tenant=acme"), &[ann]).await.0, 404);
    assert_eq!(authorize(&format!("{id}?tenant=acme"), &[kept]).await.0, 200);
}

#[test]
fn loopback_targets_are_refused_for_authenticated_callers() {
    let private = "must not be an address in a private network";
    let far = Server::start(&["--echo"]);
    let scene = Scene::new();
    let near = scene.start(&["--store", "memory"]);
    let call = |server: &Server, to: &str| {
        let text = format!("call {to} hello");
        server.run(&["send", &text, "--api-key", "key of ann", "-o", "json"]).stdout
    };
    let port = far.address.rsplit(':').next().unwrap();
    for to in [
        far.address.clone(),
        format!("http://localhost:{port}/.well-known/agent-card.json"),
        "http://169.254.169.254/latest".to_owned(),
    ] {
        let said = call(&near, &to);
        assert!(said.contains(private) && !said.contains("COMPLETED"), "{to}: {said}");
    }
    for file in ["/etc/passwd", "./a2a.toml"] {
        let said = call(&near, file);
        assert!(said.contains("only agents on the web may be called"), "{file}: {said}");
    }
    // Those that the settings name may be called, as webhooks are.
    let allowing = scene.start(&["--store", "memory", "--allow-webhook", "127.0.0.0/8"]);
    let said = call(&allowing, &far.address);
    assert!(said.contains("COMPLETED"), "{said}");
}

#[test]
fn a_shared_secret_is_asked_for_by_flags() {
    let server = Server::start_with(
        &["--require-bearer", "one", "--api-key-name", "X-Key"],
        &[("A2ACLI_SERVE_AUTH_REQUIRE_API_KEY", "two")],
    );
    let card = server.json(&["card", "get"]);
    assert_eq!(card["securitySchemes"]["apiKey"]["apiKeySecurityScheme"]["name"], "X-Key");
    for (credential, exit) in
        [(&["--bearer", "one"][..], 0), (&["--api-key", "two"], 0), (&["--bearer", "two"], 4)]
    {
        let run = server.run(&[&["send", "hello"], credential].concat());
        assert_eq!(run.code, exit, "{credential:?}: {run:?}");
    }
    // A key goes where the card wants it; gRPC has no query.
    for (place, bindings) in
        [("cookie", &["jsonrpc", "rest", "grpc"][..]), ("query", &["jsonrpc", "rest"])]
    {
        let server = Server::start(&["--require-api-key", "two", "--api-key-in", place]);
        for binding in bindings {
            let run = server.run(&["send", "hello", "--api-key", "two", "--transport", binding]);
            assert_eq!(run.code, 0, "{place} {binding}: {run:?}");
        }
    }
    // With --anonymous, callers without a credential share one owner.
    let open = Server::start(&["--require-bearer", "one", "--anonymous"]);
    assert_eq!(open.run(&["send", "hello"]).code, 0);
    assert_eq!(open.run(&["send", "hello", "--bearer", "two"]).code, 4);
}

#[test]
fn a_card_that_declares_something_else_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("card.json");
    let path = file.to_str().unwrap();
    let run = |schemes: Value, flags: &[&str]| {
        let card = Server::start(&[]).json(&["card", "get"]);
        let mut card = card;
        card["securitySchemes"] = schemes;
        fs::write(&file, card.to_string()).unwrap();
        Run::of(
            command()
                .args(["serve", "--store", "memory", "--port", "0", "--print-settings"])
                .args(["--card", path])
                .args(flags),
        )
    };
    let key = |name: &str| json!({ "mine": { "apiKeySecurityScheme": { "location": "header", "name": name } } });
    let bearer = json!({ "mine": { "httpAuthSecurityScheme": { "scheme": "Bearer" } } });
    for (schemes, flags, said) in [
        (bearer.clone(), &[][..], "\"mine\""),
        (key("X-Other"), &["--require-api-key", "k"], "\"mine\""),
        (key("X-API-Key"), &["--require-bearer", "t"], "\"mine\""),
        (bearer.clone(), &["--require-bearer", "t", "--require-api-key", "k"], "--require-api-key"),
    ] {
        let run = run(schemes, flags);
        assert_eq!(run.code, 2, "{flags:?}: {run:?}");
        assert!(run.stderr.contains(said), "{flags:?}: {run:?}");
    }
    let fine = run(bearer, &["--require-bearer", "t"]);
    assert_eq!(fine.code, 0, "{fine:?}");
    // It keeps the names of the card.
    let server = Server::start(&["--card", path, "--require-bearer", "t"]);
    let card = server.json(&["card", "get"]);
    assert!(card["securitySchemes"]["mine"].is_object(), "{card}");
    assert!(card["securityRequirements"][0]["schemes"]["mine"].is_object(), "{card}");
    assert_eq!(server.run(&["send", "hello", "--bearer", "t"]).code, 0);
    assert_eq!(server.run(&["send", "hello"]).code, 4);
}

#[test]
fn callers_are_printed_without_their_secrets_and_read_back() {
    let scene = Scene::new();
    let print = |path: &PathBuf, more: &[&str]| {
        Run::of(command().args(["serve", "--print-settings", "--settings"]).arg(path).args(more))
    };
    let first = print(&scene.settings, &[]);
    assert_eq!((first.code, first.stderr.as_str()), (0, ""), "{first:?}");
    assert!(first.stdout.contains("\n# key = (set)\n"), "{first:?}");
    assert!(first.stdout.contains("/key\"\n"), "{first:?}");
    let json = print(&scene.settings, &["-o", "json"]);
    for run in [&first, &json] {
        for secret in ["key of ann", "key of kept", "$argon2"] {
            assert!(!run.stdout.contains(secret), "{run:?}");
        }
    }
    // With the secrets of the file itself put in, it says the same again.
    let hash = format!("password_hash = '{}'", password_hash("word of cy"));
    let whole = first
        .stdout
        .replace("\n# key = (set)\n", "\nkey = \"key of kept\"\n")
        .replace("# password_hash = (set)", &hash);
    let again = scene.folder.path().join("again.toml");
    fs::write(&again, whole).unwrap();
    fs::set_permissions(&again, fs::Permissions::from_mode(0o600)).unwrap();
    let second = print(&again, &[]);
    let plain = |run: &Run| {
        let line = |line: &str| line.split(" # ").next().unwrap_or_default().to_owned();
        run.stdout.lines().map(line).collect::<Vec<_>>()
    };
    assert_eq!(second.code, 0, "{second:?}");
    assert_eq!(plain(&second), plain(&first));
}

#[test]
fn a_caller_that_can_t_be_one_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a2a.toml");
    for (text, said) in [
        ("[[auth.api_key]]\nkey = \"k\"\n", ":1: auth.api_key[0]: caller is missing"),
        (
            "[[auth.api_key]]\ncaller = \"a\"\n",
            ":1: auth.api_key[0]: exactly one of key and sha256",
        ),
        (
            "[[auth.api_key]]\ncaller = \"a\"\nsha256 = \"ab\"\n",
            ":1: auth.api_key[0]: not a SHA-256",
        ),
        (
            "[[auth.api_key]]\ncalller = \"a\"\nkey = \"k\"\n",
            ":2: auth.api_key[0].calller: unknown setting, did you mean caller?",
        ),
        ("[[auth.api_kye]]\n", ":1: auth.api_kye: unknown setting, did you mean [[auth.api_key]]?"),
        (
            "[auth]\napi_key = \"k\"\n",
            ":2: auth.api_key: expected an array of tables, found a string",
        ),
        ("[[auth.basic]]\nuser = \"a\"\npassword_hash = \"hunter2\"\n", ":1: auth.basic[0]: "),
        (
            "[[auth.jwt]]\nissuer = \"i\"\naudiences = [\"a\"]\n",
            ":1: auth.jwt[0]: exactly one of jwks_url and jwks_file",
        ),
        (
            "[[auth.jwt]]\nissuer = \"i\"\naudiences = []\njwks_url = \"https://x\"\n",
            "audiences or client_ids must not be empty",
        ),
        (
            "[[auth.jwt]]\nissuer = \"i\"\naudiences = [\"a\"]\njwks_url = \"http://x/keys\"\n",
            "expected an https URL",
        ),
        ("[[auth.mtls]]\nany = true\n", ":1: auth.mtls[0]: tls.client_ca_file is required"),
        ("[[auth.oidc]]\nurl = \"http://x/a\"\naudiences = [\"a\"]\n", ":1: auth.oidc[0]: "),
        ("[[auth.introspection]]\nissuer = \"i\"\n", "client_secret is missing"),
        ("[auth]\nrequire_bearer = \"\"\n", "--require-bearer is empty"),
        ("[auth]\nrequire_bearer = \"t\"\nextended_card_token = \"t\"\n", "--extended-card-token"),
        ("[listen]\ntrusted_proxies = [\"10.0.0.0/8\"]\n", "--trusted-proxy"),
        ("[listen]\nproduction = true\n", "requires authentication"),
    ] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let run = Run::of(command().args(["serve", "--settings"]).arg(&path));
        assert_eq!(run.code, 2, "{text}: {run:?}");
        assert!(run.stderr.contains(said), "{text}: {run:?}");
        assert!(!run.stderr.contains("hunter2"), "{text}: {run:?}");
    }
}
