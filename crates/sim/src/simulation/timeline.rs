//! A picture of resources over time, as SVG.

use super::Resource;
use std::fmt::Write;

const WIDTH: f64 = 800.0;
const LEFT: f64 = 120.0;
const HEIGHT: f64 = 60.0;
const GAP: f64 = 24.0;

/// Draws the units in use (filled) and the length of the line (a line) of resources over time, up
/// to now, as SVG.
///
/// It shows what was kept since [`Resource::keep_history`]. Of many changes within one of the 800
/// steps of its width it draws the first, the least, the greatest and the last value (U. Jugel and
/// others, M4: a visualization-oriented time series data aggregation, 2014).
///
/// ```
/// use motet_sim::{Simulation, timeline};
///
/// let simulation = Simulation::new(1);
/// let desk = simulation.resource("desk", 1);
/// desk.keep_history();
/// for _ in 0..3 {
///     let desk = desk.clone();
///     simulation.spawn("customer", async move |sim| {
///         let _desk = desk.request().await;
///         sim.sleep(10).await;
///     });
/// }
/// simulation.run().unwrap();
/// assert!(timeline(&[&desk]).starts_with("<svg"));
/// ```
#[must_use]
pub fn timeline(resources: &[&Resource]) -> String {
    let rows = resources.len() as f64;
    let (width, height) = (LEFT + WIDTH + GAP, GAP + rows * (HEIGHT + GAP));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n"
    );
    let end = resources.iter().map(|resource| resource.end()).max();
    let end = end.unwrap_or(0).max(1);
    for (row, resource) in resources.iter().enumerate() {
        let bottom = GAP + HEIGHT + row as f64 * (HEIGHT + GAP);
        draw(&mut svg, resource, bottom, end);
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw(svg: &mut String, resource: &Resource, bottom: f64, end: u64) {
    let history = resource.history();
    let longest = history.iter().map(|(_, _, line)| *line).max().unwrap_or(0);
    let most = resource.units().max(longest).max(1) as f64;
    let x = |time: u64| LEFT + WIDTH * time as f64 / end as f64;
    let y = |value: usize| bottom - HEIGHT * value as f64 / most;
    let steps = |value: fn(&(u64, usize, usize)) -> usize| {
        let mut path = String::new();
        let mut last = None;
        let changes = history.iter().map(|change| (change.0, value(change)));
        let column = |time: u64| (x(time) - LEFT) as u64;
        for (time, value) in visible(changes, column) {
            if let Some(last) = last {
                let _ = write!(path, " {:.1},{:.1}", x(time), y(last));
            }
            let _ = write!(path, " {:.1},{:.1}", x(time), y(value));
            last = Some(value);
        }
        let _ = write!(path, " {:.1},{:.1}", x(end), y(last.unwrap_or(0)));
        path
    };
    let begin = x(history.first().map_or(0, |first| first.0));
    let name = escaped(resource.name());
    let _ = writeln!(
        svg,
        "<g><title>{name}: units in use, and the line</title>\n\
         <text x=\"4\" y=\"{:.1}\">{name}</text>\n\
         <text x=\"4\" y=\"{:.1}\" fill=\"#666\">{} units, line {longest}</text>\n\
         <polygon points=\"{begin:.1},{bottom:.1}{} {:.1},{bottom:.1}\" fill=\"#9ecae1\"/>\n\
         <polyline points=\"{}\" fill=\"none\" stroke=\"#d62728\"/>\n\
         <line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{bottom}\" y2=\"{bottom}\" stroke=\"#000\"/></g>",
        bottom - HEIGHT / 2.0,
        bottom - HEIGHT / 2.0 + 16.0,
        resource.units(),
        steps(|change| change.1),
        x(end),
        steps(|change| change.2).trim_start(),
        x(end),
    );
}

/// What is to be drawn of values that change at times: of each column of the picture the first, the
/// least, the greatest and the last, in their order.
fn visible(
    changes: impl Iterator<Item = (u64, usize)>,
    column: impl Fn(u64) -> u64,
) -> Vec<(u64, usize)> {
    let mut drawn: Vec<(u64, usize)> = Vec::new();
    // The last column, and where it begins in `drawn`.
    let (mut begin, mut open) = (0, None);
    for change in changes {
        if open != Some(column(change.0)) {
            (begin, open) = (drawn.len(), Some(column(change.0)));
        }
        drawn.push(change);
        if drawn.len() - begin > 4 {
            thin(&mut drawn, begin);
        }
    }
    drawn
}

/// Leaves four of the five values of a column: the first, the last, and two that are the least and
/// the greatest.
fn thin(drawn: &mut Vec<(u64, usize)>, begin: usize) {
    let column = &drawn[begin..];
    let values = || column.iter().map(|(_, value)| *value);
    let least = values()
        .min()
        .and_then(|least| values().position(|value| value == least));
    let most = values()
        .max()
        .and_then(|most| values().position(|value| value == most));
    let inner = 1..column.len() - 1;
    let mut needless = inner.filter(|at| Some(*at) != least && Some(*at) != most);
    if let Some(at) = needless.next() {
        drawn.remove(begin + at);
    }
}

fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::super::Simulation;
    use super::*;
    use crate::draw::mix;

    /// The least and the greatest value that is seen in each column: also that with which it
    /// begins.
    fn extent(changes: &[(u64, usize)], columns: u64) -> Vec<[usize; 2]> {
        let mut value = changes[0].1;
        let mut changes = changes.iter().peekable();
        let extents = (0..columns).map(|column| {
            let mut seen = [value; 2];
            while let Some((_, next)) = changes.next_if(|(time, _)| time / 1_000 == column) {
                value = *next;
                seen = [seen[0].min(value), seen[1].max(value)];
            }
            seen
        });
        extents.collect()
    }

    #[test]
    fn nothing_that_can_be_seen_is_left_out_of_a_time_line() {
        let random = |at: u64| mix(at + 1);
        let mut time = 0;
        let mut changes = Vec::new();
        for at in 0..500_000 {
            // Two changes for each unit of time; some columns have few.
            time += match time / 1_000 % 7 {
                0 => 300,
                _ => random(at) % 2,
            };
            let spike = usize::from(random(at).is_multiple_of(5_000)) * 100;
            changes.push((time, spike + (random(at) >> 40) as usize % 10));
        }
        let columns = time / 1_000 + 1;
        let drawn = visible(changes.iter().copied(), |time| time / 1_000);
        assert!(
            drawn.len() as u64 <= 4 * columns,
            "{} of {columns}",
            drawn.len()
        );
        assert!(drawn.is_sorted_by_key(|(time, _)| *time));
        assert_eq!(extent(&drawn, columns), extent(&changes, columns));
        assert_eq!(drawn.last(), changes.last());
        // Few changes are all drawn.
        let few = &changes[..4];
        assert_eq!(visible(few.iter().copied(), |_| 0), few);
    }

    #[test]
    fn a_time_line_of_many_changes_is_no_longer_than_its_width_asks_for() {
        let simulation = Simulation::new(1);
        let desk = simulation.resource("desk", 1);
        desk.keep_history();
        for _ in 0..2 {
            let desk = desk.clone();
            simulation.spawn("customer", async move |sim| {
                for _ in 0..50_000 {
                    let _desk = desk.request().await;
                    sim.sleep(1).await;
                }
            });
        }
        simulation.run().unwrap();
        assert!(desk.history().len() > 100_000);
        let svg = timeline(&[&desk]);
        // For each column two series of four values, each of two points of at most 14 letters.
        assert!(svg.len() < 802 * 2 * 4 * 2 * 14, "{} letters", svg.len());
    }
}
