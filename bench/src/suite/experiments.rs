//! The experiments, one file each, named after the papers' number.

pub(super) mod e01_unit;
pub(super) mod e20_clustering_kernel;
pub(super) mod e22_fluctuation;
pub(super) mod e23_spread;
pub(super) mod e33_matrix_multiplication;
pub(super) mod e34_matrix_efficiency;
pub(super) mod e35_matrix_machines;
pub(super) mod e36_forms_of_code;
