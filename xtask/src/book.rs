//! The book: `docs/` as HTML, and checks of everything in it.

mod blocks;
mod deploy;
mod diagram;
mod html;
mod links;
mod page;
mod ports;
mod session;
mod transcript;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
    time::Instant,
};

use a2a_test_servers::Servers;

use self::{blocks::Tally, page::Page};
use crate::{Result, workspace};

const SUMMARY: &str = "docs/SUMMARY.md";

/// Programs that not every machine has.
const PROGRAMS: [&str; 4] = ["jq", "node", "npx", "python3"];

/// The arguments of `cargo xtask book`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Check links, blocks and diagrams, compile and run Rust blocks, and run commands against
    /// real servers
    #[arg(long)]
    check: bool,
    /// Check only what needs neither a build nor a server
    #[arg(long, requires = "check")]
    fast: bool,
    /// Run only the commands of chapters with this in their path; repeatable
    #[arg(long, requires = "check", value_name = "TEXT")]
    only: Vec<String>,
    /// Serve the book on localhost:3000
    #[arg(long, conflicts_with = "check")]
    serve: bool,
    /// Open the book in a browser
    #[arg(long, conflicts_with = "check")]
    open: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let diagrams = diagram::run(args.check)?;
    let pages = pages()?;
    let chapters = chapters(&pages)?;
    let (tally, faults) = check(&pages, &chapters)?;
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        return Err(format!("{} faults", faults.len()).into());
    }
    println!("{} chapters, {diagrams} diagrams, 0 dead links", chapters.len());
    if args.check {
        print(&tally);
        return if args.fast { Ok(()) } else { check_running(args, &pages, &chapters) };
    }
    let mdbook = html::find().map_or_else(html::install, Ok)?;
    build(&mdbook, &pages, &chapters)?;
    if args.serve || args.open {
        let mut command = Command::new(mdbook);
        command.arg(if args.serve { "serve" } else { "build" });
        command.arg(workspace::root().join("target/book-source"));
        command.arg("--dest-dir").arg(workspace::root().join("target/book"));
        if args.open {
            command.arg("--open");
        }
        command.status()?;
    }
    Ok(())
}

/// All Markdown files of the repository, without those of dependencies.
fn pages() -> Result<BTreeMap<String, Page>> {
    let mut pages = BTreeMap::new();
    for path in workspace::files(&workspace::root())? {
        let name = workspace::relative(&path);
        if name.ends_with(".md") && !path.is_symlink() {
            let page = Page::parse(&name, &workspace::read(&path)?)?;
            pages.insert(name, page);
        }
    }
    Ok(pages)
}

/// The chapters of the book, which are all pages in `docs/`.
fn chapters(pages: &BTreeMap<String, Page>) -> Result<BTreeSet<String>> {
    let summary = pages.get(SUMMARY).ok_or("there is no docs/SUMMARY.md")?;
    let chapters: BTreeSet<String> =
        summary.links.iter().map(|link| links::resolve(SUMMARY, &link.target)).collect();
    let is_missing =
        |name: &&String| name.starts_with("docs/") && *name != SUMMARY && !chapters.contains(*name);
    match pages.keys().find(is_missing) {
        Some(name) => Err(format!("{SUMMARY} does not have {name}").into()),
        None => Ok(chapters),
    }
}

/// Checks that need neither a build nor a server.
fn check(
    pages: &BTreeMap<String, Page>,
    chapters: &BTreeSet<String>,
) -> Result<(Tally, Vec<String>)> {
    let mut tally = Tally::default();
    let mut faults = links::faults(&workspace::root(), pages);
    for page in chapters.iter().filter_map(|name| pages.get(name)) {
        faults.extend(blocks::check(page, &mut tally)?);
    }
    faults.extend(blocks::unknown_doctests(chapters)?);
    Ok((tally, faults))
}

