//! The report as files: JSON, and the page of the documentation with its chart.

use std::{fmt::Write as _, fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::{
    Result, chart,
    report::{Basis, ROWS, Results, text},
    server::{A2A, FLOOR, Program},
};

/// A report that can be written.
pub(crate) struct Page<'a> {
    results: &'a Results,
    /// Other servers with their versions, if known.
    rivals: Vec<(String, Option<String>)>,
}

impl<'a> Page<'a> {
    pub(crate) fn new(results: &'a Results, programs: &[Program]) -> Self {
        let rivals = programs.iter().filter(|program| program.is_rival);
        let rivals = rivals.map(|program| (program.name.clone(), program.version.clone()));
        Self { results, rivals: rivals.collect() }
    }

    /// Writes all samples and the derived figures to `results.json`.
    pub(crate) fn write_json(&self, folder: &Path) -> Result<()> {
        let rows = ROWS.iter().map(|row| {
            let of = |server: &str| {
                json!({
                    "median": self.results.median(row, server),
                    "judged": self.results.judged(row, server),
                    "cpu_seconds": self.results.cpu(row, server),
                })
            };
            let mut servers = serde_json::Map::new();
            let rivals = self.rivals.iter().map(|(name, _)| name.as_str());
            for server in [A2A, FLOOR].into_iter().chain(rivals) {
                servers.insert(server.to_owned(), of(server));
            }
            json!({
                "id": row.id,
                "title": row.title,
                "must": row.bound(row.must),
                "goal": row.bound(row.goal),
                "mark": self.results.mark(row),
                "servers": servers,
            })
        });
        let report = json!({
            "machine": machine(),
            "versions": versions(&self.rivals),
            "rows": rows.collect::<Vec<_>>(),
            "samples": self.results,
        });
        let text = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
        write(&folder.join("results.json"), &text)
    }

    /// Writes `benchmarks.md` and `benchmarks.svg`.
    pub(crate) fn write_docs(&self, folder: &Path) -> Result<()> {
        let rivals: Vec<_> = self.rivals.iter().map(|(name, _)| name.clone()).collect();
        write(&folder.join("benchmarks.svg"), &chart::svg(self.results, &rivals))?;
        write(&folder.join("benchmarks.md"), &self.markdown())
    }

    fn markdown(&self) -> String {
        let mut page = String::from(
            "# Benchmarks\n\n\
             Written by `cargo xtask bench`; do not edit. [Performance](performance.md) says what\n\
             to tune, and its [history](development/performance.md) where the time goes.\n\n\
             The floor is a bare handler of axum or tonic that reads the request and writes the same\n\
             response, with no engine, store or validation. A server has one core, and the load\n\
             another one. In each round all servers are measured back to back; a ratio is taken\n\
             inside the round, and the table has the medians of the rounds. A round in which the\n\
             floor or the server had less than 95 % of its core does not count for that ratio; if\n\
             none is left, the ratio is void.\n\n\
             Unless a row says otherwise, `a2a serve` is `a2a-test-agent serve --profile bench`: the\n\
             same server with an agent that answers at once, tasks in memory, all bindings and\n\
             revisions, and no request log, metrics or authentication. It is built with the profile\n\
             `dist` and allocates with mimalloc; the floor is built alike, and allocates with the C\n\
             library.\n\
             \"As started by default\" is the demo agent with SQLite, log and metrics. \"Transitions\"\n\
             are those of the stores in process, on all cores, relative to a loop that writes the\n\
             same rows. \"Cost\" is the CPU time of a SendMessage over JSON-RPC with 64 in flight,\n\
             relative to that of the same `a2a serve` without the named part.\n\n\
             ![Rates relative to the floor](benchmarks.svg)\n\n",
        );
        let _ = writeln!(page, "Machine: {}.\n", machine());
        for (name, version) in versions(&self.rivals) {
            let _ = writeln!(page, "- {name} {}", version.as_str().unwrap_or("of unknown version"));
        }
        page +=
            "\n| | a2a serve | floor | ratio | must | goal | |\n|---|---|---|---|---|---|---|\n";
        for row in &ROWS {
            let figure = |server: &str| {
                let figure = self.results.median(row, server);
                figure.map_or_else(String::new, |figure| text(row.unit, figure))
            };
            let ratio = match row.basis {
                Basis::Floor => self.results.judged(row, A2A).map(|ratio| format!("{ratio:.2}")),
                Basis::Figure => None,
            };
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} |",
                row.title,
                figure(A2A),
                figure(FLOOR),
                ratio.unwrap_or_default(),
                row.bound(row.must),
                row.bound(row.goal),
                self.results.mark(row).text(),
            );
        }
        if self.rivals.is_empty() {
            return page;
        }
        page += "\n## Other servers\n\n\
                 Ratio to the floor, or the figure itself where there is no floor; behind it, how\n\
                 many times better `a2a serve` is. All run an echo agent with tasks in memory, without\n\
                 log, metrics, TLS and authentication; those in Rust are built with optimization\n\
                 level 3, `lto = \"fat\"` and one codegen unit, and allocate with the C library. A cell\n\
                 is void if in no round both the server and the floor had their core. An empty cell was\n\
                 not measured: the server has no such binding or command, failed, or is too slow.\n\n| |";
        for (name, _) in &self.rivals {
            let _ = write!(page, " {name} |");
        }
        page += "\n|---|";
        page += &"---|".repeat(self.rivals.len());
        page.push('\n');
        for row in &ROWS {
            let cell = |(name, _): &(String, Option<String>)| {
                let Some(judged) = self.results.judged(row, name) else {
                    return self.results.median(row, name).map(|_| "void".to_owned());
                };
                let shown = match row.basis {
                    Basis::Floor => format!("{judged:.3}"),
                    Basis::Figure => text(row.unit, judged),
                };
                let lead = self.results.lead(row, name)?;
                Some(format!("{shown} (×{lead:.1})"))
            };
            let cells: Vec<_> = self.rivals.iter().map(cell).collect();
            if cells.iter().any(Option::is_some) {
                let cells = cells.into_iter().map(Option::unwrap_or_default);
                let cells = cells.collect::<Vec<_>>().join(" | ");
                let _ = writeln!(page, "| {} | {cells} |", row.title);
            }
        }
        page
    }
}

/// The processor, the cores and the kernel.
fn machine() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model);
    let cores = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}, {cores} cores, Linux {}", kernel.trim())
}

fn versions(rivals: &[(String, Option<String>)]) -> serde_json::Map<String, Value> {
    let rustc = Command::new("rustc").arg("--version").output().ok();
    let rustc = rustc.and_then(|output| String::from_utf8(output.stdout).ok());
    let rustc = rustc.and_then(|text| Some(text.split_whitespace().nth(1)?.to_owned()));
    let own =
        [(A2A.to_owned(), Some(env!("CARGO_PKG_VERSION").to_owned())), ("rustc".to_owned(), rustc)];
    let rivals = rivals.iter().cloned();
    own.into_iter().chain(rivals).map(|(name, version)| (name, version.into())).collect()
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
