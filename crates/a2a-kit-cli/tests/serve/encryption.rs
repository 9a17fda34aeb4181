//! `a2a serve` over TLS, and who is believed there.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::Stdio,
    time::Instant,
};

use crate::common::{Run, Server, command};
use a2a_test_certificates::{
    Folder,
    rcgen::{CertificateParams, date_time_ymd},
};

#[test]
fn expired_certificate_is_warned_of_at_the_start() {
    let folder = Folder::new("root");
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_after = date_time_ymd(2001, 2, 3);
    folder.keep("server", &folder.authority().issue(params));
    let mut server = command()
        .args(["serve", "--port", "0", "--store", "memory"])
        .args(["--tls-cert", &folder.path("server.crt"), "--tls-key", &folder.path("server.key")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
    let warning = lines.find(|line| line.contains("the certificate has expired"));
    server.kill().unwrap();
    server.wait().unwrap();
    let warning = warning.unwrap_or_default();
    assert!(warning.contains("WARN") && warning.contains("2001-02-03"), "{warning:?}");
}

#[test]
fn failed_handshakes_are_logged_with_their_reason_at_a_bounded_rate() {
    let folder = Folder::new("root");
    folder.issue("server");
    let (cert, key) = (folder.path("server.crt"), folder.path("server.key"));
    let root = folder.path("root.pem");
    let tls = ["--tls-cert", &cert, "--tls-key", &key, "--tls-client-ca", &root];
    let info = [("RUST_LOG", "info")];
    for (reason, url, flags) in [
        ("peer sent no certificates", "https", &["--ca-cert", &*root][..]),
        ("UnknownCA", "https", &[]),
        ("plaintext request", "http", &[]),
    ] {
        let (server, log) = Server::start_and_read_with(&tls, &info);
        let url = format!("{url}://{}", server.address);
        let begun = Instant::now();
        let run = || Run::of(command().args(["card", "get", "-a", &url]).args(flags));
        let runs: Vec<_> = (0..10).map(|_| run()).collect();
        let seconds = begun.elapsed().as_secs();
        for run in runs {
            assert_eq!(run.code, 3, "{reason}: {run:?}");
            assert!(!run.stderr.contains(reason), "{reason}: {run:?}");
        }
        server.terminate();
        assert_eq!(server.ended().0, Some(0), "{reason}");
        let log = log.join().unwrap();
        let lines: Vec<_> =
            log.lines().filter(|line| line.contains("TLS handshake refused")).collect();
        assert!(lines[0].contains(reason) && lines[0].contains("peer=127.0.0.1"), "{log}");
        assert!(u64::try_from(lines.len()).unwrap() <= 2 + seconds, "{reason}, {seconds} s: {log}");
    }
}

//
#[test]
fn every_binding_speaks_tls_and_the_card_says_so() {
    let folder = Folder::new("root");
    folder.issue("server");
    let settings = folder.path("a2a.toml");
    let text = format!(
        "[tls]\ncert_file = {:?}\nkey_file = {:?}\n[listen]\ngrpc_port = 0\n",
        folder.path("server.crt"),
        folder.path("server.key"),
    );
    fs::write(&settings, text).unwrap();
    let server = Server::start(&["--settings", &settings]);
    let base = format!("https://{}", server.address);
    assert_eq!(server.lines[0], format!("Listening: {base}"));
    assert!(server.lines.contains(&format!("Try: a2a send -a {base} \"stream 5\" --stream")));

    let root = folder.path("root.pem");
    let run = |arguments: &[&str]| Run::of(command().args(arguments).args(["-a", &base]));
    for binding in ["jsonrpc", "rest", "grpc"] {
        let sent = run(&["send", "stream 2", "--transport", binding, "--ca-cert", &root]);
        assert_eq!(sent.field("State"), "COMPLETED", "{binding}: {sent:?}");
    }
    let card = run(&["card", "get", "-o", "json", "--ca-cert", &root]).json();
    let of_current = card["supportedInterfaces"].as_array().unwrap().iter().take(3);
    for interface in of_current {
        assert!(interface["url"].as_str().unwrap().starts_with("https://"), "{card}");
    }
    // A client without the CA rejects the server.
    let untrusting = run(&["send", "hello"]);
    assert_eq!(untrusting.code, 3, "{untrusting:?}");
    // The platform's root certificates are trusted.
    let with_roots = |file: &str| {
        let environment = [("SSL_CERT_FILE", file), ("SSL_CERT_DIR", "")];
        Run::of(command().args(["send", "hello", "-a", &base]).envs(environment))
    };
    let believed = with_roots(&root);
    assert_eq!(believed.field("State"), "COMPLETED", "{believed:?}");
    let empty = folder.path("empty.pem");
    fs::write(&empty, "").unwrap();
    let without = with_roots(&empty);
    assert_eq!(without.code, 3, "{without:?}");
    assert!(without.stderr.contains("UnknownIssuer"), "{without:?}");
    // Each use of --insecure prints a warning, a louder one with a credential.
    let insecure = run(&["send", "hello", "--insecure"]);
    assert_eq!(insecure.code, 0, "{insecure:?}");
    assert!(insecure.stderr.contains("warning: certificates are not verified"), "{insecure:?}");
    let loud = run(&["send", "hello", "--insecure", "--bearer", "t"]);
    assert!(loud.stderr.contains("A CREDENTIAL IS SENT"), "{loud:?}");
    let by_variable =
        Run::of(command().args(["send", "hello", "-a", &base]).env("A2ACLI_CA_CERT", &root));
    assert_eq!(by_variable.field("State"), "COMPLETED");
}

#[test]
fn credential_is_not_sent_in_plaintext_or_to_another_origin() {
    let folder = Folder::new("root");
    folder.issue("server");
    let start = |url: &str| {
        Server::start(&[
            "--tls-cert",
            &folder.path("server.crt"),
            "--tls-key",
            &folder.path("server.key"),
            "--public-url",
            url,
        ])
    };
    let root = folder.path("root.pem");
    let clear = start("http://agent.invalid");
    let base = format!("https://{}", clear.address);
    let send = ["send", "hello", "--transport", "rest", "-a", &base, "--ca-cert", &root];
    let refused = Run::of(command().args(send).args(["--bearer", "t0ken"]));
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains("in plaintext"), "{refused:?}");
    assert!(!refused.stderr.contains("t0ken"), "{refused:?}");
    // Nor is it sent to another origin, unless that is allowed; this one does not resolve.
    let elsewhere = start("https://agent.invalid");
    let base = format!("https://{}", elsewhere.address);
    let send = ["send", "hello", "--transport", "rest", "-a", &base, "--ca-cert", &root];
    let send = [&send[..], &["--bearer", "t0ken"]].concat();
    let refused = Run::of(command().args(&send));
    assert_eq!(refused.code, 4, "{refused:?}");
    for said in [&*base, "https://agent.invalid:443", "--credential-origin"] {
        assert!(refused.stderr.contains(said), "{said}: {refused:?}");
    }
    assert!(!refused.stderr.contains("t0ken"), "{refused:?}");
    let named = ["--credential-origin", "https://agent.invalid"];
    assert_eq!(Run::of(command().args(&send).args(named)).code, 3);
}

#[test]
fn a_client_without_a_certificate_is_let_in_only_where_that_is_optional() {
    let folder = Folder::new("root");
    folder.issue("server");
    folder.issue("client");
    let [root, certificate, key] = ["root.pem", "server.crt", "server.key"].map(|f| folder.path(f));
    let start = |whether: &str| {
        Server::start(&[
            "--tls-cert",
            &certificate,
            "--tls-key",
            &key,
            "--tls-client-ca",
            &root,
            "--tls-client-auth",
            whether,
        ])
    };
    for (whether, exit) in [("required", 3), ("optional", 0)] {
        let server = start(whether);
        let base = format!("https://{}", server.address);
        let send = |more: &[&str]| {
            Run::of(command().args(["send", "hello", "-a", &base, "--ca-cert", &root]).args(more))
        };
        let without = send(&[]);
        assert_eq!(without.code, exit, "{whether}: {without:?}");
        let (own, own_key) = (folder.path("client.crt"), folder.path("client.key"));
        let with = send(&["--client-cert", &own, "--client-key", &own_key]);
        assert_eq!(with.code, 0, "{whether}: {with:?}");
    }
}

#[test]
fn client_certificate_identifies_the_caller() {
    let folder = Folder::new("root");
    let [_server, ann, _bob] = ["server", "ann", "bob"].map(|name| folder.issue(name));
    let fingerprint = ring::digest::digest(&ring::digest::SHA256, &ann.der);
    let fingerprint: String =
        fingerprint.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let settings = folder.path("a2a.toml");
    let text = format!(
        "[tls]\ncert_file = {:?}\nkey_file = {:?}\nclient_ca_file = {:?}\nclient_auth = \"optional\"\n\
         [[auth.mtls]]\ncaller = \"ann\"\nfingerprint = {:?}\n\
         [[auth.api_key]]\ncaller = \"robot\"\nkey = \"robots\"\n",
        folder.path("server.crt"),
        folder.path("server.key"),
        folder.path("root.pem"),
        fingerprint,
    );
    fs::write(&settings, text).unwrap();
    let server = Server::start(&["--settings", &settings]);
    let base = format!("https://{}", server.address);
    let root = folder.path("root.pem");
    let run = |arguments: &[&str], more: &[&str]| {
        Run::of(command().args(arguments).args(["-a", &base, "--ca-cert", &root]).args(more))
    };
    let as_one = |name: &str| {
        let file = |end: &str| folder.path(&format!("{name}.{end}"));
        ["--client-cert".to_owned(), file("crt"), "--client-key".to_owned(), file("key")]
    };
    let (ann, bob) = (as_one("ann"), as_one("bob"));
    let (ann, bob) = (ann.each_ref().map(String::as_str), bob.each_ref().map(String::as_str));
    for binding in ["jsonrpc", "rest", "grpc"] {
        let send = ["send", "hello", "--transport", binding];
        assert_eq!(run(&send, &ann).code, 0, "{binding}");
        // The CA has issued a certificate for bob too, who is no configured caller.
        assert_eq!(run(&send, &bob).code, 4, "{binding}");
        assert_eq!(run(&send, &[]).code, 4, "{binding}");
        assert_eq!(run(&send, &["--api-key", "robots"]).code, 0, "{binding}");
    }
    let sent = run(&["send", "hello", "-o", "json"], &ann).json();
    let id = sent["task"]["id"].as_str().unwrap();
    assert_eq!(run(&["task", "get", id], &ann).code, 0);
    let other = run(&["task", "get", id], &["--api-key", "robots"]);
    assert!(other.stderr.contains("TaskNotFoundError"), "{other:?}");
}

#[test]
fn files_that_can_t_be_used_are_named_with_their_flag() {
    let folder = Folder::new("root");
    folder.issue("server");
    folder.issue("other");
    let [certificate, key, other] =
        ["server.crt", "server.key", "other.key"].map(|f| folder.path(f));
    for (arguments, said) in [
        (&["serve", "--tls-cert", &certificate][..], "--tls-cert needs --tls-key"),
        (&["serve", "--tls-key", &key], "--tls-key needs --tls-cert"),
        (&["serve", "--tls-cert", "/nonexistent", "--tls-key", &key], "--tls-cert"),
        (&["serve", "--tls-cert", &certificate, "--tls-key", &other], "--tls-cert"),
        (&["serve", "--tls-cert", &key, "--tls-key", &key], "--tls-cert"),
        (&["serve", "--tls-client-ca", &certificate], "--tls-client-ca needs"),
        (&["card", "get", "-a", "x", "--ca-cert", "/nonexistent"], "--ca-cert /nonexistent"),
        (&["card", "get", "-a", "x", "--ca-cert", &key], "--ca-cert"),
        (&["card", "get", "-a", "x", "--client-cert", &certificate], "--client-key"),
    ] {
        let run = Run::of(command().args(arguments));
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
        assert!(run.stderr.contains(said), "{arguments:?}: {run:?}");
    }
}

//
#[test]
fn plaintext_beyond_loopback_warns_and_is_refused_in_production() {
    let beyond = ["serve", "--host", "0.0.0.0", "--port", "0", "--store", "memory"];
    let refused = Run::of(command().args(beyond).args(["--production", "--require-bearer", "t"]));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("in plaintext") && refused.stderr.contains("--tls-cert"));
    let refused = Run::of(
        command().args(beyond).arg("--anonymous").env("A2ACLI_SERVE_LISTEN_PRODUCTION", "yes"),
    );
    assert_eq!(refused.code, 2, "{refused:?}");

    // Without --production the server warns and runs. Behind a TLS proxy, or on the loopback, it
    // does not warn.
    for (arguments, is_warned) in [
        (&["--host", "0.0.0.0"][..], true),
        (
            &[
                "--host",
                "0.0.0.0",
                "--public-url",
                "https://agent.example.com",
                "--require-bearer",
                "t",
            ],
            false,
        ),
        (&["--host", "localhost"], false),
        (&["--host", "127.0.0.1"], false),
    ] {
        let (server, stderr) = Server::start_and_read(arguments);
        drop(server);
        let stderr = stderr.join().unwrap();
        assert_eq!(stderr.contains("warning: "), is_warned, "{arguments:?}: {stderr}");
        assert_eq!(stderr.contains("in plaintext"), is_warned, "{arguments:?}: {stderr}");
    }
}
