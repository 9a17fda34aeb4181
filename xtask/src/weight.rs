//! What the project weighs: lines of Rust per crate, crates per dependency tree, CPU time of a clean build, binary sizes,
//! start time and memory. `xtask/weight.toml` has the checked-in figures.

mod build;
mod lines;
mod table;
mod tree;

use std::fs;

use table::{Lines, TABLE, Table};

use crate::{Result, workspace};

/// The arguments of `cargo xtask weight`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only count lines and crates; fail if there are more than in the table
    #[arg(long, conflicts_with_all = ["bless", "build"])]
    check: bool,
    /// Also build a2a from nothing with this profile in target/weight, and print the CPU time, with
    /// the limit and the goal, and the table of profiles; takes many minutes
    #[arg(
        long,
        value_name = "PROFILE",
        num_args = 0..=1,
        default_missing_value = "release",
        value_parser = ["release", "dist"]
    )]
    build: Option<String>,
    /// Write the figures to the table
    #[arg(long)]
    bless: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let path = workspace::root().join(TABLE);
    let mut table: Table = toml::from_str(&workspace::read(&path)?)?;
    let mut faults = Vec::new();
    let counted = lines::count()?;
    if !args.bless {
        faults.extend(above_budget(&counted, &table.lines));
    }
    print_lines(&counted, &table.lines);
    table.lines = counted;
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
            if args.build.as_ref() == Some(&profile.name) {
                build::from_nothing(profile)?;
            }
            build::measure(profile)?;
        }
        if args.build.is_some() {
            println!("\n{}", build::rows(&table.profiles));
        }
    }
    if args.bless {
        fs::write(&path, table.to_string())?;
        println!("wrote {TABLE}");
    }
    if faults.is_empty() {
        return Ok(());
    }
    let advice =
        "if that is on purpose, say why in the commit and run `cargo xtask weight --bless`";
    Err(format!("{}\n{advice}", faults.join("\n")).into())
}

/// What has more lines or small files than its budget.
fn above_budget(counted: &[Lines], budget: &[Lines]) -> Vec<String> {
    let mut faults = Vec::new();
    for one in counted {
        let Some(allowed) = budget.iter().find(|allowed| allowed.name == one.name) else {
            faults.push(format!("{}: not in the table of lines", one.name));
            continue;
        };
        for (what, count, allowed) in [
            ("lines of production", one.production, allowed.production),
            ("lines of tests", one.tests, allowed.tests),
            ("files of 50 lines or fewer", one.small_files, allowed.small_files),
        ] {
            if count > allowed {
                faults.push(format!("{}: {count} {what}, {allowed} in the table", one.name));
            }
        }
    }
    faults
}

fn print_lines(counted: &[Lines], budget: &[Lines]) {
    let total = |lines: &[Lines]| Lines {
        name: "all crates".to_owned(),
        production: lines.iter().map(|one| one.production).sum(),
        tests: lines.iter().map(|one| one.tests).sum(),
        small_files: lines.iter().map(|one| one.small_files).sum(),
    };
    let (all, allowed) = (total(counted), total(budget));
    println!("{:<28} {:>19} {:>19} {:>15}", "lines of Rust", "production", "tests", "small files");
    for one in counted.iter().chain([&all]) {
        let budget = budget.iter().chain([&allowed]).find(|allowed| allowed.name == one.name);
        let of = |count: usize, allowed: fn(&Lines) -> usize| match budget {
            Some(budget) => format!("{count} of {}", allowed(budget)),
            None => format!("{count} of none"),
        };
        println!(
            "{:<28} {:>19} {:>19} {:>15}",
            one.name,
            of(one.production, |lines| lines.production),
            of(one.tests, |lines| lines.tests),
            of(one.small_files, |lines| lines.small_files)
        );
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_and_unknown_crates_are_faults() {
        let lines = |name: &str, production, tests, small_files| Lines {
            name: name.to_owned(),
            production,
            tests,
            small_files,
        };
        let budget = [lines("a", 10, 10, 1), lines("b", 10, 10, 1)];
        assert!(above_budget(&[lines("a", 10, 9, 1), lines("b", 9, 10, 0)], &budget).is_empty());
        let grown = [lines("a", 11, 10, 2), lines("c", 1, 1, 1)];
        let faults = above_budget(&grown, &budget);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert_eq!(faults[0], "a: 11 lines of production, 10 in the table");
    }
}
