//! The chart of the rates, as SVG.

use std::fmt::Write as _;

use crate::{
    report::{Basis, Limit, ROWS, Results, Row, Unit},
    server::A2A,
};

/// Height of a bar, and of the gap below a group of bars.
const BAR: usize = 12;
const GAP: usize = 14;
/// The start of the bars, and the width of the floor's bar.
const LEFT: usize = 300;
const WIDTH: usize = 420;
/// Maximum width of a bar: one faster than the floor exceeds it.
const MAX_RATIO: f64 = 1.4;
const COLORS: [&str; 6] = ["#2f6db5", "#d97b29", "#4f9d57", "#a05195", "#b5a12f", "#7a7a7a"];

/// The rates of all servers relative to the floor, a group of bars for each row.
pub(crate) fn svg(results: &Results, servers: &[String]) -> String {
    let is_shown = |row: &&Row| {
        row.unit == Unit::PerSecond
            && row.basis == Basis::Floor
            && !row.id.starts_with("durable")
            && results.judged(row, A2A).is_some()
    };
    let rows: Vec<_> = ROWS.iter().filter(is_shown).collect();
    let servers: Vec<_> = std::iter::once(A2A).chain(servers.iter().map(String::as_str)).collect();
    let mut bars = String::new();
    let mut top = 60 + BAR * servers.len();
    let first = top;
    for row in rows {
        let middle = top + BAR * servers.len() / 2 + 4;
        let title = escaped(row.title);
        let _ = writeln!(
            bars,
            r#"<text x="{}" y="{middle}" text-anchor="end">{title}</text>"#,
            LEFT - 10
        );
        for (index, server) in servers.iter().enumerate() {
            let Some(ratio) = results.judged(row, server) else { continue };
            let (y, width) = (top + BAR * index, (ratio.min(MAX_RATIO) * WIDTH as f64).max(1.0));
            let color = COLORS[index % COLORS.len()];
            let _ = writeln!(
                bars,
                r#"<rect x="{LEFT}" y="{y}" width="{width:.0}" height="{}" fill="{color}"/>"#,
                BAR - 2
            );
            let _ = writeln!(
                bars,
                r#"<text x="{:.0}" y="{}" class="figure">{ratio:.2}</text>"#,
                LEFT as f64 + width + 4.0,
                y + BAR - 3
            );
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
    let (width, height) = (LEFT + (MAX_RATIO * WIDTH as f64) as usize + 50, top + 10);
    let floor = LEFT + WIDTH;
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">
<style>.figure {{ font-size: 9px; fill: #555 }}</style>
<rect width="{width}" height="{height}" fill="#fff"/>
<text x="{LEFT}" y="20" font-size="14">Requests or events per second, relative to bare axum or tonic (1.0)</text>
{legend}<line x1="{floor}" y1="{first}" x2="{floor}" y2="{top}" stroke="#999"/>
{bars}</svg>
"##
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
