//! Two groups that talk to each other; what persistent sends and parts by process add.

use crate::network::processes;
use motet_comm::{
    ANY_SOURCE, ANY_TAG, Asked, CommError, Communicator, Local, PersistentRecv, PersistentSend,
    RankState, RunError, World,
};
use motet_sync::{Mutex, thread};
use motet_testkit::{patience, within};
use std::sync::{Arc, OnceLock};

/// Runs the body on worlds of one process and of several.
fn on_all(
    body: impl AsyncFn(Communicator) -> Result<(), CommError> + Clone + Send + Sync + 'static,
) {
    within(patience(), move || {
        for world in [2, 3, 5, 8]
            .map(World::threads)
            .into_iter()
            .chain([World::ports(3)])
        {
            world.run(&body).unwrap();
        }
        for (count, ranks) in [(2, 1), (2, 2), (3, 1)] {
            let body = body.clone();
            processes(count, move |end| {
                World::over(end, ranks).run(&body).map(drop).unwrap()
            });
        }
    });
}

#[test]
fn sem_g364_messages_and_collectives_go_between_the_groups() {
    on_all(async |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        // Odd ranks are the second group; both groups number their ranks from 0.
        let second = rank % 2 == 1;
        let other = comm
            .intercommunicator(Some(second))
            .await?
            .expect("it is on a side");
        let theirs: Vec<usize> = (0..size).filter(|rank| (rank % 2 == 1) != second).collect();
        assert_eq!(
            (other.local().rank(), other.remote_size()),
            (rank / 2, theirs.len())
        );
        assert_eq!(other.remote_group().ranks(), theirs);
        for (number, _) in theirs.iter().enumerate() {
            other.send(number, 4, rank).await?;
        }
        let mut came = Vec::new();
        for number in 0..theirs.len() {
            let (value, status) = other.recv_with_status::<usize>(number, ANY_TAG).await?;
            assert_eq!((status.source, status.tag), (number, 4));
            came.push(value);
        }
        assert_eq!(came, theirs);
        let any = other.irecv::<usize>(ANY_SOURCE, 5)?;
        if rank < 2 {
            for number in 0..theirs.len() {
                other.ssend(number, 5, rank).await?;
            }
        }
        assert_eq!(any.wait().await?, usize::from(!second));
        let words = other.allreduce(rank.to_string(), |a, b| a + &b).await?;
        let expected: Vec<String> = theirs.iter().map(usize::to_string).collect();
        assert_eq!(words, expected.concat(), "in their order");
        assert_eq!(other.allgather(rank).await?, theirs);
        other.barrier().await?;
        let root = other.local().size() - 1;
        if second {
            let value = (other.local().rank() == root).then(|| rank.to_string());
            other.broadcast_to(root, value).await?;
        } else {
            let root = theirs.len() - 1;
            assert_eq!(
                other.broadcast_from::<String>(root).await?,
                theirs[root].to_string()
            );
        }
        let beyond = other.send(theirs.len(), 0, 1).await.unwrap_err();
        let expected = CommError::NoSuchRank {
            rank: theirs.len(),
            size: theirs.len(),
        };
        assert_eq!(beyond, expected);
        Ok(())
    });
}

#[test]
fn sem_g365_merged_groups_are_ordered_as_they_say() {
    on_all(async |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let second = rank > 0;
        let other = comm
            .intercommunicator(Some(second))
            .await?
            .expect("it is on a side");
        let merged = other.merge(!second).await?;
        let all = merged.allgather(rank).await?;
        let expected: Vec<usize> = (1..size).chain([0]).collect();
        assert_eq!(all, expected);
        let same = other.merge(true).await?;
        assert_eq!(same.rank(), rank);
        // Not all need to be in it, but both groups need somebody.
        let nobody = comm
            .intercommunicator(second.then_some(true))
            .await
            .map(drop);
        assert!(
            nobody
                .unwrap_err()
                .to_string()
                .contains(&format!("have 0 and {}", size - 1))
        );
        let side = [Some(true), Some(false)].get(rank).copied().flatten();
        let pair = comm.intercommunicator(side).await?;
        assert_eq!(pair.is_some(), rank < 2);
        if let Some(pair) = pair {
            assert_eq!(pair.allgather(rank).await?, [1 - rank]);
        }
        Ok(())
    });
}

