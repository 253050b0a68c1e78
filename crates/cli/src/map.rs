//! map.svg: the clusters as a picture.
//!
//! A hundred thousand points drawn one over another show only their outline. So the points are
//! counted in small cells. A cell has the colour of the cluster that most of its points belong to,
//! and is the denser the more points it has. Few points are drawn one by one.

mod axis;
mod colours;
mod components;
mod curve;
mod dendrogram;
mod ellipses;
mod grid;
mod legend;
mod marks;
mod svg;
mod view;

use std::fmt::Write;

use crate::summary::Summary;
use axis::Axis;
pub(crate) use curve::{Curve, CurveMark};
pub(crate) use dendrogram::Dendrogram;
pub(crate) use ellipses::Extent;
use grid::Grid;
use svg::{Anchor, Page, Type};
pub(crate) use view::MapPoints;
use view::MapView;

/// Up to this many points are drawn one by one.
const SINGLE_POINTS: usize = 10_000;

/// The largest plot, in pixels; with true scale one of the two is reached.
const PLOT: [f64; 2] = [960.0, 660.0];

/// Room around the plot for titles and ticks.
const LEFT: f64 = 76.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 88.0;
const GAP: f64 = 28.0;

/// Steps of density.
const LEVELS: usize = 6;

const DARK: &str = "#1f2933";
const GREY: &str = "#616e7c";

/// What to draw.
#[derive(Debug)]
pub(crate) struct MapPicture<'a> {
    /// The points.
    pub(crate) points: MapPoints<'a>,
    /// The cluster of each, from 1.
    pub(crate) labels: &'a [u32],
    /// The clusters.
    pub(crate) summary: &'a Summary,
    /// The text below the title.
    pub(crate) subtitle: String,
    /// Covariances around the centres, drawn as ellipses.
    pub(crate) extents: &'a [Extent],
}

/// Draws the clusters as an SVG document.
pub(crate) fn draw(picture: &MapPicture<'_>) -> String {
    let view = MapView::of(&picture.points);
    let plot = Plot::of(&view, picture.labels.len());
    let centres: Vec<[f64; 2]> = picture
        .summary
        .table
        .iter()
        .map(|row| plot.place(&view, None, &row.centre))
        .collect();
    let colours = colours::colour_places(&centres);
    let key = legend::Key::of(picture.summary, plot.height);
    let width = LEFT + plot.width + GAP + key.width;
    let height = TOP + plot.height.max(key.height) + BOTTOM;
    let name = picture
        .summary
        .file
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default();
    let title = format!("{}: {} clusters", shorten(name), picture.summary.clusters);
    let mut page = Page::new(width.round(), height.round(), &title);
    let heading = Type {
        size: 20.0,
        colour: DARK,
        bold: true,
        anchor: Anchor::Start,
    };
    page.text([LEFT, 34.0], 0.0, heading, &title);
    let small = Type {
        size: 12.5,
        colour: GREY,
        bold: false,
        anchor: Anchor::Start,
    };
    page.text([LEFT, 54.0], 0.0, small, &picture.subtitle);
    plot.draw_axes(&mut page, &view);
    let full = if picture.labels.len() <= SINGLE_POINTS {
        plot.draw_points(&mut page, &view, picture, &colours);
        None
    } else {
        Some(plot.draw_cells(&mut page, &view, picture, &colours))
    };
    ellipses::draw(&mut page, &plot, &view, picture, &colours);
    plot.draw_frame(&mut page);
    marks::draw_centres(&mut page, &centres, &colours);
    plot.draw_caption(
        &mut page,
        &view,
        full.is_some(),
        !picture.extents.is_empty(),
    );
    let corner = [LEFT + plot.width + GAP, TOP];
    key.draw(&mut page, corner, picture.summary, &colours, full);
    page.finish()
}

/// The rectangle that the points lie in.
#[derive(Debug)]
struct Plot {
    width: f64,
    height: f64,
    /// The side of a cell; width and height are whole numbers of cells.
    cell: f64,
}

