//! Ellipses of two standard deviations around the centres.

use super::view::MapView;
use super::{LEFT, MapPicture, Plot, TOP};
use crate::map::svg::Page;

/// How a component extends: its centre and its covariance, in the units of the columns.
#[derive(Debug, Clone)]
pub(crate) struct Extent {
    pub(crate) centre: Vec<f64>,
    /// A square matrix, row after row.
    pub(crate) covariance: Vec<f64>,
}

/// An ellipse in pixels: half axes, and the angle of the first in degrees.
type Ellipse = ([f64; 2], f64);

/// Draws the ellipses of all components that have an area in this view.
pub(super) fn draw(
    page: &mut Page,
    plot: &Plot,
    view: &MapView,
    picture: &MapPicture<'_>,
    colours: &[String],
) {
    if picture.extents.is_empty() {
        return;
    }
    let (width, height) = (plot.width, plot.height);
    page.raw(format_args!(
        "<clipPath id=\"plot\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" \
         height=\"{height}\"/></clipPath><g clip-path=\"url(#plot)\" fill-opacity=\"0.08\" \
         stroke-width=\"1.5\">"
    ));
    let scale = [width / view.x.span(), -height / view.y.span()];
    for (extent, colour) in picture.extents.iter().zip(colours) {
        let at = view.at(None, &extent.centre);
        let x = LEFT + (at[0] - view.x.low) * scale[0];
        let y = TOP + height + (at[1] - view.y.low) * scale[1];
        let Some(([a, b], degrees)) = ellipse(view, scale, extent) else {
            continue;
        };
        page.raw(format_args!(
            "<ellipse cx=\"{x:.1}\" cy=\"{y:.1}\" rx=\"{a:.1}\" ry=\"{b:.1}\" \
             transform=\"rotate({degrees:.1} {x:.1} {y:.1})\" fill=\"{colour}\" \
             stroke=\"{colour}\"/>"
        ));
    }
    page.raw(format_args!("</g>"));
}

/// Two standard deviations. The view is linear in the columns, so unit steps give its matrix.
fn ellipse(view: &MapView, scale: [f64; 2], extent: &Extent) -> Option<Ellipse> {
    let dim = extent.centre.len();
    let at = view.at(None, &extent.centre);
    let steps: Vec<[f64; 2]> = (0..dim)
        .map(|column| {
            // A step as long as the component: small and large columns lose no digits.
            let step = extent.covariance[column * (dim + 1)].sqrt().max(1e-300);
            let mut beside = extent.centre.clone();
            beside[column] += step;
            let to = view.at(None, &beside);
            [0, 1].map(|side| (to[side] - at[side]) / step * scale[side])
        })
        .collect();
    let product = |left: usize, right: usize| -> f64 {
        let pairs = (0..dim).flat_map(|i| (0..dim).map(move |j| (i, j)));
        pairs
            .map(|(i, j)| steps[i][left] * extent.covariance[i * dim + j] * steps[j][right])
            .sum()
    };
    let [a, b, d] = [product(0, 0), product(0, 1), product(1, 1)];
    let middle = (a + d) / 2.0;
    let half = ((a - d) / 2.0).hypot(b);
    let axes = [middle + half, (middle - half).max(0.0)].map(|square| 2.0 * square.sqrt());
    let drawn = axes[1] > 0.05 && axes[0].is_finite();
    drawn.then(|| (axes, (0.5 * (2.0 * b).atan2(a - d)).to_degrees()))
}

#[cfg(test)]
mod tests {
    use super::super::view::MapPoints;
    use super::*;

    #[test]
    fn an_ellipse_has_the_axes_and_the_angle_of_its_matrix() {
        let names = ["a".to_owned(), "b".to_owned()];
        let view = MapView::of(&MapPoints {
            names: &names,
            values: &[0.0, 0.0, 10.0, 10.0],
            scale: &[1.0; 2],
            geo: false,
        });
        // Variances 9 and 1 along the diagonals.
        let extent = Extent {
            centre: vec![5.0, 5.0],
            covariance: vec![5.0, 4.0, 4.0, 5.0],
        };
        let ([a, b], degrees) = ellipse(&view, [10.0, -10.0], &extent).unwrap();
        assert!(
            (a - 60.0).abs() < 1e-6 && (b - 20.0).abs() < 1e-6,
            "{a} {b}"
        );
        // Up on the page is down in pixels.
        assert!((degrees + 45.0).abs() < 1e-6, "{degrees}");
    }
}
