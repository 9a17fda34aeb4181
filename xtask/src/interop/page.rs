//! `docs/interop.md` and `tests/interop/results.md`, from the reports of the last runs and the data of
//! `tests/interop`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
};

use serde::Deserialize;

use crate::{Result, workspace};

use super::{
    BINDINGS,
    matrix::{Deviation, deviations},
    sdk::{Peers, Sdk},
};

/// The head of the page.
const HEAD: &str = "# Interoperability\n\n\
Written by `cargo xtask interop --page` from the last `cargo xtask interop` and `cargo xtask interop\n\
--frameworks`; do not edit. [How the tests work](../tests/interop/README.md).\n\n\
In the tables, `a/b` means that `a` of `b` checks pass. The others are deviations of the peer from the\n\
specification, or things that it does not have, each with its reason in the\n\
[results](../tests/interop/results.md). No check fails without a reason. A proxy is `a2a serve --proxy`.\n";

/// The head of the page of results.
const RESULTS_HEAD: &str = "# Results of the interoperability tests\n\n\
Written by `cargo xtask interop --page`; do not edit. [What they sum up to](../../docs/interop.md).\n";

/// A cell of a report.
#[derive(Debug, Deserialize)]
struct Cell {
    peer: String,
    role: String,
    binding: String,
    operation: String,
    outcome: String,
    detail: String,
}

#[derive(Debug, Deserialize)]
struct Results {
    cells: Vec<Cell>,
}

/// The matrices of a report, by name.
type Report = BTreeMap<String, Results>;

/// A fault of another project, ready to be reported there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    id: String,
    /// The peers that have it.
    peers: Vec<String>,
    title: String,
    /// The request or code that shows it.
    send: String,
    /// The response or effect.
    receive: String,
    /// What the specification says, with its section.
    expected: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Faults {
    #[serde(default, rename = "fault")]
    faults: Vec<Fault>,
}

/// Writes both pages.
pub(super) fn write(peers: &Peers, sources: &Path, target: &Path) -> Result {
    let sdks = report(&target.join("report.json"))?;
    let frameworks = report(&target.join("frameworks.json"))?;
    let faults = faults(sources, peers)?;
    let mut page = HEAD.to_owned();
    let all = |report: &Report| -> Vec<(String, String, String, String)> {
        let cells = report.values().flat_map(|results| &results.cells);
        let cells = cells.filter(|cell| cell.outcome == "explained");
        let of = |cell: &Cell| {
            let Cell { peer, role, operation, detail, .. } = cell;
            (peer.clone(), role.clone(), operation.clone(), detail.clone())
        };
        cells.map(of).collect()
    };

    page.push_str("\n## SDKs\n\n");
    let roles = ["client", "server", "proxied-client", "proxied-server", "nginx-client"];
    let heads = [
        "calls us",
        "we call it",
        "calls us by proxy",
        "a proxy calls it",
        "calls us through nginx",
    ];
    totals(&mut page, &peers.sdks, &sdks, &roles, &heads)?;
    let counts = |role| passing(&peers.frameworks, &frameworks, role);
    let ((clients, clients_of), (agents, agents_of)) = (counts("client"), counts("server"));
    write!(
        page,
        "\n## Frameworks\n\n{clients} of {clients_of} clients and {agents} of {agents_of} agents pass a check.\n\n"
    )?;
    let roles = ["client", "server", "proxied-server"];
    totals(&mut page, &peers.frameworks, &frameworks, &roles, &[heads[0], heads[1], heads[3]])?;

    page.push_str("\n## Connecting\n\n");
    for peer in peers.sdks.iter().chain(&peers.frameworks) {
        let Some(client) = &peer.client else { continue };
        writeln!(page, "- **{}**: `{client}`", peer.name)?;
    }
    page.push_str(
        "\nThe command line calls agents of all of them by a reference: `a2a send -a <host>:<port> hello`, \
         or an old revision with `--a2a-version 0.3`. Exceptions:\n\n",
    );
    for peer in peers.sdks.iter().chain(&peers.frameworks) {
        let Some(agent) = &peer.agent else { continue };
        writeln!(page, "- **{}**: {agent}", peer.name)?;
    }

    put("docs/interop.md", &page)?;

    let mut page = RESULTS_HEAD.to_owned();
    page.push_str(
        "\n## Matrices\n\nA mark per binding: JSON-RPC, HTTP+JSON, gRPC. `–` is a deviation, `·` a binding or \
         operation that the peer does not have.\n",
    );
    for (title, report, name) in [
        ("Current SDKs", &sdks, "sdks"),
        ("Current SDKs, through a proxy", &sdks, "proxied"),
        ("SDKs of older revisions", &sdks, "older"),
        ("Clients of 1.0 and an agent of 0.3, through a proxy", &sdks, "translated"),
        ("Frameworks as clients", &frameworks, "clients"),
        ("Frameworks as agents", &frameworks, "agents"),
    ] {
        if let Some(results) = report.get(name) {
            write!(page, "\n### {title}\n\n")?;
            marks(&mut page, &results.cells)?;
        }
    }

    page.push_str("\n## Deviations\n\n");
    let mut reasons: BTreeMap<(String, String, String), BTreeSet<String>> = BTreeMap::new();
    for (peer, role, operation, reason) in all(&sdks).into_iter().chain(all(&frameworks)) {
        let role = role.split_once('-').map_or(&*role, |(_, role)| role).to_owned();
        reasons.entry((peer, role, reason)).or_default().insert(operation);
    }
    let mut last = None;
    for ((peer, role, reason), operations) in reasons {
        if last.as_ref() != Some(&peer) {
            writeln!(page, "- **{peer}**")?;
        }
        let operations: Vec<_> = operations.into_iter().collect();
        writeln!(page, "  - {role}, `{}`: {reason}", operations.join("`, `"))?;
        last = Some(peer);
    }

    page.push_str("\n## Faults to report\n\n");
    for fault in &faults {
        write!(page, "### {}\n\n", fault.title)?;
        writeln!(page, "{}.\n", names(&fault.peers, peers).join(", "))?;
        writeln!(page, "{}\n", fault.send.trim())?;
        writeln!(page, "{}\n", fault.receive.trim())?;
        writeln!(page, "Expected: {}\n", fault.expected.trim())?;
    }
    put("tests/interop/results.md", &page)
}

