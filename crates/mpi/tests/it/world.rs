//! Ranks of several processes: the same program as on threads.

use crate::started::{in_process_with, joined, run, way};
use motet_comm::{
    ANY_SOURCE, CommError, Communicator, Dyadic, RankState, RunError, Value, WaitOperation, World,
};
use motet_mpi::{Environment, ThreadLevel};
use motet_testkit::{mpi_libraries, patience, within};
use std::fmt::Debug;

/// Processes, ranks in each, and whether messages go through memory or over MPI.
const LAYOUTS: [(usize, usize, bool); 5] = [
    (2, 1, false),
    (2, 1, true),
    (2, 2, false),
    (2, 2, true),
    (3, 1, true),
];

/// Runs `body` as the processes of every layout and library; it gets the number of ranks of each
/// process.
fn on_layouts(name: &str, body: fn(Environment, usize)) {
    const RANKS: &str = "MOTET_MPI_TEST_RANKS";
    let here = std::env::var(RANKS).ok();
    let here = here.and_then(|ranks| ranks.parse().ok()).unwrap_or(1);
    if in_process_with(ThreadLevel::Serialized, name, move |mpi| body(mpi, here)) {
        return;
    }
    for library in mpi_libraries() {
        for (processes, ranks, memory) in LAYOUTS {
            let (ranks, way) = (format!("{RANKS}={ranks}"), way(memory));
            let ran = run(name, processes, &library, &["env", &ranks, &way]);
            let out = String::from_utf8_lossy(&ran.stdout);
            let err = String::from_utf8_lossy(&ran.stderr);
            let library = library.display();
            assert!(
                ran.status.success(),
                "{library}, {processes}, {ranks}, {way}: {out}{err}"
            );
        }
    }
}

/// Runs `body` on a world of so many ranks here, and checks what each rank gives.
fn check<R: Send + PartialEq + Debug>(
    mpi: Environment,
    ranks: usize,
    body: impl AsyncFn(Communicator) -> Result<R, CommError> + Sync,
    expected: impl Fn(usize, usize) -> R,
) {
    let world = World::over(joined(mpi), ranks);
    let (process, processes) = world.process();
    let results = world.run(body).unwrap();
    let size = processes * ranks;
    let mine = process * ranks..(process + 1) * ranks;
    let expected: Vec<R> = mine.map(|rank| expected(rank, size)).collect();
    assert_eq!(results, expected);
}

