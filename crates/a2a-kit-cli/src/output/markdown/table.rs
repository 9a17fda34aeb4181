//! A table as lines of text.

use unicode_width::UnicodeWidthStr as _;

/// Wider cells are not aligned: with them, each row would have their width.
const MAX_ALIGNED: usize = 40;

/// A table under construction. Its cells have one line and no styles.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn start_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn start_cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// Adds text, which is escaped already, to the last cell.
    pub(super) fn push(&mut self, text: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(&text.replace('\n', " "));
        }
    }

    /// The lines of the table. The first row is the heading.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width().min(MAX_ALIGNED));
            }
        }
        let mut lines: Vec<_> = self.rows.iter().map(|row| line(row, &widths)).collect();
        if !lines.is_empty() {
            let rules: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
            lines.insert(1, rules.join("─┼─"));
        }
        lines
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    // The parser adds the cells that a row lacks.
    let used = row.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1);
    for (index, (cell, width)) in row.iter().zip(widths).take(used).enumerate() {
        if index > 0 {
            line.push_str(" │ ");
        }
        line.push_str(cell);
        if index + 1 < used {
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width())));
        }
    }
    line
}
