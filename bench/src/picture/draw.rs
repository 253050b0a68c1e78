//! Drawing a panel: frame, lines, bars or steps, legend, notes.

use super::canvas::{Anchor, Canvas, text_width};
use super::panel::{Mark, Origin, Panel, PanelLine};
use super::scale::Scale;
use super::style::{GRID, INK, Look, PALE, PAPER};
use crate::suite::LineShape;
use plotters::prelude::DrawingBackend;

/// The width of every picture, in pixels.
const WIDTH: f64 = 660.0;
/// The height of what is inside the axes.
const PLOT: f64 = 300.0;
const MARGIN: f64 = 14.0;
const RIGHT: f64 = 28.0;
const SMALL: f64 = 15.0;
const TITLE: f64 = 18.0;
const ROW: f64 = 21.0;

/// Where everything of a panel is.
pub(super) struct Layout {
    left: f64,
    top: f64,
    /// Where words below the x axis end.
    below: f64,
    /// The title, cut into lines that fit.
    title: Vec<String>,
    /// Words of x that do not fit beside each other stand on end.
    upright: bool,
    /// The legend's entries, by line and column.
    columns: usize,
    notes: Vec<String>,
}

impl Layout {
    pub(super) fn of(panel: &Panel) -> Layout {
        let widest = |texts: &mut dyn Iterator<Item = &str>| {
            texts
                .map(|text| text_width(SMALL, text))
                .fold(0.0, f64::max)
        };
        let y_ticks = panel.y.ticks(6);
        let left = 44.0 + widest(&mut y_ticks.iter().map(|(_, text)| text.as_str()));
        let title = wrapped(&panel.title, TITLE, WIDTH - 2.0 * MARGIN);
        let top = MARGIN + title.len() as f64 * (TITLE + 5.0) + 8.0;
        let words = match &panel.x {
            Scale::Words(words) => widest(&mut words.iter().map(String::as_str)),
            _ => 0.0,
        };
        let room = match &panel.x {
            Scale::Words(words) => (WIDTH - left - RIGHT) / words.len() as f64,
            _ => f64::INFINITY,
        };
        let upright = words > room - 6.0;
        let below = top + PLOT + if upright { words + 14.0 } else { 22.0 };
        let entry = widest(&mut panel.lines.iter().map(|line| line.label.as_str())) + 44.0;
        let columns = ((WIDTH - 2.0 * MARGIN) / entry).floor().clamp(1.0, 3.0) as usize;
        let notes = panel
            .notes
            .iter()
            .flat_map(|note| wrapped(note, SMALL, WIDTH - 2.0 * MARGIN))
            .collect();
        Layout {
            left,
            top,
            below,
            title,
            upright,
            columns,
            notes,
        }
    }

    pub(super) fn size(&self, panel: &Panel) -> [f64; 2] {
        let rows = self.legend_rows(panel) + self.notes.len();
        [WIDTH, (self.legend() + rows as f64 * ROW + MARGIN).ceil()]
    }

    fn legend(&self) -> f64 {
        self.below + 40.0
    }

    fn legend_rows(&self, panel: &Panel) -> usize {
        panel.lines.len().div_ceil(self.columns)
    }

    fn right(&self) -> f64 {
        WIDTH - RIGHT
    }

    fn bottom(&self) -> f64 {
        self.top + PLOT
    }

    /// Where a value of each axis lies; `None` for what the axes cannot show.
    fn at(&self, panel: &Panel, x: f64, y: f64) -> Option<[f64; 2]> {
        Some([self.x(panel, x)?, self.y(panel, y)?])
    }

    fn x(&self, panel: &Panel, x: f64) -> Option<f64> {
        Some(self.left + panel.x.part(x)? * (self.right() - self.left))
    }

    fn y(&self, panel: &Panel, y: f64) -> Option<f64> {
        Some(self.bottom() - panel.y.part(y)? * PLOT)
    }

    /// The same, at the end of the axis for what lies beyond.
    fn y_within(&self, panel: &Panel, y: f64) -> f64 {
        let y = self.y(panel, y).unwrap_or(self.bottom());
        y.clamp(self.top, self.bottom())
    }
}

