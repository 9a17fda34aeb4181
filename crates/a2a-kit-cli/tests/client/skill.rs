//! `a2a skill`: what is printed and installed, and that its examples work.

#![cfg(unix)]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{Run, Server, command};

const SKILL: &str = include_str!("../../skills/a2a/SKILL.md");
const EXAMPLES: &str = include_str!("../../skills/a2a/references/examples.md");

#[test]
fn skill_is_printed() {
    let text = Run::of(command().args(["skill", "show"]));
    assert_eq!((text.code, text.stdout.as_str()), (0, SKILL));
    let json = Run::of(command().args(["skill", "show", "-o", "json"])).json();
    assert_eq!(json["files"][0]["path"], "SKILL.md");
    assert_eq!(json["files"][1]["content"], EXAMPLES);
}

#[test]
fn skill_has_the_form_of_agent_skills() {
    let (front, body) = SKILL.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let value = |key: &str| {
        let line = front.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("no {key}: {front}")).to_owned()
    };
    assert_eq!(value("name"), "a2a");
    assert!(value("description").len() < 1024);
    assert!(value("compatibility").contains("`a2a` binary"));
    assert!(SKILL.lines().count() < 80, "{}", SKILL.lines().count());
    for said in ["a2a --version", "a2a help", "-o json", "references/examples.md"] {
        assert!(body.contains(said), "{said}");
    }
}

#[test]
fn skill_is_installed_for_the_user_or_a_project() {
    let home = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let install = |flags: &[&str]| {
        Run::of(
            command()
                .args(["skill", "install"])
                .args(flags)
                .env("HOME", home.path())
                .current_dir(project.path()),
        )
    };
    let installed = |folder: &Path| folder.join(".agents/skills/a2a");
    let user = install(&[]);
    let path = installed(home.path()).join("SKILL.md");
    assert_eq!(user.field("Saved"), path.to_str().unwrap());
    assert!(!installed(project.path()).exists());
    let json = install(&["--project", "-o", "json"]).json();
    assert_eq!(json["saved"][1], ".agents/skills/a2a/references/examples.md");
    for folder in [home.path(), project.path()] {
        let folder = installed(folder);
        assert_eq!(fs::read_to_string(folder.join("SKILL.md")).unwrap(), SKILL);
        let examples = fs::read_to_string(folder.join("references/examples.md")).unwrap();
        assert_eq!(examples, EXAMPLES);
    }
    // Installing again changes nothing.
    assert_eq!(install(&[]).code, 0);
}

#[test]
fn changed_file_is_kept_unless_it_may_be_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let install = |flags: &[&str]| {
        Run::of(command().args(["skill", "install"]).args(flags).env("HOME", home.path()))
    };
    let folder = home.path().join(".agents/skills/a2a");
    let changed = folder.join("references/examples.md");
    fs::create_dir_all(changed.parent().unwrap()).unwrap();
    fs::write(&changed, "mine").unwrap();
    let refused = install(&[]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains(changed.to_str().unwrap()), "{refused:?}");
    assert!(!folder.join("SKILL.md").exists(), "nothing is installed in part");
    assert_eq!(fs::read_to_string(&changed).unwrap(), "mine");
    assert_eq!(install(&["--overwrite"]).code, 0);
    assert_eq!(fs::read_to_string(&changed).unwrap(), EXAMPLES);
}

#[test]
fn examples_work_against_the_demo_agent() {
    if Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("SKIPPED: jq is not installed");
        return;
    }
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_a2a")).parent().unwrap().display();
    let blocks: Vec<_> = [SKILL, EXAMPLES]
        .iter()
        .flat_map(|page| page.split("```sh\n").skip(1))
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() >= 10);
    for block in blocks {
        // The agent is the one of this test.
        let script = block.replace("localhost:8080", &server.address);
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
        let output = Command::new("bash")
            .args(["-euc", &script])
            .current_dir(folder.path())
            .env("PATH", path)
            .env("HOME", folder.path())
            .env("A2ACLI_AGENT_CARD", &server.address)
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{script}\n{output:?}");
        assert!(!shown.trim().is_empty() && !shown.contains("null"), "{script}\n{shown}");
    }
}
