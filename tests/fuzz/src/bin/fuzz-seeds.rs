//! Writes the seed inputs of each target: `fuzz-seeds <directory>`, with a subdirectory for each.
#![allow(clippy::print_stderr, reason = "a command line tool talks there")]

use std::{env, error::Error, fs, path::Path, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [folder] = &arguments[..] else {
        eprintln!("usage: fuzz-seeds <folder>");
        return ExitCode::FAILURE;
    };
    match write(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> Result<(), Box<dyn Error>> {
    for (target, _) in a2a_fuzz::TARGETS {
        let folder = folder.join(target);
        fs::create_dir_all(&folder)?;
        for (number, seed) in a2a_fuzz::seeds::of(target).into_iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:04}")), seed)?;
        }
    }
    Ok(())
}
