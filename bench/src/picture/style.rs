//! Colours and marks that can be told apart, also by eyes that see fewer colours and on paper
//! without any.

use super::canvas::Canvas;
use super::panel::Origin;
use plotters::prelude::*;

pub(super) const PAPER: RGBColor = RGBColor(255, 255, 255);
pub(super) const INK: RGBColor = RGBColor(31, 41, 51);
pub(super) const PALE: RGBColor = RGBColor(97, 110, 124);
pub(super) const GRID: RGBColor = RGBColor(222, 227, 232);

/// Motet is blue; Okabe and Ito's blues, and two more.
const OWN: [RGBColor; 4] = [
    RGBColor(0, 114, 178),
    RGBColor(86, 180, 233),
    RGBColor(68, 76, 168),
    RGBColor(0, 140, 140),
];

/// Peers have Okabe and Ito's other colours, without yellow and black, which are lost on one of the
/// two backgrounds, then brown and olive.
const OTHERS: [RGBColor; 6] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(140, 74, 47),
    RGBColor(117, 117, 24),
];

/// The papers' values.
const FACT: RGBColor = RGBColor(119, 119, 119);

/// How a line looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    pub(super) width: f64,
    /// The length of strokes and gaps.
    pub(super) dash: Option<f64>,
    /// One of [`SHAPES`].
    shape: &'static [[f64; 2]],
    /// Marks with white inside are the papers'.
    hollow: bool,
}

/// The corners of marks around their place; a disc has none.
const SHAPES: [&[[f64; 2]]; 6] = [
    &[],
    &[[-3.5, -3.5], [3.5, -3.5], [3.5, 3.5], [-3.5, 3.5]],
    &[[0.0, -4.5], [4.5, 3.5], [-4.5, 3.5]],
    &[[0.0, -5.0], [4.5, 0.0], [0.0, 5.0], [-4.5, 0.0]],
    &[[0.0, 4.5], [4.5, -3.5], [-4.5, -3.5]],
    &[[-1.5, -5.0], [1.5, -5.0], [1.5, 5.0], [-1.5, 5.0]],
];

impl Look {
    /// Of the line that has this place among those of its origin.
    pub(super) fn of(origin: Origin, turn: usize) -> Look {
        match origin {
            Origin::Paper => Look {
                colour: FACT,
                width: 1.0,
                dash: Some(4.0),
                shape: SHAPES[turn % SHAPES.len()],
                hollow: true,
            },
            Origin::Motet | Origin::Peer => {
                // Neither colour nor mark of the first peer is motet's.
                let (colours, first): (&[RGBColor], usize) = match origin {
                    Origin::Motet => (&OWN, 0),
                    _ => (&OTHERS, 1),
                };
                let round = turn / colours.len();
                Look {
                    colour: colours[turn % colours.len()],
                    width: if origin == Origin::Motet { 2.5 } else { 1.5 },
                    dash: (round > 0).then_some(3.0 + 3.0 * round as f64),
                    shape: SHAPES[(first + turn + round) % SHAPES.len()],
                    hollow: false,
                }
            }
        }
    }

    /// The line's mark at a place.
    pub(super) fn mark<B: DrawingBackend>(&self, canvas: &Canvas<'_, B>, [x, y]: [f64; 2]) {
        let (fill, edge) = if self.hollow {
            (PAPER, Some(self.colour))
        } else {
            (self.colour, None)
        };
        if self.shape.is_empty() {
            return canvas.disc([x, y], 4.0, fill, edge);
        }
        let corners = self.shape.iter().map(|[dx, dy]| [x + dx, y + dy]);
        canvas.polygon(&corners.collect::<Vec<_>>(), fill, edge);
    }
}
