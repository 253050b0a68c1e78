//! Places on the Earth as points: unit vectors in three columns.
//!
//! Squared distances between unit vectors are those of straight lines through the Earth (chords).
//! Up to a few hundred kilometres they agree with distances along the ground to one part in a
//! thousand. Unlike degrees they are right at any latitude and across the date line.
//!
//! ```text
//!  latitude, longitude ──► x, y, z on the unit sphere ──► centre inside the sphere ──► latitude, longitude
//! ```
//!
//! # Examples
//!
//! ```
//! use motet_mining::sphere;
//!
//! let indianapolis = [39.768, -86.158];
//! let chicago = [41.878, -87.630];
//! let points = sphere::points(&[indianapolis, chicago])?;
//! assert_eq!(points.dim(), 3);
//!
//! let back = sphere::place(points.row(1));
//! assert!((back[0] - chicago[0]).abs() < 1e-12 && (back[1] - chicago[1]).abs() < 1e-12);
//! assert!((sphere::distance_km(indianapolis, chicago) - 265.3).abs() < 0.5);
//! # Ok::<(), motet_mining::DataError>(())
//! ```

use crate::{Clustering, DataError, Points};

/// The mean radius of the Earth, kilometres (IUGG).
pub const RADIUS_KM: f64 = 6371.0088;

/// The unit vectors of places given as latitude and longitude in degrees.
///
/// # Errors
///
/// [`DataError::Empty`], [`DataError::NotFinite`] (column 0 is latitude, 1 longitude),
/// [`DataError::Latitude`] outside ±90 degrees, [`DataError::Longitude`] outside ±360,
/// [`DataError::TooManyPoints`].
pub fn points(places: &[[f64; 2]]) -> Result<Points, DataError> {
    let mut values = Vec::with_capacity(places.len() * 3);
    for (row, &[latitude, longitude]) in places.iter().enumerate() {
        for (column, value) in [latitude, longitude].into_iter().enumerate() {
            if !value.is_finite() {
                return Err(DataError::NotFinite { row, column, value });
            }
        }
        if latitude.abs() > 90.0 {
            return Err(DataError::Latitude { row, latitude });
        }
        if longitude.abs() > 360.0 {
            return Err(DataError::Longitude { row, longitude });
        }
        values.extend(unit_vector(latitude, longitude));
    }
    Points::new(values, 3)
}

/// The unit vector of a place in degrees.
fn unit_vector(latitude: f64, longitude: f64) -> [f64; 3] {
    let ((sin, cos), (east, north)) = (
        latitude.to_radians().sin_cos(),
        longitude.to_radians().sin_cos(),
    );
    [cos * north, cos * east, sin]
}

/// Latitude and longitude, in degrees, of the direction of a vector such as a centre. Longitude is
/// from -180 to 180. The zero vector has latitude and longitude 0.
///
/// # Panics
///
/// If the vector does not have three coordinates.
pub fn place(vector: &[f64]) -> [f64; 2] {
    assert_eq!(
        vector.len(),
        3,
        "a place on the sphere has three coordinates"
    );
    let [x, y, z] = [vector[0], vector[1], vector[2]];
    [z.atan2(x.hypot(y)).to_degrees(), y.atan2(x).to_degrees()]
}

/// The distance along the great circle between two places (latitude, longitude in degrees),
/// kilometres.
pub fn distance_km(from: [f64; 2], to: [f64; 2]) -> f64 {
    let (a, b) = (unit_vector(from[0], from[1]), unit_vector(to[0], to[1]));
    let chord = a
        .iter()
        .zip(&b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>();
    let sum = a
        .iter()
        .zip(&b)
        .map(|(a, b)| (a + b) * (a + b))
        .sum::<f64>();
    // Good for near places and for antipodes alike, where the arc cosine is not.
    2.0 * chord.sqrt().atan2(sum.sqrt()) * RADIUS_KM
}

/// The spread of every cluster of places, kilometres: the root mean squared straight distance of
/// its places from their mean, which lies inside of the sphere.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Annealing, Clusters, Control, sphere};
///
/// // Two places one degree of longitude apart on the equator: 111.2 km.
/// let points = sphere::points(&[[0.0, 10.0], [0.0, 11.0]])?;
/// let method = Annealing { clusters: Clusters::Exactly(1), ..Annealing::default() };
/// let found = World::solo()
///     .run(async |comm| method.fit(&comm, &points, &Control::default()).await)
///     .unwrap();
/// assert!((sphere::spread_km(&found[0])[0] - 55.6).abs() < 0.1);
/// # Ok::<(), motet_mining::DataError>(())
/// ```
pub fn spread_km(clustering: &Clustering) -> Vec<f64> {
    clustering
        .spread
        .iter()
        .map(|spread| spread * RADIUS_KM)
        .collect()
}
