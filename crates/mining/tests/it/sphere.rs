//! Places on the Earth.

use crate::data::{Numbers, annealed};
use motet_mining::{DataError, sphere};
use proptest::prelude::*;

#[test]
fn known_distances() {
    let quarter = sphere::RADIUS_KM * std::f64::consts::FRAC_PI_2;
    for (from, to, km) in [
        ([0.0, 0.0], [0.0, 90.0], quarter),
        ([90.0, 17.0], [0.0, -60.0], quarter),
        ([90.0, 0.0], [-90.0, 0.0], 2.0 * quarter),
        ([10.0, 179.5], [10.0, -180.5], 0.0),
        ([0.0, 0.0], [0.0, 1e-9], quarter / 90e9),
        // Greenwich to Sydney observatory.
        ([51.4779, 0.0], [-33.8593, 151.2047], 16_988.0),
    ] {
        let found = sphere::distance_km(from, to);
        assert!(
            (found - km).abs() < 1e-6 * km + 6.0 * f64::from(km > 16_000.0 && km < 17_000.0) + 1e-9,
            "{from:?} {to:?}: {found}"
        );
    }
}

#[test]
fn places_outside_the_ranges() {
    let error = |place| sphere::points(&[[0.0, 0.0], place]).unwrap_err();
    assert_eq!(
        error([90.5, 0.0]),
        DataError::Latitude {
            row: 1,
            latitude: 90.5
        }
    );
    assert_eq!(
        error([-91.0, 0.0]),
        DataError::Latitude {
            row: 1,
            latitude: -91.0
        }
    );
    assert_eq!(
        error([0.0, 361.0]),
        DataError::Longitude {
            row: 1,
            longitude: 361.0
        }
    );
    assert!(matches!(
        error([f64::NAN, 0.0]),
        DataError::NotFinite {
            row: 1,
            column: 0,
            ..
        }
    ));
    assert!(matches!(
        error([0.0, f64::INFINITY]),
        DataError::NotFinite {
            row: 1,
            column: 1,
            ..
        }
    ));
    assert_eq!(sphere::points(&[]).unwrap_err(), DataError::Empty);
    assert!(error([90.5, 0.0]).to_string().contains("swapped"));
}

#[test]
fn clusters_across_the_date_line_and_at_the_pole() {
    let mut numbers = Numbers(14);
    let heaps = [[10.0, 180.0], [89.0, 0.0], [-40.0, 20.0]];
    let places: Vec<[f64; 2]> = (0..3000)
        .map(|i| {
            let [latitude, longitude] = heaps[i % 3];
            let (a, b) = (numbers.normal(), numbers.normal());
            if i % 3 == 1 {
                // All around the pole.
                [90.0 - a.hypot(b), a.atan2(b).to_degrees()]
            } else {
                [latitude + a, longitude + b / latitude.to_radians().cos()]
            }
        })
        .collect();
    let found = annealed(3, &sphere::points(&places).unwrap());
    assert_eq!(found.sizes, [1000; 3]);
    let near = |place: [f64; 2]| {
        let km = (0..3).map(|k| sphere::distance_km(sphere::place(found.centre(k)), place));
        km.fold(f64::INFINITY, f64::min)
    };
    for heap in [[10.0, 180.0], [90.0, 0.0], [-40.0, 20.0]] {
        assert!(
            near(heap) < 12.0,
            "{heap:?} is {} km from a centre",
            near(heap)
        );
    }
    // Deviations of one degree, 111 km, along two lines.
    for km in sphere::spread_km(&found) {
        assert!((km - 111.2 * 2.0_f64.sqrt()).abs() < 6.0, "spread {km}");
    }
}

proptest! {
    #[test]
    fn there_and_back(latitude in -90.0_f64..=90.0, longitude in -180.0_f64..180.0) {
        let points = sphere::points(&[[latitude, longitude]]).unwrap();
        let back = sphere::place(points.row(0));
        prop_assert!(sphere::distance_km(back, [latitude, longitude]) < 1e-6);
    }

    #[test]
    fn distance_is_symmetric_and_short_of_half_the_circle(
        a in (-90.0_f64..=90.0, -180.0_f64..180.0),
        b in (-90.0_f64..=90.0, -180.0_f64..180.0),
    ) {
        let (a, b) = ([a.0, a.1], [b.0, b.1]);
        let km = sphere::distance_km(a, b);
        let half = sphere::RADIUS_KM * std::f64::consts::PI * (1.0 + 1e-12);
        prop_assert!((0.0..=half).contains(&km), "{km}");
        prop_assert!((km - sphere::distance_km(b, a)).abs() < 1e-9);
    }
}