pub(super) fn draw<B: DrawingBackend>(panel: &Panel, layout: &Layout, canvas: &Canvas<'_, B>) {
    canvas.fill(PAPER);
    for (at, line) in layout.title.iter().enumerate() {
        let y = MARGIN + (at as f64 + 0.5) * (TITLE + 5.0);
        canvas.text([MARGIN, y], TITLE, INK, Anchor::Start, false, line);
    }
    frame(panel, layout, canvas);
    let looks = panel
        .lines
        .iter()
        .map(|line| Look::of(line.origin, line.turn));
    let looks: Vec<Look> = looks.collect();
    if panel.shape == LineShape::Bars {
        bars(panel, layout, &looks, canvas);
    }
    for (line, look) in panel.lines.iter().zip(&looks) {
        let as_bar = panel.shape == LineShape::Bars && line.origin != Origin::Paper;
        if !as_bar {
            curve(panel, layout, line, look, canvas);
        }
    }
    legend(panel, layout, &looks, canvas);
}

fn frame<B: DrawingBackend>(panel: &Panel, layout: &Layout, canvas: &Canvas<'_, B>) {
    let (left, right, bottom) = (layout.left, layout.right(), layout.bottom());
    for (value, text) in panel.y.ticks(6) {
        let Some(y) = layout.y(panel, value) else {
            continue;
        };
        canvas.line(&[[left, y], [right, y]], 1.0, GRID, None);
        canvas.text([left - 7.0, y], SMALL, INK, Anchor::End, false, &text);
    }
    let words = matches!(panel.x, Scale::Words(_));
    for (value, text) in panel.x.ticks(7) {
        let Some(x) = layout.x(panel, value) else {
            continue;
        };
        if !words {
            canvas.line(&[[x, layout.top], [x, bottom]], 1.0, GRID, None);
        }
        if layout.upright {
            canvas.text([x, bottom + 8.0], SMALL, INK, Anchor::End, true, &text);
        } else {
            canvas.text([x, bottom + 14.0], SMALL, INK, Anchor::Middle, false, &text);
        }
    }
    let corner = [[left, layout.top], [left, bottom], [right, bottom]];
    canvas.line(&corner, 1.0, PALE, None);
    let middle = f64::midpoint(left, right);
    let x_title = [middle, layout.below + 14.0];
    canvas.text(x_title, SMALL, INK, Anchor::Middle, false, &panel.x_title);
    let y_title = [MARGIN + 4.0, layout.top + PLOT / 2.0];
    canvas.text(y_title, SMALL, INK, Anchor::Middle, true, &panel.y_title);
}

/// A line with its band, marks, and what is fitted through it.
fn curve<B: DrawingBackend>(
    panel: &Panel,
    layout: &Layout,
    line: &PanelLine,
    look: &Look,
    canvas: &Canvas<'_, B>,
) {
    // What the axes cannot show breaks the line.
    let visible = |mark: &Mark| layout.at(panel, mark.x, mark.y);
    for run in line.marks.split(|mark| visible(mark).is_none()) {
        let places: Vec<[f64; 2]> = run.iter().filter_map(visible).collect();
        match (line.origin, &line.fit) {
            (Origin::Paper, _) => {}
            // Values that a model goes through may lie at one x.
            (_, Some(_)) => {
                for mark in run {
                    band(panel, layout, std::slice::from_ref(mark), look, canvas);
                }
            }
            (_, None) => band(panel, layout, run, look, canvas),
        }
        let joined = line.origin != Origin::Paper || !matches!(panel.x, Scale::Words(_));
        if line.fit.is_none() && joined {
            let drawn = along(panel.shape, places.clone());
            canvas.line(&drawn, look.width, look.colour, look.dash);
        }
        if panel.shape != LineShape::Steps {
            for at in places {
                look.mark(canvas, at);
            }
        }
    }
    if let Some(fitted) = &line.fit {
        let fitted = fitted.curve.iter();
        let fitted: Vec<_> = fitted
            .filter_map(|&(x, y)| layout.at(panel, x, y))
            .filter(|[_, y]| (layout.top..=layout.bottom()).contains(y))
            .collect();
        canvas.line(&fitted, 1.0, look.colour, Some(2.0));
    }
}

/// From least to most, cut off at the ends of the axis; a stroke when there is one mark only.
fn band<B: DrawingBackend>(
    panel: &Panel,
    layout: &Layout,
    run: &[Mark],
    look: &Look,
    canvas: &Canvas<'_, B>,
) {
    let edge = |x: f64, y: f64| Some([layout.x(panel, x)?, layout.y_within(panel, y)]);
    let upper = run.iter().filter_map(|mark| edge(mark.x, mark.most));
    let lower = run.iter().filter_map(|mark| edge(mark.x, mark.least));
    let upper = along(panel.shape, upper.collect());
    let lower = along(panel.shape, lower.collect());
    let around: Vec<[f64; 2]> = upper.into_iter().chain(lower.into_iter().rev()).collect();
    match around.as_slice() {
        [high, low] => canvas.line(&[*high, *low], 1.0, look.colour, None),
        [_, _, _, ..] => canvas.veil(&around, look.colour, 0.15),
        _ => {}
    }
}

