//! The centres: circles with the numbers of the clusters, moved apart where they would hide each
//! other.

use super::DARK;
use super::svg::{Anchor, Page, Type};

/// More centres than this are dots without numbers.
const NUMBERED: usize = 120;

const ROUNDS: usize = 80;

/// Draws the centres of the clusters, the largest cluster on top. A circle that was moved keeps a
/// line to a dot at the place of its centre.
pub(super) fn draw_centres(page: &mut Page, centres: &[[f64; 2]], colours: &[String]) {
    if centres.len() > NUMBERED {
        for ([x, y], colour) in centres.iter().zip(colours).rev() {
            page.raw(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\" \
                 stroke=\"#ffffff\"/>"
            ));
        }
        return;
    }
    let radius = if centres.len() <= 40 { 9.0 } else { 8.0 };
    let circles = apart(centres, 2.0 * radius + 3.0);
    for (from, to) in centres.iter().zip(&circles) {
        if distance(*from, *to) > 3.0 {
            page.raw(format_args!(
                "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{DARK}\" stroke-width=\"1\"/>\
                 <circle cx=\"{0:.1}\" cy=\"{1:.1}\" r=\"2\" fill=\"{DARK}\"/>",
                from[0], from[1], to[0], to[1]
            ));
        }
    }
    let look = Type {
        size: radius * 1.15,
        colour: DARK,
        bold: true,
        anchor: Anchor::Middle,
    };
    for (index, ([x, y], colour)) in circles.iter().zip(colours).enumerate().rev() {
        page.raw(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{}\" fill=\"#ffffff\"/>\
             <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"#ffffff\" \
             stroke=\"{colour}\" stroke-width=\"2\"/>",
            radius + 2.0
        ));
        page.text([*x, y + radius * 0.4], 0.0, look, &(index + 1).to_string());
    }
}

/// Pushes places apart until none are nearer than `least`, or the rounds are over.
fn apart(places: &[[f64; 2]], least: f64) -> Vec<[f64; 2]> {
    let mut moved = places.to_vec();
    for _ in 0..ROUNDS {
        let mut still = true;
        for j in 1..moved.len() {
            for i in 0..j {
                let gap = distance(moved[i], moved[j]);
                if gap >= least {
                    continue;
                }
                still = false;
                let [x, y] = if gap > 1e-6 {
                    [0, 1].map(|axis| (moved[j][axis] - moved[i][axis]) / gap)
                } else {
                    // On one spot: each pair goes its own way.
                    let angle = (i + 2 * j) as f64;
                    [angle.cos(), angle.sin()]
                };
                let push = (least - gap) / 2.0 + 0.05;
                moved[i] = [moved[i][0] - push * x, moved[i][1] - push * y];
                moved[j] = [moved[j][0] + push * x, moved[j][1] + push * y];
            }
        }
        if still {
            break;
        }
    }
    moved
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_are_apart_stay() {
        let places = [[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]];
        assert_eq!(apart(&places, 20.0), places);
    }

    #[test]
    fn crowded_places_move_apart_but_not_away() {
        let places: Vec<[f64; 2]> = (0..12)
            .map(|i| [f64::from(i % 4) * 7.0, f64::from(i / 4) * 7.0])
            .collect();
        let mut places = places;
        places.push(places[5]);
        let moved = apart(&places, 20.0);
        for j in 1..moved.len() {
            for i in 0..j {
                assert!(distance(moved[i], moved[j]) > 19.0, "{i} {j}");
            }
            assert!(distance(moved[j], places[j]) < 60.0);
        }
    }
}
