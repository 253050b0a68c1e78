//! Drafts: whole or not at all; and what is refused.

use crate::network::processes;
use motet_comm::{CommError, Communicator, Layout, RunError, World};
use motet_files::{Draft, FileError, Stored, View};
use motet_testkit::{patience, within};
use std::fs;
use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;
use std::task::Poll;

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn on_three(body: impl AsyncFn(Communicator) -> Result<(), FileError> + Sync + Send + 'static) {
    within(patience(), move || {
        World::threads(3).run(body).map(drop).unwrap()
    });
}

#[test]
fn sem_g357_until_the_commit_what_had_the_name_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, [7, 7]).unwrap();
    on_three(async move |comm| {
        let draft = Draft::create(&comm, &path).await?;
        draft
            .write_at_all(comm.rank() as u64, &[comm.rank() as u8])
            .await?;
        assert_eq!(fs::read(&path).unwrap(), [7, 7]);
        assert_eq!(names(path.parent().unwrap()).len(), 2);
        comm.barrier().await?;
        // Given up: nothing is left of it.
        drop(draft);
        comm.barrier().await?;
        assert_eq!(names(path.parent().unwrap()), ["file"]);
        assert_eq!(fs::read(&path).unwrap(), [7, 7]);
        let draft = Draft::create(&comm, &path).await?;
        draft
            .write_at_all(comm.rank() as u64, &[comm.rank() as u8])
            .await?;
        draft.commit_without_sync().await?;
        assert_eq!(fs::read(&path).unwrap(), [0, 1, 2]);
        let draft = Draft::<u8>::change(&comm, &path).await?;
        if comm.rank() == 2 {
            draft.write_at(1, &[9])?;
        }
        draft.resize(5).await?;
        assert_eq!(fs::read(&path).unwrap(), [0, 1, 2]);
        draft.commit().await?;
        assert_eq!(fs::read(&path).unwrap(), [0, 9, 2, 0, 0]);
        assert_eq!(names(path.parent().unwrap()), ["file"]);
        Ok(())
    });
    drop(folder);
}

#[cfg(unix)]
#[test]
fn sem_g357_a_link_stays_and_what_it_names_is_written() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let (far, near) = (folder.path().join("far"), folder.path().join("near"));
    fs::create_dir(&far).unwrap();
    fs::create_dir(&near).unwrap();
    fs::write(far.join("file"), [7, 7]).unwrap();
    symlink("../far/file", near.join("one")).unwrap();
    symlink("one", near.join("two")).unwrap();
    symlink("../far/new", near.join("three")).unwrap();
    on_three(async move |comm| {
        for (link, file) in [("two", "file"), ("three", "new")] {
            let draft = Draft::create(&comm, near.join(link)).await?;
            draft.write_at_all(comm.rank() as u64, &[1_u8]).await?;
            draft.commit_without_sync().await?;
            assert_eq!(fs::read(far.join(file)).unwrap(), [1; 3]);
            assert!(fs::symlink_metadata(near.join(link)).unwrap().is_symlink());
        }
        assert_eq!(names(&near), ["one", "three", "two"]);
        assert_eq!(names(&far), ["file", "new"]);
        Ok(())
    });
    drop(folder);
}

#[cfg(unix)]
#[test]
fn sem_g357_a_circle_of_links_is_refused_and_stays() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    symlink("two", folder.path().join("one")).unwrap();
    symlink("one", folder.path().join("two")).unwrap();
    on_three(async move |comm| {
        let begun = Draft::<u8>::create(&comm, folder.path().join("one")).await;
        let refused = begun.unwrap_err().to_string();
        assert!(refused.contains("symbolic links"), "{refused}");
        assert_eq!(names(folder.path()), ["one", "two"]);
        Ok(())
    });
}

#[test]
fn sem_g357_what_is_no_file_is_refused_at_once_and_keeps_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("folder");
    fs::create_dir(&path).unwrap();
    on_three(async move |comm| {
        let begun = Draft::<u8>::create(&comm, &path).await;
        let refused = begun.unwrap_err().to_string();
        assert!(refused.contains("no file has the name"), "{refused}");
        assert_eq!(names(path.parent().unwrap()), ["folder"]);
        Ok(())
    });
    drop(folder);
}

