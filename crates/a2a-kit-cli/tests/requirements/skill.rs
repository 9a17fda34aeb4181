//! The agent skill.

use std::{fs, path::Path};

use crate::support::Sandbox;

/// The files below the directories `skills` of the repository, without build output.
fn skills() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let name = path.file_name().unwrap().to_str().unwrap();
            // `skills` is a link to the directory in the package of the command.
            let is_folder = entry.file_type().unwrap().is_dir();
            if is_folder && !["target", "node_modules", ".git"].contains(&name) {
                folders.push(path);
            } else if name == "SKILL.md" {
                found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

#[test]
fn skill_001_there_is_one_lean_skill_that_defers_to_help() {
    assert_eq!(skills().len(), 1, "{:?}", skills());
    let sandbox = Sandbox::new();
    let skill = sandbox.run(&["skill", "show"]);
    assert_eq!((skill.code, &*skill.stderr), (0, ""), "{skill:?}");
    let text = &skill.stdout;
    assert!(text.lines().count() <= 80, "{} lines", text.lines().count());
    let (head, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    for key in ["name: a2a", "description: ", "compatibility: "] {
        assert!(head.lines().any(|line| line.starts_with(key)), "{key}: {head}");
    }
    assert!(head.contains("`a2a`"), "{head}");
    for said in ["a2a --version", "a2a help", "-o json", "--stream", "status.state", "--task-id"] {
        assert!(body.contains(said), "{said}: {body}");
    }
    assert!(body.contains("A2ACLI_BEARER"), "credentials by environment: {body}");
    // No list of commands: what it mentions is a small part of the tree.
    let commands = ["push-config", "completion", "conformance", "demo-server", "listen", "bench"];
    let mentioned = commands.iter().filter(|command| body.contains(*command)).count();
    assert!(mentioned <= 1, "{body}");
}

#[test]
fn skill_001_the_skill_is_installed_for_a_user_or_a_project() {
    let sandbox = Sandbox::new();
    let shown = sandbox.run(&["skill", "show"]).stdout;
    let files = ["a2a/SKILL.md", "a2a/references/examples.md"];
    let project = sandbox.home().join("project");
    fs::create_dir(&project).unwrap();
    let mut command = sandbox.command(&["skill", "install", "--project"]);
    let installed = sandbox.finish(command.current_dir(&project));
    assert_eq!(installed.code, 0, "{installed:?}");
    assert_eq!(sandbox.files("project/.agents/skills"), files);
    let of_user = sandbox.run(&["skill", "install"]);
    assert_eq!(of_user.code, 0, "{of_user:?}");
    assert_eq!(sandbox.files(".agents/skills"), files);
    let copied = fs::read_to_string(sandbox.home().join(".agents/skills/a2a/SKILL.md")).unwrap();
    assert_eq!(copied, shown);
}

#[test]
fn skill_002_the_skill_states_no_rules_of_its_own() {
    let sandbox = Sandbox::new();
    let skill = sandbox.run(&["skill", "show"]).stdout;
    assert_eq!(sandbox.run(&["skill", "install"]).code, 0);
    let path = sandbox.home().join(".agents/skills/a2a/references/examples.md");
    let examples = fs::read_to_string(path).unwrap();
    for text in [&skill, &examples] {
        let words: Vec<_> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for normative in ["MUST", "SHALL", "SHOULD", "REQUIRED", "MAY"] {
            assert!(!words.contains(&normative), "{normative}: {text}");
        }
        for copied in ["A2ACLI_ERR_", "_001"] {
            assert!(!text.contains(copied), "{copied}: {text}");
        }
    }
    // The help does without the skill.
    let help = sandbox.run(&["send", "--help"]).stdout;
    assert!(!help.contains("SKILL.md"), "{help}");
}
