//! What the project weighs: crates per dependency tree, CPU time of a clean build, binary sizes,
//! start time and memory. `xtask/weight.toml` has the checked-in figures.

mod build;
mod table;
mod tree;

use std::fs;

use table::{TABLE, Table};

use crate::{Result, workspace};

/// The arguments of `cargo xtask weight`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only count crates; fail if a tree has more than in the table
    #[arg(long, conflicts_with_all = ["bless", "build"])]
    check: bool,
    /// Also build a2a from nothing with the profiles release and dist, or with one of them; takes
    /// many minutes
    #[arg(long, value_name = "PROFILE", num_args = 0..=1, value_parser = ["release", "dist"])]
    build: Option<Option<String>>,
    /// Write the figures to the table
    #[arg(long)]
    bless: bool,
}

impl Args {
    fn builds(&self, profile: &str) -> bool {
        match &self.build {
            Some(Some(only)) => only == profile,
            Some(None) => true,
            None => false,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let path = workspace::root().join(TABLE);
    let mut table: Table = toml::from_str(&workspace::read(&path)?)?;
    let mut faults = Vec::new();
    for tree in &mut table.trees {
        let crates = tree::count(tree)?;
        let goal = match tree.below {
            Some(below) if crates < below => format!(", fewer than {below}: met"),
            Some(below) => format!(", fewer than {below}: MISSED"),
            None => String::new(),
        };
        println!("{:<28} {crates:>4} crates, {:>4} in the table{goal}", tree.name, tree.crates);
        if crates > tree.crates && !args.bless {
            faults.push(format!("{}: {crates} crates, {} in the table", tree.name, tree.crates));
        }
        tree.crates = crates;
    }
    if !args.check {
        for profile in &mut table.profiles {
            if args.builds(&profile.name) {
                build::from_nothing(profile)?;
            }
            build::measure(profile)?;
        }
    }
    if args.bless {
        fs::write(&path, table.to_string())?;
        println!("wrote {TABLE}");
    }
    if faults.is_empty() {
        return Ok(());
    }
    let advice = "if the dependencies are worth it, `cargo xtask weight --bless`";
    Err(format!("{}\n{advice}", faults.join("\n")).into())
}
