//! A quantity over the steps of a run, as a picture.

use std::fmt::Write;

use super::axis::{Axis, TickScale};
use super::svg::{Anchor, Page, Type};
use super::{DARK, GREY, LEFT, TOP};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const RIGHT: f64 = 30.0;
const BELOW: f64 = 60.0;

/// A text at one of the points.
#[derive(Debug, Clone)]
pub(crate) struct CurveMark {
    /// The point, from 0.
    pub(crate) at: usize,
    /// What stands there.
    pub(crate) text: String,
}

/// What to draw.
#[derive(Debug)]
pub(crate) struct Curve<'a> {
    pub(crate) title: String,
    /// The text below the title.
    pub(crate) subtitle: String,
    /// What the axes show.
    pub(crate) axes: [&'a str; 2],
    /// The value after each step, from step 1.
    pub(crate) values: Vec<f64>,
    /// Places with a text.
    pub(crate) marks: Vec<CurveMark>,
}

impl Curve<'_> {
    /// Draws the curve as an SVG document.
    pub(crate) fn draw(&self) -> String {
        let size = [LEFT + WIDTH + RIGHT, TOP + HEIGHT + BELOW];
        let mut page = Page::new(size[0], size[1], &self.title);
        let heading = Type {
            bold: true,
            ..text(20.0, DARK, Anchor::Start)
        };
        page.text([LEFT, 34.0], 0.0, heading, &self.title);
        let small = text(12.5, GREY, Anchor::Start);
        page.text([LEFT, 54.0], 0.0, small, &self.subtitle);
        let low = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self
            .values
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        // A run without a step has no values.
        let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
        let last = self.values.len().max(1) as f64;
        let x = Axis::around(self.axes[0], TickScale::Numbers, 1.0, last);
        let y = Axis::around(self.axes[1], TickScale::Numbers, low, high);
        draw_axes(&mut page, &x, &y);
        let place = |at: usize| {
            [
                LEFT + x.part((at + 1) as f64) * WIDTH,
                TOP + (1.0 - y.part(self.values[at])) * HEIGHT,
            ]
        };
        let mut line = String::new();
        for at in 0..self.values.len() {
            let [x, y] = place(at);
            let _ = write!(line, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
        }
        page.raw(format_args!(
            "<path d=\"{line}\" stroke=\"#1f6fb4\" stroke-width=\"2\" fill=\"none\" \
             stroke-linejoin=\"round\"/>"
        ));
        for mark in &self.marks {
            let [x, y] = place(mark.at);
            page.raw(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"#c2410c\"/>"
            ));
            page.text(
                [x + 5.0, y - 6.0],
                0.0,
                text(11.0, DARK, Anchor::Start),
                &mark.text,
            );
        }
        page.finish()
    }
}

fn text(size: f64, colour: &'static str, anchor: Anchor) -> Type {
    Type {
        size,
        colour,
        bold: false,
        anchor,
    }
}

/// Ticks, lines and titles.
fn draw_axes(page: &mut Page, x: &Axis, y: &Axis) {
    let mut grid = String::new();
    let steps = x.ticks(10).into_iter();
    for (value, label) in steps.filter(|(value, _)| value.fract() == 0.0) {
        let at = LEFT + x.part(value) * WIDTH;
        let _ = write!(grid, "M{at:.1} {TOP}v{HEIGHT}");
        let look = text(11.0, GREY, Anchor::Middle);
        page.text([at, TOP + HEIGHT + 17.0], 0.0, look, &label);
    }
    for (value, label) in y.ticks(7) {
        let at = TOP + (1.0 - y.part(value)) * HEIGHT;
        let _ = write!(grid, "M{LEFT} {at:.1}h{WIDTH}");
        let look = text(11.0, GREY, Anchor::End);
        page.text([LEFT - 7.0, at + 4.0], 0.0, look, &label);
    }
    page.raw(format_args!(
        "<path d=\"{grid}\" stroke=\"#e1e7ec\" fill=\"none\"/>"
    ));
    let look = text(12.5, DARK, Anchor::Middle);
    let below = [LEFT + WIDTH / 2.0, TOP + HEIGHT + 42.0];
    page.text(below, 0.0, look, &x.title);
    page.text([20.0, TOP + HEIGHT / 2.0], -90.0, look, &y.title);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_goes_through_all_points_and_names_its_marks() {
        let curve = Curve {
            title: "a <b>".to_owned(),
            subtitle: "c".to_owned(),
            axes: ["step", "ln p"],
            values: vec![-3.0, -2.0, -1.5],
            marks: vec![CurveMark {
                at: 1,
                text: "two".to_owned(),
            }],
        };
        let svg = curve.draw();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("a &lt;b&gt;") && svg.contains(">two<"));
        let line = svg.lines().find(|line| line.contains("#1f6fb4")).unwrap();
        assert_eq!(line.matches('L').count(), 2);
        // A run without a step is drawn too.
        let none = Curve {
            values: Vec::new(),
            marks: Vec::new(),
            ..curve
        };
        assert!(none.draw().ends_with("</svg>\n"));
    }
}
