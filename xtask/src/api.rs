//! The public API of the library crates, listed in `docs/api/` so that a change of it shows in
//! review.
//!
//! The listing comes from rustdoc's JSON output. It is unstable, so rustdoc alone, and not the
//! compiler, runs with `RUSTC_BOOTSTRAP`: this program stands in for rustdoc and starts it. It gets
//! `--cfg docsrs` too, so that what docs.rs compiles is compiled here.
//!
//! `a2a-kit-cli` is left out. Its interface is its commands and settings, which
//! its tests compare with `docs/settings.md`.
//!
//! The types are counted too, and types of other crates are refused: see [`surface`].

mod surface;

use std::{
    env,
    fmt::Write as _,
    process::{Command, ExitCode},
};

use public_api::{Builder, PublicApi};
use surface::Surface;

use crate::{
    Result,
    package::{Package, published},
    workspace,
};

/// Set where this program runs in place of rustdoc, which the value names.
const RUSTDOC: &str = "XTASK_RUSTDOC";

const FOLDER: &str = "docs/api";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail if a listing is out of date
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let root = workspace::root();
    let crates = published()?.into_iter().filter(Package::has_library);
    let json = root.join("target/doc");
    document()?;
    let mut up_to_date = true;
    let mut surface = Surface::default();
    for Package { name, .. } in crates {
        let file = json.join(format!("{}.json", name.replace('-', "_")));
        let api = Builder::from_rustdoc_json(&file)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .map_err(|error| format!("{}: {error}", workspace::relative(&file)))?;
        surface.add(&name, &api);
        let path = root.join(FOLDER).join(format!("{name}.txt"));
        up_to_date &= workspace::write_or_check(&path, &listing(&api), args.check)?;
    }
    let faults = surface.faults();
    if !faults.is_empty() {
        return Err(faults.join("\n").into());
    }
    if up_to_date {
        return Ok(());
    }
    Err("the public API differs from docs/api: review it, then run `cargo xtask api`".into())
}

/// Writes the JSON documentation of all crates, with the features of the whole workspace.
fn document() -> Result {
    let rustdoc = env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    let mut command = workspace::cargo();
    command.args(["doc", "--workspace", "--no-deps", "--lib", "--locked"]);
    command.env("RUSTDOC", env::current_exe()?).env(RUSTDOC, rustdoc).env(
        "RUSTDOCFLAGS",
        "-Z unstable-options --output-format json --cap-lints allow --cfg docsrs",
    );
    if command.status()?.success() { Ok(()) } else { Err("cargo doc failed".into()) }
}

fn listing(api: &PublicApi) -> String {
    let mut text = String::new();
    for item in api.items() {
        let _ = writeln!(text, "{item}");
    }
    text
}

/// Runs rustdoc if this program was started in its place.
pub(crate) fn as_rustdoc() -> Option<ExitCode> {
    let rustdoc = env::var_os(RUSTDOC)?;
    let status =
        Command::new(rustdoc).args(env::args_os().skip(1)).env("RUSTC_BOOTSTRAP", "1").status();
    let is_success = status.is_ok_and(|status| status.success());
    Some(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
