//! Files that several processes write, over each MPI library; and one that is killed meanwhile.

use crate::started::{in_process_with, joined, note, run, run_each_to_its_end, times};
use motet::World;
use motet::comm::{Layout, RunError};
use motet::files::{Draft, FileError, Stored, View};
use motet::mpi::ThreadLevel;
use motet_testkit::mpi_libraries;
use rustix::process::{Signal, getpid, kill_process};
use std::fs;
use std::path::PathBuf;

/// What a process is told: where the file is.
const FOLDER: &str = "MOTET_FILES_TEST_FOLDER";

#[test]
fn sem_g356_needs_mpi_files_over_processes() {
    const SIDE: usize = 40;
    let name = "files::sem_g356_needs_mpi_files_over_processes";
    let body = |mpi| {
        let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the launch says it"));
        let world = World::over(joined(mpi), 2);
        let ran = world.run(async |comm| -> Result<(), FileError> {
            // Each rank has some columns of a matrix: small pieces, put together.
            let (rank, size, path) = (comm.rank(), comm.size(), folder.join("matrix"));
            let each = SIDE / size;
            let columns = Layout::subarray(&[SIDE, SIDE], &[SIDE, each], &[0, rank * each])?;
            let mut draft = Draft::create(&comm, &path).await?;
            draft.set_view(View::new(0, columns.clone())?);
            let matrix: Vec<u32> = (0..(SIDE * SIDE) as u32).collect();
            draft.write_at_all(0, &columns.gather(&matrix)?).await?;
            draft.commit().await?;
            let mut file = Stored::open(&comm, &path).await?;
            let mut all = vec![0; SIDE * SIDE];
            file.read_at_all(0, &mut all).await?;
            assert_eq!(all, matrix);
            let row = Layout::contiguous(SIDE).resized(size * SIDE)?;
            file.set_view(View::new((rank * SIDE) as u64, row)?);
            let mut rows = vec![0; each * SIDE];
            file.read_at_all(0, &mut rows).await?;
            let first = |at: usize| (at / SIDE * size + rank) * SIDE + at % SIDE;
            assert!(
                rows.iter()
                    .enumerate()
                    .all(|(at, it)| *it as usize == first(at))
            );
            Ok(())
        });
        ran.unwrap();
    };
    if in_process_with(ThreadLevel::Serialized, name, body) {
        return;
    }
    for library in mpi_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let folder = format!("{FOLDER}={}", folder.path().display());
        let ran = run(name, 2, &library, &["env", &folder]);
        let out = String::from_utf8_lossy(&ran.stdout);
        let err = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{}: {out}{err}", library.display());
    }
}

#[test]
fn sem_g360_needs_mpi_a_kill_leaves_the_file_as_it_was() {
    let name = "files::sem_g360_needs_mpi_a_kill_leaves_the_file_as_it_was";
    let body = |mpi| {
        let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the launch says it"));
        let world = World::over(joined(mpi), 1);
        let ended = world.run(async |comm| -> Result<(), FileError> {
            let draft = Draft::create(&comm, folder.join("file")).await?;
            for round in 0_u64.. {
                draft
                    .write_at_all(3 * round + comm.rank() as u64, &[1_u8])
                    .await?;
                if comm.rank() == 2 && round == 20 {
                    note("killed at");
                    kill_process(getpid(), Signal::KILL).unwrap();
                }
            }
            draft.commit().await
        });
        match ended.unwrap_err() {
            RunError::Lost { process: 2, .. } | RunError::Elsewhere { .. } => note("ended at"),
            other => panic!("{other}"),
        }
    };
    if in_process_with(ThreadLevel::Multiple, name, body) {
        return;
    }
    for library in mpi_libraries().into_iter().take(1) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), [7; 8]).unwrap();
        let settings = [format!("{FOLDER}={}", folder.path().display())];
        let left = run_each_to_its_end(name, 3, &library, &settings);
        let told = left.told(&library);
        assert_eq!(times(&left.notes, "killed at ").len(), 1, "{told}");
        assert_eq!(times(&left.notes, "ended at ").len(), 2, "{told}");
        let kept = fs::read(folder.path().join("file")).unwrap();
        assert_eq!(kept, [7; 8], "{told}");
        let count = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count, 1, "process 0 has removed the draft: {told}");
    }
}
