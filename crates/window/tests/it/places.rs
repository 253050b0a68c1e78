//! Ranks that wait in a call of a window for ever are reported where they have called it, and a
//! profile names that place.

use motet_comm::{RankState, RunError, SendOverflow, World};
use motet_testkit::{patience, within};
use motet_window::{Window, WindowError};

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
