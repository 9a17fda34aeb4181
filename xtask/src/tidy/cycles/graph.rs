//! Cycles of a graph.

use std::collections::{BTreeMap, BTreeSet};

/// The nodes that each node leads to.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

/// The sets of two or more nodes that all reach each other.
pub(super) fn cycles(graph: &Graph) -> Vec<Vec<String>> {
    let reachable: BTreeMap<_, _> =
        graph.keys().map(|node| (node.as_str(), reachable(graph, node))).collect();
    let mut cycles = BTreeSet::new();
    for (node, from_here) in &reachable {
        let cycle: Vec<_> = from_here
            .iter()
            .filter(|other| reachable.get(*other).is_some_and(|back| back.contains(node)))
            .map(|other| (*other).to_owned())
            .collect();
        if cycle.len() > 1 {
            cycles.insert(cycle);
        }
    }
    cycles.into_iter().collect()
}

/// The nodes that `node` reaches by one step or more.
fn reachable<'a>(graph: &'a Graph, node: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = graph.get(node).into_iter().flatten().map(String::as_str).collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(graph.get(next).into_iter().flatten().map(String::as_str));
        }
    }
    found
}