impl Plot {
    fn of(view: &MapView, points: usize) -> Plot {
        let [most_width, most_height] = PLOT;
        let shape = view.shape.unwrap_or(0.62);
        let width = most_width.min(most_height / shape);
        let height = width * shape;
        let cell = (width * height / points as f64)
            .sqrt()
            .clamp(3.0, 6.0)
            .round();
        let whole = |length: f64| (length / cell).round().max(1.0) * cell;
        Plot {
            width: whole(width),
            height: whole(height),
            cell,
        }
    }

    /// The pixel of a point, or of a centre.
    fn place(&self, view: &MapView, row: Option<usize>, values: &[f64]) -> [f64; 2] {
        let [x, y] = view.at(row, values);
        [
            LEFT + view.x.part(x) * self.width,
            TOP + (1.0 - view.y.part(y)) * self.height,
        ]
    }

    fn draw_axes(&self, page: &mut Page, view: &MapView) {
        let (width, height) = (self.width, self.height);
        page.raw(format_args!(
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\" \
             fill=\"#f7f9fb\"/>"
        ));
        let tick = Type {
            size: 11.0,
            colour: GREY,
            bold: false,
            anchor: Anchor::Middle,
        };
        let mut lines = String::new();
        for (value, text) in view.x.ticks((width / 75.0) as usize) {
            let x = LEFT + view.x.part(value) * width;
            let _ = write!(lines, "M{x:.1} {TOP}v{height}");
            page.text([x, TOP + height + 17.0], 0.0, tick, &text);
        }
        for (value, text) in view.y.ticks((height / 60.0) as usize) {
            let y = TOP + (1.0 - view.y.part(value)) * height;
            let _ = write!(lines, "M{LEFT} {y:.1}h{width}");
            let look = Type {
                anchor: Anchor::End,
                ..tick
            };
            page.text([LEFT - 7.0, y + 4.0], 0.0, look, &text);
        }
        page.raw(format_args!(
            "<path d=\"{lines}\" stroke=\"#e1e7ec\" fill=\"none\"/>"
        ));
        let title = Type {
            size: 12.5,
            colour: DARK,
            bold: false,
            anchor: Anchor::Middle,
        };
        let below = [LEFT + width / 2.0, TOP + height + 38.0];
        page.text(below, 0.0, title, &shorten(&view.x.title));
        let beside = [20.0, TOP + height / 2.0];
        page.text(beside, -90.0, title, &shorten(&view.y.title));
    }

    fn draw_frame(&self, page: &mut Page) {
        let (width, height) = (self.width, self.height);
        page.raw(format_args!(
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\" fill=\"none\" \
             stroke=\"#9aa5b1\"/>"
        ));
    }

    /// Draws every point as a dot.
    fn draw_points(
        &self,
        page: &mut Page,
        view: &MapView,
        picture: &MapPicture<'_>,
        colours: &[String],
    ) {
        let mut dots = vec![String::new(); colours.len()];
        for (row, &label) in picture.labels.iter().enumerate() {
            let [x, y] = self.place(view, Some(row), picture.points.row(row));
            let _ = write!(dots[label as usize - 1], "M{x:.1} {y:.1}h0");
        }
        let size = match picture.labels.len() {
            ..=1000 => 6.5,
            1001..=3000 => 4.5,
            _ => 3.2,
        };
        page.raw(format_args!(
            "<g fill=\"none\" stroke-linecap=\"round\" stroke-width=\"{size}\" \
             stroke-opacity=\"0.7\">"
        ));
        for (dots, colour) in dots.iter().zip(colours) {
            page.raw(format_args!("<path stroke=\"{colour}\" d=\"{dots}\"/>"));
        }
        page.raw(format_args!("</g>"));
    }