/// The places that a line goes through: steps hold each height up to the next place.
fn along(shape: LineShape, places: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    if shape != LineShape::Steps {
        return places;
    }
    let mut stepped: Vec<[f64; 2]> = Vec::with_capacity(2 * places.len());
    for place in places {
        if let Some([_, height]) = stepped.last().copied() {
            stepped.push([place[0], height]);
        }
        stepped.push(place);
    }
    stepped
}

/// Bars of one value of x stand beside each other, each with a whisker from least to most.
fn bars<B: DrawingBackend>(panel: &Panel, layout: &Layout, looks: &[Look], canvas: &Canvas<'_, B>) {
    let Scale::Words(words) = &panel.x else {
        return;
    };
    let room = (layout.right() - layout.left) / words.len() as f64;
    let floor = layout.y_within(panel, 0.0);
    for word in 0..words.len() {
        let lines = panel.lines.iter().zip(looks);
        let measured = lines.filter(|(line, _)| line.origin != Origin::Paper);
        let here =
            measured.flat_map(|(line, look)| line.marks.iter().map(move |mark| (mark, look)));
        let here: Vec<(&Mark, &Look)> = here.filter(|(mark, _)| mark.x == word as f64).collect();
        let width = (room * 0.8 / here.len().max(1) as f64).min(40.0);
        for (at, (mark, look)) in here.iter().enumerate() {
            let Some([x, y]) = layout.at(panel, mark.x, mark.y) else {
                continue;
            };
            let beside = (at as f64 - here.len() as f64 / 2.0) * width;
            let (from, to) = (x + beside + 1.0, x + beside + width - 1.0);
            let corners = [[from, floor], [from, y], [to, y], [to, floor]];
            canvas.polygon(&corners, look.colour, None);
            let middle = f64::midpoint(from, to);
            let end = |value| [middle, layout.y_within(panel, value)];
            canvas.line(&[end(mark.least), end(mark.most)], 1.0, INK, None);
        }
    }
}

fn legend<B: DrawingBackend>(
    panel: &Panel,
    layout: &Layout,
    looks: &[Look],
    canvas: &Canvas<'_, B>,
) {
    let rows = layout.legend_rows(panel);
    let width = (WIDTH - 2.0 * MARGIN) / layout.columns as f64;
    for (at, (line, look)) in panel.lines.iter().zip(looks).enumerate() {
        let x = MARGIN + (at / rows) as f64 * width;
        let y = layout.legend() + (at % rows) as f64 * ROW;
        if panel.shape == LineShape::Bars && line.origin != Origin::Paper {
            let (right, low) = (x + 20.0, y + 6.0);
            let corners = [
                [x + 8.0, y - 6.0],
                [right, y - 6.0],
                [right, low],
                [x + 8.0, low],
            ];
            canvas.polygon(&corners, look.colour, None);
        } else {
            canvas.line(&[[x, y], [x + 28.0, y]], look.width, look.colour, look.dash);
            if panel.shape != LineShape::Steps {
                look.mark(canvas, [x + 14.0, y]);
            }
        }
        canvas.text([x + 36.0, y], SMALL, INK, Anchor::Start, false, &line.label);
    }
    for (at, note) in layout.notes.iter().enumerate() {
        let y = layout.legend() + (rows + at) as f64 * ROW;
        canvas.text([MARGIN, y], SMALL, PALE, Anchor::Start, false, note);
    }
}

/// `text` cut between words into lines that are at most `width` wide.
fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(size, &format!("{line} {word}")) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_hold_each_height_up_to_the_next_place() {
        let places = vec![[0.0, 1.0], [2.0, 3.0], [4.0, 0.0]];
        let stepped = [[0.0, 1.0], [2.0, 1.0], [2.0, 3.0], [4.0, 3.0], [4.0, 0.0]];
        assert_eq!(along(LineShape::Steps, places.clone()), stepped);
        assert_eq!(along(LineShape::Lines, places.clone()), places);
    }

    #[test]
    fn long_texts_are_cut_between_words() {
        let lines = wrapped("one two three four five", SMALL, 60.0);
        assert!(lines.len() > 1);
        assert_eq!(lines.join(" "), "one two three four five");
        assert!(lines.iter().all(|line| text_width(SMALL, line) <= 60.0));
        assert_eq!(wrapped("unbreakable", SMALL, 1.0), ["unbreakable"]);
        assert!(wrapped("", SMALL, 60.0).is_empty());
    }
}
