//! Sets of which only dissimilarities are known, with labels.

use crate::fingerprints::Fingerprints;
use crate::said::Said;
use crate::sequences;
use crate::table::CsvTable;
use itertools::{Itertools, iproduct};
use kodama::{Method, linkage};
use motet_comm::World;
use motet_mining::{
    Alignment, AlignmentKind, Clusters, Control, Dissimilarities, PairDistances, Pairwise,
    PairwiseClustering, Sequences, adjusted_rand,
};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// The sets, by name.
pub const PAIRS: [&str; 7] = [
    "alu-global",
    "alu-local",
    "ncrna",
    "protein",
    "protein-squared",
    "compounds",
    "compounds-tanimoto",
];

/// A set with dissimilarities and labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairsRecord {
    /// Its name.
    pub set: String,
    /// Rows.
    pub rows: usize,
    /// Labels, and clusters.
    pub clusters: usize,
    /// The cost H that pairwise annealing found, and its agreement with the labels.
    pub cost: f64,
    /// See `cost`.
    pub agreement: f64,
    /// The same without the search at temperature zero.
    pub plain_cost: f64,
    /// See `plain_cost`.
    pub plain_agreement: f64,
    /// The same of Ward's clusters of the roots of the dissimilarities, brought to temperature zero
    /// by the same single moves.
    pub ward_cost: f64,
    /// See `ward_cost`.
    pub ward_agreement: f64,
    /// Seconds of annealing with its search.
    pub seconds: f64,
}

/// A set in memory.
struct Known {
    pairs: Dissimilarities,
    labels: Vec<String>,
}

/// Clusters each of these sets on so many threads; calls `progress` with its name when it is done.
///
/// # Errors
/// What is wrong with a file, or a name.
pub fn pairs(
    data: &Path,
    (sets, threads): (&[&str], usize),
    mut progress: impl FnMut(&str),
) -> Result<Vec<PairsRecord>, String> {
    let mut records = Vec::new();
    for set in sets {
        records.push(measure(set, &known(data, set, threads)?, threads)?);
        progress(set);
    }
    Ok(records)
}

fn measure(set: &str, known: &Known, threads: usize) -> Result<PairsRecord, String> {
    let Known { pairs, labels } = known;
    let clusters = labels.iter().unique().count();
    let method = |search: Option<usize>| Pairwise {
        clusters: Clusters::Exactly(clusters),
        search: search.unwrap_or(Pairwise::default().search),
        ..Pairwise::default()
    };
    let control = Control::default();
    let (full, plain) = (method(None), method(Some(0)));
    let ward = ward(pairs, clusters);
    let joined = |parts: Vec<PairwiseClustering>| {
        PairwiseClustering::join(parts).ok_or("the parts of the ranks do not fit together")
    };
    let world = World::threads(threads);
    let started = Instant::now();
    let found = world.run(async |comm| full.fit(&comm, pairs, None, &control).await);
    let found = joined(found.said()?)?;
    let seconds = started.elapsed().as_secs_f64();
    let other = world.run(async |comm| plain.fit(&comm, pairs, None, &control).await);
    let other = joined(other.said()?)?;
    let run = async |comm| plain.settle(&comm, pairs, None, &ward, &control).await;
    let peer = joined(world.run(run).said()?)?;
    Ok(PairsRecord {
        set: set.to_owned(),
        rows: pairs.len(),
        clusters,
        cost: found.cost,
        agreement: adjusted_rand(&found.labels, labels),
        plain_cost: other.cost,
        plain_agreement: adjusted_rand(&other.labels, labels),
        ward_cost: peer.cost,
        ward_agreement: adjusted_rand(&peer.labels, labels),
        seconds,
    })
}

