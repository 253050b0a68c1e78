//! The sets, by name.

use super::QualityError;
use crate::table::CsvTable;
use itertools::Itertools;
use motet_mining::{Points, sphere};
use std::path::Path;

/// The sets with labels. `-standardised` brings every column to mean 0 and variance 1.
pub const LABELLED: [&str; 21] = [
    "s1",
    "s2",
    "s3",
    "s4",
    "a1",
    "a2",
    "a3",
    "unbalance",
    "d31",
    "r15",
    "birch1",
    "aggregation",
    "g2mg_2_50",
    "g2mg_16_50",
    "g2mg_64_50",
    "iris",
    "wine",
    "wine-standardised",
    "breast_cancer",
    "breast_cancer-standardised",
    "digits",
];

/// The census sets:
/// - blocks by degrees, each the same or weighted by its people;
/// - block groups and precincts as places on the sphere;
/// - precincts by the shares of ages and ethnic groups, weighted by people.
pub const CENSUS: [&str; 5] = [
    "blocks",
    "blocks-weighted",
    "blockgroups",
    "precincts",
    "precincts-shares",
];

/// Columns of `precincts-shares`.
const SHARES: usize = 7;

/// Points and their labels.
pub(super) struct Labelled {
    pub(super) points: Points,
    pub(super) labels: Vec<String>,
}

impl Labelled {
    /// How many different labels there are.
    pub(super) fn classes(&self) -> usize {
        self.labels.iter().unique().count()
    }
}

/// Reads a labelled set: columns up to the first that is a label, and that.
pub(super) fn labelled(data: &Path, name: &str) -> Result<Labelled, QualityError> {
    let bad = |error| QualityError::Data(name.to_owned(), error);
    let (file, standardised) = match name.strip_suffix("-standardised") {
        Some(file) => (file, true),
        None => (name, false),
    };
    let compressed = data.join(format!("labelled-sipu/{file}.csv.gz"));
    let table = CsvTable::read(&if compressed.exists() {
        compressed
    } else {
        data.join(format!("labelled-sklearn/{file}.csv"))
    })?;
    let is_label = |column: &&str| column.starts_with("label");
    let columns: Vec<&str> = table.columns().take_while(|c| !is_label(c)).collect();
    let label = table.columns().find(is_label).unwrap_or("label");
    let labels = table.words(label)?.into_iter().map(str::to_owned).collect();
    let mut points = Points::new(table.numbers(&columns)?, columns.len()).map_err(bad)?;
    if standardised {
        points = points.standardised();
    }
    Ok(Labelled { points, labels })
}

/// Reads a census set.
pub(crate) fn census(data: &Path, name: &str) -> Result<Points, QualityError> {
    let bad = |error| QualityError::Data(name.to_owned(), error);
    let table = |file: &str| CsvTable::read(&data.join(file));
    let blocks = || table("gis-blocks-2020/blocks.csv.gz");
    let precincts = || table("gis-precincts-2020/precincts.csv.gz");
    match name {
        "blocks" => Points::new(blocks()?.numbers(&["lon", "lat"])?, 2).map_err(bad),
        "blocks-weighted" => {
            let blocks = blocks()?;
            let people = blocks.numbers(&["pop"])?;
            let points = Points::new(blocks.numbers(&["lon", "lat"])?, 2).map_err(bad)?;
            points.weighted(people).map_err(bad)
        }
        "blockgroups" => {
            let places = places(&table("gis-blockgroups-2020/blockgroups.csv.gz")?)?;
            sphere::points(&places).map_err(bad)
        }
        "precincts" => sphere::points(&places(&precincts()?)?).map_err(bad),
        "precincts-shares" => {
            let (values, people) = shares(&precincts()?)?;
            let points = Points::new(values, SHARES).map_err(bad)?;
            points.weighted(people).map_err(bad)
        }
        _ => Err(QualityError::NoSuchSet(name.to_owned())),
    }
}

/// Latitude and longitude of every row.
fn places(table: &CsvTable) -> Result<Vec<[f64; 2]>, QualityError> {
    let degrees = table.numbers(&["lat", "lon"])?;
    Ok(degrees.chunks_exact(2).map(|p| [p[0], p[1]]).collect())
}

/// The share of the young among all and of six groups among adults, and the people, of the rows
/// with adults.
fn shares(table: &CsvTable) -> Result<(Vec<f64>, Vec<f64>), QualityError> {
    let columns = [
        "pop",
        "adult",
        "under18",
        "adult_white",
        "adult_hispanic",
        "adult_black",
        "adult_native",
        "adult_asian",
        "adult_pacific",
    ];
    let counts = table.numbers(&columns)?;
    let (mut values, mut weights) = (Vec::new(), Vec::new());
    for row in counts.chunks_exact(columns.len()) {
        let (people, adults) = (row[0], row[1]);
        if adults > 0.0 {
            values.push(row[2] / people);
            values.extend(row[3..].iter().map(|count| count / adults));
            weights.push(people);
        }
    }
    Ok((values, weights))
}
