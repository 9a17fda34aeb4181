//! Manual pages and completion scripts, as packages contain them.

#![cfg(unix)]

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{Run, command};

/// Runs a checker on a file, unless it is not installed.
fn check(checker: &[&str], file: &Path) {
    let [program, flags @ ..] = checker else { panic!("no program") };
    let output = Command::new(program).args(flags).arg(file).stdin(Stdio::null()).output();
    let Ok(output) = output else {
        eprintln!("SKIPPED: {program} is not installed");
        return;
    };
    assert!(output.status.success(), "{checker:?} {}: {output:?}", file.display());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "", "{checker:?} {}", file.display());
}

/// The names of the commands in the help, as file names: `a2a-task-get`.
fn commands(words: &[String], found: &mut BTreeSet<String>) {
    let help = Run::of(command().args(words).arg("--help")).stdout;
    let path: Vec<_> = ["a2a".to_owned()].into_iter().chain(words.iter().cloned()).collect();
    found.insert(path.join("-"));
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in lines.take_while(|line| !line.is_empty()) {
        let name = line.strip_prefix("  ").and_then(|line| line.split(' ').next());
        if let Some(name) = name.filter(|name| !name.is_empty() && *name != "help") {
            commands(&[words, &[name.to_owned()]].concat(), found);
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man");
    let run = Run::of(command().arg("man").arg(&pages));
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (0, "", ""), "{run:?}");
    let mut expected = BTreeSet::new();
    commands(&[], &mut expected);
    assert!(expected.contains("a2a-task-push-config-create"), "{expected:?}");
    let names = fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().file_name());
    let names: BTreeSet<_> = names
        .map(|name| name.into_string().unwrap().strip_suffix(".1").unwrap().to_owned())
        .collect();
    assert_eq!(names, expected);
    for name in names {
        let page = pages.join(format!("{name}.1"));
        let text = fs::read_to_string(&page).unwrap();
        for section in [".SH NAME", ".SH SYNOPSIS"] {
            assert!(text.lines().any(|line| line == section), "{name}: {section}");
        }
        check(&["groff", "-man", "-Tutf8", "-ww", "-z"], &page);
    }
}

#[test]
fn completion_scripts_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, checker) in [
        ("bash", &["bash", "-n"][..]),
        ("zsh", &["zsh", "-n"]),
        ("fish", &["fish", "--no-execute"]),
        ("elvish", &["elvish", "-compileonly"]),
        ("powershell", &[]),
    ] {
        let run = Run::of(command().args(["completion", shell]));
        assert_eq!(run.code, 0, "{shell}: {run:?}");
        for word in ["push-config", "agent-card", "download"] {
            assert!(run.stdout.contains(word), "{shell}: {word}");
        }
        let script = folder.path().join(shell);
        fs::write(&script, run.stdout).unwrap();
        if !checker.is_empty() {
            check(checker, &script);
        }
    }
}

#[test]
fn bash_completes_commands() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("a2a.bash");
    fs::write(&script, Run::of(command().args(["completion", "bash"])).stdout).unwrap();
    let complete = "source \"$0\"; COMP_WORDS=(a2a task push); COMP_CWORD=2; \
                    _a2a a2a push task; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["-c", complete]).arg(&script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "push-config\n", "{output:?}");
}
