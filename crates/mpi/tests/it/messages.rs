//! Messages between processes: in order, of any length, from any thread.

use crate::started::on_processes;
use motet_mpi::{Engine, EngineConfig, Environment, Header, MpiError, ReceivedMessage};
use motet_sync::atomic::{AtomicU32, Ordering};
use motet_sync::{Mutex, thread};
use motet_testkit::{Random, patience};
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs `body` with messages that go through memory, then over MPI, then both: where one of two
/// processes does not share its memory.
fn each_way(mpi: &Environment, body: impl Fn(Engine)) {
    let world = mpi.world().unwrap();
    for share_memory in [true, false, world.rank().is_multiple_of(2)] {
        let config = EngineConfig {
            share_memory,
            ..EngineConfig::default()
        };
        body(Engine::new(&world, config).unwrap());
        world.barrier().unwrap();
    }
}

fn header(from: usize, to: usize, tag: u32) -> Header {
    Header {
        context: 1 << 40,
        source: from as u32,
        destination: to as u32,
        tag,
    }
}

/// What message `number` from a process holds: of a length that changes much.
fn payload(from: usize, number: u32) -> Vec<u8> {
    let length = match number % 7 {
        0 => 0,
        1 => 1,
        2 => 300_000,
        3 => 4096,
        4 => 70_000,
        _ => number as usize % 100,
    };
    let first = (from as u32 * 31 + number) as u8;
    let all: Vec<u8> = (0..=u8::MAX).map(|at| first.wrapping_add(at)).collect();
    let mut payload = all.repeat(length / all.len() + 1);
    payload.truncate(length);
    payload
}

/// Everybody sends to everybody; all comes whole, and in order from each.
fn all_to_all(engine: &Engine) {
    const COUNT: u32 = 300;
    let (me, all) = (engine.process(), engine.processes());
    let mut next = vec![0; all];
    let mut take = |envelope: ReceivedMessage<'_>| {
        let from = envelope.process;
        assert_eq!(envelope.header, header(from, me, next[from]));
        assert_eq!(*envelope.payload, payload(from, next[from]));
        next[from] += 1;
    };
    for number in 0..COUNT {
        for to in (0..all).filter(|&to| to != me) {
            engine
                .send(to, header(me, to, number), &mut payload(me, number))
                .unwrap();
        }
        engine.progress(&mut take).unwrap();
    }
    let closed = engine.close(patience() / 2, &mut take);
    assert_eq!(closed, Ok(()), "{engine:?}");
    let expected: Vec<u32> = (0..all)
        .map(|from| if from == me { 0 } else { COUNT })
        .collect();
    assert_eq!(next, expected);
    assert_eq!(engine.under_way(), 0);
}

#[test]
fn sem_g300_needs_mpi_all_comes_whole_and_in_order_on_two() {
    on_processes(
        "messages::sem_g300_needs_mpi_all_comes_whole_and_in_order_on_two",
        2,
        |mpi| each_way(mpi, |engine| all_to_all(&engine)),
    );
}

#[test]
fn sem_g312_needs_mpi_what_is_under_way_over_mpi_is_bounded() {
    on_processes(
        "messages::sem_g312_needs_mpi_what_is_under_way_over_mpi_is_bounded",
        2,
        |mpi| {
            const PIECES: usize = 40;
            let world = mpi.world().unwrap();
            let config = EngineConfig {
                share_memory: false,
                ..EngineConfig::default()
            };
            let engine = Engine::new(&world, config).unwrap();
            let (me, piece) = (engine.process(), vec![7_u8; 1 << 20]);
            let mut gone = 0;
            let mut send = || {
                let sent = engine.send_some(1, header(0, 1, 0), &piece).unwrap();
                assert!(sent.bytes == 0 || sent.bytes == piece.len());
                gone += usize::from(sent.bytes > 0);
                gone
            };
            if me == 0 {
                // Nobody takes anything yet: pieces as long as these wait for who does, but for a
                // few that the library copies.
                let before: Vec<usize> = (0..PIECES).map(|_| send()).collect();
                assert!((16..24).contains(&before[PIECES - 1]), "{before:?}");
            }
            world.barrier().unwrap();
            let (begun, mut came) = (Instant::now(), 0);
            let mut is_over = me == 0 && send() == PIECES;
            while !is_over {
                assert!(begun.elapsed() < patience(), "{came} have come");
                engine
                    .progress(|envelope| {
                        assert_eq!(*envelope.payload, piece);
                        came += 1;
                    })
                    .unwrap();
                is_over = if me == 0 {
                    send() == PIECES
                } else {
                    came == PIECES
                };
            }
            assert_eq!(engine.close(patience() / 2, |_| ()), Ok(()));
        },
    );
}

