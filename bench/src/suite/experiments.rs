//! The experiments, those together that share their programs.

pub(super) mod against_stages;
pub(super) mod clustering;
pub(super) mod container;
pub(super) mod copies;
pub(super) mod drawings;
pub(super) mod forms_of_code;
pub(super) mod gene_clusters;
pub(super) mod generators;
pub(super) mod kernel;
pub(super) mod layouts;
pub(super) mod map_reduce;
pub(super) mod products;
pub(super) mod separation;
pub(super) mod services;
pub(super) mod stage_overheads;
pub(super) mod unit;
