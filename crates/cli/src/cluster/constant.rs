//! What is said on standard error of points that have been clustered.

use motet_mining::Clustering;

use crate::space::Placed;

/// The columns in which all points are equal. On the globe a coordinate of the unit vectors is no
/// column of the table.
pub(super) fn constant_columns(placed: &Placed, clustering: &Clustering) -> Vec<String> {
    let names = clustering
        .constant_columns
        .iter()
        .filter_map(|&index| placed.names.get(index));
    if placed.space.is_sphere() {
        Vec::new()
    } else {
        names.cloned().collect()
    }
}

pub(super) fn constant(placed: &Placed, clustering: &Clustering) -> String {
    match constant_columns(placed, clustering).as_slice() {
        [] => String::new(),
        names => format!("all rows are equal in these columns: {}", names.join(", ")),
    }
}
