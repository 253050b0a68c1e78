//! Ranks that wait in a call of a file for ever are reported where they have called it, and a
//! profile names that place.

use crate::network::processes;
use motet_comm::{Communicator, Profile, RankState, RunError, World};
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

/// Every call of a file, in every world, stands in this file.
#[test]
fn sem_g326_a_profile_names_where_a_file_was_used() {
    async fn calls(comm: Communicator, path: &Path) -> Result<(), FileError> {
        let draft = Draft::create(&comm, path).await?;
        draft.resize(8).await?;
        draft.write_at_all(comm.rank() as u64, &[1_u8]).await?;
        draft.write_ordered(&[2]).await?;
        draft.commit().await?;
        let draft = Draft::<u8>::change(&comm, path).await?;
        draft.commit_without_sync().await?;
        let file = Stored::<u8>::open(&comm, path).await?;
        file.read_at_all(0, &mut [0]).await?;
        file.read_ordered(&mut [0]).await
    }
    let check = |profile: &Profile| {
        for rank in &profile.ranks {
            let sites = rank.stages.iter().map(|stage| &stage.site);
            let sites: Vec<_> = sites.filter(|site| !site.is_empty()).collect();
            let are_here = sites.iter().all(|site| site.contains("it/places.rs:"));
            assert!(sites.len() > 3 && are_here, "{profile}");
        }
    };
    within(patience(), move || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let world = World::threads(2).profile();
        let near = world.run_outcome(async |comm| calls(comm, &path).await);
        check(&near.unwrap().profile.unwrap());
        let ended = processes(2, move |end| {
            let world = World::over(end, 1).profile();
            let outcome = world.run_outcome(async |comm| calls(comm, &path).await);
            outcome.unwrap().profile
        });
        let told: Vec<Profile> = ended.into_iter().flatten().collect();
        assert_eq!(told.len(), 1, "process 0 has that of all");
        check(&told[0]);
    });
}
