//! `a2a card sign` and `a2a card verify`: the whole way, with files and with what is served.

use std::path::{Path, PathBuf};

use crate::common::{Run, command};
use a2a_kit_auth::jose::{Algorithm, SigningKey};
use a2a_kit_http::{
    card::CardDocument,
    tls::{Pem, TlsSettings},
};
use a2a_test_certificates::Folder;
use serde_json::{Value, json};

/// A folder with a card and two keys.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        for (name, algorithm) in [("one", Algorithm::Es256), ("two", Algorithm::EdDsa)] {
            let pem = SigningKey::generate_pem(algorithm).unwrap();
            std::fs::write(scene.path(&format!("{name}.pem")), &pem).unwrap();
            let key = SigningKey::from_pem(&pem).unwrap();
            let keys = json!({"keys": [key.public().clone().with_id(name)]});
            std::fs::write(scene.path(&format!("{name}.json")), keys.to_string()).unwrap();
        }
        scene.write("card.json", &card());
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, value: &Value) {
        std::fs::write(self.path(name), value.to_string()).unwrap();
    }

    /// Runs the tool in the folder.
    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(command().args(arguments).current_dir(self.folder.path()))
    }

    fn sign(&self, from: &str, key: &str, to: &str, more: &[&str]) {
        let mut arguments = vec!["card", "sign", from, "--key", key, "--out", to];
        arguments.extend(more);
        let run = self.run(&arguments);
        assert_eq!(run.code, 0, "{run:?}");
    }
}

