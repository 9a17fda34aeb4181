//! The chart of the rates, as SVG.

use std::fmt::Write as _;

use crate::{
    rows::{Limit, ROWS, Row, Unit},
    server::{A2A, FLOOR, RELEASE, STARTED},
    state::State,
};

/// Height of a bar, and of the gap below a group of bars.
const BAR: usize = 12;
const GAP: usize = 14;
/// The start of the bars, and the width of the floor's bar.
const LEFT: usize = 300;
const WIDTH: usize = 420;
/// Maximum length of a bar, relative to the floor's. A longer one is cut, with a gap before its end.
const MAX_RATIO: f64 = 1.4;
/// Room for the figure behind the longest bar.
const RIGHT: usize = 110;
const COLORS: [&str; 8] =
    ["#2f6db5", "#7fa8d8", "#1d8f8a", "#d97b29", "#4f9d57", "#a05195", "#b5a12f", "#7a7a7a"];

/// The rates of all servers relative to the floor, a group of bars for each row.
pub(crate) fn svg(state: &State) -> String {
    let results = &state.results;
    let is_shown = |row: &&Row| {
        row.unit == Unit::PerSecond
            && row.subject == A2A
            && row.basis == Some(FLOOR)
            && !row.id.starts_with("durable")
            && results.judged(row, A2A).is_some()
    };
    let rows: Vec<_> = ROWS.iter().filter(is_shown).collect();
    let is_measured = |server: &&str| rows.iter().any(|row| results.judged(row, server).is_some());
    let own = [A2A, RELEASE, STARTED].into_iter().filter(is_measured);
    let servers: Vec<_> = own.chain(state.rivals.iter().map(String::as_str)).collect();
    let mut bars = String::new();
    let mut top = 60 + BAR * servers.len();
    let first = top;
    for row in &rows {
        let middle = top + BAR * servers.len() / 2 + 4;
        let title = escaped(row.title);
        let _ = writeln!(
            bars,
            r#"<text x="{}" y="{middle}" text-anchor="end">{title}</text>"#,
            LEFT - 10
        );
        for (index, server) in servers.iter().enumerate() {
            if let Some(ratio) = results.judged(row, server) {
                bar(&mut bars, top + BAR * index, ratio, COLORS[index % COLORS.len()]);
            }
        }
        if let Limit::AtLeast(must) = row.must {
            let x = LEFT as f64 + must * WIDTH as f64;
            let bottom = top + BAR * servers.len();
            let _ = writeln!(
                bars,
                r##"<line x1="{x:.0}" y1="{top}" x2="{x:.0}" y2="{bottom}" stroke="#c33" stroke-dasharray="2 2"/>"##
            );
        }
        top += BAR * servers.len() + GAP;
    }
    let legend = servers.iter().enumerate().fold(String::new(), |mut legend, (index, server)| {
        let y = 40 + BAR * index;
        let color = COLORS[index % COLORS.len()];
        let _ = writeln!(
            legend,
            r#"<rect x="{LEFT}" y="{y}" width="10" height="9" fill="{color}"/><text x="{}" y="{}">{}</text>"#,
            LEFT + 16,
            y + 9,
            escaped(server)
        );
        legend
    });
    let (width, height) = (LEFT + (MAX_RATIO * WIDTH as f64) as usize + RIGHT, top + 10);
    let floor = LEFT + WIDTH;
    let machine = escaped(&state.machine);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">
<style>.figure {{ font-size: 9px; fill: #555 }}</style>
<rect width="{width}" height="{height}" fill="#fff"/>
<text x="{LEFT}" y="16" font-size="14">Requests or events per second, relative to bare axum or tonic (1.0)</text>
<text x="{LEFT}" y="31">{machine}; dashed: must</text>
{legend}<line x1="{floor}" y1="{first}" x2="{floor}" y2="{top}" stroke="#999"/>
{bars}</svg>
"##
    )
}

/// A bar with its figure; a bar that is cut says so.
fn bar(bars: &mut String, y: usize, ratio: f64, color: &str) {
    let width = (ratio.min(MAX_RATIO) * WIDTH as f64).max(1.0);
    let end = LEFT as f64 + width;
    let height = BAR - 2;
    let _ = writeln!(
        bars,
        r#"<rect x="{LEFT}" y="{y}" width="{width:.0}" height="{height}" fill="{color}"/>"#
    );
    let mut note = "";
    if ratio > MAX_RATIO {
        note = " (bar is cut)";
        let _ = writeln!(
            bars,
            r##"<rect x="{:.0}" y="{y}" width="4" height="{height}" fill="#fff"/>"##,
            end - 14.0
        );
    }
    let _ = writeln!(
        bars,
        r#"<text x="{:.0}" y="{}" class="figure">{ratio:.2}{note}</text>"#,
        end + 4.0,
        y + BAR - 3
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{report::Results, rows::Row};

    fn chart(figures: &[(&'static str, &str, f64)]) -> String {
        let mut results = Results::default();
        for (case, server, figure) in figures {
            results.figure(case, server, 1, *figure);
        }
        svg(&State::new(results, &[Row::known("history").unwrap()], &[]))
    }

    #[test]
    fn chart_shows_every_build_and_setting_that_was_measured() {
        let one = chart(&[("history", A2A, 1.0), ("history", FLOOR, 1.0)]);
        assert!(!one.contains(RELEASE) && !one.contains(STARTED), "{one}");
        let all = chart(&[
            ("history", A2A, 1.0),
            ("history", RELEASE, 0.8),
            ("history", STARTED, 0.5),
            ("history", FLOOR, 1.0),
        ]);
        assert!(all.contains(RELEASE) && all.contains(STARTED), "{all}");
    }

    #[test]
    fn bar_that_is_cut_says_so() {
        let whole = chart(&[("history", A2A, 1.4), ("history", FLOOR, 1.0)]);
        assert!(whole.contains(">1.40</text>") && !whole.contains("cut"), "{whole}");
        let cut = chart(&[("history", A2A, 2.4), ("history", FLOOR, 1.0)]);
        assert!(cut.contains(">2.40 (bar is cut)</text>"), "{cut}");
        assert!(cut.contains(r#"width="588""#), "{cut}");
    }
}
