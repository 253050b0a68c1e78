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
/// It shows what was kept since [`Resource::keep_history`].
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
        for change in &history {
            let (time, value) = (change.0, value(change));
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

fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;")
}