fn put(name: &str, page: &str) -> Result {
    std::fs::write(workspace::root().join(name), format!("{}\n", page.trim_end()))?;
    println!("wrote {name}");
    Ok(())
}

fn report(path: &Path) -> Result<Report> {
    let text = workspace::read(path).map_err(|error| {
        format!("{error}; run `cargo xtask interop` with and without --frameworks")
    })?;
    Ok(serde_json::from_str(&text)?)
}

/// Reads the faults, and checks that they and the deviations name each other and existing peers.
fn faults(sources: &Path, peers: &Peers) -> Result<Vec<Fault>> {
    let path = sources.join("faults.toml");
    let Faults { faults } = toml::from_str(&workspace::read(&path)?)
        .map_err(|error| format!("{}: {error}", workspace::relative(&path)))?;
    let deviations = deviations(&sources.join("deviations.json"))?;
    let known: BTreeSet<_> =
        peers.sdks.iter().chain(&peers.frameworks).map(|peer| peer.name.as_str()).collect();
    for fault in &faults {
        if let Some(peer) = fault.peers.iter().find(|peer| !known.contains(peer.as_str())) {
            return Err(format!("faults.toml: {}: unknown peer {peer:?}", fault.id).into());
        }
        if !deviations.iter().any(|deviation| deviation.fault.as_ref() == Some(&fault.id)) {
            return Err(format!("faults.toml: {}: no deviation names it", fault.id).into());
        }
    }
    for Deviation { sdk, operation, fault, .. } in &deviations {
        if !known.contains(sdk.as_str()) {
            return Err(format!("deviations.json: {operation}: unknown peer {sdk:?}").into());
        }
        if let Some(id) = fault
            && !faults.iter().any(|fault| fault.id == *id)
        {
            return Err(format!("deviations.json: {sdk}, {operation}: unknown fault {id:?}").into());
        }
    }
    Ok(faults)
}

/// The packages of peers, with their versions.
fn names(of: &[String], peers: &Peers) -> Vec<String> {
    let all = peers.sdks.iter().chain(&peers.frameworks);
    let named = all.filter(|peer| of.contains(&peer.name));
    named.map(|peer| format!("`{}` {}", peer.package, peer.version)).collect()
}