fn known(data: &Path, set: &str, threads: usize) -> Result<Known, String> {
    let local = Alignment {
        kind: AlignmentKind::Local,
        open: 12,
        ..Alignment::dna()
    };
    match set {
        "alu-global" | "alu-local" => {
            let all = sequences::read(&data.join("seq-alu/alu.fasta.gz"))?;
            let (count, method) = match set {
                "alu-global" => (1_000, Alignment::dna()),
                _ => (700, local),
            };
            let rows: Vec<usize> = (0..count.min(all.len())).collect();
            let labels = column(&data.join("seq-alu/labels.tsv"), "subfamily")?;
            let labels = labels.into_iter().take(rows.len()).collect();
            aligned((&all.some(&rows), method), labels, threads)
        }
        "ncrna" => {
            let all = sequences::read(&data.join("seq-ncrna13/ncrna.fasta.gz"))?;
            let classes = column(&data.join("seq-ncrna13/labels.tsv.gz"), "class")?;
            // The first 80 of each class.
            let mut seen = BTreeMap::new();
            let few = |row: &usize| {
                let count: &mut usize = seen.entry(&classes[*row]).or_default();
                *count += 1;
                *count <= 80
            };
            let rows: Vec<usize> = (0..all.len().min(classes.len())).filter(few).collect();
            let labels = rows.iter().map(|row| classes[*row].clone()).collect();
            aligned((&all.some(&rows), Alignment::dna()), labels, threads)
        }
        "protein" | "protein-squared" => {
            let table = data.join("dissim-protein/dissimilarity.csv");
            let table = fs::read_to_string(&table)
                .map_err(|error| format!("{}: {error}", table.display()))?;
            let numbers: Result<Vec<f64>, _> = table
                .split(['\n', ','])
                .filter(|number| !number.trim().is_empty())
                .map(|number| number.trim().parse())
                .collect();
            let mut numbers = numbers.map_err(|error| format!("dissim-protein: {error}"))?;
            if set == "protein-squared" {
                numbers.iter_mut().for_each(|number| *number *= *number);
            }
            let labels = column(&data.join("dissim-protein/labels.csv"), "class")?;
            let pairs = Dissimilarities::new(numbers, labels.len());
            let pairs = pairs.map_err(|error| format!("dissim-protein: {error}"))?;
            Ok(Known { pairs, labels })
        }
        "compounds" => compounds(data, |both, one, other| one + other - 2.0 * both),
        "compounds-tanimoto" => {
            compounds(data, |both, one, other| 1.0 - both / (one + other - both))
        }
        other => Err(format!(
            "there is no set {other}: name one of {}",
            PAIRS.join(", ")
        )),
    }
}

/// Compounds of the ten most common ring scaffolds, a hundred of each, by their properties.
/// `between` makes a dissimilarity of how many two have in common and how many each has.
fn compounds(data: &Path, between: impl Fn(f64, f64, f64) -> f64) -> Result<Known, String> {
    let fingerprints = Fingerprints::read(data)?;
    let scaffolds = column(&data.join("chem-hiv/compounds.tsv.gz"), "scaffold")?;
    let scaffolds = scaffolds.into_iter().enumerate();
    let known = scaffolds.filter(|(_, scaffold)| scaffold != "0");
    let families = known
        .map(|(row, scaffold)| (scaffold, row))
        .into_group_map();
    // The most common first, and those that are as common by their names.
    let order = |(name, rows): &(String, Vec<usize>)| (Reverse(rows.len()), name.clone());
    let families: Vec<_> = families.into_iter().sorted_by_key(order).collect();
    let chosen = families.iter().take(10).flat_map(|(scaffold, rows)| {
        rows.iter()
            .take(100)
            .map(move |row| (scaffold.clone(), *row))
    });
    let (labels, rows): (Vec<String>, Vec<usize>) = chosen.unzip();
    let bits: Option<Vec<&[u8]>> = rows.iter().map(|row| fingerprints.row(*row)).collect();
    let bits = bits.ok_or("chem-hiv: there are fewer properties than compounds")?;
    let ones = |one: &[u8]| f64::from(one.iter().map(|byte| byte.count_ones()).sum::<u32>());
    let common = |one: &[u8], other: &[u8]| {
        let both = one.iter().zip(other).map(|(x, y)| (x & y).count_ones());
        f64::from(both.sum::<u32>())
    };
    let counts: Vec<f64> = bits.iter().map(|one| ones(one)).collect();
    let all = iproduct!(0..bits.len(), 0..bits.len());
    let numbers = all.map(|(x, y)| between(common(bits[x], bits[y]), counts[x], counts[y]));
    let pairs = Dissimilarities::new(numbers.collect(), bits.len());
    let pairs = pairs.map_err(|error| format!("chem-hiv: {error}"))?;
    Ok(Known { pairs, labels })
}