fn card() -> Value {
    json!({
        "name": "A", "description": "", "version": "1",
        "supportedInterfaces": [
            {"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": false}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"], "skills": [], "x-note": {"kept": 1},
    })
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

//
#[test]
fn a_card_is_signed_by_several_keys_and_verified_with_each() {
    let scene = Scene::new();
    scene.sign("card.json", "one.pem", "signed.json", &["--kid", "one", "--alg", "ES256"]);
    let jku = ["--kid", "two", "--jku", "https://keys.example/jwks.json"];
    scene.sign("signed.json", "two.pem", "signed.json", &jku);
    // The same key once more replaces its own.
    scene.sign("signed.json", "one.pem", "signed.json", &["--kid", "one"]);
    let signed = read(&scene.path("signed.json"));
    assert_eq!(signed["signatures"].as_array().unwrap().len(), 2);
    assert_eq!(signed["x-note"], card()["x-note"]);
    for (keys, id, algorithm) in [("one.json", "one", "ES256"), ("two.json", "two", "EdDSA")] {
        let run = scene.run(&["card", "verify", "./signed.json", "--jwks", keys]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(run.field("Signature"), format!("verified ({id})"));
        assert_eq!(run.field("Algorithm"), algorithm);
        let run = scene.run(&["card", "verify", "./signed.json", "--jwks", keys, "-o", "json"]);
        assert_eq!(run.json()["keyId"], id);
        let run = scene.run(&["card", "get", "-a", "./signed.json", "--jwks", keys]);
        assert_eq!(run.field("Signature"), format!("verified ({id})"));
    }
    let run = scene.run(&["card", "get", "-a", "./signed.json"]);
    assert!(run.field("Signature").starts_with("unverifiable (not checked"), "{run:?}");
    let run = scene.run(&["card", "get", "-a", "./signed.json", "--key", "two.pem", "-o", "json"]);
    assert!(run.stderr.contains("signature: unverifiable"), "{run:?}");
    assert_eq!(run.json()["name"], "A");
}

//
#[test]
fn bad_signature_is_reported_and_sets_the_exit_status() {
    let scene = Scene::new();
    scene.sign("card.json", "one.pem", "signed.json", &["--kid", "one"]);
    let mut tampered = read(&scene.path("signed.json"));
    tampered["supportedInterfaces"][0]["url"] = json!("https://evil.example");
    scene.write("tampered.json", &tampered);
    let verify = |file: &str, more: &[&str]| {
        let mut arguments = vec!["card", "verify", file];
        arguments.extend(more);
        scene.run(&arguments)
    };
    let trusted = ["--jwks", "one.json"];
    for (file, more, reason) in [
        ("./tampered.json", vec![], "invalid signature"),
        ("./signed.json", vec!["--revoked", "one"], "key is revoked"),
    ] {
        let run = verify(file, &[&trusted[..], &more].concat());
        assert_eq!(run.code, 1, "{run:?}");
        let expected = format!("unverifiable (\"one\": {reason})");
        assert_eq!(run.field("Signature"), expected);
        assert!(run.stderr.is_empty(), "{run:?}");
        let run = verify(file, &[&trusted[..], &more, &["-o", "json"]].concat());
        assert_eq!(run.code, 1);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report["rejected"][0], json!({"keyId": "one", "reason": reason}));
    }
    let run = verify("./signed.json", &["--jwks", "two.json"]);
    assert_eq!(run.field("Signature"), "unverifiable (\"one\": unknown key)");
    let run = verify("./card.json", &trusted);
    assert_eq!((run.code, run.field("Signature")), (0, "absent"));
    assert_eq!(verify("./card.json", &["--jwks", "one.json", "--require"]).code, 1);
    assert_eq!(verify("./none.json", &trusted).code, 3);
}

#[test]
fn unusable_keys_and_cards_are_named() {
    let scene = Scene::new();
    scene.write("empty.json", &json!({"keys": [{"kty": "oct", "k": "AAAA"}]}));
    let sign = ["card", "sign", "card.json", "--key", "one.pem"];
    let verify = ["card", "verify", "./card.json"];
    for (arguments, code, named) in [
        ([&sign[..], &["--alg", "RS256"]].concat(), 2, "--alg RS256: the key is for ES256"),
        ([&sign[..], &["--alg", "HS256"]].concat(), 2, "HS256"),
        ([&sign[..], &["--jku", "keys"]].concat(), 2, "--jku"),
        (vec!["card", "sign", "card.json", "--key", "card.json"], 2, "not a private JSON Web Key"),
        (vec!["card", "sign", "card.json", "--key", "one.json"], 2, "--key one.json"),
        (vec!["card", "sign", "none.json", "--key", "one.pem"], 3, "none.json"),
        (vec!["card", "sign", "one.pem", "--key", "one.pem"], 1, "one.pem"),
        (verify.to_vec(), 2, "no trusted keys"),
        ([&verify[..], &["--jwks", "none.json"]].concat(), 2, "--jwks none.json"),
        ([&verify[..], &["--jwks", "empty.json"]].concat(), 2, "--jwks empty.json"),
        ([&verify[..], &["--trust-jku", "https://a/"]].concat(), 2, "--trust-jku"),
    ] {
        let run = scene.run(&arguments);
        assert_eq!(run.code, code, "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(named), "{arguments:?}: {run:?}");
    }
}

//
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_taken_from_an_address_that_is_given_or_trusted() {
    let scene = Scene::new();
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let jku = format!("http://{host}/.well-known/jwks.json");
    scene.sign("card.json", "one.pem", "signed.json", &["--kid", "one", "--jku", &jku]);
    let keys: a2a_kit_auth::jose::JwkSet =
        serde_json::from_value(read(&scene.path("one.json"))).unwrap();
    let signed = std::fs::read(scene.path("signed.json")).unwrap();
    let router = CardDocument::from_json(signed).into_router().merge(keys.router());
    tokio::spawn(a2a_kit_http::HttpServer::new(router).serve(listener, std::future::pending()));

    let url = format!("http://{host}");
    for trust in [["--trust-jku", &host], ["--jwks", &jku]] {
        let run = scene.run(&["card", "verify", &url, trust[0], trust[1]]);
        assert_eq!((run.code, run.field("Signature")), (0, "verified (one)"), "{trust:?}");
    }
    let run = scene.run(&["card", "verify", &url, "--trust-jku", "keys.example"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.field("Signature").contains("untrusted key URL"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_come_from_a_host_of_an_own_authority_where_that_is_trusted() {
    let (scene, folder) = (Scene::new(), Folder::new("root"));
    folder.issue("server");
    let pem = |name: &str| Pem::file(folder.path(name));
    let tls = TlsSettings::new(pem("server.crt"), pem("server.key")).load().unwrap();
    let listener = a2a_kit_http::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let jku = format!("https://{host}/.well-known/jwks.json");
    scene.sign("card.json", "one.pem", "signed.json", &["--kid", "one", "--jku", &jku]);
    let keys: a2a_kit_auth::jose::JwkSet =
        serde_json::from_value(read(&scene.path("one.json"))).unwrap();
    let server = a2a_kit_http::HttpServer::new(keys.router()).with_tls(tls);
    tokio::spawn(server.serve(listener, std::future::pending()));

    let root = folder.path("root.pem");
    for trust in [["--trust-jku", &host], ["--jwks", &jku]] {
        let verify = ["card", "verify", "signed.json", trust[0], trust[1]];
        let stranger = scene.run(&verify);
        assert_eq!(stranger.code, 1, "{trust:?}: {stranger:?}");
        assert!(
            stranger.field("Signature").contains("failed to fetch keys"),
            "{trust:?}: {stranger:?}"
        );
        let known = scene.run(&[&verify[..], &["--ca-cert", &root]].concat());
        assert_eq!((known.code, known.field("Signature")), (0, "verified (one)"), "{trust:?}");
    }
}
