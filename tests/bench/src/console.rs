//! The report on the console.

use std::collections::BTreeMap;

use crate::{
    report::Results,
    rows::{Row, text},
    state::State,
};

/// Prints the rows of a run, with how often each was met in the runs of a state.
pub(crate) fn print(results: &Results, rows: &[&Row], state: &State) {
    println!(
        "\n{:<62} {:>12} {:>12} {:>7} {:>7} {:>8} {:>8}",
        "", "", "against", "ratio", "CPU", "must", "goal"
    );
    let mut counts = BTreeMap::new();
    let mut leaders = Vec::new();
    for row in rows {
        let mark = results.mark(row).text(row);
        *counts.entry(mark).or_insert(0_usize) += 1;
        let figure = |server: &str| {
            let figure = results.median(row, server);
            figure.map_or_else(String::new, |figure| text(row.unit, figure))
        };
        let ratio = row.basis.and_then(|_| results.judged(row, row.subject));
        let cpu = |server| results.cpu(row, server);
        let cpu = cpu(row.subject).zip(row.basis.and_then(cpu)).map(|(ours, basis)| ours / basis);
        let two_places =
            |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        println!(
            "{:<22} {:<39} {:>12} {:>12} {:>7} {:>7} {:>8} {:>8} {mark}{}",
            row.id,
            row.title,
            figure(row.subject),
            row.basis.map_or_else(String::new, figure),
            two_places(ratio),
            two_places(cpu),
            row.bound(row.must),
            row.bound(row.goal),
            state.tally(row),
        );
        for rival in state.rivals.iter().filter(|_| row.is_contest) {
            let Some(lead) = results.lead(row, rival) else { continue };
            println!("{rival:>62} {:>12} {lead:>20.2} times better", figure(rival));
        }
        let led = results.leaders(row, &state.rivals).into_iter();
        leaders.extend(led.map(|rival| format!("{rival} leads: {}", row.title)));
    }
    println!();
    leaders.iter().for_each(|leader| println!("{leader}"));
    let counts = counts.iter().filter(|(mark, _)| !mark.is_empty());
    let counts = counts.map(|(mark, count)| format!("{count} {mark}"));
    println!("{}", counts.collect::<Vec<_>>().join(", "));
    for row in rows.iter().filter(|row| !state.is_met(row)) {
        println!("to repeat it, since two of three count: --only {}", row.id);
    }
}
