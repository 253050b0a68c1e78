//! Runs that are stopped and go on.

use crate::data::{Numbers, anneal, kmeans};
use motet_comm::{Communicator, Value, World};
use motet_mining::{
    Alignment, AlignmentKind, Alphabet, Annealing, BitAnnealing, BitClustering, BitKMeans, Bits,
    CancelToken, Checkpoints, Clustering, Clusters, Control, KMeans, MiningError, PairDistances,
    Points, Progress, Scores, Sequences,
};
use motet_sync::Mutex;
use std::time::Duration;

fn join(parts: Vec<Clustering>) -> Option<Clustering> {
    Clustering::join(parts)
}

fn points() -> Points {
    let mut numbers = Numbers(5);
    let weights = (0..400).map(|_| 1.0 + (numbers.uniform() * 5.0).floor());
    let weights = weights.collect();
    // As wide as they are apart: the search has something to do.
    let values = numbers.heaps(400, 2, 12, 0.12);
    Points::new(values, 2).unwrap().weighted(weights).unwrap()
}

/// Runs again and again, each time on another number of ranks, and stops when the caller has been
/// told of one step more than the last time; gives back the last run and how often it was stopped.
fn stopped<T: Value>(
    fit: impl AsyncFn(&Communicator, &Control<'_>) -> Result<T, MiningError> + Sync,
    join: fn(Vec<T>) -> Option<T>,
) -> (T, usize) {
    for stops in 0.. {
        let cancel = CancelToken::new();
        let told = Mutex::new(0);
        let progress = |_: &Progress| {
            let mut told = told.lock();
            *told += 1;
            if *told == 2 {
                cancel.cancel();
            }
        };
        let control = Control {
            progress: Some(&progress),
            cancel: Some(&cancel),
        };
        let fit = &fit;
        let parts =
            World::threads(1 + stops % 3).run(async |comm| match fit(&comm, &control).await {
                Err(MiningError::Cancelled) => Ok(None),
                part => part.map(Some),
            });
        let parts = parts.unwrap().into_iter().collect::<Option<Vec<_>>>();
        if let Some(found) = parts.and_then(join) {
            return (found, stops);
        }
        assert!(stops < 1000, "no run comes any further");
    }
    unreachable!("the runs are endless")
}

#[test]
fn sem_g161_an_annealing_that_was_stopped_anywhere_goes_on_to_the_same_bits() {
    let points = points();
    let folder = tempfile::tempdir().unwrap();
    for (name, clusters, most) in [
        ("exactly", Clusters::Exactly(11), 11),
        (
            "found",
            Clusters::Found {
                t_min: 0.03,
                at_most: 20,
            },
            20,
        ),
    ] {
        let method = Annealing {
            clusters,
            ..Annealing::default()
        };
        let whole = anneal(2, &method, &points);
        assert!(whole.clusters() > 3 && whole.clusters() <= most);
        let kept = Checkpoints::new(folder.path(), name).every(Duration::ZERO);
        let (found, stops) = stopped(
            async |comm, control| method.fit_kept(comm, &points, control, &kept).await,
            join,
        );
        assert_eq!(found, whole, "{name}");
        // At every second temperature, and in the search.
        assert!(stops > whole.trace.len() / 2, "{name}: {stops} stops");
        refuses_others(&method, &points, &kept);
    }
}

/// Other data and other options are told.
fn refuses_others(method: &Annealing, points: &Points, kept: &Checkpoints) {
    let fit = |method: &Annealing, points: &Points| {
        let run = World::threads(2).run(async |comm| {
            let control = Control::default();
            let run = method.fit_kept(&comm, points, &control, kept).await;
            Ok::<_, MiningError>(run.map_err(|error| error.to_string()))
        });
        run.unwrap().remove(0).unwrap_err()
    };
    let other = Annealing {
        cooling: 0.8,
        ..method.clone()
    };
    let told = fit(&other, points);
    assert!(
        told.contains(".checkpoint") && told.contains("other options"),
        "{told}"
    );
    let fewer = Points::new(points.values()[2..].to_vec(), 2).unwrap();
    assert!(fit(method, &fewer).contains("other data"));
}

#[test]
fn sem_g162_k_means_that_was_stopped_goes_on_to_the_same_bits() {
    let points = points();
    let folder = tempfile::tempdir().unwrap();
    for (number, (max_iterations, restarts)) in [(10_000, 12), (3, 5)].into_iter().enumerate() {
        let method = KMeans {
            clusters: 9,
            seed: 4,
            restarts,
            max_iterations,
            ..KMeans::default()
        };
        let whole = kmeans(1, &method, &points);
        let name = format!("kmeans-{number}");
        let kept = Checkpoints::new(folder.path(), &name).every(Duration::ZERO);
        let (found, stops) = stopped(
            async |comm, control| method.fit_kept(comm, &points, control, &kept).await,
            join,
        );
        assert_eq!(found, whole, "{name}");
        assert!(stops >= restarts / 2, "{stops} stops");
    }
}

fn join_bits(parts: Vec<BitClustering>) -> Option<BitClustering> {
    BitClustering::join(parts)
}

/// Rows of families, each with some bits that are others'.
fn bits() -> Bits {
    let word = |i: u64| {
        let noise = |by: u64| 1 << (i * by % 61) | 1 << (i * i * by % 59);
        (0x1FFF_u64 << (9 * (i % 6))) ^ noise(7) ^ noise(29)
    };
    Bits::new((0..240).map(word).collect(), 64).unwrap()
}

#[test]
fn sem_g170_clusterings_of_bits_that_were_stopped_go_on_to_the_same_bits() {
    let (bits, folder) = (bits(), tempfile::tempdir().unwrap());
    let kept = |name| Checkpoints::new(folder.path(), name).every(Duration::ZERO);
    let annealing = BitAnnealing {
        clusters: Clusters::Exactly(9),
        ..BitAnnealing::default()
    };
    let kmeans = BitKMeans {
        clusters: 9,
        seed: 3,
        restarts: 8,
    };
    let (one, other) = (kept("annealing"), kept("kmeans"));
    let run = World::threads(2).run(async |comm| {
        let control = Control::default();
        let annealed = annealing.fit(&comm, &bits, &control).await?;
        Ok::<_, MiningError>((annealed, kmeans.fit(&comm, &bits, &control).await?))
    });
    let (annealed, means): (Vec<_>, Vec<_>) = run.unwrap().into_iter().unzip();
    let fit = async |comm: &Communicator, control: &Control<'_>| {
        annealing.fit_kept(comm, &bits, control, &one).await
    };
    let (found, stops) = stopped(fit, join_bits);
    assert_eq!(Some(found), join_bits(annealed));
    assert!(stops > 10, "{stops} stops");
    let fit = async |comm: &Communicator, control: &Control<'_>| {
        kmeans.fit_kept(comm, &bits, control, &other).await
    };
    let (found, stops) = stopped(fit, join_bits);
    assert_eq!(Some(found), join_bits(means));
    assert!(stops > 2, "{stops} stops");
    let fewer = Bits::new(vec![1, 2, 3, 4, 5, 6, 7, 8, 9], 64).unwrap();
    let run = World::threads(2).run(async |comm| {
        let run = annealing
            .fit_kept(&comm, &fewer, &Control::default(), &one)
            .await;
        Ok::<_, MiningError>(run.map(|_| ()).map_err(|error| error.to_string()))
    });
    let told = run.unwrap().remove(0).unwrap_err();
    assert!(told.contains("other data"), "{told}");
}

