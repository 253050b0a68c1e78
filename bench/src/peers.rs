//! The peers of [`core`](crate::experiments::core) and [`ranks`](crate::experiments::ranks): the
//! same programs, as their own users would write them. They have the same number of threads, pinned
//! like motet's where the library lets us.

mod answering;
pub(crate) mod copies;
pub(crate) mod crossbeam;
pub(crate) mod csharp;
pub(crate) mod floor;
pub(crate) mod go;
pub(crate) mod java;
pub(crate) mod java_mpi;
pub(crate) mod mpi;
pub(crate) mod nexosim;
pub(crate) mod openblas;
pub(crate) mod openmp;
pub(crate) mod python;
pub(crate) mod rank;
pub(crate) mod rayon;
pub(crate) mod ring;
pub(crate) mod scikit_learn;
pub(crate) mod simpy;
pub(crate) mod spark;
pub(crate) mod tokio;
pub(crate) mod workshop;
