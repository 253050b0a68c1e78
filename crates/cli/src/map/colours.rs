//! Colours of the clusters: well apart, and different between neighbours.

/// Twenty colours as far apart as can be in the perceptual space OKLab. They come from
/// farthest-point selection over lightness 0.42 to 0.76 and chroma 0.085 to 0.185. So each can be
/// told from the others and none is too pale beside the white of thin cells. The nearest pair is
/// 0.12 apart.
const PALETTE: [[u8; 3]; 20] = [
    [0x00, 0x5a, 0x78],
    [0xff, 0x87, 0x00],
    [0xd2, 0x87, 0xff],
    [0xa5, 0x0f, 0x00],
    [0x3c, 0xa5, 0x2d],
    [0x96, 0x3c, 0xa5],
    [0x3c, 0xb4, 0xff],
    [0x00, 0x69, 0x00],
    [0x78, 0xc3, 0xa5],
    [0x00, 0x78, 0xe1],
    [0xa5, 0x87, 0x4b],
    [0x00, 0x96, 0x96],
    [0xe1, 0x96, 0xa5],
    [0x3c, 0x3c, 0xb4],
    [0xc3, 0xb4, 0x00],
    [0x78, 0x5a, 0x0f],
    [0xd2, 0x4b, 0x87],
    [0x87, 0x78, 0xb4],
    [0x78, 0x3c, 0x5a],
    [0xd2, 0x4b, 0x00],
];

/// Two colours nearer than this look alike at a glance.
const ALIKE: f64 = 0.12;

/// One colour for each place, as `#rrggbb`. Places are taken in order. Each gets the colour that
/// clashes least with those before it. A clash counts more the nearer the places and the colours.
/// Up to 20 places all differ; beyond, a colour comes again only far from where it was.
pub(crate) fn colour_places(places: &[[f64; 2]]) -> Vec<String> {
    let labs: Vec<[f64; 3]> = PALETTE.iter().map(|&rgb| oklab(rgb)).collect();
    let near = typical_distance(places);
    let mut chosen: Vec<usize> = Vec::with_capacity(places.len());
    let mut uses = [0_usize; PALETTE.len()];
    for &place in places {
        let least = *uses.iter().min().unwrap_or(&0);
        let clash = |colour: usize| -> f64 {
            let against = chosen.iter().zip(places).map(|(&other, &at)| {
                let apart = distance2(place, at) / (near * near) + 1e-3;
                let alike = distance3(labs[colour], labs[other]) / ALIKE;
                1.0 / (apart * (alike * alike + 1e-2))
            });
            against.sum()
        };
        let free = (0..PALETTE.len()).filter(|&colour| uses[colour] == least);
        let best = free
            .min_by(|&a, &b| clash(a).total_cmp(&clash(b)))
            .unwrap_or(0);
        uses[best] += 1;
        chosen.push(best);
    }
    chosen
        .into_iter()
        .map(|colour| hex(PALETTE[colour]))
        .collect()
}

/// The mean distance from a place to the nearest other.
fn typical_distance(places: &[[f64; 2]]) -> f64 {
    let nearest = |i: usize| {
        let others = places.iter().enumerate().filter(|&(j, _)| j != i);
        others
            .map(|(_, &other)| distance2(places[i], other))
            .fold(f64::INFINITY, f64::min)
            .sqrt()
    };
    let total: f64 = (0..places.len())
        .map(nearest)
        .filter(|d| d.is_finite())
        .sum();
    (total / places.len().max(1) as f64).max(f64::MIN_POSITIVE.sqrt())
}

fn distance2(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)
}

fn distance3(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}

fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Björn Ottosson's OKLab: equal distances look about equally different.
fn oklab(rgb: [u8; 3]) -> [f64; 3] {
    let [r, g, b] = rgb.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    });
    let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
    let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
    let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// `count` places spread over a square without order.
    fn scatter(count: usize) -> Vec<[f64; 2]> {
        let fraction = |i: usize, ratio: f64| (i as f64 * ratio).fract() * 100.0;
        (0..count)
            .map(|i| [fraction(i, 0.754_877_666), fraction(i, 0.569_840_296)])
            .collect()
    }

    #[test]
    fn oklab_knows_white_and_black() {
        let near = |a: [f64; 3], b: [f64; 3]| distance3(a, b) < 1e-4;
        assert!(near(oklab([255; 3]), [1.0, 0.0, 0.0]));
        assert!(near(oklab([0; 3]), [0.0; 3]));
    }

    #[test]
    fn the_palette_is_well_apart() {
        for (i, &a) in PALETTE.iter().enumerate() {
            for &b in &PALETTE[..i] {
                assert!(
                    distance3(oklab(a), oklab(b)) > 0.12,
                    "{} {}",
                    hex(a),
                    hex(b)
                );
            }
        }
    }

    #[test]
    fn twenty_places_all_differ() {
        let colours: HashSet<String> = colour_places(&scatter(20)).into_iter().collect();
        assert_eq!(colours.len(), 20);
    }

    #[test]
    fn forty_places_never_share_a_colour_with_their_neighbours() {
        let places = scatter(40);
        let colours = colour_places(&places);
        for (i, &place) in places.iter().enumerate() {
            let mut others: Vec<usize> = (0..places.len()).filter(|&j| j != i).collect();
            others.sort_by(|&a, &b| {
                distance2(place, places[a]).total_cmp(&distance2(place, places[b]))
            });
            for &other in &others[..6] {
                assert_ne!(colours[i], colours[other], "{i} and {other}");
            }
        }
    }

    #[test]
    fn places_on_one_spot_are_coloured_too() {
        let colours: HashSet<String> = colour_places(&[[1.0, 1.0]; 5]).into_iter().collect();
        assert_eq!(colours.len(), 5);
    }
}
