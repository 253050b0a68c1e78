//! What `motet scale` writes and prints.

use std::io::{self, Write};

use motet_mining::CancelToken;

use super::ScaleSummary;
use super::labels::Labels;
use crate::error::CliError;
use crate::files::{Content, ResultsFolder};
use crate::map::{self, MapPicture};
use crate::summary::{Cluster, Summary};
use crate::text::{grouped, significant};

/// The files of `--out`.
pub(super) const FILES: [&str; 2] = ["places.csv", "plane.svg"];

pub(super) fn write_files(
    folder: &ResultsFolder,
    summary: &ScaleSummary,
    names: Option<&[String]>,
    labels: Option<&Labels>,
    cancel: &CancelToken,
) -> Result<(), CliError> {
    let one;
    let numbers = match labels {
        Some(labels) => &labels.numbers,
        None => {
            one = vec![1; summary.rows];
            &one
        }
    };
    let write_places = |to: &mut dyn Write| {
        let mut csv = csv::Writer::from_writer(to);
        let mut header = vec!["row".to_owned()];
        header.extend(names.map(|_| "name".to_owned()));
        header.extend(labels.map(|_| "cluster".to_owned()));
        header.extend((1..=summary.dimensions).map(|axis| format!("axis{axis}")));
        csv.write_record(&header)?;
        for (row, place) in summary.places.iter().enumerate() {
            let mut fields = vec![(row + 1).to_string()];
            fields.extend(names.map(|names| names[row].clone()));
            fields.extend(labels.map(|labels| labels.numbers[row].to_string()));
            fields.extend(place.iter().map(f64::to_string));
            csv.write_record(&fields)?;
        }
        csv.flush()
    };
    let svg = picture(summary, numbers);
    let [places, plane] = FILES;
    let files = [
        Content {
            name: places,
            write: Box::new(write_places),
        },
        Content {
            name: plane,
            write: Box::new(|to| to.write_all(svg.as_bytes())),
        },
    ];
    match folder.write(&files, || cancel.is_cancelled())? {
        true => Ok(()),
        false => Err(CliError::Cancelled),
    }
}

/// The places, coloured by their clusters.
fn picture(summary: &ScaleSummary, labels: &[u32]) -> String {
    let subtitle = format!(
        "{} rows, {}, relative stress {}",
        grouped(summary.rows),
        summary.method,
        significant(summary.relative_stress)
    );
    plane(
        &summary.places.concat(),
        summary.dimensions,
        labels,
        (&summary.file, subtitle),
    )
}

/// A picture of places, coloured by their clusters, which are numbered from 1.
pub(crate) fn plane(
    places: &[f64],
    dimensions: usize,
    labels: &[u32],
    (file, subtitle): (&str, String),
) -> String {
    let names: Vec<String> = (1..=dimensions)
        .map(|axis| format!("axis {axis}"))
        .collect();
    let scale = vec![1.0; dimensions];
    let clusters = clusters(places, dimensions, labels);
    let shown = Summary {
        motet: env!("CARGO_PKG_VERSION"),
        file: file.to_owned(),
        points: labels.len(),
        columns: names.clone(),
        dimensions,
        geo: false,
        standardised: false,
        weight: None,
        missing: None,
        constant_columns: Vec::new(),
        method: String::new(),
        clusters: clusters.len(),
        inertia: 0.0,
        square_unit: None,
        spread_unit: None,
        run_seconds: 0.0,
        threads: 1,
        choice: None,
        scaling: None,
        profile: None,
        table: clusters,
        trace: Vec::new(),
        sample: None,
        files: Vec::new(),
    };
    map::draw(&MapPicture {
        points: map::MapPoints {
            names: &names,
            values: places,
            scale: &scale,
            geo: false,
        },
        labels,
        summary: &shown,
        subtitle,
        extents: &[],
    })
}

/// The clusters of the places, by number.
fn clusters(places: &[f64], dimensions: usize, labels: &[u32]) -> Vec<Cluster> {
    let most = labels.iter().copied().max().unwrap_or(1);
    (1..=most)
        .map(|number| {
            let rows = places.chunks_exact(dimensions).zip(labels);
            let places: Vec<&[f64]> = rows
                .filter(|(_, label)| **label == number)
                .map(|(place, _)| place)
                .collect();
            let size = places.len().max(1) as f64;
            let mut centre = vec![0.0; dimensions];
            for place in &places {
                centre
                    .iter_mut()
                    .zip(*place)
                    .for_each(|(sum, y)| *sum += y / size);
            }
            let square = |place: &&[f64]| {
                let pairs = place.iter().zip(&centre);
                pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
            };
            let spread = (places.iter().map(square).sum::<f64>() / size).sqrt();
            Cluster {
                cluster: number as usize,
                size: places.len(),
                weight: None,
                centre,
                spread,
            }
        })
        .collect()
}

pub(super) fn print_to(to: &mut dyn Write, summary: &ScaleSummary, json: bool) -> io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *to, summary)?;
        return writeln!(to);
    }
    let mut facts = vec![
        ("rows", grouped(summary.rows)),
        ("method", summary.method.to_owned()),
        ("stress", significant(summary.stress)),
        ("relative", significant(summary.relative_stress)),
        ("steps", grouped(summary.steps)),
        (
            "time",
            format!("{:.2} s on {} threads", summary.seconds, summary.threads),
        ),
    ];
    if summary.unknown > 0.0 {
        facts.push((
            "not known",
            format!("{:.1} % of the pairs", 100.0 * summary.unknown),
        ));
    }
    if summary.asymmetry > 0.0 {
        let what = format!("up to {}: means were used", significant(summary.asymmetry));
        facts.push(("asymmetry", what));
    }
    facts
        .iter()
        .try_for_each(|(name, value)| writeln!(to, "{name:<12}{value}"))
}
