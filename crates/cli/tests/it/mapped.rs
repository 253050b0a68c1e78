//! Matrices that stay in their files.

use std::process::Stdio;

use motet_testkit::mpi_libraries;
use serde_json::Value;

use crate::program::{ProgramFolder, Run};

/// A `.npy` file of 4-byte numbers.
fn npy(rows: usize, columns: usize, values: &[f32]) -> Vec<u8> {
    let header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    file
}

/// Squared distances of 60 points in three groups.
fn groups() -> Vec<f32> {
    let at = |i: usize| (i % 3 * 50) as f32 + (i * 7 % 11) as f32 / 3.0;
    let pair = |place: usize| (at(place / 60) - at(place % 60)).powi(2);
    (0..3600).map(pair).collect()
}

fn found(run: Run) -> Value {
    let mut found: Value = serde_json::from_str(&run.quiet_success()).unwrap();
    let fields = found.as_object_mut().unwrap();
    for changing in ["run_seconds", "threads"] {
        fields.remove(changing);
    }
    found
}

const READ: &str = "cluster d.npy --pairwise -k 3 --json -t 1";
const MAPPED: &str = "cluster d.npy --pairwise -k 3 --json --mapped";

#[test]
fn sem_g157_a_mapped_matrix_gives_the_bits_of_one_that_is_read() {
    let place = ProgramFolder::with("d.npy", npy(60, 60, &groups()));
    let read = found(place.run(READ));
    assert_eq!(read["clusters"], 3);
    for threads in [1, 2, 3] {
        assert_eq!(found(place.run(&format!("{MAPPED} -t {threads}"))), read);
    }
}

#[test]
fn sem_g157_needs_mpi_processes_map_the_same_file() {
    for library in mpi_libraries() {
        let place = ProgramFolder::with("d.npy", npy(60, 60, &groups()));
        let read = found(place.run(READ));
        for layout in ["-t 1 -m 2", "-t 2 -m 2"] {
            let mut command = place.command(&format!("{MAPPED} {layout} --mpi-lib"));
            command.arg(&library).stdin(Stdio::null());
            let run: Run = command.output().unwrap().into();
            assert_eq!(found(run), read, "{layout}, {}", library.display());
        }
    }
}

#[test]
fn sem_g157_a_file_that_cannot_be_mapped_is_told_before_any_work() {
    let whole = npy(60, 60, &groups());
    let place = ProgramFolder::with("d.npy", &whole[..whole.len() - 5]);
    let refused = |words: &[&str]| {
        place.run(MAPPED).refusal(words);
    };
    refused(&[
        "d.npy",
        "60 rows of 60 columns are announced",
        "14395 bytes",
    ]);
    place.write("d.npy", &whole[..40]);
    refused(&["d.npy", "cut short"]);
    let mut other = whole;
    let at = other.windows(3).position(|part| part == b"<f4").unwrap();
    other[at..at + 3].copy_from_slice(b"<f8");
    place.write("d.npy", &other);
    refused(&["d.npy", "announced"]);
    other[at..at + 3].copy_from_slice(b"<i4");
    place.write("d.npy", &other);
    refused(&["d.npy", "<i4", "float32"]);
    place.write("d.npy", npy(30, 120, &groups()));
    refused(&["d.npy", "30 rows of 120 columns", "square"]);
    place.write("d.npy", "");
    refused(&["d.npy", "not packed"]);
    let mut values = groups();
    values[7 * 60 + 4] += 1.0;
    place.write("d.npy", npy(60, 60, &values));
    refused(&["d.npy", "(7, 4)", "means are taken"]);
    values[4 * 60 + 7] = -1.0;
    place.write("d.npy", npy(60, 60, &values));
    refused(&["d.npy", "row 4, column 7"]);
    place
        .run("cluster none.npy --pairwise --mapped")
        .refusal(&["no such file: none.npy"]);
    place
        .run("cluster d.npy --mapped -k 2")
        .refusal(&["--pairwise"]);
}
