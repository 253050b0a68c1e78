//! Which two coordinates the picture shows and how they lie on the page.

use super::axis::{Axis, TickScale};
use super::components::PrincipalComponents;

/// The most that one side may be longer than the other when both axes have the same scale.
const STRETCH: f64 = 4.0;

/// How points become places in the picture.
#[derive(Debug)]
pub(crate) struct MapView {
    kind: Kind,
    /// From left to right.
    pub(crate) x: Axis,
    /// From bottom to top.
    pub(crate) y: Axis,
    /// Height of the picture over its width that makes distances true in both directions; `None`
    /// when the axes have scales of their own.
    pub(crate) shape: Option<f64>,
}

#[derive(Debug)]
enum Kind {
    /// The two columns as they are.
    Columns,
    /// Latitude and longitude; longitudes below `west` go once around.
    Globe { west: f64 },
    /// One column against the number of the row.
    Rows,
    /// Two principal components. The scale of each column comes off first.
    Components {
        components: PrincipalComponents,
        scale: Vec<f64>,
    },
}

/// The points to look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MapPoints<'a> {
    /// The names of the columns.
    pub(crate) names: &'a [String],
    /// The numbers, row after row.
    pub(crate) values: &'a [f64],
    /// The unit of distance along each column.
    pub(crate) scale: &'a [f64],
    /// Whether the columns are a latitude and a longitude.
    pub(crate) geo: bool,
}

impl MapPoints<'_> {
    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.names.len())
    }

    /// One point.
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.names.len()..][..self.names.len()]
    }

    /// The least and the greatest value of each coordinate that `at` gives.
    fn extent(&self, at: impl Fn(usize, &[f64]) -> [f64; 2]) -> [(f64, f64); 2] {
        let mut extent = [(f64::INFINITY, f64::NEG_INFINITY); 2];
        for (row, values) in self.rows().enumerate() {
            for (side, value) in extent.iter_mut().zip(at(row, values)) {
                *side = (side.0.min(value), side.1.max(value));
            }
        }
        extent
    }
}

impl MapView {
    /// The view that suits the points: a map, the two columns, or the flattest plane of more.
    pub(crate) fn of(points: &MapPoints<'_>) -> MapView {
        match points.names.len() {
            _ if points.geo => MapView::globe(points),
            1 => MapView::rows(points),
            2 => MapView::columns(points),
            _ => MapView::components(points),
        }
    }

    /// Where a point, or a centre (without a row), lies.
    pub(crate) fn at(&self, row: Option<usize>, values: &[f64]) -> [f64; 2] {
        match &self.kind {
            Kind::Columns => [values[0], values[1]],
            Kind::Globe { west } => [around(values[1], *west), values[0]],
            Kind::Rows => {
                let middle = (self.y.low + self.y.high) / 2.0;
                [values[0], row.map_or(middle, |row| (row + 1) as f64)]
            }
            Kind::Components { components, scale } => components.at(&scaled(values, scale)),
        }
    }

    fn columns(points: &MapPoints<'_>) -> MapView {
        let [x, y] = points.extent(|_, values| [values[0], values[1]]);
        let x = Axis::around(&points.names[0], TickScale::Numbers, x.0, x.1);
        let y = Axis::around(&points.names[1], TickScale::Numbers, y.0, y.1);
        let shape = (y.span() / points.scale[1]) / (x.span() / points.scale[0]);
        let shape = (STRETCH.recip()..=STRETCH)
            .contains(&shape)
            .then_some(shape);
        MapView {
            kind: Kind::Columns,
            x,
            y,
            shape,
        }
    }

    /// Plate carrée, true to scale along its middle parallel.
    fn globe(points: &MapPoints<'_>) -> MapView {
        let west = western_edge(points.rows().map(|row| row[1]));
        let [x, y] = points.extent(|_, row| [around(row[1], west), row[0]]);
        let mut x = Axis::around("longitude", TickScale::Longitude, x.0, x.1);
        let mut y = Axis::around("latitude", TickScale::Latitude, y.0, y.1);
        if x.span() > 300.0 {
            (x.low, x.high) = (west, west + 360.0);
        }
        (y.low, y.high) = (y.low.max(-90.0), y.high.min(90.0));
        let middle = ((y.low + y.high) / 2.0).to_radians();
        let shape = widen(&mut x, &mut y, middle.cos().max(0.1));
        MapView {
            kind: Kind::Globe { west },
            x,
            y,
            shape: Some(shape),
        }
    }

    fn rows(points: &MapPoints<'_>) -> MapView {
        let [x, y] = points.extent(|row, values| [values[0], (row + 1) as f64]);
        MapView {
            kind: Kind::Rows,
            x: Axis::around(&points.names[0], TickScale::Numbers, x.0, x.1),
            y: Axis::around("row", TickScale::Numbers, y.0, y.1),
            shape: None,
        }
    }

    fn components(points: &MapPoints<'_>) -> MapView {
        let scale = points.scale.to_vec();
        let (count, dim) = (points.values.len() / points.names.len(), points.names.len());
        let components = PrincipalComponents::find(count, dim, |row, to| {
            to.copy_from_slice(&scaled(points.row(row), &scale));
        });
        let [x, y] = points.extent(|_, values| components.at(&scaled(values, &scale)));
        let title = |which: &str, share: f64| {
            format!(
                "{which} principal component ({:.0}% of the variance)",
                100.0 * share
            )
        };
        let mut x = Axis::around(
            title("first", components.shares[0]),
            TickScale::Numbers,
            x.0,
            x.1,
        );
        let mut y = Axis::around(
            title("second", components.shares[1]),
            TickScale::Numbers,
            y.0,
            y.1,
        );
        let shape = widen(&mut x, &mut y, 1.0);
        MapView {
            kind: Kind::Components { components, scale },
            x,
            y,
            shape: Some(shape),
        }
    }
}