fn aligned(
    (sequences, method): (&Sequences, Alignment),
    labels: Vec<String>,
    threads: usize,
) -> Result<Known, String> {
    let pairs = alignments(sequences, method, threads)?;
    match labels.len() == sequences.len() {
        true => Ok(Known { pairs, labels }),
        false => Err("a sequence has no label".to_owned()),
    }
}

/// The distances of all pairs of sequences.
pub(crate) fn alignments(
    sequences: &Sequences,
    method: Alignment,
    threads: usize,
) -> Result<Dissimilarities, String> {
    let control = Control::default();
    let run = async |comm| method.distances(&comm, sequences, &control).await;
    let parts = World::threads(threads).run(run).said()?;
    let matrix = PairDistances::join(sequences, &parts).said()?;
    let matrix = matrix.ok_or("distances are missing")?;
    Dissimilarities::from_single(matrix, sequences.len()).said()
}

/// A column of a table with labels.
pub(crate) fn column(path: &Path, name: &str) -> Result<Vec<String>, String> {
    let table = CsvTable::read(path).said()?;
    let words = table.words(name).said()?.into_iter();
    Ok(words.map(|word| word.trim().to_owned()).collect())
}

/// Ward's clusters where the dissimilarities are squared distances.
///
/// Source: J. H. Ward, Journal of the American Statistical Association 58 (1963).
fn ward(pairs: &Dissimilarities, clusters: usize) -> Vec<u32> {
    let n = pairs.len();
    let rows: Vec<usize> = (0..n).collect();
    let mut squares = vec![0.0; n * n];
    pairs.between(&rows, &rows, &mut squares);
    let above = |row: usize| squares[row * n + row + 1..(row + 1) * n].iter();
    let mut distances: Vec<f64> = (0..n).flat_map(above).map(|square| square.sqrt()).collect();
    let tree = linkage(&mut distances, n, Method::Ward);
    // Each step makes one more cluster of two that were there.
    let mut all: Vec<Vec<usize>> = rows.into_iter().map(|row| vec![row]).collect();
    for step in &tree.steps()[..n - clusters] {
        let one = std::mem::take(&mut all[step.cluster1]);
        let other = std::mem::take(&mut all[step.cluster2]);
        all.push([one, other].concat());
    }
    let mut labels = vec![0; n];
    for (label, cluster) in (0..).zip(all) {
        cluster.into_iter().for_each(|row| labels[row] = label);
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ward_joins_what_is_near() {
        let at = [0.0_f64, 30.0, 1.0, 31.0, 2.0, 60.0];
        let square = |(x, y): (&f64, &f64)| (x - y) * (x - y);
        let all = at.iter().flat_map(|x| at.iter().map(move |y| (x, y)));
        let pairs = Dissimilarities::new(all.map(square).collect(), 6).unwrap();
        let labels = ward(&pairs, 3);
        assert!(labels[0] == labels[2] && labels[0] == labels[4] && labels[1] == labels[3]);
        assert!(labels[0] != labels[1] && labels[5] != labels[1] && labels[5] != labels[0]);
    }

    #[test]
    fn needs_data_proteins_are_clustered_no_worse_than_by_ward() {
        let sets = (&["protein", "protein-squared"][..], 2);
        let records = pairs(&motet_testkit::data(), sets, |_| ()).unwrap();
        for row in records {
            assert!(row.cost <= row.ward_cost + 1e-9, "{row:?}");
            assert!(
                row.cost <= row.plain_cost + 1e-9 && row.agreement > 0.9,
                "{row:?}"
            );
        }
        let error = pairs(Path::new("no"), (&["x"], 1), |_| ()).unwrap_err();
        assert!(error.contains("alu-global"), "{error}");
    }
}
