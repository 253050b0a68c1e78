//! The key beside the plot: colours, numbers and sizes of the clusters, steps of density.

use super::svg::{Anchor, Page, Type};
use super::{DARK, GREY, LEVELS, opacity};
use crate::summary::Summary;
use crate::text::grouped;

const ROW: f64 = 19.0;
const COLUMN: f64 = 128.0;
const HEAD: f64 = 24.0;

/// Room for the steps of density below the clusters.
const DENSITY: f64 = 70.0;

/// The least height: 20 clusters fit in one column however low the plot is.
const LEAST_ROWS: usize = 20;
const MOST_COLUMNS: usize = 2;

/// How the key is laid out.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) width: f64,
    pub(super) height: f64,
    rows: usize,
    shown: usize,
}

impl Key {
    /// Lays out the clusters beside a plot of `plot_height`.
    pub(super) fn of(summary: &Summary, plot_height: f64) -> Key {
        let fit = ((plot_height - HEAD - DENSITY) / ROW) as usize;
        let rows = fit.max(LEAST_ROWS);
        let clusters = summary.table.len();
        let columns = clusters.div_ceil(rows).clamp(1, MOST_COLUMNS);
        let fits = clusters <= rows * columns;
        // The last place says how many clusters are not shown.
        let shown = if fits { clusters } else { rows * columns - 1 };
        let rows = if fits {
            clusters.div_ceil(columns)
        } else {
            rows
        };
        Key {
            width: columns as f64 * COLUMN + 12.0,
            height: HEAD + rows as f64 * ROW + DENSITY,
            rows,
            shown,
        }
    }

    /// Draws the key with its upper left corner at `corner`; cells with `full` points or more
    /// are drawn at full density.
    pub(super) fn draw(
        &self,
        page: &mut Page,
        corner: [f64; 2],
        summary: &Summary,
        colours: &[String],
        full: Option<u32>,
    ) {
        let [left, top] = corner;
        let start = Type {
            size: 12.0,
            colour: DARK,
            bold: false,
            anchor: Anchor::Start,
        };
        let end = Type {
            anchor: Anchor::End,
            ..start
        };
        let head = Type {
            size: 11.0,
            colour: GREY,
            ..start
        };
        let columns = self.shown.div_ceil(self.rows);
        for column in 0..columns {
            let x = left + column as f64 * COLUMN;
            page.text([x, top + 10.0], 0.0, head, "cluster");
            let head_end = Type {
                anchor: Anchor::End,
                ..head
            };
            page.text([x + COLUMN - 22.0, top + 10.0], 0.0, head_end, "points");
        }
        for (index, row) in summary.table.iter().take(self.shown).enumerate() {
            let [x, y] = self.place(corner, index);
            page.raw(format_args!(
                "<rect x=\"{x}\" y=\"{:.1}\" width=\"13\" height=\"13\" rx=\"2\" fill=\"{}\"/>",
                y - 11.0,
                colours[index]
            ));
            page.text([x + 20.0, y], 0.0, start, &row.cluster.to_string());
            page.text([x + COLUMN - 22.0, y], 0.0, end, &grouped(row.size));
        }
        if self.shown < summary.table.len() {
            let more = format!("and {} more", summary.table.len() - self.shown);
            page.text(self.place(corner, self.shown), 0.0, head, &more);
        }
        if let Some(full) = full {
            draw_density(
                page,
                [left, top + HEAD + self.rows as f64 * ROW + 22.0],
                full,
            );
        }
    }

    /// The baseline of a cluster's line.
    fn place(&self, [left, top]: [f64; 2], index: usize) -> [f64; 2] {
        let (column, row) = (index / self.rows, index % self.rows);
        [
            left + column as f64 * COLUMN,
            top + HEAD + row as f64 * ROW + 6.0,
        ]
    }
}

/// The steps of density from one point to `full`.
fn draw_density(page: &mut Page, [left, top]: [f64; 2], full: u32) {
    const SIDE: f64 = 17.0;
    let head = Type {
        size: 11.0,
        colour: GREY,
        bold: false,
        anchor: Anchor::Start,
    };
    page.text([left, top], 0.0, head, "points in a cell");
    for level in 0..LEVELS {
        page.raw(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{SIDE}\" height=\"13\" fill=\"#3e4c59\" \
             fill-opacity=\"{:.2}\"/>",
            left + level as f64 * SIDE,
            top + 8.0,
            opacity(level)
        ));
    }
    page.text([left, top + 36.0], 0.0, head, "1");
    let end = Type {
        anchor: Anchor::End,
        ..head
    };
    let right = left + LEVELS as f64 * SIDE;
    page.text(
        [right, top + 36.0],
        0.0,
        end,
        &format!("{} or more", grouped(full as usize)),
    );
}