#[test]
fn sem_g357_a_draft_is_removed_when_the_run_ends_while_it_is_begun() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_owned();
    within(patience(), move || {
        let path = place.join("file");
        let ended = World::threads(2).run(async |comm| -> Result<(), FileError> {
            if comm.rank() == 0 {
                return Draft::<u8>::create(&comm, &path).await.map(drop);
            }
            // The draft's communicator is made, and nothing else is done for it.
            let _own = comm.dup().await?;
            let is_made = poll_fn(|cx| match names(&place).is_empty() {
                true => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                false => Poll::Ready(()),
            });
            is_made.await;
            Err(CommError::NullSource.into())
        });
        assert!(ended.is_err(), "rank 1 fails");
        assert_eq!(names(&place), [""; 0], "the draft is removed");
    });
}

#[test]
fn a_draft_is_resized_when_all_ranks_have_called_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    on_three(async move |comm| {
        let draft = Draft::create(&comm, &path).await?;
        draft.write_at(comm.rank() as u64, &[7_u8])?;
        comm.barrier().await?;
        if comm.rank() == 0 {
            let mut resized = pin!(draft.resize(1));
            let waits = poll_fn(|cx| Poll::Ready(resized.as_mut().poll(cx).is_pending()));
            assert!(waits.await, "rank 1 has not called it");
            assert_eq!(draft.elements()?, 3);
            comm.send(1, 0, ()).await?;
            resized.await?;
        } else {
            if comm.rank() == 1 {
                comm.recv::<()>(0, 0).await?;
            }
            draft.resize(1).await?;
        }
        assert_eq!(draft.elements()?, 1);
        Ok(())
    });
    drop(folder);
}

#[test]
fn sem_g358_what_one_rank_cannot_do_all_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    on_three(async move |comm| {
        let nowhere = path.join("file");
        let told = Draft::<u8>::create(&comm, &nowhere)
            .await
            .unwrap_err()
            .to_string();
        let told = told.strip_prefix("rank 0: ").unwrap_or(&told);
        assert!(
            told.starts_with("create of ") && told.contains("is not possible"),
            "{told}"
        );
        let told = Stored::<u8>::open(&comm, &path)
            .await
            .unwrap_err()
            .to_string();
        assert!(told.contains("open of "), "{told}");
        let draft = Draft::create(&comm, &path).await?;
        let offset = if comm.rank() == 1 { u64::MAX } else { 0 };
        let failed = draft
            .write_at_all(offset, &[comm.rank() as u64])
            .await
            .unwrap_err();
        let expected = format!("1 elements from {} lie past the end of any file", u64::MAX);
        match (comm.rank(), failed) {
            (1, FileError::View { problem }) => assert_eq!(problem, expected),
            (_, FileError::Elsewhere { rank: 1, problem }) => assert_eq!(problem, expected),
            (rank, other) => panic!("{rank}: {other}"),
        }
        draft.write_ordered(&[5_u64]).await?;
        draft.commit_without_sync().await?;
        let file = Stored::<u64>::open(&comm, &path).await?;
        let mut room = [0; 2];
        let rank = comm.rank() as u64;
        let failed = file
            .read_at_all(2 * u64::from(rank == 1), &mut room)
            .await
            .unwrap_err();
        assert!(
            failed.to_string().contains("has no element 3: it has 3"),
            "{failed}"
        );
        let failed = file.read_at(7, &mut room).unwrap_err().to_string();
        assert!(failed.contains("has no element 7: it has 3"), "{failed}");
        let ragged = Stored::<[u8; 5]>::open(&comm, &path).await.unwrap_err();
        assert!(ragged.to_string().contains("24 bytes"), "{ragged}");
        Ok(())
    });
    drop(folder);
}