#[test]
fn sem_g363_synchronous_persistent_sends_end_when_they_are_received() {
    on_all(async |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
        let (to, from) = (comm.ssend_init(next, 1)?, comm.recv_init::<usize>(last, 1)?);
        for round in 0..5 {
            let sent = to.start(rank + round);
            // Nobody can have received it.
            comm.barrier().await?;
            let sent = sent.test().expect_err("it has not been received");
            comm.barrier().await?;
            let came = PersistentRecv::start_all(std::slice::from_ref(&from));
            assert_eq!(came.wait_all().await?, [last + round]);
            sent.wait().await?;
            let both = PersistentSend::start_all([(&to, 7), (&to, 8)]);
            assert_eq!(from.start().wait().await?, 7);
            assert_eq!(from.start().wait().await?, 8);
            both.wait_all().await?;
        }
        assert!(comm.ssend_init::<u8>(size, 0).is_err());
        Ok(())
    });
}

#[test]
fn sem_g355_the_ranks_of_a_process_are_together() {
    on_all(async |comm| {
        let near = comm.split_by_process().await?;
        let own = comm.process_of(comm.rank())?;
        let here: Vec<usize> = (0..comm.size())
            .filter(|&rank| comm.process_of(rank) == Ok(own))
            .collect();
        assert_eq!(near.group().ranks(), here);
        // They share memory.
        let (rank, size) = (near.rank(), near.size());
        near.send((rank + 1) % size, 0, Local(Arc::new(rank)))
            .await?;
        let Local(came) = near.recv::<Local<Arc<usize>>>(ANY_SOURCE, 0).await?;
        assert_eq!(*came, (rank + size - 1) % size);
        assert!(comm.process_of(comm.size()).is_err());
        Ok(())
    });
}

/// The head and the body of a message.
type Whole = (Vec<u8>, Vec<u8>);

#[test]
fn sem_g354_what_delegates_are_asked_is_done_in_order_and_whole() {
    const LENGTHS: [usize; 5] = [0, 1, 5000, 200_000, 3];
    on_all(async |comm| {
        let (rank, size) = (comm.rank(), comm.size());
        // What came of each rank: a head, and a body that is put together of its parts.
        let came = Arc::new(Mutex::new(vec![Vec::<Whole>::new(); size]));
        let log = Arc::clone(&came);
        let delegate = comm.delegate(move |asked: Asked<'_>| {
            let mut log = log.lock();
            let of = &mut log[asked.source];
            if asked.at == 0 {
                of.push((asked.head.to_vec(), Vec::new()));
            }
            let Some((head, body)) = of.last_mut() else {
                return Err("a part without its beginning".to_owned());
            };
            if (head.as_slice(), body.len()) != (asked.head, asked.at) {
                return Err("a part in the wrong place".to_owned());
            }
            body.extend_from_slice(asked.part);
            assert_eq!(body.len() == asked.length, asked.is_last());
            Ok(())
        })?;
        assert!(comm.delegate(|_| Ok(())).is_err(), "there is one");
        comm.barrier().await?;
        for length in LENGTHS {
            for dest in 0..size {
                delegate.ask(dest, &[rank as u8, dest as u8], &vec![rank as u8; length])?;
                delegate.send(dest, 9, length)?;
            }
        }
        // Its messages are those of the rank, and come behind what was asked before.
        for source in 0..size {
            for length in LENGTHS {
                assert_eq!(comm.recv::<usize>(source, 9).await?, length);
            }
            let log = came.lock();
            let expected =
                LENGTHS.map(|length| (vec![source as u8, rank as u8], vec![source as u8; length]));
            assert!(log[source] == expected, "from {source}");
        }
        assert!(delegate.ask(size, &[], &[]).is_err());
        comm.barrier().await?;
        Ok(())
    });
}

