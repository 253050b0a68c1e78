//! The travelling salesman: the shortest way through all cities and back.

use motet_search::{Bounded, Tree};
use serde::{Deserialize, Serialize};

/// Cities, at most 32, and their distances.
#[derive(Debug, Clone)]
pub struct Tour {
    distances: Vec<Vec<u32>>,
    /// For each city the others, nearest first.
    nearest: Vec<Vec<usize>>,
}

/// A way that begins in city 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialTour {
    visited: u32,
    last: u8,
    length: u32,
}

impl Tour {
    /// Cities by latitude and longitude in TSPLIB's degrees and minutes (`EDGE_WEIGHT_TYPE: GEO`).
    ///
    /// # Panics
    /// Without cities, or with more than 32.
    #[must_use]
    #[expect(
        clippy::approx_constant,
        reason = "TSPLIB defines its distances by this"
    )]
    pub fn geographic(cities: &[(f64, f64)]) -> Self {
        let count = cities.len();
        assert!(
            (1..=32).contains(&count),
            "{count} cities: 1 to 32 can be toured"
        );
        let radians = |degrees: f64| {
            let whole = degrees.trunc();
            3.141_592 * (whole + 5.0 * (degrees - whole) / 3.0) / 180.0
        };
        let places: Vec<(f64, f64)> = cities
            .iter()
            .map(|&(north, east)| (radians(north), radians(east)))
            .collect();
        let distance = |one: (f64, f64), other: (f64, f64)| {
            let q1 = (one.1 - other.1).cos();
            let q2 = (one.0 - other.0).cos();
            let q3 = (one.0 + other.0).cos();
            let arc = (0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)).acos();
            (6378.388 * arc + 1.0) as u32
        };
        let row = |one: &(f64, f64)| places.iter().map(|other| distance(*one, *other)).collect();
        let distances: Vec<Vec<u32>> = places.iter().map(row).collect();
        let nearest = |row: &Vec<u32>| {
            let mut order: Vec<usize> = (0..row.len()).collect();
            order.sort_by_key(|city| row[*city]);
            order
        };
        Tour {
            nearest: distances.iter().map(nearest).collect(),
            distances,
        }
    }

    /// `burma14` of TSPLIB: the shortest way is 3323.
    #[must_use]
    pub fn burma14() -> Self {
        Tour::geographic(&[
            (16.47, 96.10),
            (16.47, 94.44),
            (20.09, 92.54),
            (22.39, 93.37),
            (25.23, 97.24),
            (22.00, 96.05),
            (20.47, 97.02),
            (17.20, 96.29),
            (16.30, 97.38),
            (14.05, 98.12),
            (16.53, 97.38),
            (21.52, 95.59),
            (19.41, 97.13),
            (20.09, 94.55),
        ])
    }

    fn cities(&self) -> usize {
        self.distances.len()
    }

    /// The least length of a tree over the cities in the set (Prim).
    fn spanning(&self, cities: u32) -> u32 {
        let first = cities.trailing_zeros() as usize;
        let (mut total, mut left) = (0, cities & !(1 << first));
        let mut near = [u32::MAX; 32];
        let mut joined = first;
        while left != 0 {
            let mut best = (u32::MAX, joined);
            for city in members(left) {
                near[city] = near[city].min(self.distances[joined][city]);
                best = best.min((near[city], city));
            }
            total += best.0;
            joined = best.1;
            left &= !(1 << joined);
        }
        total
    }
}

impl Tree for Tour {
    type Node = PartialTour;

    fn root(&self) -> PartialTour {
        PartialTour {
            visited: 1,
            last: 0,
            length: 0,
        }
    }

    fn children(&self, way: &PartialTour, out: &mut Vec<PartialTour>) {
        let last = usize::from(way.last);
        let open = self.nearest[last]
            .iter()
            .filter(|city| way.visited & 1 << **city == 0);
        out.extend(open.map(|&city| PartialTour {
            visited: way.visited | 1 << city,
            last: city as u8,
            length: way.length + self.distances[last][city],
        }));
    }
}

impl Bounded for Tour {
    type Value = u32;

    fn value(&self, way: &PartialTour) -> Option<u32> {
        let all = way.visited.count_ones() as usize == self.cities();
        all.then(|| way.length + self.distances[usize::from(way.last)][0])
    }

    /// The way, and the least tree over what it must still reach.
    fn bound(&self, way: &PartialTour) -> u32 {
        let all = u32::MAX >> (32 - self.cities());
        way.length + self.spanning((all & !way.visited) | 1 | 1 << way.last)
    }
}

fn members(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_city_and_thirty_two_are_taken() {
        for count in [1, 32] {
            let cities: Vec<(f64, f64)> = (0..count).map(|at| (f64::from(at), 0.0)).collect();
            assert_eq!(Tour::geographic(&cities).cities(), cities.len());
        }
    }

    #[test]
    #[should_panic(expected = "33 cities")]
    fn more_cities_than_a_set_has_are_refused() {
        let _ = Tour::geographic(&[(0.0, 0.0); 33]);
    }
}
