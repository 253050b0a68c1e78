//! Sets of which only dissimilarities are known, with labels.

use crate::fingerprints::Fingerprints;
use crate::sequences;
use flate2::read::MultiGzDecoder;
use motet_comm::World;
use motet_mining::{
    Alignment, AlignmentKind, Clusters, Control, Dissimilarities, MiningError, PairDistances,
    Pairwise, PairwiseClustering, adjusted_rand,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
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
    let mut families: Vec<&String> = labels.iter().collect();
    families.sort();
    families.dedup();
    let clusters = families.len();
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
    let wrong = |error: motet_comm::RunError<MiningError>| error.to_string();
    let world = World::threads(threads);
    let started = Instant::now();
    let found = world.run(async |comm| full.fit(&comm, pairs, None, &control).await);
    let found = joined(found.map_err(wrong)?)?;
    let seconds = started.elapsed().as_secs_f64();
    let other = world.run(async |comm| plain.fit(&comm, pairs, None, &control).await);
    let other = joined(other.map_err(wrong)?)?;
    let run = async |comm| plain.settle(&comm, pairs, None, &ward, &control).await;
    let peer = joined(world.run(run).map_err(wrong)?)?;
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
            let table = text(&data.join("seq-alu/labels.tsv"))?;
            let labels = table.lines().skip(1).map(|line| field(line, '\t', 1));
            let labels = labels.take(rows.len()).collect();
            aligned((&all.some(&rows), method), labels, threads)
        }
        "ncrna" => {
            let all = sequences::read(&data.join("seq-ncrna13/ncrna.fasta.gz"))?;
            let table = packed(&data.join("seq-ncrna13/labels.tsv.gz"))?;
            let classes = table.lines().skip(1).map(|line| field(line, '\t', 1));
            let classes: Vec<String> = classes.collect();
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
            let table = text(&data.join("dissim-protein/dissimilarity.csv"))?;
            let numbers: Result<Vec<f64>, _> = table
                .split(['\n', ','])
                .filter(|number| !number.trim().is_empty())
                .map(|number| number.trim().parse())
                .collect();
            let mut numbers = numbers.map_err(|error| format!("dissim-protein: {error}"))?;
            if set == "protein-squared" {
                numbers.iter_mut().for_each(|number| *number *= *number);
            }
            let table = text(&data.join("dissim-protein/labels.csv"))?;
            let labels: Vec<String> = table.lines().skip(1).map(|l| field(l, ',', 1)).collect();
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

/// Compounds of the ten most common ring scaffolds, a hundred of each, by their properties:
/// `between` makes a dissimilarity of how many two have in common and how many each has.
fn compounds(data: &Path, between: impl Fn(f64, f64, f64) -> f64) -> Result<Known, String> {
    let fingerprints = Fingerprints::read(data)?;
    let table = packed(&data.join("chem-hiv/compounds.tsv.gz"))?;
    let scaffolds = table.lines().skip(1).map(|line| field(line, '\t', 4));
    let mut families: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (row, scaffold) in scaffolds.enumerate().filter(|(_, one)| one != "0") {
        families.entry(scaffold).or_default().push(row);
    }
    let mut families: Vec<_> = families.into_iter().collect();
    families.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
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
    let mut numbers = Vec::with_capacity(bits.len() * bits.len());
    for (one, of_one) in bits.iter().zip(&counts) {
        for (other, of_other) in bits.iter().zip(&counts) {
            numbers.push(between(common(one, other), *of_one, *of_other));
        }
    }
    let pairs = Dissimilarities::new(numbers, bits.len());
    let pairs = pairs.map_err(|error| format!("chem-hiv: {error}"))?;
    Ok(Known { pairs, labels })
}

fn aligned(
    (sequences, method): (&motet_mining::Sequences, Alignment),
    labels: Vec<String>,
    threads: usize,
) -> Result<Known, String> {
    let control = Control::default();
    let run = async |comm| method.distances(&comm, sequences, &control).await;
    let parts = World::threads(threads)
        .run(run)
        .map_err(|error| error.to_string())?;
    let matrix = PairDistances::join(sequences, &parts).ok_or("distances are missing")?;
    let pairs = Dissimilarities::from_single(matrix, sequences.len());
    let pairs = pairs.map_err(|error| error.to_string())?;
    match labels.len() == sequences.len() {
        true => Ok(Known { pairs, labels }),
        false => Err("a sequence has no label".to_owned()),
    }
}

fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn packed(path: &Path) -> Result<String, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut all = String::new();
    let file = File::open(path).map_err(wrong)?;
    MultiGzDecoder::new(file)
        .read_to_string(&mut all)
        .map_err(wrong)?;
    Ok(all)
}

fn field(line: &str, separator: char, at: usize) -> String {
    line.split(separator)
        .nth(at)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Ward's clusters where the dissimilarities are squared distances, by chains of nearest
/// neighbours.
///
/// Sources: J. H. Ward, Journal of the American Statistical Association 58 (1963); F. Murtagh, The
/// Computer Journal 26 (1983).
fn ward(pairs: &Dissimilarities, clusters: usize) -> Vec<u32> {
    let n = pairs.len();
    let rows: Vec<usize> = (0..n).collect();
    let mut d = vec![0.0; n * n];
    pairs.between(&rows, &rows, &mut d);
    let (mut sizes, mut chain, mut merges) = (vec![1.0; n], Vec::new(), Vec::new());
    while merges.len() + 1 < n {
        if chain.is_empty() {
            chain.extend((0..n).find(|at| sizes[*at] > 0.0));
        }
        let (last, before) = (chain[chain.len() - 1], chain.iter().rev().nth(1).copied());
        let mut near = before.map_or((f64::INFINITY, last), |at| (d[last * n + at], at));
        for other in (0..n).filter(|at| *at != last && sizes[*at] > 0.0) {
            if d[last * n + other] < near.0 {
                near = (d[last * n + other], other);
            }
        }
        if Some(near.1) != before {
            chain.push(near.1);
            continue;
        }
        chain.truncate(chain.len() - 2);
        let (height, into) = near;
        merges.push((height, into, last));
        for other in (0..n).filter(|at| *at != into && *at != last && sizes[*at] > 0.0) {
            let (one, two, three) = (sizes[into], sizes[last], sizes[other]);
            let new = (one + three) * d[into * n + other] + (two + three) * d[last * n + other];
            let new = (new - three * height) / (one + two + three);
            (d[into * n + other], d[other * n + into]) = (new, new);
        }
        sizes[into] += sizes[last];
        sizes[last] = 0.0;
    }
    merges.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut labels: Vec<u32> = (0..n as u32).collect();
    for (_, into, from) in merges.into_iter().take(n - clusters) {
        let (to, gone) = (labels[into], labels[from]);
        labels
            .iter_mut()
            .filter(|label| **label == gone)
            .for_each(|label| *label = to);
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