    /// Draws the counts in cells and returns the count that is drawn at full density.
    fn draw_cells(
        &self,
        page: &mut Page,
        view: &MapView,
        picture: &MapPicture<'_>,
        colours: &[String],
    ) -> u32 {
        let cells = |length: f64| (length / self.cell).round() as usize;
        let mut grid = Grid::new(cells(self.width), cells(self.height));
        let part = |axis: &Axis, value| axis.part(value);
        for (row, &label) in picture.labels.iter().enumerate() {
            let [x, y] = view.at(Some(row), picture.points.row(row));
            grid.count(part(&view.x, x), 1.0 - part(&view.y, y), label);
        }
        let full = grid.full();
        page.raw(format_args!(
            "<g transform=\"translate({LEFT} {TOP}) scale({})\" shape-rendering=\"crispEdges\">",
            self.cell
        ));
        for layer in grid.paths(|count| level(count, full)) {
            page.raw(format_args!(
                "<path fill=\"{}\" fill-opacity=\"{:.2}\" d=\"{}\"/>",
                colours[layer.cluster as usize - 1],
                opacity(layer.level),
                layer.path
            ));
        }
        page.raw(format_args!("</g>"));
        full
    }

    fn draw_caption(&self, page: &mut Page, view: &MapView, cells: bool, ellipses: bool) {
        let mut caption = if cells {
            "Cells have the colour of the cluster with most points there. ".to_owned()
        } else {
            "Every dot is a point. ".to_owned()
        };
        caption.push_str("Numbered circles: centres.");
        if ellipses {
            caption.push_str(" Ellipses: two standard deviations.");
        }
        if view.shape.is_none() {
            caption.push_str(" The axes have different scales.");
        }
        let look = Type {
            size: 11.0,
            colour: GREY,
            bold: false,
            anchor: Anchor::Start,
        };
        page.text([LEFT, TOP + self.height + 62.0], 0.0, look, &caption);
    }
}

/// The step of density of a cell with `count` points, when `full` is drawn at full density.
fn level(count: u32, full: u32) -> usize {
    if count >= full {
        return LEVELS - 1;
    }
    let part = f64::from(count).ln() / f64::from(full).ln();
    (part * (LEVELS - 1) as f64).round() as usize
}

/// How dense a step of density is drawn; a single point must still be seen.
fn opacity(level: usize) -> f64 {
    0.4 + 0.6 * level as f64 / (LEVELS - 1) as f64
}

