//! Requests, probes, synchronous sends, slices and the null process.

use crate::worlds::{Outcome, everywhere, on, worlds_of};
use motet_comm::{
    ANY_SOURCE, ANY_TAG, CommError, Communicator, Dest, RankState, Request, Requests, RunError,
    Source, Status, WaitOperation, World,
};
use motet_testkit::{Log, patience, within};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

fn next(comm: &Communicator) -> usize {
    (comm.rank() + 1) % comm.size()
}

fn last(comm: &Communicator) -> usize {
    (comm.rank() + comm.size() - 1) % comm.size()
}

#[test]
fn sem_g81_the_receive_posted_first_gets_the_message() {
    everywhere(
        async |comm| {
            let first = comm.irecv::<i32>(last(&comm), ANY_TAG);
            let second = comm.irecv::<i32>(ANY_SOURCE, 4);
            let third = comm.irecv::<i32>(last(&comm), 4);
            comm.barrier().await?;
            for value in 0..3 {
                comm.send(next(&comm), 4, value).await?;
            }
            // Waited for in the opposite order.
            let third = third.wait().await?;
            let second = second.wait().await?;
            Ok([first.wait().await?, second, third])
        },
        |_, _| [0, 1, 2],
    );
}

/// In a quadratic time this takes minutes.
#[test]
fn sem_g101_many_receives_and_many_messages_match_in_any_order() {
    const MANY: u32 = 50_000;
    within(Duration::from_secs(60), || {
        let run = World::threads(2).run(async |comm| -> Outcome<()> {
            if comm.rank() == 0 {
                comm.recv::<()>(1, MANY).await?;
                for tag in 0..2 * MANY {
                    comm.send(1, tag % MANY, tag).await?;
                }
                comm.send(1, MANY, ()).await?;
                return Ok(());
            }
            let tags = (0..MANY).rev();
            let posted: Requests<u32> = tags.clone().map(|tag| comm.irecv(0, tag)).collect();
            comm.send(0, MANY, ()).await?;
            assert!(posted.wait_all().await?.into_iter().eq(tags.clone()));
            // Everything else has come and lies there.
            comm.recv::<()>(0, MANY).await?;
            for tag in tags {
                let source = [Source::Rank(0), ANY_SOURCE][tag as usize % 2];
                assert_eq!(comm.recv::<u32>(source, tag).await?, MANY + tag);
            }
            Ok(())
        });
        run.unwrap();
    });
}

#[test]
fn sem_g81_a_blocking_receive_stands_behind_the_posted_ones() {
    everywhere(
        async |comm| {
            let posted = comm.irecv::<i32>(last(&comm), 0);
            for value in [1, 2] {
                comm.send(next(&comm), 0, value).await?;
            }
            let received = comm.recv::<i32>(last(&comm), 0).await?;
            Ok((posted.wait().await?, received))
        },
        |_, _| (1, 2),
    );
}

#[test]
fn sem_g82_ssend_ends_when_the_message_has_been_received() {
    within(patience(), || {
        for world in worlds_of(2) {
            let order = Log::new();
            let noted = order.clone();
            let body = async move |comm: Communicator| -> Outcome<()> {
                if comm.rank() == 0 {
                    comm.ssend(1, 0, "now".to_owned()).await?;
                    noted.push("sent");
                    comm.send(1, 1, ()).await
                } else {
                    // Messages of rank 0 that came before the answer would be seen here.
                    for _ in 0..100 {
                        assert!(comm.iprobe(0, 1)?.is_none());
                    }
                    noted.push("receives");
                    comm.recv::<String>(0, 0).await?;
                    comm.recv::<()>(0, 1).await
                }
            };
            world.run(body).expect("it ends well");
            assert_eq!(order.take(), ["receives", "sent"], "{world:?}");
        }
    });
}

#[test]
fn sem_g82_an_ssend_that_nobody_receives_is_in_the_report() {
    within(patience(), || {
        let body = async |comm: Communicator| comm.issend(0, 9, "unheard".to_owned()).wait().await;
        for world in [World::solo(), World::threads(1)] {
            let Err(RunError::Stuck(report)) = world.run(body) else {
                panic!("{world:?} ends");
            };
            let RankState::Waiting(waits) = &report.ranks[0] else {
                panic!("it waits");
            };
            assert_eq!(waits[0].operation, WaitOperation::Ssend { dest: 0, tag: 9 });
            let text = report.to_string();
            assert!(text.contains("waits in ssend(dest 0, tag 9) at"), "{text}");
            let left = "not received: the message from rank 0 to rank 0 with tag 9, \
                        alloc::string::String, sent at ";
            assert!(text.contains(left), "{text}");
        }
    });
}