#[test]
fn sem_g358_views_that_show_nothing_or_go_back_are_refused() {
    let refused = |layout| View::new(0, layout).unwrap_err().to_string();
    assert!(refused(Layout::contiguous(0)).contains("shows nothing"));
    let back = Layout::indexed([4..5, 0..1]).unwrap();
    assert!(refused(back).contains("must follow"));
    let far = View::from(u64::MAX);
    assert!(far.ranges(5, 3).eq(std::iter::once(u64::MAX..u64::MAX)));
}

#[test]
fn sem_g359_ordered_writes_and_reads_follow_the_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    on_three(async move |comm| {
        let rank = comm.rank();
        let draft = Draft::create(&comm, &path).await?;
        for round in 0..3 {
            let mine = vec![(10 * round + rank) as u16; rank + round];
            draft.write_ordered(&mine).await?;
        }
        draft.commit_without_sync().await?;
        let file = Stored::open(&comm, &path).await?;
        for round in 0..3 {
            let mut room = vec![0_u16; rank + round];
            file.read_ordered(&mut room).await?;
            assert_eq!(room, vec![(10 * round + rank) as u16; rank + round]);
        }
        assert!(!file.is_empty() && file.len() == 18 && file.view() == &View::default());
        Ok(())
    });
    drop(folder);
}

#[test]
fn sem_g359_ordered_writes_and_reads_follow_one_that_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    on_three(async move |comm| {
        let rank = comm.rank();
        let beyond_all = || match rank {
            1 => View::from(1 << 63),
            _ => View::default(),
        };
        let is_told = |failed: FileError| match failed {
            FileError::View { .. } => rank == 1,
            FileError::Elsewhere { rank: of, .. } => rank != 1 && of == 1,
            _ => false,
        };
        let mut draft = Draft::create(&comm, &path).await?;
        draft.write_ordered(&[rank as u8]).await?;
        draft.set_view(beyond_all());
        assert!(is_told(draft.write_ordered(&[9]).await.unwrap_err()));
        draft.set_view(View::default());
        draft.write_ordered(&[10 + rank as u8]).await?;
        draft.commit_without_sync().await?;
        assert_eq!(fs::read(&path).unwrap(), [0, 1, 2, 0, 0, 0, 10, 11, 12]);
        let (mut file, mut room) = (Stored::<u8>::open(&comm, &path).await?, [7]);
        file.set_view(beyond_all());
        assert!(is_told(file.read_ordered(&mut room).await.unwrap_err()));
        file.set_view(View::default());
        file.read_ordered(&mut room).await?;
        assert_eq!(room, [0]);
        file.read_ordered(&mut room).await?;
        assert_eq!(room, [10 + rank as u8]);
        Ok(())
    });
    drop(folder);
}

#[test]
fn sem_g360_a_process_that_is_lost_leaves_the_file_as_it_was() {
    within(patience(), || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [7; 8]).unwrap();
        let written = path.clone();
        processes(3, move |end| {
            let (process, dying) = (World::over(end.clone(), 1).process().0, end.clone());
            let ended = World::over(end, 1).run(async |comm| -> Result<(), FileError> {
                let draft = Draft::create(&comm, &written).await?;
                for round in 0_u64.. {
                    draft
                        .write_at_all(3 * round + comm.rank() as u64, &[1_u8])
                        .await?;
                    if comm.rank() == 2 && round == 5 {
                        dying.kill();
                    }
                }
                draft.commit().await
            });
            match ended.unwrap_err() {
                RunError::Lost { process: 2, .. } | RunError::Elsewhere { .. } => {}
                other => assert_eq!(process, 2, "{other}"),
            }
        });
        assert_eq!(fs::read(&path).unwrap(), [7; 8]);
        assert_eq!(names(folder.path()), ["file"], "the draft is removed");
    });
}

#[test]
fn sem_g358_a_run_error_says_which_file() {
    let error = World::solo().run(async |comm| -> Result<_, FileError> {
        Stored::<f64>::open(&comm, "/nowhere/file").await.map(drop)
    });
    let told = error.unwrap_err().to_string();
    assert!(
        told.starts_with("rank 0: open of /nowhere/file is not possible"),
        "{told}"
    );
    let comm = FileError::from(CommError::NullSource);
    assert!(comm.to_string().contains("null process"));
}