#[test]
fn sem_g300_needs_mpi_all_comes_whole_and_in_order_on_four() {
    on_processes(
        "messages::sem_g300_needs_mpi_all_comes_whole_and_in_order_on_four",
        4,
        |mpi| each_way(mpi, |engine| all_to_all(&engine)),
    );
}

/// Process 0 sleeps until a message of the other wakes it, and until it is roused.
fn sleeps(engine: Engine) {
    const LONG: Duration = Duration::from_secs(60);
    let (begun, mut came) = (Instant::now(), 0);
    if engine.process() == 1 {
        // The other one sleeps by then.
        thread::park_timeout(Duration::from_millis(50));
        for number in 0..2 {
            let header = header(1, 0, number);
            engine.send(0, header, &mut payload(1, number)).unwrap();
        }
    }
    while engine.process() == 0 && came < 2 {
        engine.wait(LONG);
        came += engine.progress(|_| ()).unwrap();
    }
    let engine = Arc::new(engine);
    let sleeper = thread::spawn({
        let engine = Arc::clone(&engine);
        move || engine.wait(LONG)
    });
    engine.rouse();
    sleeper.join().unwrap();
    engine.rouse();
    engine.wait(LONG);
    assert!(begun.elapsed() < LONG / 2);
    assert_eq!(engine.close(patience() / 2, |_| ()), Ok(()));
}

/// Process 0 sends what has no room, while its other thread, which alone can go on with it, sleeps.
fn goes_on(engine: Engine) {
    const LONG: Duration = Duration::from_secs(60);
    let begun = Instant::now();
    let engine = Arc::new(engine);
    let (to, header) = (
        1 - engine.process(),
        header(engine.process(), 1 - engine.process(), 0),
    );
    let other = thread::spawn({
        let engine = Arc::clone(&engine);
        move || {
            let mut came = 0;
            while came < 1 {
                if engine.process() == 0 {
                    engine.wait(LONG);
                }
                came += engine.progress(|_| ()).unwrap();
            }
        }
    });
    if engine.process() == 0 {
        // It sleeps by then.
        thread::park_timeout(Duration::from_millis(50));
        engine.send(to, header, &mut vec![7; 8 << 20]).unwrap();
        other.join().unwrap();
    } else {
        other.join().unwrap();
        engine.send(to, header, &mut vec![7]).unwrap();
    }
    assert!(begun.elapsed() < LONG / 2);
    assert_eq!(engine.close(patience() / 2, |_| ()), Ok(()));
}

#[test]
fn needs_mpi_who_sleeps_is_woken_to_go_on_with_what_has_no_room() {
    on_processes(
        "messages::needs_mpi_who_sleeps_is_woken_to_go_on_with_what_has_no_room",
        2,
        |mpi| each_way(mpi, goes_on),
    );
}

#[test]
fn needs_mpi_who_sleeps_is_woken_by_what_comes() {
    on_processes(
        "messages::needs_mpi_who_sleeps_is_woken_by_what_comes",
        2,
        |mpi| each_way(mpi, sleeps),
    );
}