#[test]
fn sem_g83_ssend_ends_when_a_posted_receive_has_got_the_message() {
    everywhere(
        async |comm| {
            // Nobody waits for the receives until all sends have ended: of messages that come after
            // their receive, and before it.
            let early = comm.irecv::<usize>(last(&comm), 1);
            comm.barrier().await?;
            comm.ssend(next(&comm), 1, comm.rank()).await?;
            let sent = comm.issend(next(&comm), 2, comm.rank());
            comm.barrier().await?;
            let late = comm.irecv::<usize>(last(&comm), 2);
            sent.wait().await?;
            comm.barrier().await?;
            Ok((early.wait().await?, late.wait().await?))
        },
        |rank, size| ((rank + size - 1) % size, (rank + size - 1) % size),
    );
}

#[test]
fn sem_g83_a_message_that_a_matched_probe_has_taken_is_not_received_yet() {
    everywhere(
        async |comm| {
            let sent = comm.issend(next(&comm), 0, comm.rank());
            let message = comm.mprobe(last(&comm), 0).await?;
            comm.barrier().await?;
            let Err(sent) = sent.test() else {
                panic!("nobody has received it");
            };
            comm.barrier().await?;
            // It goes to a receive that waits when it is there again.
            let posted = comm.irecv::<usize>(last(&comm), 0);
            drop(message);
            sent.wait().await?;
            posted.wait().await
        },
        |rank, size| (rank + size - 1) % size,
    );
}

#[test]
fn sem_g83_a_receive_of_another_type_has_got_the_message_too() {
    everywhere(
        async |comm| {
            let sent = comm.issend(next(&comm), 0, comm.rank());
            let refused = comm.recv::<String>(last(&comm), 0).await;
            assert!(matches!(refused, Err(CommError::WrongType { .. })));
            sent.wait().await?;
            comm.recv::<usize>(last(&comm), 0).await
        },
        |rank, size| (rank + size - 1) % size,
    );
}

#[test]
fn sem_g84_a_receive_that_is_given_up_leaves_its_message_to_others() {
    everywhere(
        async |comm| {
            let dropped = comm.irecv::<i32>(last(&comm), 0);
            let cancelled = comm.irecv::<i32>(last(&comm), 0);
            assert!(cancelled.cancel(), "nothing has come");
            comm.barrier().await?;
            comm.send(next(&comm), 0, 7).await?;
            comm.barrier().await?;
            let late = comm.irecv::<i32>(ANY_SOURCE, ANY_TAG);
            drop(dropped);
            let got = late.wait().await?;
            comm.barrier().await?;
            // One that has got its message cannot be cancelled, and hands it on.
            comm.send(next(&comm), 0, 8).await?;
            comm.probe(last(&comm), 0).await?;
            assert!(!comm.irecv::<i32>(last(&comm), 0).cancel());
            Ok((got, comm.recv::<i32>(last(&comm), 0).await?))
        },
        |_, _| (7, 8),
    );
}

#[test]
fn a_request_is_tested_until_it_has_ended() {
    everywhere(
        async |comm| {
            let mut request: Request<'_, i32> = comm.irecv(last(&comm), 1);
            for _ in 0..3 {
                request = request.test().expect_err("nothing was sent");
            }
            comm.barrier().await?;
            comm.send(next(&comm), 1, 5).await?;
            loop {
                match request.test() {
                    Ok(outcome) => break outcome,
                    Err(not_yet) => request = not_yet,
                }
                crate::topology::pause().await;
            }
        },
        |_, _| 5,
    );
}

#[test]
fn any_some_and_all_of_several_requests() {
    on(
        [1, 2, 4].into_iter().flat_map(worlds_of).collect(),
        async |comm| {
            let mut came: Requests<'_, i32> =
                (0..6).map(|tag| comm.irecv(last(&comm), tag)).collect();
            assert!(came.test_any().is_none() && came.test_some().is_empty());
            comm.barrier().await?;
            comm.send(next(&comm), 3, 30).await?;
            let any = came.wait_any().await.expect("six are waited for");
            assert_eq!(any, (3, Ok(30)));
            comm.barrier().await?;
            for tag in [5, 1] {
                comm.send(next(&comm), tag, (tag * 10).cast_signed())
                    .await?;
            }
            comm.barrier().await?;
            assert_eq!(came.test_some(), [(1, Ok(10)), (5, Ok(50))]);
            assert_eq!(came.len(), 3);
            comm.barrier().await?;
            for tag in [4, 2, 0] {
                comm.send(next(&comm), tag, (tag * 10).cast_signed())
                    .await?;
            }
            let some = came.wait_some().await;
            let rest = came.wait_all().await?;
            assert!(!some.is_empty());
            let none: Requests<'_, i32> = Requests::new();
            assert!(none.wait_all().await?.is_empty());
            Ok(some.len() + rest.len())
        },
        |_, _| 3,
    );
}