/// How many peers pass a check in a role, and how many are tested.
fn passing(peers: &[Sdk], report: &Report, role: &str) -> (usize, usize) {
    let cells = || report.values().flat_map(|results| &results.cells);
    let count = |is_counted: fn(&str) -> bool| {
        let is_one = |peer: &&Sdk| {
            let mut cells = cells().filter(|cell| cell.peer == peer.name && cell.role == role);
            cells.any(|cell| is_counted(&cell.outcome))
        };
        peers.iter().filter(is_one).count()
    };
    (count(|outcome| outcome == "works"), count(|outcome| outcome != "absent"))
}

/// A row per peer with the number of passed checks in each role.
fn totals(
    page: &mut String,
    peers: &[Sdk],
    report: &Report,
    roles: &[&str],
    heads: &[&str],
) -> Result {
    writeln!(page, "| | package | {} |", heads.join(" | "))?;
    writeln!(page, "|---|---|{}", "---|".repeat(heads.len()))?;
    for peer in peers {
        if let Some(reason) = &peer.absent {
            let Sdk { name, package, version, .. } = peer;
            let empty = " |".repeat(heads.len() - 1);
            writeln!(page, "| {name} | `{package}` {version} | SKIPPED: {reason} |{empty}")?;
        }
        let cells = || {
            let cells = report.values().flat_map(|results| &results.cells);
            cells.filter(|cell| cell.peer == peer.name && cell.outcome != "absent")
        };
        let total = |role: &&str| {
            let count = |works: bool| {
                let in_role = cells().filter(|cell| cell.role == **role);
                in_role.filter(|cell| !works || cell.outcome == "works").count()
            };
            match (count(true), count(false)) {
                (_, 0) => String::new(),
                (works, all) => format!("{works}/{all}"),
            }
        };
        let totals: Vec<_> = roles.iter().map(total).collect();
        if totals.iter().any(|total| !total.is_empty()) {
            let Sdk { name, package, version, .. } = peer;
            writeln!(page, "| {name} | `{package}` {version} | {} |", totals.join(" | "))?;
        }
    }
    Ok(())
}

/// A row per operation with a cell per peer and role, which has a mark per binding.
fn marks(page: &mut String, cells: &[Cell]) -> Result {
    let mut columns = Vec::new();
    let mut rows = Vec::new();
    let mut found: BTreeMap<_, &str> = BTreeMap::new();
    for cell in cells {
        let column = (&*cell.peer, &*cell.role);
        if !columns.contains(&column) {
            columns.push(column);
        }
        if !rows.contains(&&*cell.operation) {
            rows.push(&*cell.operation);
        }
        found.insert((column, &*cell.operation, &*cell.binding), &cell.outcome);
    }
    // Wide tables are unreadable: a table for each role.
    let mut roles: Vec<_> = columns.iter().map(|(_, role)| *role).collect();
    roles.sort_unstable();
    roles.dedup();
    for role in roles {
        let peers: Vec<_> = columns.iter().filter(|(_, one)| *one == role).collect();
        let names: Vec<_> = peers.iter().map(|(peer, _)| *peer).collect();
        let head = match role {
            "client" => "calls us",
            "proxied-client" => "calls us by proxy",
            "nginx-client" => "calls us through nginx",
            "proxied-server" => "a proxy calls it",
            "proxy" => "calls it by proxy",
            "upstream" => "we call it by proxy",
            _ => "we call it",
        };
        writeln!(page, "| {head} | {} |", names.join(" | "))?;
        writeln!(page, "|---|{}", "---|".repeat(peers.len()))?;
        for operation in &rows {
            let cell = |column: &&(&str, &str)| -> String {
                let bindings = ["any"].into_iter().chain(BINDINGS);
                let marks = bindings.filter_map(|binding| {
                    let outcome = found.get(&(**column, operation, binding))?;
                    Some(match *outcome {
                        "works" => "✓",
                        "explained" => "–",
                        "absent" => "·",
                        _ => "✗",
                    })
                });
                marks.collect()
            };
            let cells: Vec<_> = peers.iter().map(cell).collect();
            writeln!(page, "| {operation} | {} |", cells.join(" | "))?;
        }
        page.push('\n');
    }
    Ok(())
}