/// Extends the shorter axis until the picture is not too slim; a step to the right is `unit` steps
/// up. Returns the height over the width.
fn widen(x: &mut Axis, y: &mut Axis, unit: f64) -> f64 {
    let extend = |axis: &mut Axis, span: f64| {
        let more = (span - axis.span()).max(0.0) / 2.0;
        (axis.low, axis.high) = (axis.low - more, axis.high + more);
    };
    extend(y, x.span() * unit / STRETCH);
    extend(x, y.span() / (STRETCH * unit));
    y.span() / (x.span() * unit)
}

fn scaled(values: &[f64], scale: &[f64]) -> Vec<f64> {
    values
        .iter()
        .zip(scale)
        .map(|(value, scale)| value / scale)
        .collect()
}

/// The longitude that is `lon` on a map that begins at `west`.
fn around(lon: f64, west: f64) -> f64 {
    let turned = (lon - west).rem_euclid(360.0) + west;
    // 180 and -180 are one meridian: a map from -180 keeps an eastern 180 on its right edge.
    if turned == west && lon > west {
        west + 360.0
    } else {
        turned
    }
}

/// Where to cut the globe: at -180. If the points lie on both sides of that line and leave more
/// than half of the globe free elsewhere, it is another place. The cut is then at the eastern end
/// of the largest free stretch.
fn western_edge(longitudes: impl Iterator<Item = f64>) -> f64 {
    let mut taken = [false; 360];
    for lon in longitudes {
        taken[(lon + 180.0).rem_euclid(360.0) as usize % 360] = true;
    }
    let (mut start, mut length) = (0, 0);
    for from in 0..360 {
        let free = (0..360)
            .take_while(|step| !taken[(from + step) % 360])
            .count();
        if free > length {
            (start, length) = (from, free);
        }
    }
    let both_sides = start > 0 && start + length < 360;
    if length > 180 && both_sides {
        (start + length) as f64 - 180.0
    } else {
        -180.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(names: &[&str], values: &[f64], geo: bool) -> MapView {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let scale = vec![1.0; names.len()];
        MapView::of(&MapPoints {
            names: &names,
            values,
            scale: &scale,
            geo,
        })
    }

    #[test]
    fn two_columns_of_like_range_keep_their_proportions() {
        let near = view(&["a", "b"], &[0.0, 0.0, 10.0, 20.0], false);
        assert!((near.shape.unwrap() - 2.0).abs() < 1e-9);
        let far = view(&["a", "b"], &[0.0, 0.0, 10.0, 2000.0], false);
        assert_eq!(far.shape, None);
        assert_eq!(far.at(Some(0), &[3.0, 4.0]), [3.0, 4.0]);
    }

    #[test]
    fn a_map_puts_longitude_across_and_narrows_it_with_latitude() {
        let map = view(&["lat", "lon"], &[55.0, 10.0, 65.0, 20.0], true);
        assert_eq!(map.at(Some(0), &[55.0, 10.0]), [10.0, 55.0]);
        assert!((map.shape.unwrap() - 2.0).abs() < 1e-6);
    }

    #[test]
    fn a_map_across_the_date_line_is_in_one_piece() {
        let map = view(
            &["lat", "lon"],
            &[-17.0, 177.0, -16.0, -179.0, -18.0, 179.0],
            true,
        );
        assert!(map.x.span() < 10.0);
        assert_eq!(map.at(Some(1), &[-16.0, -179.0])[0], 181.0);
    }

    #[test]
    fn a_world_map_begins_at_the_date_line() {
        let lon = |i: usize| -179.5 + 3.0 * i as f64;
        let values: Vec<f64> = (0..120).flat_map(|i| [10.0, lon(i)]).collect();
        let map = view(&["lat", "lon"], &values, true);
        assert_eq!((map.x.low, map.x.high), (-180.0, 180.0));
        assert_eq!(around(180.0, -180.0), 180.0);
        assert_eq!(around(270.0, -180.0), -90.0);
    }

    #[test]
    fn a_region_away_from_the_date_line_is_not_cut() {
        let map = view(&["lat", "lon"], &[40.0, -5.0, 50.0, 5.0], true);
        assert!(map.x.low > -6.0 && map.x.high < 6.0);
    }

    #[test]
    fn one_column_is_drawn_against_the_rows() {
        let strip = view(&["a"], &[5.0, 7.0, 6.0], false);
        assert_eq!(strip.at(Some(2), &[6.0]), [6.0, 3.0]);
        assert_eq!(strip.at(None, &[6.0]), [6.0, 2.0]);
    }

    #[test]
    fn more_columns_are_seen_along_their_components() {
        let plane = view(
            &["a", "b", "c"],
            &[0.0, 0.0, 1.0, 6.0, 8.0, 1.0, 12.0, 16.0, 1.0],
            false,
        );
        assert!((plane.at(None, &[12.0, 16.0, 1.0])[0] - 10.0).abs() < 1e-9);
        assert!(
            plane.x.title.contains("100% of the variance"),
            "{}",
            plane.x.title
        );
    }
}
