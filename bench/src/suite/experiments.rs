//! The experiments, one file each, named after the papers' number.

pub(super) mod e01_unit;
pub(super) mod e02_structure;
pub(super) mod e03_four;
pub(super) mod e04_two;
pub(super) mod e05_exchange;
pub(super) mod e06_patterns;
pub(super) mod e07_stage_bandwidth;
pub(super) mod e08_size_bandwidth;
pub(super) mod e09_services;
pub(super) mod e10_container;
pub(super) mod e11_models;
pub(super) mod e13_drawings;
pub(super) mod e14_modes;
pub(super) mod e15_rendezvous;
pub(super) mod e16_java_mpi;
pub(super) mod e17_service_latency;
pub(super) mod e19_separation;
pub(super) mod e21_exchange_latency;