#[test]
fn sem_g354_a_delegate_acts_while_its_rank_computes() {
    within(patience(), || {
        processes(2, |end| {
            let ran = World::over(end, 1).run(async |comm| -> Result<(), CommError> {
                let asked = Arc::new(Mutex::new(0));
                let seen = Arc::clone(&asked);
                let delegate = comm.delegate(move |_| {
                    *seen.lock() += 1;
                    Ok(())
                })?;
                comm.barrier().await?;
                delegate.ask(1 - comm.rank(), &[], &[1])?;
                while *asked.lock() == 0 {
                    thread::yield_now();
                }
                comm.barrier().await
            });
            ran.unwrap();
        });
    });
}

#[test]
fn sem_g354_a_delegate_that_is_left_ends_with_its_run() {
    let held = Arc::new(());
    let seen = Arc::clone(&held);
    on_all(async move |comm| {
        let (own, held) = (Arc::new(OnceLock::new()), Arc::clone(&seen));
        let itself = Arc::clone(&own);
        let delegate = comm.delegate(move |_| {
            let _ = (&itself, &held);
            Ok(())
        })?;
        own.set(delegate).expect("it is set once");
        comm.barrier().await
    });
    // Nothing of a run is left, when the thread that has run them has gone.
    within(patience(), move || {
        while Arc::strong_count(&held) > 1 {
            thread::yield_now();
        }
    });
}

#[test]
fn sem_g354_what_is_none_of_its_messages_ends_the_run() {
    within(patience(), || {
        let ended = processes(2, |end| {
            let ran = World::over(end, 1).run(async |comm| -> Result<(), CommError> {
                let delegate = comm.delegate(|_| Err("nonsense".to_owned()))?;
                comm.barrier().await?;
                if comm.rank() == 0 {
                    delegate.ask(1, &[], &[])?;
                }
                comm.recv::<()>(ANY_SOURCE, 0).await
            });
            ran.unwrap_err().to_string()
        });
        assert!(
            ended.iter().all(|told| told.contains("nonsense")),
            "{ended:?}"
        );
    });
}

#[test]
fn a_root_that_no_number_holds_is_told() {
    let ended = World::threads(2).run(async |comm| -> Result<_, CommError> {
        let second = comm.rank() == 1;
        let other = comm.intercommunicator(Some(second)).await?;
        let other = other.expect("it is on a side");
        let none = CommError::NoSuchRank {
            rank: usize::MAX,
            size: 1,
        };
        let from = other.broadcast_from::<u8>(usize::MAX).await;
        let to = other.broadcast_to(usize::MAX, Some(1_u8)).await;
        assert_eq!((from, to), (Err(none.clone()), Err(none)));
        other.barrier().await
    });
    assert!(ended.is_ok(), "{ended:?}");
}

#[test]
fn sem_g72_who_waits_for_the_other_group_is_reported_where_it_called() {
    within(patience(), || {
        let ended = World::threads(2).run(async |comm| -> Result<(), CommError> {
            let second = comm.rank() == 1;
            let other = comm.intercommunicator(Some(second)).await?;
            let other = other.expect("it is on a side");
            match second {
                true => other.recv::<()>(0, 1).await,
                false => other.ssend(0, 2, ()).await,
            }
        });
        let Err(RunError::Stuck(report)) = ended else {
            panic!("{ended:?}");
        };
        for rank in &report.ranks {
            let RankState::Waiting(waits) = rank else {
                panic!("{report}");
            };
            assert_eq!(waits[0].location.file(), file!(), "{report}");
        }
    });
}
