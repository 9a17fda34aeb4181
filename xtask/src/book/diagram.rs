//! Diagrams: text with box-drawing characters becomes an SVG.
//!
//! `docs/diagrams/*.txt` are readable as they are. Each box-drawing character becomes lines to
//! those edges of its cell that it touches, `▶◀▲▼` become arrowheads, and everything else is text
//! at its place in the grid. `docs/diagrams/*.term` are recorded sessions, drawn as a terminal:
//! commands begin with `$ `.

use std::fmt::Write as _;

use crate::{Result, workspace};

/// The width and height of a character cell.
const CELL: (f64, f64) = (8.0, 16.0);
const MARGIN: f64 = 12.0;

const FOLDER: &str = "docs/diagrams";

/// The edges of a cell that a character touches: left, right, up, down; whether it is dashed.
struct Arms([bool; 4], bool);

/// Writes the SVG of every diagram, or with `check` compares them.
pub(super) fn run(check: bool) -> Result<usize> {
    let mut count = 0;
    let mut up_to_date = true;
    for path in workspace::files(&workspace::root().join(FOLDER))? {
        let draw = match path.extension().and_then(|extension| extension.to_str()) {
            Some("txt") => draw,
            Some("term") => draw_terminal,
            _ => continue,
        };
        let svg = draw(&workspace::read(&path)?);
        let target = path.with_extension("svg");
        // Unchanged files are not reported.
        if std::fs::read_to_string(&target).ok().as_deref() != Some(&svg) {
            up_to_date &= workspace::write_or_check(&target, &svg, check)?;
        }
        count += 1;
    }
    if up_to_date { Ok(count) } else { Err("run `cargo xtask book` to draw the diagrams".into()) }
}

