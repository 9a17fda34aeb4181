//! Whether what was measured is within its limits.

use std::process::ExitCode;

use crate::{
    case::{Case, Expected},
    load::Figures,
};

#[derive(Default)]
pub(crate) struct Verdict {
    kept: usize,
    reached: usize,
    missed: Vec<String>,
}

impl Verdict {
    /// Prints a case relative to the floor, and whether it is within its limits.
    pub(crate) fn judge(&mut self, case: &Case, floor: &[Figures], agent: &[Figures]) {
        let (name, (rate, cpu)) = (case.name(), ratios(floor, agent));
        let Expected { must, goal } = case.rate;
        let mark = self.note(rate >= must, rate >= goal, || {
            format!("{name}: x{rate:.2} of the floor, at least x{must:.2}")
        });
        println!(
            "{name:>40}: {}: {mark} (limit x{must:.2}, goal x{goal:.2})",
            compared(floor, agent)
        );
        if let Some(Expected { must, goal }) = case.cpu {
            let mark = self.note(cpu <= must, cpu <= goal, || {
                format!("{name}: x{cpu:.2} of the floor's processor time, at most x{must:.2}")
            });
            println!("{:>40}: {mark} (limit x{must:.2}, goal x{goal:.2})", "its processor time");
        }
    }

    fn note(&mut self, must: bool, goal: bool, said: impl FnOnce() -> String) -> &'static str {
        self.kept += usize::from(must);
        self.reached += usize::from(goal);
        match (must, goal) {
            (_, true) => "reaches its goal",
            (true, false) => "within its limit",
            (false, false) => {
                self.missed.push(said());
                "BEYOND ITS LIMIT"
            }
        }
    }

    pub(crate) fn end(self) -> ExitCode {
        let Self { kept, reached, missed } = self;
        println!();
        for line in &missed {
            println!("{line}");
        }
        println!(
            "{kept} of {} figures within their limit, {reached} reach their goal",
            kept + missed.len()
        );
        if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// An agent against what was measured beside it.
pub(crate) fn compared(beside: &[Figures], agent: &[Figures]) -> String {
    let (rate, cpu) = ratios(beside, agent);
    let seen = median(agent.iter().map(|figures| figures.rate));
    format!("{seen:.0}/s, x{rate:.2}; processor time x{cpu:.2}")
}

/// The medians of what the rounds say, each of which stands for itself: what disturbs one
/// disturbs both servers.
fn ratios(beside: &[Figures], agent: &[Figures]) -> (f64, f64) {
    let pairs = || beside.iter().zip(agent);
    (
        median(pairs().map(|(beside, agent)| agent.rate / beside.rate)),
        median(pairs().map(|(beside, agent)| agent.cpu / beside.cpu)),
    )
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
