//! Messages to ranks that no rank sends.

use motet_comm::{
    ANY_SOURCE, CommError, Entrance, EntranceError, OUTSIDE, RankNow, RunError, World,
};
use motet_sync::{block_on, thread};
use motet_testkit::{patience, within};

#[test]
fn sem_g92_a_rank_receives_what_comes_through_its_entrance_in_order() {
    within(patience(), || {
        for world in crate::worlds::worlds_of(2) {
            let got = world.run(async |comm| -> Result<_, CommError> {
                if comm.rank() == 0 {
                    comm.send(1, 7, 100_u32).await?;
                    return Ok(Vec::new());
                }
                let entrance = comm.entrance::<u32>(7, 2, || "numbers".to_owned())?;
                let poster = thread::spawn_named("poster", move || {
                    (0..50).for_each(|n| block_on(entrance.post_wait(n)).unwrap());
                });
                let mut got = Vec::new();
                for _ in 0..50 {
                    let (n, status) = comm.recv_with_status::<u32>(OUTSIDE, 7).await?;
                    assert_eq!(status.rank(), None);
                    got.push(n);
                }
                let (n, status) = comm.recv_with_status::<u32>(ANY_SOURCE, 7).await?;
                assert_eq!((n, status.rank()), (100, Some(0)));
                poster.unwrap().join().unwrap();
                Ok(got)
            });
            assert_eq!(got.unwrap()[1], (0..50).collect::<Vec<_>>(), "{world:?}");
        }
    });
}

#[test]
fn sem_g93_an_entrance_is_full_until_the_rank_receives_and_closed_when_it_ends() {
    within(patience(), || {
        for world in crate::worlds::worlds_of(1) {
            let left = world.run(async |comm| -> Result<Entrance<u32>, CommError> {
                assert!(comm.entrance::<u32>(7, 0, String::new).is_err());
                let entrance = comm.entrance::<u32>(7, 1, || "numbers".to_owned())?;
                assert_eq!(entrance.post(1), Ok(()));
                assert_eq!(entrance.post(2), Err(EntranceError::Full(2)));
                assert_eq!(comm.recv::<u32>(ANY_SOURCE, 7).await?, 1);
                assert_eq!(entrance.post(3), Ok(()));
                Ok(entrance)
            });
            let entrance = &left.unwrap()[0];
            // However often it is refused, who would wait learns it too.
            for _ in 0..2 {
                assert_eq!(entrance.post(4), Err(EntranceError::Closed(4)));
            }
            assert_eq!(
                block_on(entrance.post_wait(5)),
                Err(EntranceError::Closed(5))
            );
        }
        let solo =
            World::solo().run(async |comm| comm.entrance::<u32>(7, 1, String::new).map(|_| ()));
        assert!(solo.unwrap_err().to_string().contains("World::threads(1)"));
    });
}

#[test]
fn sem_g94_a_world_with_an_open_entrance_is_not_stuck_until_it_closes() {
    within(patience(), || {
        for world in crate::worlds::worlds_of(2) {
            let watch = world.watch();
            let ended = world.run(async |comm| -> Result<(), CommError> {
                if comm.rank() == 1 {
                    let entrance = comm.entrance::<u32>(7, 1, || "topic steer/**".to_owned())?;
                    let watch = watch.clone();
                    let _closer = thread::spawn_named("closer", move || {
                        let shown = loop {
                            let now = watch.why().expect("it runs");
                            let waits = |rank: &RankNow| !rank.waits().is_empty();
                            if now.ranks.iter().all(waits) {
                                break now;
                            }
                        };
                        assert!(shown.stuck().is_empty(), "{shown}");
                        assert!(shown.to_string().contains("(topic steer/**)"), "{shown}");
                        drop(entrance);
                    });
                    return comm.recv::<u32>(ANY_SOURCE, 7).await.map(|_| ());
                }
                comm.recv::<u32>(1, 3).await.map(|_| ())
            });
            assert!(
                matches!(ended, Err(RunError::Stuck(_))),
                "{world:?}: {ended:?}"
            );
        }
    });
}