fn draw(text: &str) -> String {
    let rows: Vec<Vec<char>> = text.trim_end().lines().map(|line| line.chars().collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = number(columns) * CELL.0 + 2.0 * MARGIN;
    let height = number(rows.len()) * CELL.1 + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"ui-monospace, monospace\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"#fff\"/>\n\
         <g stroke=\"#2f6db5\" stroke-width=\"1.5\" fill=\"none\">\n"
    );
    for (y, row) in rows.iter().enumerate() {
        for (x, character) in row.iter().enumerate() {
            let (left, top) = (MARGIN + number(x) * CELL.0, MARGIN + number(y) * CELL.1);
            lines(&mut svg, *character, left, top);
        }
    }
    svg.push_str("</g>\n<g fill=\"#222\">\n");
    for (y, row) in rows.iter().enumerate() {
        texts(&mut svg, row, MARGIN + number(y) * CELL.1);
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn draw_terminal(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    let bar = 2.0 * CELL.1;
    let width = number(columns) * CELL.0 + 2.0 * MARGIN;
    let height = number(lines.len()) * CELL.1 + bar + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"ui-monospace, monospace\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1b1f27\"/>\n"
    );
    for (button, color) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = MARGIN + 6.0 + number(button) * 18.0;
        let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"{}\" r=\"5\" fill=\"{color}\"/>", CELL.1);
    }
    for (row, line) in lines.iter().enumerate() {
        let y = bar + number(row) * CELL.1 + CELL.1 * 0.75;
        let color = if line.starts_with("$ ") { "#8fd18a" } else { "#d6dae0" };
        let length = number(line.chars().count()) * CELL.0;
        if !line.is_empty() {
            let _ = writeln!(
                svg,
                "<text x=\"{MARGIN}\" y=\"{y}\" textLength=\"{length}\" \
                 lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" fill=\"{color}\">{}</text>",
                escaped(line)
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The lines or the arrowhead of one cell.
fn lines(svg: &mut String, character: char, left: f64, top: f64) {
    let (right, bottom) = (left + CELL.0, top + CELL.1);
    let (x, y) = (left + CELL.0 / 2.0, top + CELL.1 / 2.0);
    if let Some(Arms(arms, is_dashed)) = arms(character) {
        let ends = [(left, y), (right, y), (x, top), (x, bottom)];
        let dash = if is_dashed { " stroke-dasharray=\"4 4\"" } else { "" };
        let mut path = String::new();
        for ((end_x, end_y), _) in ends.iter().zip(arms).filter(|(_, is_drawn)| *is_drawn) {
            let _ = write!(path, "M{x} {y}L{end_x} {end_y}");
        }
        let _ = writeln!(svg, "<path d=\"{path}\"{dash}/>");
    }
    let points = match character {
        '▶' => format!("{left},{} {right},{y} {left},{}", y - 4.0, y + 4.0),
        '◀' => format!("{right},{} {left},{y} {right},{}", y - 4.0, y + 4.0),
        '▲' => format!("{},{bottom} {x},{} {},{bottom}", x - 4.0, y - 2.0, x + 4.0),
        '▼' => format!("{},{top} {x},{} {},{top}", x - 4.0, y + 2.0, x + 4.0),
        _ => return,
    };
    let _ = writeln!(svg, "<polygon points=\"{points}\" fill=\"#2f6db5\"/>");
}

/// The texts of a row; words that are one space apart are one text.
fn texts(svg: &mut String, row: &[char], top: f64) {
    let is_text = |character: &char| arms(*character).is_none() && !"▶◀▲▼".contains(*character);
    let mut start = 0;
    while start < row.len() {
        let is_start = is_text(&row[start]) && row[start] != ' ';
        if !is_start {
            start += 1;
            continue;
        }
        let mut end = start;
        while row.get(end).is_some_and(is_text)
            && !(row[end] == ' ' && row.get(end + 1).is_none_or(|next| *next == ' '))
        {
            end += 1;
        }
        let text: String = row[start..end].iter().collect();
        let text = escaped(text.trim_end());
        let (x, y) = (MARGIN + number(start) * CELL.0, top + CELL.1 * 0.75);
        let length =
            number(row[start..end].iter().collect::<String>().trim_end().chars().count()) * CELL.0;
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\">\
             {text}</text>"
        );
        start = end;
    }
}

fn arms(character: char) -> Option<Arms> {
    let [left, right, up, down] = match character {
        '─' | '┄' => [true, true, false, false],
        '│' | '┆' => [false, false, true, true],
        '┌' => [false, true, false, true],
        '┐' => [true, false, false, true],
        '└' => [false, true, true, false],
        '┘' => [true, false, true, false],
        '├' => [false, true, true, true],
        '┤' => [true, false, true, true],
        '┬' => [true, true, false, true],
        '┴' => [true, true, true, false],
        '┼' => [true, true, true, true],
        _ => return None,
    };
    Some(Arms([left, right, up, down], "┄┆".contains(character)))
}

#[expect(clippy::cast_precision_loss, reason = "a diagram has fewer than 2^52 columns")]
fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_lines_and_its_text() {
        let svg = draw("┌────┐\n│ a<b │\n└────┘\n");
        assert!(svg.contains(">a&lt;b</text>"), "{svg}");
        assert_eq!(svg.matches("<path").count(), 6 + 2 + 6);
        assert!(svg.contains("d=\"M16 20L20 20M16 20L16 28\""), "{svg}");
    }

    #[test]
    fn a_terminal_shows_commands_in_another_color() {
        let svg = draw_terminal("$ a2a send <text>\n\nhi\n");
        assert!(svg.contains("fill=\"#8fd18a\">$ a2a send &lt;text&gt;</text>"), "{svg}");
        assert!(svg.contains("fill=\"#d6dae0\">hi</text>"), "{svg}");
        assert_eq!(svg.matches("<text").count(), 2);
    }

    #[test]
    fn words_two_spaces_apart_are_two_texts() {
        let svg = draw("one two  three");
        assert_eq!(svg.matches("<text").count(), 2);
        assert!(svg.contains(">one two</text>"), "{svg}");
    }
}
