//! Data sets, runs and scores that the tests share.

use flate2::read::GzDecoder;
use motet_comm::World;
use motet_mining::{Annealing, Clustering, Clusters, Control, Init, KMeans, Points};
use motet_testkit::data;
use std::fs;
use std::io::Read;

/// A set with known labels.
pub(crate) struct Labelled {
    pub(crate) points: Points,
    pub(crate) labels: Vec<u32>,
    /// The number of different labels.
    pub(crate) classes: usize,
}

/// Reads a set of `labelled-sipu` or `labelled-sklearn`; `columns, label0, label1, …` or
/// `columns, label`.
pub(crate) fn labelled(name: &str) -> Labelled {
    let sipu = data().join(format!("labelled-sipu/{name}.csv.gz"));
    let text = if sipu.exists() {
        let file = fs::File::open(&sipu).unwrap();
        let mut text = String::new();
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
        text
    } else {
        let path = data().join(format!("labelled-sklearn/{name}.csv"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut lines = text.lines();
    let header = lines.next().unwrap().split(',');
    let dim = header
        .take_while(|column| !column.starts_with("label"))
        .count();
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for line in lines {
        let row: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        values.extend_from_slice(&row[..dim]);
        labels.push(row[dim] as u32);
    }
    let mut classes = labels.clone();
    classes.sort_unstable();
    classes.dedup();
    let points = Points::new(values, dim).unwrap();
    Labelled {
        points,
        labels,
        classes: classes.len(),
    }
}

/// Runs annealing on some ranks and joins the parts.
pub(crate) fn anneal(ranks: usize, method: &Annealing, points: &Points) -> Clustering {
    let parts = World::threads(ranks)
        .run(async |comm| method.fit(&comm, points, &Control::default()).await)
        .unwrap();
    Clustering::join(parts).unwrap()
}

/// Annealing for `clusters` clusters on one rank.
pub(crate) fn annealed(clusters: usize, points: &Points) -> Clustering {
    let clusters = Clusters::Exactly(clusters);
    anneal(
        1,
        &Annealing {
            clusters,
            ..Annealing::default()
        },
        points,
    )
}

/// Runs K-means on some ranks and joins the parts.
pub(crate) fn kmeans(ranks: usize, method: &KMeans, points: &Points) -> Clustering {
    let parts = World::threads(ranks)
        .run(async |comm| method.fit(&comm, points, &Control::default()).await)
        .unwrap();
    Clustering::join(parts).unwrap()
}

/// One K-means run from a random start.
pub(crate) fn random_start(clusters: usize, seed: u64, points: &Points) -> Clustering {
    kmeans(
        1,
        &KMeans {
            clusters,
            init: Init::Random,
            seed,
            ..KMeans::default()
        },
        points,
    )
}

/// Numbers in [0, 1) that repeat: a Weyl sequence through a mixer.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A normal deviate, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// `rows` points in `dim` columns around `heaps` centres in the unit cube.
    pub(crate) fn heaps(&mut self, rows: usize, dim: usize, heaps: usize, width: f64) -> Vec<f64> {
        let centres: Vec<f64> = (0..heaps * dim).map(|_| self.uniform()).collect();
        (0..rows * dim)
            .map(|i| centres[i / dim % heaps * dim + i % dim] + width * self.normal())
            .collect()
    }
}