/// Names of any length fit their place.
fn shorten(text: &str) -> String {
    const LENGTH: usize = 60;
    if text.chars().count() <= LENGTH {
        return text.to_owned();
    }
    text.chars().take(LENGTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Cluster;

    /// A summary of `clusters` clusters with these centres.
    fn summary(columns: &[&str], geo: bool, sizes: &[usize], centres: &[Vec<f64>]) -> Summary {
        let table = sizes
            .iter()
            .zip(centres)
            .enumerate()
            .map(|(index, (&size, centre))| Cluster {
                cluster: index + 1,
                size,
                weight: None,
                centre: centre.clone(),
                spread: 1.0,
            });
        Summary {
            missing: None,
            motet: "0",
            file: "data/<places> & more.csv".to_owned(),
            points: sizes.iter().sum(),
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            dimensions: columns.len(),
            geo,
            standardised: false,
            weight: None,
            constant_columns: Vec::new(),
            method: "annealing".to_owned(),
            clusters: sizes.len(),
            choice: None,
            inertia: 1.0,
            square_unit: None,
            spread_unit: None,
            run_seconds: 1.0,
            threads: 1,
            scaling: None,
            profile: None,
            table: table.collect(),
            trace: Vec::new(),
            sample: None,
            files: Vec::new(),
        }
    }

    /// `count` points in `dim` columns spread evenly over 0 to 100, each in its nearest of
    /// `clusters` clusters. It is a hard case, because every cell is taken.
    fn even(count: usize, dim: usize, clusters: usize) -> (Vec<f64>, Vec<u32>, Vec<Vec<f64>>) {
        let ratios = [
            0.754_877_666_246_693,
            0.569_840_290_998_053,
            0.438_579_021_025_083,
        ];
        let value = |i: usize, d: usize| (i as f64 * ratios[d]).fract() * 100.0;
        let values: Vec<f64> = (0..count)
            .flat_map(|i| (0..dim).map(move |d| (i, d)))
            .map(|(i, d)| value(i, d))
            .collect();
        let centres: Vec<Vec<f64>> = (1..=clusters)
            .map(|i| (0..dim).map(|d| value(i * 7919, d)).collect())
            .collect();
        let nearest = |point: &[f64]| {
            let distance = |centre: &[f64]| -> f64 {
                centre
                    .iter()
                    .zip(point)
                    .map(|(a, b)| (a - b) * (a - b))
                    .sum()
            };
            let order = (0..clusters)
                .min_by(|&a, &b| distance(&centres[a]).total_cmp(&distance(&centres[b])));
            order.map_or(1, |index| index as u32 + 1)
        };
        let labels = values.chunks_exact(dim).map(nearest).collect();
        (values, labels, centres)
    }

    fn draw_even(count: usize, dim: usize, clusters: usize, geo: bool) -> String {
        let (values, labels, centres) = even(count, dim, clusters);
        let sizes: Vec<usize> = (1..=clusters as u32)
            .map(|cluster| labels.iter().filter(|&&label| label == cluster).count())
            .collect();
        let names = ["a", "b", "c"];
        let summary = summary(&names[..dim], geo, &sizes, &centres);
        let scale = vec![1.0; dim];
        let points = MapPoints {
            names: &summary.columns,
            values: &values,
            scale: &scale,
            geo,
        };
        draw(&MapPicture {
            points,
            labels: &labels,
            summary: &summary,
            subtitle: "s".to_owned(),
            extents: &[],
        })
    }

    /// Whether every tag that opens closes, in order, and no text holds a bare mark.
    fn is_well_formed(svg: &str) -> bool {
        let mut open = Vec::new();
        for part in svg.split('<').skip(1) {
            let Some((tag, text)) = part.split_once('>') else {
                return false;
            };
            let name = tag
                .trim_start_matches('/')
                .split([' ', '/'])
                .next()
                .unwrap_or_default();
            if tag.starts_with('/') {
                if open.pop() != Some(name) {
                    return false;
                }
            } else if !tag.ends_with('/') {
                open.push(name);
            }
            let mut entities = text.split('&').skip(1);
            if text.contains('>') || !entities.all(|rest| rest.contains(';')) {
                return false;
            }
        }
        open.is_empty()
    }

    #[test]
    fn a_full_picture_of_150_000_points_is_under_a_megabyte() {
        let svg = draw_even(150_000, 2, 40, false);
        assert!(svg.len() < 1_000_000, "{}", svg.len());
        assert!(is_well_formed(&svg));
        assert!(svg.contains("points in a cell"));
    }

    #[test]
    fn every_kind_of_view_is_well_formed_and_names_its_axes() {
        for (count, dim, geo, words) in [
            (300, 1, false, "row"),
            (300, 2, false, "Every dot is a point"),
            (20_000, 2, true, "longitude"),
            (20_000, 3, false, "second principal component ("),
        ] {
            let svg = draw_even(count, dim, 5, geo);
            assert!(is_well_formed(&svg));
            assert!(svg.contains(words), "{words}");
            assert!(svg.contains("&lt;places&gt; &amp; more.csv: 5 clusters"));
            assert_eq!(svg.matches("font-weight=\"bold\"").count(), 5 + 1);
        }
    }

    #[test]
    fn a_hundred_and_more_clusters_have_a_key_that_ends() {
        let svg = draw_even(6000, 2, 150, false);
        assert!(is_well_formed(&svg));
        let rest = svg
            .split("and ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .unwrap();
        assert!((1..150).contains(&rest.parse::<usize>().unwrap()));
    }

    #[test]
    fn one_point_and_equal_points_are_drawn_too() {
        for (values, labels) in [
            (vec![1.0, 2.0], vec![1]),
            (vec![3.0; 20_000], vec![1; 10_000]),
        ] {
            let summary = summary(&["a", "b"], false, &[labels.len()], &[values[..2].to_vec()]);
            let points = MapPoints {
                names: &summary.columns,
                values: &values,
                scale: &[1.0; 2],
                geo: false,
            };
            let svg = draw(&MapPicture {
                points,
                labels: &labels,
                summary: &summary,
                subtitle: String::new(),
                extents: &[],
            });
            assert!(is_well_formed(&svg) && !svg.contains("NaN"));
        }
    }
}