async fn round<T: Value + Clone + PartialEq + Debug + Sync>(
    comm: &Communicator,
    make: impl Fn(usize) -> T,
) -> Result<(), CommError> {
    let (rank, size) = (comm.rank(), comm.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    assert_eq!(comm.sendrecv(right, make(rank), left, 3).await?, make(left));
    let came = comm.irecv::<T>(left, 4);
    let sent = comm.issend(right, 4, make(rank));
    assert_eq!(came.wait().await?, make(left));
    sent.wait().await?;
    let all: Vec<T> = (0..size).map(&make).collect();
    assert_eq!(comm.allgather(make(rank)).await?, all);
    assert_eq!(comm.alltoall(vec![make(rank); size]).await?, all);
    let mut ring = comm.ring::<T>().await?;
    for _ in 0..100 {
        let came = ring.exchange(make(rank), make(rank)).await?;
        assert_eq!(came, (make(left), make(right)));
    }
    Ok(())
}

#[test]
fn sem_g310_needs_mpi_ranks_of_all_processes_talk() {
    on_layouts(
        "world::sem_g310_needs_mpi_ranks_of_all_processes_talk",
        |mpi, ranks| {
            check(
                mpi,
                ranks,
                async |comm| {
                    round(&comm, |rank| rank).await?;
                    round(&comm, |rank| format!("rank {rank}")).await?;
                    round(&comm, |rank| vec![rank as f64; 100 * rank]).await?;
                    round(&comm, |rank| (rank as u8, Some([1.5, rank as f64]))).await?;
                    let joined = comm
                        .allreduce(comm.rank().to_string(), |a, b| a + &b)
                        .await?;
                    // Parts of the world, with their own numbers, and messages of their own.
                    let color = comm.rank() % 2;
                    let part = comm.split(Some(color), -(comm.rank() as isize)).await?;
                    let part = part.expect("it has a color");
                    let members = part.allgather(comm.rank()).await?;
                    round(&part, |rank| rank * 3).await?;
                    let both = comm.dup().await?.allgather(part.number()).await?;
                    assert!((both.len() < 2) | (both[0] != both[1]), "numbers differ");
                    Ok((joined, members))
                },
                |rank, size| {
                    let joined = (0..size).map(|rank| rank.to_string()).collect();
                    let members = (0..size)
                        .rev()
                        .filter(|other| other % 2 == rank % 2)
                        .collect();
                    (joined, members)
                },
            );
        },
    );
}

#[test]
fn sem_g310_needs_mpi_slices_of_any_length() {
    on_layouts(
        "world::sem_g310_needs_mpi_slices_of_any_length",
        |mpi, ranks| {
            let body = async |comm: Communicator| {
                let (rank, size) = (comm.rank(), comm.size());
                for length in [0, 1, 77, 4096, 1_000_003] {
                    let numbers: Vec<f64> = (0..length).map(|i| (i * (rank + 1)) as f64).collect();
                    let mut came = vec![0.0; length];
                    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
                    let receive = comm.irecv_into(&mut came, left, 0);
                    comm.send_slice(right, 0, &numbers).await?;
                    assert_eq!(receive.wait().await?.0, length);
                    assert!(
                        came.iter()
                            .enumerate()
                            .all(|(i, &n)| n == (i * (left + 1)) as f64)
                    );
                    let mut totals = vec![0.0; length];
                    comm.allreduce_into(&numbers, &mut totals, |a, b| a + b)
                        .await?;
                    let factor = size * (size + 1) / 2;
                    assert!(
                        totals
                            .iter()
                            .enumerate()
                            .all(|(i, &n)| n == (i * factor) as f64)
                    );
                }
                Ok(())
            };
            check(mpi, ranks, body, |_, _| ());
        },
    );
}

/// Numbers of which the first of each chunk tells which it is.
fn marked(length: usize, mark: impl Fn(usize) -> u8, rest: u8) -> Vec<u8> {
    let mut numbers = vec![rest; length];
    for (chunk, numbers) in numbers.chunks_mut(CHUNK).enumerate() {
        numbers[0] = mark(chunk);
    }
    numbers
}

fn is_marked(numbers: &[u8], mark: impl Fn(usize) -> u8, rest: u8) -> bool {
    let rest = [rest; CHUNK];
    let mut chunks = numbers.chunks(CHUNK).enumerate();
    chunks.all(|(chunk, numbers)| {
        numbers[0] == mark(chunk) && numbers[1..] == rest[..numbers.len() - 1]
    })
}

const CHUNK: usize = 4099;

/// Bytes and elements that no 32-bit number counts. It needs 16 GB of memory.
#[test]
#[ignore = "takes long"]
fn deep_sem_g310_needs_mpi_messages_of_more_than_two_gibibytes() {
    on_layouts(
        "world::deep_sem_g310_needs_mpi_messages_of_more_than_two_gibibytes",
        |mpi, ranks| {
            let body = async |comm: Communicator| {
                if comm.size() > 2 {
                    return Ok(());
                }
                let (rank, other) = (comm.rank(), 1 - comm.rank());
                let length = (1 << 31) + 77_777;
                let numbers = marked(length, |chunk| chunk as u8, rank as u8 + 1);
                let is =
                    |came: &[u8], rank: usize| is_marked(came, |chunk| chunk as u8, rank as u8 + 1);
                let mut came = vec![0; length];
                if rank == 0 {
                    comm.send_slice(other, 0, &numbers).await?;
                    let all: Vec<u8> = comm.recv(other, 1).await?;
                    assert!(is(&all, other), "a vector");
                } else {
                    let receive = comm.irecv_into(&mut came, other, 0);
                    let (count, _) = receive.wait().await?;
                    assert!(count == length && is(&came, other), "a slice");
                    comm.send(other, 1, numbers.clone()).await?;
                }
                comm.allreduce_into(&numbers, &mut came, |a, b| a ^ b)
                    .await?;
                assert!(is_marked(&came, |_| 0, 3), "totals");
                came.copy_from_slice(&numbers);
                comm.broadcast_into(1, &mut came).await?;
                assert!(is(&came, 1), "a broadcast");
                drop(numbers);
                let half: Vec<u8> = came.drain(..length / 2 + 1).collect();
                let mut both = vec![0; half.len() * 2];
                comm.allgather_into(&half, &mut both).await?;
                assert!(both[..half.len()] == half && both[half.len()..] == half);
                Ok(())
            };
            check(mpi, ranks, body, |_, _| ());
        },
    );
}

#[test]
fn sem_g310_needs_mpi_the_same_bits_as_on_threads() {
    on_layouts(
        "world::sem_g310_needs_mpi_the_same_bits_as_on_threads",
        |mpi, ranks| {
            let body = async |comm: Communicator| {
                let (rank, size) = (comm.rank(), comm.size());
                let number = |i: usize| (i as f64 * 0.7).sin() * 10f64.powi((i % 30) as i32 - 15);
                let share = rank * 1000 / size..(rank + 1) * 1000 / size;
                let mine: Vec<f64> = share.clone().map(number).collect();
                let exact: f64 = comm.reproducible_sum(&mine).await?;
                let mut part = Dyadic::new(share.start);
                mine.iter().for_each(|&n| part.push(n, |a, b| a + b));
                let whole = comm.allreduce(part, |a, b| a.join(b, |a, b| a + b)).await?;
                let dyadic = whole.finish(|a, b| a + b).expect("there are numbers");
                Ok([exact.to_bits(), dyadic.to_bits()])
            };
            let expected = World::threads(3).run(body).unwrap()[0];
            check(mpi, ranks, body, |_, _| expected);
        },
    );
}

#[test]
fn sem_g311_needs_mpi_a_rank_that_fails_ends_the_run_everywhere() {
    on_layouts(
        "world::sem_g311_needs_mpi_a_rank_that_fails_ends_the_run_everywhere",
        |mpi, ranks| {
            let world = World::over(joined(mpi), ranks);
            let (process, processes) = world.process();
            let last = processes * ranks - 1;
            let ended = within(patience(), move || {
                let failed = world.run(async |comm| {
                    if comm.rank() == last {
                        return Err(CommError::NullSource);
                    }
                    comm.recv::<u8>(ANY_SOURCE, 0).await
                });
                // And the next run is fine.
                let sum = world
                    .run(async |comm| comm.allreduce(1, |a, b| a + b).await)
                    .unwrap();
                assert_eq!(sum, vec![processes * ranks; ranks]);
                failed.unwrap_err()
            });
            match ended {
                RunError::Rank { rank, .. } => assert_eq!((rank, process), (last, processes - 1)),
                RunError::Elsewhere { process, message } => {
                    assert_eq!(process, processes - 1);
                    assert!(message.starts_with(&format!("rank {last}: ")), "{message}");
                }
                other => panic!("{other}"),
            }
        },
    );
}

#[test]
fn sem_g315_needs_mpi_ranks_that_all_wait_are_told_on_every_process() {
    on_layouts(
        "world::sem_g315_needs_mpi_ranks_that_all_wait_are_told_on_every_process",
        |mpi, ranks| {
            let world = World::over(joined(mpi), ranks);
            let size = world.process().1 * ranks;
            let ended = within(patience(), move || {
                world.run(async |comm| {
                    // There is traffic before.
                    comm.barrier().await?;
                    comm.sendrecv((comm.rank() + 1) % comm.size(), 7, ANY_SOURCE, 0)
                        .await?;
                    if comm.rank() == 0 {
                        comm.send(1, 9, "nobody receives it".to_owned()).await?;
                        return Ok(0);
                    }
                    comm.recv::<i32>(comm.rank() - 1, 5).await
                })
            });
            let Err(RunError::Stuck(report)) = ended else {
                panic!("{ended:?}");
            };
            assert_eq!(report.ranks.len(), size);
            assert_eq!(report.ranks[0], RankState::Finished);
            for (rank, state) in report.ranks.iter().enumerate().skip(1) {
                let RankState::Waiting(waits) = state else {
                    panic!("rank {rank}: {state:?}");
                };
                let source = (rank - 1).into();
                let wanted = WaitOperation::Recv {
                    source,
                    tag: 5.into(),
                };
                assert_eq!(waits[0].operation, wanted);
                assert!(waits[0].location.file().ends_with("world.rs"), "{report}");
            }
            assert_eq!(report.unmatched.len(), 1, "{report}");
            assert_eq!((report.unmatched[0].dest, report.unmatched[0].tag), (1, 9));
        },
    );
}