/// The names of the files of a folder, the shorter ones first.
fn parts_of(folder: &std::path::Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let name = |file: std::io::Result<std::fs::DirEntry>| file.unwrap().file_name();
    let mut names: Vec<String> = files.map(|f| name(f).into_string().unwrap()).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names
}

/// What a run gives that was cancelled before a round was whole, and goes on. It keeps no more than
/// there was.
fn cancelled_at_once(
    folder: &std::path::Path,
    run: impl Fn(&Control<'_>) -> Option<Vec<f32>>,
) -> Vec<f32> {
    let (before, cancel) = (parts_of(folder), CancelToken::new());
    cancel.cancel();
    let control = Control {
        cancel: Some(&cancel),
        ..Control::default()
    };
    std::fs::remove_file(folder.join(before.last().unwrap())).unwrap();
    assert!(run(&control).is_none(), "it was not cancelled");
    assert_eq!(parts_of(folder), before[..before.len() - 1]);
    run(&Control::default()).unwrap()
}

#[test]
fn sem_g171_distances_that_were_stopped_go_on_to_the_same_bits() {
    let letter = |i: usize, j: usize| b"ACGT"[(i * j % 7 + j * j % 5 + i / 9) % 4];
    let record = |i: usize| {
        let letters = (0..20 + i % 5).map(|j| char::from(letter(i, j)));
        format!(">s{i}\n{}\n", letters.collect::<String>())
    };
    let text: String = (0..90).map(record).collect();
    let sequences = Sequences::from_fasta(text.as_bytes(), Alphabet::Dna).unwrap();
    let method = Alignment::dna();
    let joined = |parts: &[PairDistances]| PairDistances::join(&sequences, parts);
    let matrix = |parts: &[PairDistances]| joined(parts).unwrap().unwrap();
    let run = |ranks: usize, kept: Option<&Checkpoints>, control: &Control<'_>| {
        World::threads(ranks).run(async |comm| match kept {
            Some(kept) => {
                method
                    .distances_kept(&comm, &sequences, control, kept)
                    .await
            }
            None => method.distances(&comm, &sequences, control).await,
        })
    };
    let whole = matrix(&run(2, None, &Control::default()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let kept = Checkpoints::new(folder.path(), "distances").every(Duration::ZERO);
    let mut stops = 0;
    let found = loop {
        // Stops after 30 rounds more.
        let (cancel, told) = (CancelToken::new(), Mutex::new(0));
        let progress = |_: &Progress| {
            *told.lock() += 1;
            if *told.lock() == 30 {
                cancel.cancel();
            }
        };
        let control = Control {
            progress: Some(&progress),
            cancel: Some(&cancel),
        };
        match run(1 + stops % 3, Some(&kept), &control) {
            Ok(parts) => break matrix(&parts),
            Err(_) => stops += 1,
        }
        assert!(stops < 20);
    };
    assert!(stops > 4, "{stops} stops");
    let again = |control: &Control<'_>| Some(matrix(&run(3, Some(&kept), control).ok()?));
    assert_eq!(cancelled_at_once(folder.path(), again), whole);
    let bits = |matrix: &[f32]| matrix.iter().map(|d| d.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&found), bits(&whole));
    // A part that is missing, or of another method, is told.
    std::fs::remove_file(folder.path().join("distances.1.checkpoint")).unwrap();
    let local = Alignment {
        open: 20,
        ..Alignment::dna()
    };
    let other = World::threads(2).run(async |comm| {
        let control = Control::default();
        let run = local
            .distances_kept(&comm, &sequences, &control, &kept)
            .await;
        Ok::<_, MiningError>(run.map(|_| ()).map_err(|error| error.to_string()))
    });
    let told = other.unwrap().remove(0).unwrap_err();
    assert!(
        told.contains("distances.0.checkpoint") && told.contains("other"),
        "{told}"
    );
    kept.clear().unwrap();
    assert!(!folder.path().join("distances.0.checkpoint").exists());
}

#[test]
fn sem_g171_distances_of_another_alphabet_or_other_scores_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Checkpoints::new(folder.path(), "distances").every(Duration::ZERO);
    let run = |method: Alignment, text: &str, alphabet: Alphabet| {
        let sequences = Sequences::from_fasta(text.as_bytes(), alphabet).unwrap();
        let parts = World::threads(2).run(async |comm| {
            let control = Control::default();
            let run = method.distances_kept(&comm, &sequences, &control, &kept);
            Ok::<_, MiningError>(run.await.map(|_| ()).map_err(|error| error.to_string()))
        });
        parts.unwrap().remove(0)
    };
    let (dna, bases) = (Alignment::dna(), ">a\nACGTN\n>b\nACGTN\n");
    run(dna, bases, Alphabet::Dna).unwrap();
    let local = Alignment {
        kind: AlignmentKind::Local,
        ..dna
    };
    let scores = Alignment {
        scores: Scores::Letters { same: 4, other: -4 },
        ..dna
    };
    // Each letter has the same code as the base above.
    let residues = ">a\nARNDC\n>b\nARNDC\n";
    for told in [
        run(dna, residues, Alphabet::Protein),
        run(local, bases, Alphabet::Dna),
        run(scores, bases, Alphabet::Dna),
    ] {
        let told = told.unwrap_err();
        assert!(
            told.contains("distances.0.checkpoint") && told.contains("other options"),
            "{told}"
        );
    }
    run(dna, bases, Alphabet::Dna).unwrap();
}
