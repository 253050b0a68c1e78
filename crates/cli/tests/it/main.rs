//! Tests of the program as a user runs it.

#[cfg(feature = "bench")]
mod bench;
mod bits;
mod cancel;
mod checkpoint;
mod chosen;
mod doctor;
mod errors;
mod flow;
mod help;
mod input;
#[cfg(target_os = "linux")]
mod job;
#[cfg(feature = "mesh")]
mod linked;
mod mapped;
#[cfg(feature = "mesh")]
mod mesh;
#[cfg(feature = "mesh")]
mod mesh_known;
#[cfg(feature = "mesh")]
mod mesh_pub;
#[cfg(all(feature = "mesh", target_os = "linux"))]
mod mesh_run;
#[cfg(feature = "mesh")]
mod mesh_stops;
#[cfg(feature = "mesh")]
mod mesh_sub;
mod models;
mod output;
mod pairs;
mod places;
mod program;
#[cfg(unix)]
mod reach;
mod refused;
#[cfg(feature = "bench")]
mod report;
mod results;
mod run;
mod sample;
mod scale;
mod serve;
#[cfg(target_os = "linux")]
mod signals;
mod spread;
mod unused;
