//! `a2a skill`: the Agent Skill that explains this tool to coding agents.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use serde_json::json;

use super::card::replace;
use crate::{failure::Failure, output::Output};

/// The files of the skill, by their path in its directory.
const FILES: [(&str, &str); 2] = [
    (SKILL, include_str!("../../skills/a2a/SKILL.md")),
    ("references/examples.md", include_str!("../../skills/a2a/references/examples.md")),
];

const SKILL: &str = "SKILL.md";

/// The directory of the skill, in the home directory or a project.
const DIRECTORY: &str = ".agents/skills/a2a";

#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// Print the skill
    Show,
    /// Install the skill in .agents/skills/a2a/, in the home directory or the current one
    Install(Install),
}

#[derive(Args, Debug)]
pub(crate) struct Install {
    /// Install for the project in the current directory instead of the user
    #[arg(long)]
    project: bool,
    /// Replace files that differ, such as those of an earlier version
    #[arg(long)]
    overwrite: bool,
}

impl SkillCommand {
    pub(super) fn run(&self, output: Output) -> Result<(), Failure> {
        match self {
            Self::Show => show(output),
            Self::Install(install) => install.run(output),
        }
    }
}

fn show(output: Output) -> Result<(), Failure> {
    if output.is_json() {
        let files: Vec<_> = FILES
            .iter()
            .map(|(path, content)| json!({ "path": path, "content": content }))
            .collect();
        return output.json(&json!({ "name": "a2a", "files": files }));
    }
    let skill = FILES.iter().find(|(path, _)| *path == SKILL).map_or("", |(_, content)| content);
    output.write(skill.as_bytes())
}

impl Install {
    fn run(&self, output: Output) -> Result<(), Failure> {
        let directory = self.scope()?.join(DIRECTORY);
        let files: Vec<_> =
            FILES.iter().map(|(path, content)| (directory.join(path), *content)).collect();
        for (path, content) in &files {
            self.check(path, content)?;
        }
        for (path, content) in &files {
            write(path, content).map_err(|error| unwritable(path, &error))?;
        }
        let paths: Vec<_> = files.iter().map(|(path, _)| path.display().to_string()).collect();
        output.result(&json!({ "saved": paths }), |text| {
            for path in &paths {
                text.line("Saved", path);
            }
        })
    }

    fn scope(&self) -> Result<PathBuf, Failure> {
        if self.project {
            return Ok(PathBuf::new());
        }
        std::env::home_dir().filter(|home| !home.as_os_str().is_empty()).ok_or_else(|| {
            Failure::usage("no home directory").with_hint("set HOME, or use --project")
        })
    }

    /// Checks that writing a file loses no changes.
    fn check(&self, path: &Path, content: &str) -> Result<(), Failure> {
        match fs::read(path) {
            Ok(existing) if existing == content.as_bytes() || self.overwrite => Ok(()),
            Ok(_) => Err(Failure::usage(format!("{} exists with other content", path.display()))
                .with_hint("use --overwrite to replace it")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(unwritable(path, &error)),
        }
    }
}

fn write(path: &Path, content: &str) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    replace(path, content.as_bytes())
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::internal(format!("failed to write {}: {error}", path.display()))
}
