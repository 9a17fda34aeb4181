//! The tables of `docs/login.md`: which secret is sent for which agent, by where both come from.
//! Real commands call servers that record what arrives.
#![cfg(unix)]

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use crate::common::{Run, home::Home};
use a2a_test_certificates::Folder;
use a2a_tests::attack::Recorder;
use serde_json::json;

const SECRET: &str = "s3cret-of-the-user";

/// A source of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Flag,
    Variable,
    /// The file of `--config`.
    Named,
    /// The `.env` of the project, above the working directory.
    Found,
    /// The file of the agent.
    Agent,
    Global,
    /// The token store.
    Login,
}

/// The settings of a run, each with its source.
struct Scene<'a> {
    home: Home,
    agent: &'a Recorder,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl<'a> Scene<'a> {
    fn new(agent: &'a Recorder) -> Self {
        Self { home: Home::new(), agent, arguments: Vec::new(), variables: Vec::new() }
    }

    fn found(&self) -> String {
        self.home.project().join(".env").display().to_string()
    }

    fn set(&mut self, from: Source, flag: &str, value: &str) {
        let variable = format!("A2ACLI_{}", flag.to_uppercase().replace('-', "_"));
        let file = match from {
            Source::Flag => return self.arguments.extend([format!("--{flag}"), value.to_owned()]),
            Source::Variable => return self.variables.push((variable, value.to_owned())),
            Source::Login => return self.log_in(value),
            Source::Named => {
                let named = self.home.project().join("named.env");
                let flag = ["--config".to_owned(), named.display().to_string()];
                if !self.arguments.contains(&flag[0]) {
                    self.arguments.extend(flag);
                }
                named
            }
            Source::Found => self.home.project().join(".env"),
            Source::Agent => {
                self.home.agents().join(format!("{}.env", self.agent.address().replace(':', "_")))
            }
            Source::Global => self.home.config().join(".env"),
        };
        let before = fs::read_to_string(&file).unwrap_or_default();
        self.home.write(&file, &format!("{before}{variable}={value}\n"));
    }

    /// Stores a token for the agent.
    fn log_in(&self, token: &str) {
        let url = &self.agent.url;
        let token = json!({
            "card": url, "scheme": "login", "hosts": [url], "flow": "client-credentials",
            "clientId": "c", "scopes": [], "tokenUrl": format!("{url}/token"), "accessToken": token,
        });
        let store = json!({"version": 1, "tokens": [token]});
        self.home.write(self.home.config().join("credentials.json"), &store.to_string());
    }

    fn run(&self, command: &[&str]) -> Run {
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        Run::of(self.home.command().args(command).args(&self.arguments).envs(variables))
    }

    /// Sends a message; `Ok` if the secret arrived, `Err` with stderr if it was refused.
    fn send(&self) -> Result<(), String> {
        self.agent.take();
        let run = self.run(&["send", "hi", "--timeout", "10s"]);
        assert!(!run.stderr.contains(SECRET), "{run:?}");
        let arrived = self.agent.take();
        match arrived.iter().any(|one| one.contains(SECRET)) {
            true => assert_eq!(run.code, 0, "{run:?}"),
            false => assert_ne!(run.code, 0, "neither sent nor refused: {run:?}"),
        }
        if run.code == 0 { Ok(()) } else { Err(run.stderr) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secret_is_sent_if_the_user_names_the_agent_or_it_is_bound_to_the_agent() {
    use Source::{Agent, Flag, Found, Global, Login, Named, Variable};
    let recorder = Recorder::start().await;
    for (address, credential, is_sent) in [
        (Flag, Flag, true),
        (Flag, Variable, true),
        (Flag, Named, true),
        (Flag, Found, true),
        (Flag, Agent, true),
        (Flag, Global, true),
        (Flag, Login, true),
        (Variable, Flag, true),
        (Variable, Variable, true),
        (Variable, Named, true),
        (Variable, Found, true),
        (Variable, Agent, true),
        (Variable, Global, true),
        (Variable, Login, true),
        (Named, Flag, true),
        (Named, Variable, true),
        (Named, Named, true),
        (Named, Agent, true),
        (Named, Global, true),
        (Named, Login, true),
        (Global, Flag, true),
        (Global, Variable, true),
        (Global, Named, true),
        (Global, Found, true),
        (Global, Agent, true),
        (Global, Global, true),
        (Global, Login, true),
        (Found, Flag, false),
        (Found, Variable, false),
        (Found, Found, true),
        (Found, Agent, true),
        (Found, Global, false),
        (Found, Login, true),
    ] {
        for endpoint in [false, true] {
            // A token is for the schemes of a card.
            if endpoint && credential == Login {
                continue;
            }
            let mut scene = Scene::new(&recorder);
            scene.set(credential, "bearer", SECRET);
            let named = if endpoint { "endpoint" } else { "agent-card" };
            scene.set(address, named, &recorder.url);
            if endpoint {
                scene.set(address, "transport", "jsonrpc");
            }
            let sent = scene.send();
            assert_eq!(sent.is_ok(), is_sent, "{address:?} {credential:?} {named}: {sent:?}");
            let Err(refused) = sent else { continue };
            let found = scene.found();
            for said in [&*found, "A2ACLI_", &format!("--config {found}"), "A2ACLI_ERR_USAGE"] {
                assert!(refused.contains(said), "{said}: {refused}");
            }
            assert!(recorder.take().is_empty(), "{address:?} {credential:?} {named}");
            // Each way to allow it that the refusal names.
            scene.arguments.extend(["--config".to_owned(), found]);
            assert_eq!(scene.send(), Ok(()), "{address:?} {credential:?} {named}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn found_file_does_not_weaken_the_protection_of_other_secrets() {
    let recorder = Recorder::start().await;
    let folder = Folder::new("root");
    folder.issue("client");
    let [root, certificate, key] =
        ["root.pem", "client.crt", "client.key"].map(|name| folder.path(name));
    for settings in [
        &[("insecure", "1")][..],
        &[("ca-cert", &root)],
        &[("credential-origin", "https://evil.example")],
        &[("card-auth", "yes")],
        &[("grpc-plaintext", "on")],
        &[("client-cert", &certificate), ("client-key", &key)],
        &[("transport", "jsonrpc")],
        &[("a2a-version", "1.0")],
    ] {
        let is_protection = !["transport", "a2a-version"].contains(&settings[0].0);
        for (credential, is_bound) in [
            (Source::Flag, false),
            (Source::Variable, false),
            (Source::Global, false),
            (Source::Agent, true),
            (Source::Login, true),
        ] {
            let mut scene = Scene::new(&recorder);
            scene.set(Source::Flag, "agent-card", &recorder.url);
            scene.set(credential, "bearer", SECRET);
            settings.iter().for_each(|(name, value)| scene.set(Source::Found, name, value));
            let sent = scene.send();
            let is_sent = is_bound && !is_protection;
            assert_eq!(sent.is_ok(), is_sent, "{settings:?} {credential:?}: {sent:?}");
            if let Err(refused) = sent {
                assert!(refused.contains(&scene.found()), "{settings:?}: {refused}");
            }
        }
        // The secrets of the file itself are the business of its author.
        let mut scene = Scene::new(&recorder);
        scene.set(Source::Flag, "agent-card", &recorder.url);
        scene.set(Source::Found, "bearer", SECRET);
        settings.iter().for_each(|(name, value)| scene.set(Source::Found, name, value));
        assert_eq!(scene.send(), Ok(()), "{settings:?}");
    }
    // Off is what holds without the file.
    let mut scene = Scene::new(&recorder);
    scene.set(Source::Flag, "agent-card", &recorder.url);
    scene.set(Source::Variable, "bearer", SECRET);
    scene.set(Source::Found, "insecure", "off");
    scene.set(Source::Found, "timeout", "9s");
    assert_eq!(scene.send(), Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_secret_is_refused_by_every_command_that_would_send_it() {
    let recorder = Recorder::start().await;
    let folder = Folder::new("root");
    folder.issue("client");
    let scene = |secret: &[(&str, &str)]| {
        let mut scene = Scene::new(&recorder);
        scene.set(Source::Found, "agent-card", &recorder.url);
        secret.iter().for_each(|(name, value)| scene.set(Source::Variable, name, value));
        scene
    };
    let certificate = [folder.path("client.crt"), folder.path("client.key")];
    for secret in [
        &[("bearer", SECRET)][..],
        &[("api-key", SECRET)],
        &[("basic", "ann:s3cret-of-the-user")],
        &[("svc-param", "x-key:s3cret-of-the-user")],
        &[("client-cert", &certificate[0]), ("client-key", &certificate[1])],
    ] {
        let run = scene(secret).run(&["send", "hi"]);
        assert_eq!(run.code, 2, "{secret:?}: {run:?}");
        let shown = scene(secret).run(&["config", "show"]);
        assert_eq!(shown.code, 0, "{secret:?}: {shown:?}");
        assert!(shown.stderr.starts_with("warning: A2ACLI_"), "{secret:?}: {shown:?}");
    }
    let login = ["auth", "login", "--client-id", "c", "--flow", "client-credentials"];
    for command in [
        &["card", "get"][..],
        &["card", "lint", "--live"],
        &["card", "verify", "--trust-jku", "a.example"],
        &["chat"],
        &["task", "get", "t"],
        &["task", "list"],
        &["task", "cancel", "t"],
        &["task", "subscribe", "t"],
        &["task", "download", "t"],
        &["task", "push-config", "list", "t"],
        &["conformance"],
        &["bench", "--requests", "3"],
        &login,
    ] {
        let run = scene(&[("bearer", SECRET)]).run(command);
        assert_eq!(run.code, 2, "{command:?}: {run:?}");
        assert!(run.stderr.contains("A2ACLI_AGENT_CARD"), "{command:?}: {run:?}");
    }
    // Secrets that only these commands have.
    for command in [
        &["send", "hi", "--push-url", "https://a.example", "--push-token", SECRET][..],
        &["task", "push-config", "create", "t", "https://a.example", "--token", SECRET],
        &["conformance", "--second-bearer", SECRET],
    ] {
        let run = scene(&[]).run(command);
        assert_eq!(run.code, 2, "{command:?}: {run:?}");
        assert!(!run.stderr.contains(SECRET), "{command:?}: {run:?}");
    }
    let signing_in = scene(&[("client-secret", SECRET)]).run(&login);
    assert_eq!(signing_in.code, 2, "{signing_in:?}");
    assert!(signing_in.stderr.contains("a login"), "{signing_in:?}");
    assert_eq!(recorder.take(), [""; 0]);
    // Commands that send no secret work.
    for command in [&["auth", "status"][..], &["skill", "show"]] {
        let run = scene(&[("bearer", SECRET)]).run(command);
        assert_eq!(run.code, 0, "{command:?}: {run:?}");
    }
    // The agent of the command line is called, and not that of the file.
    let other = Recorder::start().await;
    let mut named = scene(&[("bearer", SECRET)]);
    assert_eq!(named.run(&["card", "lint", &other.url]).code, 0);
    named.set(Source::Flag, "agent-card", &other.url);
    assert_eq!(named.run(&["send", "hi"]).code, 0);
    assert!(other.take().iter().any(|one| one.contains(SECRET)));
    assert_eq!(recorder.take(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn file_of_another_user_is_passed_over_with_a_note() {
    let recorder = Recorder::start().await;
    let setting = format!("A2ACLI_AGENT_CARD={}\n", recorder.url);
    type Spoil<'a> = &'a dyn Fn(&Path);
    let spoiled: [(&str, Spoil<'_>); 4] = [
        ("other users can write it", &|path| mode(path, 0o620)),
        ("other users can write it", &|path| mode(path, 0o602)),
        ("another user owns it", &|path| chown(path)),
        ("another user owns it", &|path| {
            // A link of another user to a file of this one.
            let target = path.with_extension("target");
            fs::rename(path, &target).unwrap();
            std::os::unix::fs::symlink(&target, path).unwrap();
            chown(path);
        }),
    ];
    for (reason, spoil) in spoiled {
        if reason.starts_with("another") && !rustix::process::geteuid().is_root() {
            continue;
        }
        let mut scene = Scene::new(&recorder);
        let above = scene.home.write(scene.home.project().join(".env"), "A2ACLI_TIMEOUT=7s\n");
        let near = scene.home.write(scene.home.working().join(".env"), &setting);
        spoil(Path::new(&near));
        let shown = scene.run(&["config", "show"]);
        assert_eq!(shown.field("agent-card"), "none (source: default)", "{reason}");
        assert_eq!(shown.field("timeout"), format!("7s (source: local {above})"), "{reason}");
        let note = format!("note: {near} is not read: {reason}");
        assert!(shown.stderr.contains(&note), "{note}: {shown:?}");
        // A file without settings of this tool is not worth a note.
        fs::write(&near, "DATABASE_URL=x\n").unwrap();
        assert_eq!(scene.run(&["config", "show"]).stderr, "", "{reason}");
        fs::write(&near, &setting).unwrap();
        scene.set(Source::Flag, "config", &near);
        let named = scene.run(&["config", "show"]);
        assert!(named.field("agent-card").starts_with(&recorder.url), "{reason}: {named:?}");
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Gives a file, or a symbolic link, to another user.
fn chown(path: &Path) {
    std::os::unix::fs::lchown(path, Some(65_534), None).unwrap();
}

#[test]
fn search_ends_at_the_repository_or_the_home_directory() {
    let timeout = |home: &Home, folder: &Path, user: Option<&Path>| {
        let mut command = home.command();
        command.args(["config", "show"]).current_dir(folder);
        if let Some(user) = user {
            command.env("HOME", user);
        }
        let run = Run::of(&mut command);
        run.field("timeout").split(' ').next().unwrap().to_owned()
    };
    let home = Home::new();
    let (outer, project) = (home.project(), home.project().join("repository"));
    let deep = project.join("a/b");
    fs::create_dir_all(&deep).unwrap();
    home.write(outer.join(".env"), "A2ACLI_TIMEOUT=1s\n");
    // Within the home directory, up to it.
    assert_eq!(timeout(&home, &deep, None), "1s");
    assert_eq!(timeout(&home, &deep, Some(&outer)), "1s");
    assert_eq!(timeout(&home, &deep, Some(&project)), "300s");
    // Outside of it, the working directory alone.
    let elsewhere = Some(Path::new("/dev/null"));
    assert_eq!(timeout(&home, &deep, elsewhere), "300s");
    assert_eq!(timeout(&home, &outer, elsewhere), "1s");
    // Up to the root of the repository, or of the worktree.
    for is_directory in [true, false] {
        let git = project.join(".git");
        if is_directory {
            fs::create_dir(&git).unwrap();
        } else {
            fs::remove_dir(&git).unwrap();
            fs::write(&git, "gitdir: x\n").unwrap();
        }
        assert_eq!(timeout(&home, &deep, None), "300s");
        let inner = home.write(project.join(".env"), "A2ACLI_TIMEOUT=2s\n");
        assert_eq!(timeout(&home, &deep, None), "2s");
        assert_eq!(timeout(&home, &deep, elsewhere), "2s");
        fs::remove_file(inner).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn file_of_the_working_directory_that_is_named_as_the_agent_is_not_read() {
    use Source::{Agent, Flag, Global, Variable};
    let (agent, attacker) = (Recorder::start().await, Recorder::start().await);
    let address = agent.address();
    let entry = json!([{"name": "w", "url": agent.url}]).to_string();
    agent.answer("/agents.json", 200, &[], &entry);
    for (name, reference, content) in [
        (address.to_owned(), address.to_owned(), attacker.card(&attacker.url)),
        (
            format!("{address}/agents.json"),
            format!("catalog+{address}/agents.json#w"),
            json!([{"name": "w", "card": attacker.card(&attacker.url)}]),
        ),
    ] {
        for (from, credential) in
            [(Flag, Global), (Variable, Variable), (Global, Global), (Flag, Agent)]
        {
            let mut scene = Scene::new(&agent);
            let file = scene.home.working().join(&name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            scene.home.write(&file, &content.to_string());
            scene.set(from, "agent-card", &reference);
            scene.set(credential, "bearer", SECRET);
            assert_eq!(scene.send(), Ok(()), "{name} of {from:?}");
            assert_eq!(attacker.take(), [""; 0], "{name} of {from:?}");
            let run = scene.run(&["send", "hi"]);
            let note = format!("note: {name} is read as an address; to read the file of that name");
            assert!(run.stderr.contains(&note), "{run:?}");
            assert!(run.stderr.contains(&format!("write ./{name}")), "{run:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn file_of_any_working_directory_gets_a_secret_only_if_a_flag_or_its_path_names_it() {
    use Source::{Flag, Found, Global, Variable};
    let agent = Recorder::start().await;
    for (file, reference) in [("card.json", "card.json"), ("agents.json", "catalog+agents.json#w")]
    {
        for (from, start, credential, is_sent) in [
            (Flag, "", Variable, true),
            (Variable, "", Variable, false),
            (Global, "", Global, false),
            (Global, "./", Global, true),
            (Variable, "", Found, true),
        ] {
            let mut scene = Scene::new(&agent);
            let card = agent.card(&agent.url);
            let content = match file {
                "card.json" => card,
                _ => json!([{"name": "w", "card": card}]),
            };
            scene.home.write(scene.home.working().join(file), &content.to_string());
            scene.set(from, "agent-card", &reference.replace(file, &format!("{start}{file}")));
            scene.set(credential, "bearer", SECRET);
            match scene.send() {
                Ok(()) => assert!(is_sent, "{reference} of {from:?}"),
                Err(text) => {
                    assert!(!is_sent, "{reference} of {from:?}: {text}");
                    assert!(text.contains(&format!("name it ./{file}")), "{text}");
                }
            }
        }
    }
    // A catalog of the directory does not lead a login elsewhere either.
    let mut scene = Scene::new(&agent);
    let entry = json!([{"name": "w", "url": agent.url}]).to_string();
    scene.home.write(scene.home.working().join("agents.json"), &entry);
    scene.set(Variable, "agent-card", "catalog+agents.json#w");
    scene.set(Variable, "client-secret", SECRET);
    agent.take();
    let login = scene.run(&["auth", "login", "--client-id", "c", "--flow", "client-credentials"]);
    assert_eq!(login.code, 2, "{login:?}");
    assert_eq!(agent.take(), [""; 0]);
}
