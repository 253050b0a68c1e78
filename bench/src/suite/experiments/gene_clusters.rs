//! E24: clusters in gene sequences.

use super::clustering::named;
use crate::experiments::quality::{alignments, column};
use crate::measuring::{Case, Cases, Point, Quantity, Setting};
use crate::said::Said;
use crate::sequences;
use motet_comm::World;
use motet_mining::{
    Alignment, Clusters, Control, MiningError, Pairwise, PairwiseClustering, Sequences,
    adjusted_rand,
};
use motet_sync::thread;
use std::path::Path;
use std::time::Instant;

/// The files, in the folder of the data sets.
const SEQUENCES: &str = "seq-alu/alu.fasta.gz";
const LABELS: &str = "seq-alu/labels.tsv";
/// The subfamilies that the labels name.
const FAMILIES: usize = 6;
/// All sequences.
const ALL: usize = 7_285;

/// E24: seconds of the alignments and of the clustering, and what was found.
pub(crate) fn e24(setting: &Setting) -> Cases {
    let threads = thread::cores();
    let quantities = [
        Quantity::new("alignments", "s"),
        Quantity::new("clustering", "s"),
        Quantity::new("cost", ""),
        Quantity::new("adjusted Rand index", ""),
    ];
    let sizes: &[usize] = setting.by_effort(&[40], &[250, 500], &[1_000, 3_000, ALL]);
    let case = |&rows: &usize| {
        let point = Point::new()
            .with("sequences", rows)
            .with("threads", threads);
        let folder = setting.config().data.clone();
        Case::new(point, &quantities).with("motet", move || {
            run(named(folder.as_deref())?, rows, threads)
        })
    };
    Ok(sizes.iter().map(case).collect())
}

fn run(folder: &Path, rows: usize, threads: usize) -> Result<[f64; 4], String> {
    let (sequences, labels) = read(folder, rows)?;
    let started = Instant::now();
    let pairs = alignments(&sequences, Alignment::dna(), threads)?;
    let aligned = started.elapsed().as_secs_f64();
    let (world, control) = (World::threads(threads), Control::default());
    let method = Pairwise {
        clusters: Clusters::Exactly(FAMILIES),
        ..Pairwise::default()
    };
    let started = Instant::now();
    let parts = world
        .run(async |comm| Ok::<_, MiningError>(method.fit(&comm, &pairs, None, &control).await?))
        .said()?;
    let found = PairwiseClustering::join(parts).ok_or("labels are missing")?;
    let clustered = started.elapsed().as_secs_f64();
    let agreement = adjusted_rand(&found.labels, &labels);
    Ok([aligned, clustered, found.cost, agreement])
}

/// The first sequences, and the subfamily of each.
fn read(folder: &Path, rows: usize) -> Result<(Sequences, Vec<String>), String> {
    let path = folder.join(SEQUENCES);
    let wrong = |path: &Path, what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let all = sequences::read(&path)?;
    if rows > all.len() {
        return Err(wrong(
            &path,
            &format!("it has {} sequences, not {rows}", all.len()),
        ));
    }
    let path = folder.join(LABELS);
    let labels: Vec<String> = column(&path, "subfamily")?.into_iter().take(rows).collect();
    match labels.len() == rows {
        true => Ok((all.some(&(0..rows).collect::<Vec<_>>()), labels)),
        false => Err(wrong(&path, &"a sequence has no subfamily")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_data_a_few_sequences_are_aligned_and_clustered() {
        let found = run(&motet_testkit::data(), 60, 2).unwrap();
        assert!(
            found[0] > 0.0 && found[1] > 0.0 && found[2] > 0.0,
            "{found:?}"
        );
        assert!((-1.0..=1.0).contains(&found[3]));
        let error = run(Path::new("no/folder"), 60, 2).unwrap_err();
        assert!(error.starts_with("no/folder"), "{error}");
    }
}
