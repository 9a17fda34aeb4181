//! Checks what is published, and tests the packages outside of the workspace.

mod beside;
mod contents;
mod cycle;
mod manifest;
mod outside;
mod published;
mod readme;

pub(crate) use published::{Package, published};

use crate::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Build nothing: only check manifests, READMEs and the files of each package, and that they
    /// resolve beside other database crates
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let packages = published()?;
    let mut faults: Vec<String> = cycle::fault(&packages).into_iter().collect();
    for package in &packages {
        faults.extend(manifest::faults(package)?);
        faults.extend(readme::faults(package)?);
        faults.extend(contents::faults(package)?);
    }
    faults.extend(beside::faults()?);
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        return Err(format!("{} faults in what is published", faults.len()).into());
    }
    println!("{} packages: manifests, READMEs and files are complete", packages.len());
    if args.check { Ok(()) } else { outside::test(&packages) }
}