#[test]
fn a_rank_that_waits_for_any_of_several_names_all_of_them() {
    within(patience(), || {
        let body = async |comm: Communicator| -> Outcome<()> {
            let mut came: Requests<'_, i32> = (0..2).map(|tag| comm.irecv(0, tag)).collect();
            came.wait_any()
                .await
                .expect("two are waited for")
                .1
                .map(drop)
        };
        for world in [World::solo(), World::threads(1)] {
            let Err(RunError::Stuck(report)) = world.run(body) else {
                panic!("{world:?} ends");
            };
            let text = report.to_string();
            assert!(text.contains("recv(source 0, tag 0)"), "{text}");
            assert!(
                text.contains(" and waits in recv(source 0, tag 1)"),
                "{text}"
            );
        }
    });
}

#[test]
fn sem_g85_a_probe_leaves_the_message_and_a_matched_probe_takes_it() {
    everywhere(
        async |comm| {
            assert_eq!(comm.iprobe(ANY_SOURCE, ANY_TAG)?, None);
            assert!(comm.improbe(ANY_SOURCE, ANY_TAG)?.is_none());
            comm.barrier().await?;
            for tag in [6, 7] {
                comm.send_slice(next(&comm), tag, &[1.5; 3]).await?;
            }
            let probe = comm.probe(ANY_SOURCE, 7).await?;
            let source = last(&comm);
            assert_eq!(probe.status, Status { source, tag: 7 });
            assert_eq!((probe.length, probe.type_name), (3, "alloc::vec::Vec<f64>"));
            assert_eq!(comm.iprobe(source, 7)?, Some(probe));
            let message = comm.mprobe(source, 7).await?;
            assert_eq!((message.probe(), comm.iprobe(source, 7)?), (probe, None));
            drop(message);
            assert_eq!(comm.iprobe(source, 7)?, Some(probe), "it is there again");
            let message = comm.improbe(source, ANY_TAG)?.expect("tag 6 is there");
            let wrong = message.recv::<u8>().unwrap_err();
            assert!(matches!(wrong, CommError::WrongType { tag: 6, .. }));
            let six = comm.mprobe(source, 6).await?.recv::<Vec<f64>>()?;
            Ok((six, comm.recv::<Vec<f64>>(source, 7).await?))
        },
        |_, _| (vec![1.5; 3], vec![1.5; 3]),
    );
}

#[test]
fn sem_g86_slices_of_any_length_arrive_where_they_shall() {
    everywhere(
        async |comm| {
            for length in [0, 1, 3, 1023, 100_000] {
                let mine: Vec<u64> = (0..length).map(|i| i * 7 + comm.rank() as u64).collect();
                let sent = comm.isend_slice(next(&comm), 2, &mine);
                let mut came = vec![0; mine.len() + 2];
                let (count, status) = comm.recv_into(&mut came, last(&comm), 2).await?;
                sent.wait().await?;
                let source = last(&comm);
                assert_eq!((count, status), (mine.len(), Status { source, tag: 2 }));
                let expected = |i: usize| i as u64 * 7 + source as u64;
                assert!((0..count).all(|i| came[i] == expected(i)), "{length}");
                assert_eq!(came[count..], [0, 0], "what is behind stays");
            }
            Ok(())
        },
        |_, _| (),
    );
}

#[test]
fn sem_g86_numbers_that_do_not_fit_stay_to_be_received() {
    everywhere(
        async |comm| {
            comm.send_slice(next(&comm), 0, &[1u8, 2, 3]).await?;
            let (source, tag) = (last(&comm), 0);
            let short = comm.recv_into(&mut [0u8; 2], source, tag).await;
            let (length, room) = (3, 2);
            let truncated = CommError::Truncated {
                source,
                tag,
                length,
                room,
            };
            assert_eq!(short, Err(truncated));
            let other = comm.recv_into(&mut [0u16; 3], source, tag).await;
            assert!(
                matches!(other, Err(CommError::WrongType { .. })),
                "{other:?}"
            );
            let mut room = [0u8; 3];
            let mut into = comm.irecv_into(&mut room, source, tag);
            while let Err(again) = into.test().map(|outcome| outcome.map(drop)) {
                into = again;
                comm.barrier().await?;
            }
            // By value too, either way round.
            comm.send(next(&comm), 1, vec![4i64, 5]).await?;
            let mut pair = [0i64; 2];
            comm.recv_into(&mut pair, source, 1).await?;
            Ok((room, pair))
        },
        |_, _| ([1, 2, 3], [4, 5]),
    );
}

