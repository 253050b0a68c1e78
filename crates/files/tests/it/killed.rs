//! A process that is killed while all write: what had the name has it.

use crate::started::{in_process_with, joined, note, run_each_to_its_end, times};
use motet_comm::{RunError, World};
use motet_files::{Draft, FileError};
use motet_mpi::ThreadLevel;
use motet_testkit::mpi_libraries;
use rustix::process::{Signal, getpid, kill_process};
use std::fs;
use std::path::PathBuf;

#[test]
fn sem_g1045_needs_mpi_a_kill_leaves_the_file_as_it_was() {
    const FOLDER: &str = "MOTET_FILES_TEST_FOLDER";
    let name = "killed::sem_g1045_needs_mpi_a_kill_leaves_the_file_as_it_was";
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
        let told = format!(
            "{}: {}{}{}",
            library.display(),
            left.notes,
            left.out,
            left.err
        );
        assert_eq!(times(&left.notes, "killed at ").len(), 1, "{told}");
        assert_eq!(times(&left.notes, "ended at ").len(), 2, "{told}");
        let kept = fs::read(folder.path().join("file")).unwrap();
        assert_eq!(kept, [7; 8], "{told}");
        let count = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count, 1, "process 0 has removed the draft: {told}");
    }
}
