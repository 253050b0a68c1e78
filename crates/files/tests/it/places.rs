//! Ranks that wait in a call of a file for ever are reported where they have called it.

use motet_comm::{Communicator, RankState, RunError, World};
use motet_files::{Draft, FileError, Stored};
use motet_testkit::{patience, within};
use std::path::{Path, PathBuf};

/// Rank 0 makes this call, with a file of its name, which rank 1 does not make.
fn waits_here(
    call: impl AsyncFn(Communicator, PathBuf) -> Result<(), FileError> + Send + Sync + 'static,
) {
    within(patience(), move || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let ended = World::threads(2).run(async |comm| -> Result<(), FileError> {
            if comm.rank() == 0 {
                return call(comm, path.clone()).await;
            }
            let _file = draft_of(&comm, &path).await;
            Ok(comm.recv(0, 7).await?)
        });
        let Err(RunError::Stuck(report)) = ended else {
            panic!("{ended:?}");
        };
        let RankState::Waiting(waits) = &report.ranks[0] else {
            panic!("{report}");
        };
        assert_eq!(waits[0].location.file(), file!(), "{report}");
    });
}

async fn draft_of(comm: &Communicator, path: &Path) -> Result<Draft<u8>, FileError> {
    Draft::create(comm, path).await
}

#[test]
fn sem_g72_who_writes_with_all_alone_is_reported_where_it_called() {
    waits_here(async |comm, path| {
        let draft = draft_of(&comm, &path).await?;
        draft.write_at_all(0, &[1]).await
    });
}

#[test]
fn sem_g72_who_commits_alone_is_reported_where_it_called() {
    waits_here(async |comm, path| {
        let draft = draft_of(&comm, &path).await?;
        draft.commit().await
    });
}

#[test]
fn sem_g72_who_opens_a_file_alone_is_reported_where_it_called() {
    waits_here(async |comm, path| {
        let draft = draft_of(&comm, &path).await?;
        Stored::<u8>::open(&comm, &path).await?;
        drop(draft);
        Ok(())
    });
}