#[test]
fn sem_g87_nothing_goes_to_the_null_process_and_nothing_comes() {
    everywhere(
        async |comm| {
            comm.send(Dest::Null, 0, "dropped".to_owned()).await?;
            comm.ssend(None, 0, "dropped".to_owned()).await?;
            comm.issend(None, 0, "dropped".to_owned()).wait().await?;
            assert_eq!(
                comm.recv::<u8>(Source::Null, 0).await,
                Err(CommError::NullSource)
            );
            assert_eq!(comm.iprobe(None, 0), Err(CommError::NullSource));
            let mut room = [9, 9];
            assert_eq!(comm.recv_into(&mut room, None, 0).await?.0, 0);
            assert_eq!(
                comm.irecv_into(&mut room, Source::Null, 0).wait().await?.0,
                0
            );
            let mut value = comm.rank();
            comm.sendrecv_replace(&mut value, None, None, 0).await?;
            assert_eq!((value, room), (comm.rank(), [9, 9]));
            comm.sendrecv_replace(&mut value, next(&comm), last(&comm), 0)
                .await?;
            Ok(value)
        },
        |rank, size| (rank + size - 1) % size,
    );
}

#[test]
fn persistent_requests_are_started_again_and_again() {
    everywhere(
        async |comm| {
            let to = comm.send_init(next(&comm), 0)?;
            let from = comm.recv_init::<usize>(last(&comm), 0)?;
            let mut sum = 0;
            for n in 0..10 {
                let came = from.start();
                to.start(n * comm.rank()).wait().await?;
                sum += came.wait().await?;
            }
            let size = comm.size();
            assert!(comm.send_init::<u8>(size, 0).is_err());
            assert!(comm.recv_init::<u8>(None, 0).is_err());
            Ok(sum)
        },
        |rank, size| 45 * ((rank + size - 1) % size),
    );
}

#[test]
fn sem_g84_a_dropped_receive_future_is_as_if_it_had_not_been() {
    everywhere(
        async |comm| {
            {
                let mut given_up = pin!(comm.recv::<i32>(last(&comm), 0));
                let poll = given_up
                    .as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()));
                assert!(poll.is_pending());
                comm.barrier().await?;
                comm.send(next(&comm), 0, 1).await?;
                comm.barrier().await?;
                // Its message has come, and nobody has looked.
            }
            comm.recv::<i32>(last(&comm), 0).await
        },
        |_, _| 1,
    );
}

#[test]
fn sem_g91_messages_that_nobody_received_are_listed() {
    within(patience(), || {
        for world in worlds_of(3) {
            let line = line!() + 4;
            let body = async |comm: Communicator| -> Outcome<()> {
                let part = comm.dup().await?;
                if comm.rank() == 0 {
                    part.send(2, 5, 1.5f32).await?;
                    comm.send(1, 6, "received".to_owned()).await?;
                }
                if comm.rank() == 1 {
                    comm.recv::<String>(0, 6).await?;
                }
                Ok(())
            };
            let outcome = world.run_outcome(body).expect("it ends well");
            let [left] = outcome.unmatched[..] else {
                panic!("{:?}", outcome.unmatched);
            };
            assert_eq!((left.source, left.dest, left.tag), (0, 2, 5));
            assert_eq!((left.type_name, left.communicator), ("f32", 1));
            assert_eq!(
                (left.location.file(), left.location.line()),
                (file!(), line)
            );
            let text = left.to_string();
            let start =
                "the message from rank 0 to rank 2 with tag 5 of communicator 1, f32, sent at ";
            assert!(text.starts_with(start), "{text}");
        }
    });
}

#[test]
fn sem_g110_a_started_receive_tells_its_source_and_a_probe_the_length_of_a_synchronous_send() {
    everywhere(
        async |comm: Communicator| {
            let (rank, size) = (comm.rank(), comm.size());
            let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
            let sent = comm.issend_slice(next, 3, &vec![rank; rank + 2]);
            let length = comm.probe(before, 3).await?.length;
            let first = comm.irecv_with_status::<Vec<usize>>(ANY_SOURCE, ANY_TAG);
            let (numbers, status) = first.wait().await?;
            sent.wait().await?;
            assert_eq!(numbers, vec![before; before + 2]);
            Ok((length, status.source, status.tag))
        },
        |rank, size| {
            let before = (rank + size - 1) % size;
            (before + 2, before, 3)
        },
    );
}