fn print(tally: &Tally) {
    println!(
        "blocks: {} of Rust, {} with commands and files, {} with output, {} parsed, {} tested \
         elsewhere, {} not run, 0 unchecked",
        tally.compiled,
        tally.run,
        tally.compared,
        tally.parsed,
        tally.elsewhere,
        tally.not_run.len(),
    );
    for reason in &tally.not_run {
        println!("  not run: {reason}");
    }
}

fn check_running(
    args: &Args,
    pages: &BTreeMap<String, Page>,
    chapters: &BTreeSet<String>,
) -> Result {
    if args.only.is_empty() {
        doctests()?;
    }
    let programs = workspace::build(&["a2a"], false)?;
    let servers = Servers::find();
    println!("servers: {servers}");
    let environment = environment(&servers);
    let mut failures = 0;
    for page in chapters.iter().filter_map(|name| pages.get(name)) {
        let is_chosen =
            args.only.is_empty() || args.only.iter().any(|text| page.name.contains(text.as_str()));
        if !is_chosen {
            continue;
        }
        if let Err(error) = deploy::check(page) {
            eprintln!("{}: {error}", page.name);
            failures += 1;
        }
        if !blocks::has_commands(page) {
            continue;
        }
        if let Some(missing) = missing(page, &environment) {
            println!("SKIPPED: {}: there is no {missing}", page.name);
            continue;
        }
        let start = Instant::now();
        let done = blocks::check_settings(page, &programs)
            .and_then(|()| session::run(page, &programs, &environment));
        match done {
            Ok(()) => println!("{}: ok, {:.0} s", page.name, start.elapsed().as_secs_f64()),
            Err(error) => {
                eprintln!("{error}");
                failures += 1;
            }
        }
    }
    if failures > 0 {
        return Err(format!("{failures} chapters failed").into());
    }
    if !args.only.is_empty() {
        return Ok(());
    }
    match html::find() {
        Some(mdbook) => build(&mdbook, pages, chapters),
        None => {
            println!("SKIPPED: mdbook is not installed; `cargo xtask book` installs it");
            Ok(())
        }
    }
}

/// The addresses of the real servers. The tables are in a schema of their own.
fn environment(servers: &Servers) -> Vec<(String, String)> {
    let variables = servers.environment().into_iter().map(|(name, value)| {
        let separator = if value.contains('?') { '&' } else { '?' };
        let value = match name {
            "DATABASE_URL" if !value.is_empty() => {
                format!("{value}{separator}schema=a2a_book_{}", std::process::id())
            }
            _ => value.to_owned(),
        };
        (name.to_owned(), value)
    });
    variables.collect()
}

/// The server, by its variable, or the program that a page needs and that is not there.
fn missing(page: &Page, environment: &[(String, String)]) -> Option<String> {
    let uses =
        |text: &str| page.blocks().any(|block| blocks::is_run(block) && block.text.contains(text));
    let server = environment
        .iter()
        .find(|(name, value)| value.is_empty() && uses(&format!("${name}")))
        .map(|(name, _)| format!("server for {name}"));
    let program = PROGRAMS.iter().find(|program| {
        uses(&format!("{program} "))
            && !Command::new(program).arg("--version").output().is_ok_and(|it| it.status.success())
    });
    server.or_else(|| program.map(|program| (*program).to_owned()))
}

/// Compiles and runs the Rust blocks of the chapters.
fn doctests() -> Result {
    let mut command = workspace::cargo();
    command.args(["test", "--doc", "--quiet", "-p", "a2a-book"]);
    if command.status()?.success() { Ok(()) } else { Err("Rust blocks failed".into()) }
}

fn build(mdbook: &Path, pages: &BTreeMap<String, Page>, chapters: &BTreeSet<String>) -> Result {
    let source = html::copy(chapters, pages)?;
    let output = html::build(mdbook, &source)?;
    let faults = html::faults(&output)?;
    for fault in &faults {
        eprintln!("{fault}");
    }
    if !faults.is_empty() {
        return Err(format!("{} faults in the HTML", faults.len()).into());
    }
    println!("the book is in {}/index.html", workspace::relative(&output));
    Ok(())
}
