//! Ranks that wait in a call of a window for ever are reported where they have called it, and a
//! profile names that place.

use crate::network::processes;
use motet_comm::{Profile, RankState, RunError, SendOverflow, World};
use motet_testkit::{patience, within};
use motet_window::{Lock, Window, WindowError};

/// Where rank 0 waits: in this file.
fn is_here(ended: Result<Vec<()>, RunError<WindowError>>) {
    let Err(RunError::Stuck(report)) = ended else {
        panic!("{ended:?}");
    };
    let RankState::Waiting(waits) = &report.ranks[0] else {
        panic!("{report}");
    };
    assert_eq!(waits[0].location.file(), file!(), "{report}");
}

/// Rank 0 makes this call, which rank 1 does not answer.
fn waits_here(call: impl AsyncFn(Window<i32>) -> Result<(), WindowError> + Send + Sync + 'static) {
    within(patience(), move || {
        is_here(
            World::threads(2).run(async |comm| -> Result<(), WindowError> {
                let window = Window::create(&comm, vec![0]).await?;
                if comm.rank() == 0 {
                    return call(window).await;
                }
                Ok(comm.recv(0, 7).await?)
            }),
        );
    });
}

#[test]
fn sem_g72_who_frees_a_window_alone_is_reported_where_it_called() {
    waits_here(async |window| window.free().await.map(drop));
}

#[test]
fn sem_g72_who_waits_for_a_fence_is_reported_where_it_called() {
    waits_here(async |window| window.fence().await);
}

#[test]
fn sem_g72_who_waits_for_a_post_is_reported_where_it_called() {
    waits_here(async |window| window.start(&[1]).await);
}

#[test]
fn sem_g72_who_waits_for_a_complete_is_reported_where_it_called() {
    waits_here(async |window| window.wait(&[1]).await);
}

#[test]
fn sem_g72_who_makes_a_window_alone_is_reported_where_it_called() {
    within(patience(), || {
        is_here(
            World::threads(2).run(async |comm| -> Result<(), WindowError> {
                if comm.rank() == 0 {
                    drop(Window::create(&comm, vec![0]).await?);
                }
                Ok(comm.recv(1 - comm.rank(), 7).await?)
            }),
        );
    });
}

#[test]
fn sem_g72_who_posts_beyond_the_limit_is_reported_where_it_called() {
    within(patience(), || {
        let world = World::threads(2).limit(1, SendOverflow::Wait);
        is_here(world.run(async |comm| -> Result<(), WindowError> {
            let window = Window::create(&comm, vec![0]).await?;
            while comm.rank() == 0 {
                window.post(&[1]).await?;
            }
            Ok(comm.recv(0, 7).await?)
        }));
    });
}

#[test]
fn a_profile_names_where_a_fence_was_called() {
    within(patience(), || {
        let world = World::threads(2).profile();
        let outcome = world.run_outcome(async |comm| -> Result<(), WindowError> {
            let window = Window::create(&comm, vec![0]).await?;
            window.fence().await?;
            window.free().await.map(drop)
        });
        let profile = outcome.unwrap().profile.unwrap();
        let is_fence = |call: &str, site: &str| call == "barrier" && site.contains("it/places.rs:");
        for rank in &profile.ranks {
            let mut stages = rank.stages.iter();
            let told = stages.any(|stage| is_fence(&stage.call, &stage.site));
            assert!(told, "{profile}");
        }
    });
}

/// Every call of a window, in every world, stands in this file.
#[test]
fn sem_g326_a_profile_names_no_line_of_the_crate_itself() {
    async fn calls(comm: motet_comm::Communicator) -> Result<(), WindowError> {
        let (rank, size) = (comm.rank(), comm.size());
        let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
        let window = Window::create(&comm, vec![0]).await?;
        window.put(right, 0, &[rank]).await?;
        window.fence().await?;
        window.lock_all().await?.unlock_all().await?;
        let lock = window.lock(right, Lock::Exclusive).await?;
        window.compare_and_swap(right, 0, rank, left).await?;
        window.put(right, 0, &[left]).await?;
        window.flush(right).await?;
        lock.unlock().await?;
        window.post(&[left]).await?;
        window.start(&[right]).await?;
        window.put(right, 0, &[rank]).await?;
        window.complete(&[right]).await?;
        window.wait(&[left]).await?;
        window.get(right, 0, 1).await?;
        window.free().await.map(drop)
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
        let near = World::threads(2).profile().run_outcome(calls);
        check(&near.unwrap().profile.unwrap());
        let ended = processes(2, |end| {
            let outcome = World::over(end, 1).profile().run_outcome(calls);
            outcome.unwrap().profile
        });
        let told: Vec<Profile> = ended.into_iter().flatten().collect();
        assert_eq!(told.len(), 1, "process 0 has that of all");
        assert_eq!(told[0].ranks.len(), 2);
        check(&told[0]);
    });
}