#[test]
fn sem_g301_needs_mpi_any_thread_sends_and_moves_messages_on() {
    on_processes(
        "messages::sem_g301_needs_mpi_any_thread_sends_and_moves_messages_on",
        2,
        |mpi| {
            each_way(mpi, |engine| {
                const THREADS: u32 = 3;
                const COUNT: u32 = 200;
                let engine = Arc::new(engine);
                let (me, peer) = (engine.process(), 1 - engine.process());
                let next = Arc::new(Mutex::new([0; THREADS as usize]));
                let came = Arc::new(AtomicU32::new(0));
                let threads: Vec<_> = (0..THREADS)
                    .map(|number| {
                        let (engine, next) = (Arc::clone(&engine), Arc::clone(&next));
                        let came = Arc::clone(&came);
                        thread::spawn(move || {
                            let take = |envelope: ReceivedMessage<'_>| {
                                // Who sent it is in the context, its number in the tag.
                                let from = envelope.header.context as usize;
                                let mut next = next.lock();
                                assert_eq!(envelope.header.tag, next[from]);
                                next[from] += 1;
                                came.fetch_add(1, Ordering::Relaxed);
                            };
                            for tag in 0..COUNT {
                                let to = Header {
                                    context: u64::from(number),
                                    ..header(me, peer, tag)
                                };
                                engine
                                    .send(peer, to, &mut vec![0; 50_000 * (tag as usize % 2)])
                                    .unwrap();
                                engine.progress(take).unwrap();
                            }
                            while came.load(Ordering::Relaxed) < THREADS * COUNT {
                                engine.progress(take).unwrap();
                            }
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .for_each(|thread| thread.join().unwrap());
                engine
                    .close(patience(), |_| panic!("all had come"))
                    .unwrap();
            });
        },
    );
}

#[test]
fn sem_g302_needs_mpi_what_was_sent_before_a_close_arrives_and_nothing_after_it() {
    on_processes(
        "messages::sem_g302_needs_mpi_what_was_sent_before_a_close_arrives_and_nothing_after_it",
        4,
        |mpi| {
            each_way(mpi, |engine| {
                let me = engine.process();
                let mut random = Random::new(me as u64);
                // Some have much to do before they close, and nobody takes anything in until then.
                let count = random.below(40) as u32 + 1;
                for to in (0..4).filter(|&to| to != me) {
                    for tag in 0..count {
                        engine
                            .send(to, header(me, to, tag), &mut vec![count as u8; 100_000])
                            .unwrap();
                    }
                }
                let mut came = [0u32; 4];
                let mut said = [0u32; 4];
                engine
                    .close(patience(), |envelope| {
                        came[envelope.process] += 1;
                        said[envelope.process] = u32::from(envelope.payload[0]);
                    })
                    .unwrap();
                assert_eq!(came, said);
                assert!((0..4).all(|from| from == me || came[from] > 0));
                let after = engine.send((me + 1) % 4, header(me, 0, 0), &mut Vec::new());
                assert_eq!(after, Err(MpiError::Closed));
            });
        },
    );
}

#[test]
fn sem_g302_needs_mpi_who_does_not_close_is_named() {
    on_processes(
        "messages::sem_g302_needs_mpi_who_does_not_close_is_named",
        2,
        |mpi| {
            each_way(mpi, |engine| {
                let world = mpi.world().unwrap();
                if engine.process() == 0 {
                    let error = engine.close(Duration::from_millis(50), |_| ()).unwrap_err();
                    let MpiError::Silent { processes, waited } = error else {
                        panic!("{error:?}");
                    };
                    assert_eq!(processes, [1]);
                    assert!(waited >= Duration::from_millis(50));
                    world.barrier().unwrap();
                    // The close message of the first time counts; the other one comes now.
                    engine.close(patience(), |_| ()).unwrap();
                } else {
                    world.barrier().unwrap();
                    engine.close(patience(), |_| ()).unwrap();
                }
            });
        },
    );
}

#[test]
fn needs_mpi_a_message_to_nobody_is_refused_and_one_to_itself_comes() {
    on_processes(
        "messages::needs_mpi_a_message_to_nobody_is_refused_and_one_to_itself_comes",
        2,
        |mpi| {
            each_way(mpi, |engine| {
                let (me, peer) = (engine.process(), 1 - engine.process());
                let nobody = MpiError::NoSuchProcess {
                    process: 2,
                    processes: 2,
                };
                assert_eq!(
                    engine.send(2, header(me, 2, 0), &mut Vec::new()),
                    Err(nobody)
                );
                // A message to itself is one as any other.
                engine.send(me, header(me, me, 3), &mut vec![8]).unwrap();
                let mut came = Vec::new();
                while came.is_empty() {
                    engine
                        .progress(|envelope| {
                            came.push((envelope.process, mem::take(envelope.payload)))
                        })
                        .unwrap();
                }
                // Nobody sends to the other before it has looked at its own.
                mpi.world().unwrap().barrier().unwrap();
                assert_eq!(came, [(me, vec![8])]);
                engine
                    .send(peer, header(me, peer, 0), &mut vec![9])
                    .unwrap();
                engine
                    .close(patience(), |envelope| assert_eq!(*envelope.payload, [9]))
                    .unwrap();
            });
        },
    );
}
