//! Parallel data mining over communicators: clustering of points, pairs and sequences, mixtures,
//! hidden Markov models.
//!
//! Every rank of a world calls the same method with the same points. The points are cut into fixed
//! blocks, and each rank works on its share of the blocks. One reduction per pass over the data
//! joins them in an order that belongs to the blocks. So the result has the same bits on one rank
//! and on a thousand, and annealing uses no random number at all.
//!
//! - **Depends on**: `motet-comm` alone, never threads or MPI by name.
//! - **Used by**: the facade, the command line, the Python package, the benchmarks.
//!
//! ```text
//!  Points ─► inner coordinates ─► distinct rows ─► k-d tree order ─► blocks of tiles
//!                                                    │ summaries          │ all points
//!            Annealing: temperatures fall ◄──────────┴────────────────────┤
//!            KMeans: random starts ◄──────────────────────────────────────┘
//!                  each pass: kernels on own blocks ─► one reduction ─► the same sums everywhere
//!  ─► temperature zero: Lloyd to the fixed point, search ─► labels of own rows ─► Clustering
//! ```
//!
//! | question | answer |
//! |---|---|
//! | K is known | [`Annealing`] with [`Clusters::Exactly`] |
//! | K is not known, a scale is | [`Annealing`] with [`Clusters::Found`] |
//! | neither is known | [`Annealing::choose`], [`Pairwise::choose`], [`BitAnnealing::choose`] |
//! | a baseline, or random restarts | [`KMeans`] |
//! | places on the Earth | [`sphere`], then either |
//! | columns of mixed units | [`Points::standardised`], then either |
//! | rows of bits, as fingerprints | [`BitAnnealing`], [`Similar`] |
//! | only dissimilarities of pairs are known | [`Pairwise`] |
//! | only sequences of letters are known | [`Alignment`], then [`Pairwise`] |
//! | many rows of bits, or many pairs | [`Sampling`], then `give` of the result of the sample |
//! | pairs are to be seen in a plane | [`Scaling`] |
//! | clusters overlap, or have shapes | [`Mixture`] |
//! | sequences that hidden states show | [`Hmm`], [`HmmModel`] |
//! | to watch or to stop a run | [`Control`] |
//! | single passes, for measurements | [`Steps`] |
//! | to compare labels | [`adjusted_rand`] |
//!
//! # Examples
//!
//! Two ranks cluster 2,000 points in three groups.
//!
//! ```
//! use motet_comm::World;
//! use motet_mining::{Annealing, Clustering, Clusters, Control, Points};
//!
//! let corner = |i: usize| [[0.0, 0.0], [9.0, 0.0], [4.0, 9.0]][i % 3];
//! let wobble = |i: usize| ((i * 37 % 101) as f64 / 101.0, (i * 59 % 103) as f64 / 103.0);
//! let values = (0..2000).flat_map(|i| {
//!     let (corner, (dx, dy)) = (corner(i), wobble(i));
//!     [corner[0] + dx, corner[1] + dy]
//! });
//! let points = Points::new(values.collect(), 2)?;
//!
//! let method = Annealing { clusters: Clusters::Exactly(3), ..Annealing::default() };
//! let parts = World::threads(2)
//!     .run(async |comm| method.fit(&comm, &points, &Control::default()).await)
//!     .unwrap();
//! let found = Clustering::join(parts).unwrap();
//! assert_eq!(found.sizes, [667, 666, 667]);
//! assert_eq!(found.labels[..3], [0, 2, 1]);
//! assert!(found.trace[0].clusters == 1 && found.inertia < 400.0);
//! # Ok::<(), motet_mining::DataError>(())
//! ```
//!
//! # Same bits
//!
//! Results do not depend on the number of ranks, the instruction set, the order of the points, or a
//! power of two as factor. Duplicates count as one point of their joint weight. What the platform's
//! own arithmetic guarantees is used and nothing else: sums, products, fused products, quotients
//! and square roots.
//!
//! Read next: `annealing/schedule.rs` (the fall of the temperature), `soft/kernel.rs` (one pass),
//! `row_tree.rs` (order and summaries), `lanes.rs` (vectors).

mod agreement;
mod align;
mod annealing;
mod bits;
mod blocks;
mod boxed;
mod checkpoint;
mod choice;
mod clustering;
mod control;
mod coordinate_map;
mod distinct;
mod error;
mod finish;
mod hard;
mod hmm;
mod kmeans;
mod lanes;
mod lloyd;
mod memory_request;
mod mixture;
mod narrow;
mod nearest;
mod order;
mod pairwise;
mod points;
mod power;
mod prepare;
mod rank_view;
mod row_tree;
mod scaling;
mod sequences;
mod soft;
pub mod sphere;
mod squares;
mod steps;
mod tiles;
mod weights;

pub use agreement::adjusted_rand;
pub use align::{Alignment, AlignmentKind, PairDistances, Scores};
pub use annealing::{Annealing, Clusters};
pub use bits::{
    BitAnnealing, BitClustering, BitKMeans, Bits, FingerprintError, Likeness, Neighbour,
    Neighbours, Similar,
};
pub use boxed::LocalBoxFuture;
pub use checkpoint::Checkpoints;
pub use choice::ClusterChoice;
pub use clustering::{Clustering, TraceStep};
pub use control::{CancelToken, Control, Progress};
pub use error::{DataError, MiningError, ParameterError, SequenceError};
pub use hmm::{Emissions, Hmm, HmmFitted, HmmModel, HmmPaths, HmmPosteriors, Observations};
pub use kmeans::{Init, KMeans};
pub use mixture::{
    Covariance, Criterion, Mixture, MixtureLabels, MixtureModel, MixtureStart, MixtureTried,
};
pub use pairwise::{
    Dissimilarities, Floats, Given, PairSteps, PairWork, Pairwise, PairwiseClustering,
    PairwiseSplit, Sampling,
};
pub use points::Points;
pub use scaling::{Scaled, Scaling, ScalingMethod, ScalingStep};
pub use sequences::{Alphabet, Sequences};
pub use steps::{HardStep, SoftStep, Steps};
